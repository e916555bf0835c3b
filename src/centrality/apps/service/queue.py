"""Rows of requests wait to be scored together; the limits of requests.

No request is delayed to fill a batch. A batch has a bounded number of rows, and of one request only a part if it has
more, so that a large request does not keep small ones waiting.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True)
class Limits:
    """The limits of requests and connections; docs/internals/service.md says what each is for."""

    body_bytes: int = 64 << 20
    rows: int = 1_000_000
    seconds: float = 30.0
    rows_waiting: int = 4_000_000  # of all requests together
    connections: int = 1000  # open at once
    unauthenticated: int = 100  # connections of one peer that brought no request (with the token, if there is one)
    head_bytes: int = 32 << 10  # of a request without its body
    head_seconds: float = 10.0  # until a request's head is complete
    body_grace: float = 10.0  # seconds that a large body may take beside those that its bytes allow
    body_rate: int = 1 << 20  # bytes a second that a large body must come with
    unread_seconds: int = 5  # seconds in which a client may read nothing of its answer
    shutdown_grace_seconds: float = 3.0  # after the signal to stop, for requests that are on their way
    memory_bytes: int = 4 << 30  # that the process for large requests may take beyond what it starts with

    @property
    def bodies_bytes(self) -> int:
        """Return the largest number of bytes of large bodies in memory at a time."""
        return 2 * self.body_bytes

    @property
    def decoded_bytes(self) -> int:
        """Return the most memory that a decoded body may take."""
        return 8 * self.body_bytes


class RequestError(Exception):
    """Refuses a request: with an HTTP status, and a sentence that says what was wanted."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


Rows: TypeAlias = Any  # (n, p) array, pa.Table or list
JsonRows: TypeAlias = list[Any]  # as JSON has them: each a list of values, an object of named values, or a text


def count(rows: Rows) -> int:
    """Return how many rows there are."""
    return int(rows.num_rows) if isinstance(rows, pa.Table) else len(rows)


def cut(rows: Rows, start: int, stop: int) -> Rows:
    """Return the rows from `start` up to, but without, `stop`."""
    return rows.slice(start, stop - start) if isinstance(rows, pa.Table) else rows[start:stop]


def joined(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several requests, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], pa.Table):
        return pa.concat_tables(parts, promote_options="permissive")
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [item for part in parts for item in part]


BATCH_ROWS = 32_768  # rows scored together: some 30 ms
AT_ONCE = 16_384  # rows of one request in a batch, when others are waiting
QUICK = 1 << 14  # values that are scored within a millisecond: handing them to a thread would take as long

Scores: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Scoring:
    """A function of rows; requests whose scorings have equal keys can be scored together."""

    function: Callable[[Rows], Scores]
    key: Hashable
    undivided: bool = False  # the rows of a request are one series: scored all at once, without those of others
    batch_rows: int = BATCH_ROWS
    quick: bool = False  # small batches need no thread


@dataclass(eq=False)
class Work:
    """The rows of one request, and the scores computed so far."""

    scoring: Scoring
    rows: Rows
    rows_left: int
    answer: "asyncio.Future[Scores]"
    parts: list[Scores] = field(default_factory=list)
    rows_taken: int = 0

    def next(self, max_rows: int) -> Rows:
        """Return the next rows to score, at most so many."""
        start = self.rows_taken
        self.rows_taken += min(max_rows, self.rows_left)
        self.rows_left -= self.rows_taken - start
        return self.rows if start == 0 and self.rows_left == 0 else cut(self.rows, start, self.rows_taken)

    def add(self, part: Scores) -> None:
        """Add the scores of the rows taken last; when all rows are scored, set the request's result."""
        self.parts.append(part)
        if self.rows_left == 0 and not self.answer.done():
            self.answer.set_result(self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts))

    def fail(self, error: BaseException) -> None:
        """Set an error as the request's result."""
        self.rows_left = 0
        if not self.answer.done():
            self.answer.set_exception(error)


class Queue:
    """Queues work to be scored. One thread scores; the event loop itself scores batches of less than a millisecond.

    `scored_together` is called after each batch with its number of requests and rows.
    """

    def __init__(self, max_waiting: int, scored_together: Callable[[int, int], None]) -> None:
        self.max_waiting = max_waiting
        self._scored_together = scored_together
        self.waiting = 0  # rows accepted and not yet answered
        self._works: deque[Work] = deque()
        self._running: asyncio.Task[None] | None = None
        self.thread = ThreadPoolExecutor(1, thread_name_prefix="scorer")

    async def score(self, scoring: Scoring, rows: Rows) -> Scores:
        """Return the result of `scoring` for the rows."""
        n = count(rows)
        if self.waiting and self.waiting + n > self.max_waiting:
            raise RequestError(503, f"Busy: {self.waiting:,} rows are waiting to be scored. Try again in a second.")
        loop = asyncio.get_running_loop()
        work = Work(scoring, rows, n, loop.create_future())
        self.waiting += n
        self._works.append(work)
        if self._running is None:
            self._running = loop.create_task(self._run())
        try:
            return await work.answer
        finally:
            self.waiting -= n

    async def _run(self) -> None:
        try:
            while batch := self._next_batch():
                await self._score(batch)
        finally:
            self._running = None

    def _next_batch(self) -> list[tuple[Work, Rows]]:
        """Choose the requests and rows of the next batch; requests with rows left go to the end of the queue."""
        batch: list[tuple[Work, Rows]] = []
        others: deque[Work] = deque()
        space = 0
        while self._works and (not batch or space > 0):
            work = self._works.popleft()
            scoring = work.scoring
            if work.answer.done():  # the request took too long and was cancelled
                continue
            if not batch:
                space = work.rows_left if scoring.undivided else scoring.batch_rows
            elif scoring.key != batch[0][0].scoring.key or scoring.undivided:
                others.append(work)
                continue
            part = work.next(space if scoring.undivided else min(space, AT_ONCE if self._works else space))
            space -= count(part)
            batch.append((work, part))
            if work.rows_left:
                others.append(work)
        self._works.extend(others)
        return batch

    async def _score(self, batch: list[tuple[Work, Rows]]) -> None:
        """Score the rows of a batch together; if that fails, score each request by itself."""
        scoring = batch[0][0].scoring
        parts = [part for _, part in batch]
        try:
            rows = joined(parts)
            if scoring.quick and rows.size <= QUICK:
                scores = scoring.function(rows)
            else:
                scores = await asyncio.get_running_loop().run_in_executor(self.thread, scoring.function, rows)
        except Exception as error:  # noqa: BLE001  (whatever a model raises is the answer to the request it belongs to)
            if len(batch) == 1:
                batch[0][0].fail(error)
                return
            for work_and_part in batch:  # each gets its scores, or an error of its own
                await self._score([work_and_part])
            return
        self._scored_together(len(batch), len(scores))
        start = 0
        for (work, _), part in zip(batch, parts, strict=True):
            n = count(part)
            work.add(scores[start : start + n])
            start += n
