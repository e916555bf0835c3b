"""Limit connections, so that no client can block the others.

uvicorn answers any number of connections for any time. Here a request's head has limits of time and size, an
answer must be read, and clients that are connected when the service is told to stop are answered first.
"""

import asyncio
import hmac
import itertools
import sys
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from centrality.service._limits import Limits

SWEEP_SECONDS = 1.0
HEAD_SLICE = 8 << 10  # bytes that are parsed together while a head is coming
OLDEST = 256  # connections that are checked to find one to close
FILES_BESIDE = 100  # open files that are no connections: libraries, the model, a socket to the other process
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
LATE = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class Connection(HttpToolsProtocol):
    """Speaks HTTP with one client as uvicorn does, and tracks what the client is doing."""

    def __init__(self, limiter: "ConnectionLimiter", **settings: Any) -> None:
        super().__init__(**settings)
        self.limiter = limiter
        self.peer = ""
        self.known = False  # a request has come that may be answered
        self.waiting_since: float | None = None  # for the rest of a request's head
        self._beside_body = 0  # bytes of the request, after those of its head when that is complete
        self._unsent, self._idle_sweeps = 0, 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.peer = self.client[0] if self.client else ""
        self.waiting_since = self.loop.time()
        self.limiter.admit(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.limiter.open.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        while len(data) > HEAD_SLICE and self.is_idle and not self.transport.is_closing():
            self._take(data[:HEAD_SLICE])  # thousands of headers are not even read
            data = data[HEAD_SLICE:]
        if not self.transport.is_closing():
            self._take(data)

    def _take(self, data: bytes) -> None:
        """Parse a part of what arrived; close the connection if anything but a body exceeds its bound."""
        self._beside_body = max(0, self._beside_body) + len(data)
        super().data_received(data)
        if self._beside_body > self.limiter.limits.head_bytes:
            self.refuse(LONG)
        elif self.waiting_since is None and self.cycle.response_complete:
            self.waiting_since = self.loop.time()  # for a next request, or the end of a body that nobody reads

    def on_body(self, body: bytes) -> None:
        self._beside_body -= len(body)
        super().on_body(body)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.waiting_since, self._beside_body = None, 0
        if not self.known:
            self.known = self.limiter.knows(self.headers)
        if self.limiter.draining:
            self.cycle.keep_alive = False

    def resume_writing(self) -> None:
        self._idle_sweeps = 0  # the client reads
        super().resume_writing()

    @property
    def is_idle(self) -> bool:
        """Say whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def refuse(self, answer: bytes) -> None:
        """Send an error and close the connection; only close it if an earlier answer is not read yet."""
        if self.transport.is_closing():
            return
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.write(answer)
            self.transport.close()

    def require_reader(self) -> None:
        """Close the connection if the client does not read its answer; it is called once in each sweep."""
        unsent = self.transport.get_write_buffer_size()
        if not unsent or unsent < self._unsent:
            self._idle_sweeps = 0
        elif unsent == self._unsent:
            self._idle_sweeps += 1
        self._unsent = unsent
        if self._idle_sweeps >= self.limiter.limits.unread_seconds:
            self.transport.abort()


class ConnectionLimiter:
    """Limits the number of open connections, and closes those that send nothing, read nothing or are too many."""

    def __init__(self, limits: Limits, secret: bytes | None) -> None:
        self.limits, self._secret = limits, secret
        self.most = _files_for(limits.connections)
        self.open: dict[Connection, None] = {}  # oldest first
        self.draining = False  # every answer is the last of its connection

    def knows(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Say whether the headers hold the token, if the service requires one."""
        if self._secret is None:
            return True
        return any(name == b"authorization" and hmac.compare_digest(value, self._secret) for name, value in headers)

    def admit(self, new: Connection) -> None:
        """Add a connection; if there are too many, close one that is idle."""
        self.open[new] = None
        if len(self.open) > self.most:
            idle = [one for one in itertools.islice(self.open, OLDEST) if one is not new and one.is_idle]
            victim = next((one for one in idle if not one.known), next(iter(idle), new))
            self.open.pop(victim)
            victim.refuse(BUSY)

    async def sweep(self) -> None:
        """Close connections that have waited too long, and the oldest of a peer that has many without a request."""
        now, strangers = asyncio.get_running_loop().time(), Counter[str]()
        for place, one in enumerate(reversed(list(self.open))):
            waited = 0.0 if one.waiting_since is None else now - one.waiting_since
            if waited > SWEEP_SECONDS and not one.known:  # a request that is on its way comes sooner
                strangers[one.peer] += 1
            if waited > self.limits.head_seconds:
                one.refuse(LATE)
            elif strangers[one.peer] > self.limits.strangers and not one.known and one.is_idle:
                one.refuse(BUSY)
            one.require_reader()
            if place % 32 == 31:
                await asyncio.sleep(0)  # others are served meanwhile

    async def watch(self) -> None:
        """Sweep again and again, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def drain(self) -> None:
        """Wait, for a limited time, until the clients that are connected are answered."""
        self.draining = True
        for one in self.open:
            if not one.is_idle:
                one.cycle.keep_alive = False
        end = asyncio.get_running_loop().time() + self.limits.linger_seconds
        while any(one.is_idle for one in self.open) and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.02)


def _files_for(connections: int) -> int:
    """Return the possible number of connections: as many as wanted, or as the system's limit of open files allows."""
    if sys.platform == "win32":
        return connections
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + FILES_BESIDE
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == resource.RLIM_INFINITY else max(1, min(connections, soft - FILES_BESIDE))
