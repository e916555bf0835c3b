"""Run the server: listen on a socket, serve by uvicorn, and answer accepted requests before it ends."""

import asyncio
import math
import signal
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from centrality._internal.checks import InputError, is_loopback
from centrality.apps.service.app import App
from centrality.apps.service.connections import Connection, ConnectionLimiter
from centrality.apps.service.model import Metrics, ModelFile
from centrality.apps.service.queue import Limits
from centrality.apps.service.worker import Load, Worker


class Server(uvicorn.Server):
    """Serves as uvicorn does, except that a signal to stop ends it normally, not with an error."""

    def __init__(self, config: uvicorn.Config, limiter: ConnectionLimiter) -> None:
        super().__init__(config)
        self._limiter = limiter

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle the signal to stop: from now on every connection closes after its next answer."""
        self._limiter.closing = True
        super().handle_exit(sig, frame)

    async def main_loop(self) -> None:
        """Serve until a signal comes, and sweep the connections all the while."""
        self._watching = asyncio.create_task(self._limiter.watch())
        await super().main_loop()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Accept no more connections, answer those that are open, and end."""
        await asyncio.sleep(0.02)  # those whom the system has let in are taken over
        for server in self.servers:
            server.close()
        for listener in sockets or []:
            listener.close()
        await self._limiter.close_gracefully()
        await super().shutdown(sockets)
        self._watching.cancel()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle both signals while the server runs, and restore the earlier handlers afterwards.

        What is ignored stays so: a shell starts its background jobs like that, and Ctrl-C is then meant for another.
        """
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        for number, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def run(
    path: Path,
    load: Load,
    *,
    host: str,
    port: int,
    token: str | None,
    limits: Limits,
    hosts: Collection[str] = (),
    say: Callable[[str], None],
) -> dict[str, int]:
    """Serve until told to stop; return the numbers of requests and rows. `say` is called with messages."""
    require_token(host, token)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        raise OSError(f"Cannot listen on {host}, port {port}: {error.strerror or error}. Try another --port.") from None
    with listener:
        metrics = Metrics()
        worker = Worker(load, limits, metrics.scored_together) if hasattr(socket, "AF_UNIX") else None
        app = App(ModelFile(path, load, metrics, say), metrics, limits, token, hosts=[host, *hosts], worker=worker)
        name, port = listener.getsockname()[:2]
        address = f"[{name}]" if ":" in name else name
        say(f"serving {path} at http://{address}:{port} (Ctrl-C stops)")
        limiter = ConnectionLimiter(limits, app.secret)
        protocol: Any = partial(Connection, limiter)
        config = uvicorn.Config(
            app,
            http=protocol,
            log_level="warning",
            access_log=False,
            ws="none",
            lifespan="on",
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=math.ceil(limits.seconds),
        )
        Server(config, limiter).run(sockets=[listener])
    return {"requests": metrics.total("centrality_requests_total"), "rows": metrics.total("centrality_rows_total")}


def require_token(host: str, token: str | None) -> None:
    """Raise if other machines can reach the host and there is no token."""
    if token is None and not is_loopback(host):
        raise InputError(
            f"A token was wanted for {host}, which others can reach: put one into the environment variable "
            "CENTRALITY_TOKEN or into a file, --token-file FILE. Without one, serve on 127.0.0.1 only."
        )
