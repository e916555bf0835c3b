"""Score the rows of requests in this process: read them, queue them to be scored, write the answer."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, TypeVarTuple

from centrality.service import _requests
from centrality.service._answers import JSON, Answer
from centrality.service._limits import Limits
from centrality.service._queue import Queue
from centrality.service._served import ServedModel

LARGE_BODY = 1 << 16  # bytes: a larger one is read in a thread, while others are served

Result = TypeVar("Result")
Arguments = TypeVarTuple("Arguments")


class RequestScorer:
    """Answers requests for scores. One thread reads large bodies, so that only one is decoded at a time.

    `scored_together` is called after each batch with its number of requests and rows.
    """

    def __init__(self, limits: Limits, scored_together: Callable[[int, int], None]) -> None:
        self.limits = limits
        self.queue = Queue(limits.rows_waiting, scored_together)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="reader")

    async def answer(self, served: ServedModel, kind: str, query: bytes, body: bytes) -> Answer:
        """Return the answer to any request for scores."""
        parts, large = (served, kind, query, body, self.limits), len(body) > LARGE_BODY
        request = await self._in_thread(_requests.parse, *parts) if large else _requests.parse(*parts)
        return await self.scores(request, large=large)

    async def scores(self, request: _requests.ScoreRequest, *, large: bool = False) -> Answer:
        """Return the answer to a request that has been parsed."""
        served = request.served
        rows, unreadable = await self._in_thread(request.rows) if large else request.rows()
        explanation = served.explanation(request.ts[0]) if request.explain else None
        units = await self.queue.score(served.units, rows)
        contributions = None if explanation is None else await self.queue.score(explanation, rows)
        scored = request, units, contributions, unreadable
        answer = await self._in_thread(_requests.answer, *scored) if large else _requests.answer(*scored)
        kind = _requests.ARROW if request.arrow else JSON
        headers = [(b"centrality-model", served.version.encode())]
        if unreadable:
            headers.append((b"centrality-unreadable", str(unreadable.count()).encode()))
        return Answer(200, kind, answer, tuple(headers))

    async def freed(self) -> None:
        """Wait until both threads have finished their current work."""
        loop = asyncio.get_running_loop()
        await asyncio.gather(*(loop.run_in_executor(one, int) for one in (self._reader, self.queue.thread)))

    def close(self) -> None:
        """End the threads."""
        for one in (self._reader, self.queue.thread):
            one.shutdown(cancel_futures=True)

    async def _in_thread(self, work: Callable[[*Arguments], Result], *arguments: *Arguments) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._reader, work, *arguments)
