"""The server process: a socket, uvicorn, and an end that finishes what was accepted."""

import ipaddress
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from centrality._checks import InputError
from centrality.service._app import App
from centrality.service._file import ModelFile
from centrality.service._limits import Limits
from centrality.service._metrics import Metrics


class Server(uvicorn.Server):
    """uvicorn's, except that a signal ends it in order: it is no error to be told to stop."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {one: signal.signal(one, self.handle_exit) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)


def run(path: Path, load: Callable[[], Any], host: str, port: int, token: str | None, limits: Limits) -> dict[str, int]:
    """Serve until told to stop; then, how many requests and rows there were."""
    require_token(host, token)
    with _listening(host, port) as listening:
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
        at = listening.getsockname()
        shown = f"[{at[0]}]" if ":" in at[0] else at[0]
        print(f"centrality: serving {path} at http://{shown}:{at[1]} (Ctrl-C stops)", file=sys.stderr, flush=True)
        Server(config).run(sockets=[listening])
    return {"requests": metrics.total("centrality_requests_total"), "rows": metrics.total("centrality_rows_total")}


def require_token(host: str, token: str | None) -> None:
    if token is None and not is_loopback(host):
        raise InputError(
            f"A token was wanted for {host}, which others can reach: put one into the environment variable "
            "CENTRALITY_TOKEN or into a file, --token-file FILE. Without one, serve on 127.0.0.1 only."
        )


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(f"Cannot listen on {host}, port {port}: {error.strerror or error}. Try another --port.") from None
