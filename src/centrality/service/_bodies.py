"""Read the bodies of requests, within a bound on their total size, and give up those that come too slowly."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any, TypeAlias

from centrality.service._limits import Limits, RequestError
from centrality.service._request_scorer import LARGE_BODY

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
        await self._enter(size)
        try:
            yield await self._pieces(first, receive)
        finally:
            self.free_bytes += size
            self._admit()

    async def _enter(self, size: int) -> None:
        """Wait until so many bytes are free, and reserve them."""
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

    def _admit(self) -> None:
        """Admit the waiting bodies that fit into the free bytes."""
        while self._waiting and (self._waiting[0][2].done() or self._waiting[0][0] <= self.free_bytes):
            size, _, admitted = heapq.heappop(self._waiting)
            if not admitted.done():
                self.free_bytes -= size
                admitted.set_result(None)

    async def _pieces(self, first: Message, receive: Receive) -> list[bytes]:
        """Read a whole body; raise if it is larger than allowed, but only after all of it has arrived."""
        begun, most = asyncio.get_running_loop().time(), self.limits.body_bytes
        message, pieces, size = first, [first.get("body", b"")], len(first.get("body", b""))
        while message.get("more_body"):
            try:
                async with asyncio.timeout_at(begun + self.limits.body_grace + size / self.limits.body_rate):
                    message = await receive()
            except TimeoutError:
                raise RequestError(408, f"The body came too slowly: {size:,} bytes in all this time.") from None
            size += len(message.get("body", b""))
            if size <= most:
                pieces.append(message.get("body", b""))
            else:
                pieces.clear()  # read on, and keep nothing: a client that is still sending does not read the answer
        if message["type"] == "http.disconnect":
            raise RequestError(400, "The connection ended before the body did.")
        if size > most:
            raise RequestError(413, f"At most {most:,} bytes a request, got {size:,}: send several.")
        return pieces
