"""Limit connections and read the bodies of requests.

uvicorn answers any number of connections for any time. Here a request's head has limits of time and size, an
answer must be read, and clients that are connected when the service is told to stop are answered first.
"""

import asyncio
import heapq
import hmac
import itertools
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from centrality.apps.service.queue import Limits, RequestError
from centrality.apps.service.worker import LARGE_BODY

Message: TypeAlias = MutableMapping[str, Any]  # as ASGI has it
Receive: TypeAlias = Callable[[], Awaitable[Message]]


class Bodies:
    """Admits large bodies up to a total number of bytes; of those that wait, the smallest is admitted first."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.free_bytes = limits.bodies_bytes
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []  # a heap: size, order of coming

    @asynccontextmanager
    async def read(self, first: Message, declared: int | None, receive: Receive) -> AsyncIterator[list[bytes]]:
        """Yield the pieces of a body that began with `first`, and reserve its bytes until the block ends."""
        size = min(self.limits.body_bytes, self.limits.body_bytes if declared is None else declared)
        if size <= LARGE_BODY:
            yield await self._pieces(first, receive)
            return
        # Wait until so many bytes are free; `_admit` reserves them.
        admitted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (size, next(self._order), admitted))
        self._admit()
        try:
            await admitted
        except asyncio.CancelledError:
            if admitted.done() and not admitted.cancelled():  # it was admitted just before it gave up
                self.free_bytes += size
            admitted.cancel()
            self._admit()
            raise
        try:
            yield await self._pieces(first, receive)
        finally:
            self.free_bytes += size
            self._admit()

    def _admit(self) -> None:
        """Admit the waiting bodies that fit into the free bytes."""
        while self._waiting and (self._waiting[0][2].done() or self._waiting[0][0] <= self.free_bytes):
            size, _, admitted = heapq.heappop(self._waiting)
            if not admitted.done():
                self.free_bytes -= size
                admitted.set_result(None)

    async def _pieces(self, first: Message, receive: Receive) -> list[bytes]:
        """Read a whole body; raise if it is larger than allowed, but only after all of it has arrived."""
        start = asyncio.get_running_loop().time()
        max_bytes = self.limits.body_bytes
        message = first
        pieces = [first.get("body", b"")]
        size = len(pieces[0])
        while message.get("more_body"):
            try:
                async with asyncio.timeout_at(start + self.limits.body_grace + size / self.limits.body_rate):
                    message = await receive()
            except TimeoutError:
                raise RequestError(408, f"The body came too slowly: {size:,} bytes in all this time.") from None
            size += len(message.get("body", b""))
            if size <= max_bytes:
                pieces.append(message.get("body", b""))
            else:
                pieces.clear()  # read on, and keep nothing: a client that is still sending does not read the answer
        if message["type"] == "http.disconnect":
            raise RequestError(400, "The connection ended before the body did.")
        if size > max_bytes:
            raise RequestError(413, f"At most {max_bytes:,} bytes a request, got {size:,}: send several.")
        return pieces


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
        self.has_request = False  # a request has come that may be answered
        self.waiting_since: float | None = None  # for the rest of a request's head
        self._beside_body = 0  # bytes of the request, after those of its head when that is complete
        self._unsent = 0
        self._idle_sweeps = 0

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
        self.waiting_since = None
        self._beside_body = 0
        if not self.has_request:
            self.has_request = self.limiter.is_authenticated(self.headers)
        if self.limiter.closing:
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
        self.limits = limits
        self._secret = secret
        self.max_open = _connections_allowed(limits.connections)
        self.open: dict[Connection, None] = {}  # oldest first
        self.closing = False  # every answer is the last of its connection

    def is_authenticated(self, headers: list[tuple[bytes, bytes]]) -> bool:
        """Say whether the headers hold the token, if the service requires one."""
        if self._secret is None:
            return True
        return any(name == b"authorization" and hmac.compare_digest(value, self._secret) for name, value in headers)

    def admit(self, new: Connection) -> None:
        """Add a connection; if there are too many, close one that is idle."""
        self.open[new] = None
        if len(self.open) > self.max_open:
            idle = [one for one in itertools.islice(self.open, OLDEST) if one is not new and one.is_idle]
            victim = next((one for one in idle if not one.has_request), next(iter(idle), new))
            self.open.pop(victim)
            victim.refuse(BUSY)

    async def sweep(self) -> None:
        """Close connections that have waited too long, and the oldest of a peer that has many without a request."""
        now = asyncio.get_running_loop().time()
        unauthenticated = Counter[str]()
        for place, one in enumerate(reversed(list(self.open))):
            waited = 0.0 if one.waiting_since is None else now - one.waiting_since
            if waited > SWEEP_SECONDS and not one.has_request:  # a request that is on its way comes sooner
                unauthenticated[one.peer] += 1
            if waited > self.limits.head_seconds:
                one.refuse(LATE)
            elif unauthenticated[one.peer] > self.limits.unauthenticated and not one.has_request and one.is_idle:
                one.refuse(BUSY)
            one.require_reader()
            if place % 32 == 31:
                await asyncio.sleep(0)  # others are served meanwhile

    async def watch(self) -> None:
        """Sweep again and again, until cancelled."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.sweep()

    async def close_gracefully(self) -> None:
        """Wait, for a limited time, until the clients that are connected are answered."""
        self.closing = True
        for one in self.open:
            if not one.is_idle:
                one.cycle.keep_alive = False
        end = asyncio.get_running_loop().time() + self.limits.shutdown_grace_seconds
        while any(one.is_idle for one in self.open) and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.02)


def _connections_allowed(connections: int) -> int:
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
