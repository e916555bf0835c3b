"""Run the server: listen on a socket, serve by uvicorn, and finish what was accepted before the end."""

import ipaddress
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import uvicorn

from centrality._checks import InputError
from centrality.model.interface import CentralityModel
from centrality.service._app import App
from centrality.service._file import ModelFile
from centrality.service._limits import Limits
from centrality.service._metrics import Metrics


class Server(uvicorn.Server):
    """Serves as uvicorn does, except that a signal ends it in order: it is no error to be told to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let both signals end the server, and put the earlier handlers back when it has ended."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(
    path: Path, load: Callable[[], CentralityModel], *, host: str, port: int, token: str | None, limits: Limits
) -> dict[str, int]:
    """Serve until told to stop, and return how many requests and rows there were."""
    require_token(host, token)
    with _listen(host, port) as listener:
        metrics = Metrics()
        app = App(ModelFile(path, load, metrics), metrics, limits, token)
        config = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            ws="none",
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
        )
        name, port = listener.getsockname()[:2]
        shown = f"[{name}]" if ":" in name else name
        print(f"centrality: serving {path} at http://{shown}:{port} (Ctrl-C stops)", file=sys.stderr, flush=True)
        Server(config).run(sockets=[listener])
    return {"requests": metrics.total("centrality_requests_total"), "rows": metrics.total("centrality_rows_total")}


def require_token(host: str, token: str | None) -> None:
    """Raise if others can reach the host and there is no token to keep them out."""
    if token is None and not is_loopback(host):
        raise InputError(
            f"A token was wanted for {host}, which others can reach: put one into the environment variable "
            "CENTRALITY_TOKEN or into a file, --token-file FILE. Without one, serve on 127.0.0.1 only."
        )


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach the host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(f"Cannot listen on {host}, port {port}: {error.strerror or error}. Try another --port.") from None
