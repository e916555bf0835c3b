"""What one request may ask for, and what it is told when that cannot be."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Limits:
    """What one request may ask for."""

    body_bytes: int = 64 << 20
    rows: int = 1_000_000
    seconds: float = 30.0
    rows_waiting: int = 4_000_000  # of all requests together


class RequestError(Exception):
    """A request that is not answered with scores: a status, and a sentence that says what was wanted."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class Deadlines:
    """Ends what takes too long: a look at all requests now and then costs less than a timer for each."""

    EVERY = 0.1  # seconds

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.running: dict[asyncio.Task[Any], float] = {}  # since when; the oldest first
        self._late: set[asyncio.Task[Any]] = set()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """A TimeoutError in the block if it takes too long."""
        task = asyncio.current_task()
        assert task is not None  # we are in a coroutine
        self.running[task] = asyncio.get_running_loop().time()
        try:
            yield
        except asyncio.CancelledError:
            if task not in self._late:
                raise
            task.uncancel()
            raise TimeoutError from None
        finally:
            del self.running[task]
            self._late.discard(task)

    async def watch(self) -> None:
        """Look for late ones until cancelled."""
        while True:
            await asyncio.sleep(self.EVERY)
            now = asyncio.get_running_loop().time()
            for task, begun in self.running.items():
                if now - begun < self.seconds:
                    break
                if task not in self._late:
                    self._late.add(task)
                    task.cancel()
