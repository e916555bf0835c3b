"""Hand large requests to a process of their own, which can be killed at any time.

A request that takes long there, or too much memory, does not disturb the small requests that this process answers:
no lock of Python's is shared, and a process that does not drop a cancelled request is killed and replaced.
"""

import asyncio
import itertools
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from centrality.model.interface import CentralityModel
from centrality.service import _messages
from centrality.service._answers import Answer
from centrality.service._limits import Limits, RequestError
from centrality.service._served import ServedModel

Load: TypeAlias = Callable[[Path], CentralityModel]  # picklable

GRACE = 30.0  # seconds without a message from a process that was told to drop a request; batches take tens of ms
START_SECONDS = 120.0  # to import libraries and load the model, on a machine that has much to do
END_SECONDS = 5.0
ENVIRONMENT = {  # memory that is freed goes back to the machine
    "MIMALLOC_PURGE_DELAY": "0",
    "MALLOC_ARENA_MAX": "2",
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}
LOST = "The process for large requests ended before this one was answered. Try again."


class OutgoingBuffer:
    """Counts the bytes of answers that clients have not read yet; `wait_for_space` waits while there are too many."""

    def __init__(self, most: int) -> None:
        self._most, self._bytes = most, 0
        self._has_space = asyncio.Event()
        self._has_space.set()

    def put(self, answer: Answer) -> None:
        """Add an answer that waits to be sent."""
        self._add(sum(map(len, answer.pieces)))

    def taken(self, answer: Answer) -> None:
        """Remove an answer that was sent, or never will be."""
        self._add(-sum(map(len, answer.pieces)))

    def _add(self, size: int) -> None:
        self._bytes += size
        (self._has_space.set if self._bytes <= self._most else self._has_space.clear)()

    async def wait_for_space(self) -> None:
        """Wait until the buffer has space for one more answer."""
        await self._has_space.wait()


class Worker:
    """Answers large requests in a process of its own, which starts with the service, and again if it has ended."""

    def __init__(self, load: Load, limits: Limits, scored_together: Callable[[int, int], None]) -> None:
        self._load, self._limits, self._scored_together = load, limits, scored_together
        self.outgoing = OutgoingBuffer(limits.bodies_bytes)
        self._process: WorkerProcess | None = None
        self._opening = asyncio.Lock()

    async def answer(self, served: ServedModel, kind: str, query: bytes, pieces: Sequence[bytes]) -> Answer:
        """Return the answer to a request whose body is in pieces."""
        process = await self.open(served)
        return await process.answer(kind, query, pieces)

    @property
    def waiting(self) -> int:
        """Return the number of rows that wait to be scored in the process."""
        return 0 if self._process is None else self._process.waiting

    async def open(self, served: ServedModel) -> "WorkerProcess":
        """Return a process with this version of the model; one with an older version finishes its work and ends."""
        async with self._opening:
            if self._process is None or self._process.ended or self._process.version != served.version:
                if self._process is not None:
                    self._process.retire()
                self._process = await WorkerProcess.start(served, self._load, self._limits)
                self._process.listen(self._scored_together, self.outgoing)
            return self._process

    async def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            await self._process.end()


class WorkerProcess:
    """Communicates with one process, which has one version of the model."""

    def __init__(self, process: "subprocess.Popen[bytes]", version: str, channel: _messages.Channel) -> None:
        self.process, self.version, self._channel = process, version, channel
        self.ended = False
        self.waiting = 0  # rows
        self._retired = False
        self._ready_by = asyncio.get_running_loop().time() + START_SECONDS
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._given_up: set[int] = set()  # the process is killed unless it sends messages until it has dropped these
        self._doom: asyncio.TimerHandle | None = None

    @classmethod
    async def start(cls, served: ServedModel, load: Load, limits: Limits) -> "WorkerProcess":
        """Start a process, and make it load the model."""
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(part for part in sys.path if part)
        process = subprocess.Popen(
            [sys.executable, "-m", "centrality.service._large_requests", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | ENVIRONMENT | {"PYTHONPATH": path},
        )
        theirs.close()
        started = cls(process, served.version, await _messages.Channel.over(ours))
        started._channel.send(_messages.SETUP, pieces=[pickle.dumps((load, limits, served.version, served.content))])
        return started

    async def answer(self, kind: str, query: bytes, pieces: Sequence[bytes]) -> Answer:
        """Return the process's answer; if the caller is cancelled, make the process drop the request."""
        number = next(self._numbers)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._channel.send(_messages.ASK, number, [kind, query.decode("latin-1")], pieces)
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.cancelled():
                self._give_up(number)
            elif answer.exception() is None:  # it arrived at the same moment
                self._outgoing.taken(answer.result())
            raise
        finally:
            del self._answers[number]
            self._end_if_retired()

    def _give_up(self, number: int) -> None:
        self._channel.send(_messages.CANCEL, number)
        self._given_up.add(number)
        self._heard()

    def _heard(self) -> None:
        """Restart the timeout of a process that has yet to drop requests."""
        if self._doom is not None:
            self._doom.cancel()
            self._doom = None
        if self._given_up and not self.ended:
            loop = asyncio.get_running_loop()
            self._doom = loop.call_at(max(loop.time() + GRACE, self._ready_by), self.process.kill)

    def listen(self, scored_together: Callable[[int, int], None], outgoing: OutgoingBuffer) -> None:
        """Start to receive the process's messages."""
        self._outgoing = outgoing
        self._listening = asyncio.create_task(self._listen(scored_together))

    async def _listen(self, scored_together: Callable[[int, int], None]) -> None:
        """Receive the process's messages until it ends; then fail the requests that are not answered."""
        while (message := await self._channel.receive()) is not None:
            if message.what == _messages.ANSWER:
                self._deliver(message)
                await self._outgoing.wait_for_space()
            elif message.what == _messages.BATCH:
                requests, rows, self.waiting = message.facts
                scored_together(requests, rows)
            elif message.what == _messages.FREED:
                (self.waiting,) = message.facts
                self._given_up.remove(message.number)
                self._end_if_retired()
            else:
                self._ready_by = 0.0
            self._heard()
        self.ended, self.waiting = True, 0
        self._heard()
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(RequestError(503, LOST))
        await self.end()

    def _deliver(self, message: _messages.Message) -> None:
        """Set an answer as the result that its caller waits for."""
        waiting = self._answers.get(message.number)
        if waiting is not None and not waiting.done():
            status, kind, headers, self.waiting = message.facts
            pairs = tuple((name.encode(), value.encode()) for name, value in headers)
            answer = Answer(status, kind, message.pieces, pairs)
            self._outgoing.put(answer)
            waiting.set_result(answer)

    def retire(self) -> None:
        """Answer the requests that were sent, then end."""
        self._retired = True
        self._end_if_retired()

    def _end_if_retired(self) -> None:
        if self._retired and not self._answers and not self._given_up:
            self._channel.close()

    async def end(self) -> None:
        """Close the channel, and make sure that the process has ended."""
        self._channel.close()
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self.process.wait, END_SECONDS)
        self.process.kill()
        self.process.wait()
