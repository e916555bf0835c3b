"""Score requests: small ones here, large ones in a process of their own.

A request that takes long there, or too much memory, does not disturb the small requests that this process answers:
no lock of Python's is shared, and a process that does not drop a cancelled request is killed and replaced.
"""

import asyncio
import itertools
import os
import pickle
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, TypeVarTuple

import orjson

from centrality.apps.service import requests
from centrality.apps.service.model import ServedModel
from centrality.apps.service.queue import Limits, Queue, RequestError
from centrality.apps.service.requests import JSON, Answer
from centrality.model.interface import CentralityModel
from centrality.series import Timeline

# Kinds of messages: to the process for large requests, and back from it.
SETUP = 1
ASK = 2
CANCEL = 3
READY = 4
ANSWER = 5
BATCH = 6
FREED = 7
HEAD = struct.Struct("<BIIQ")  # its kind, the number of its request, bytes of its fields, bytes of its body
PIECE = 1 << 18  # bytes of a body that are taken from the socket together


class Message(NamedTuple):
    """One message: its kind, the number of its request, its fields and its body."""

    kind: int
    number: int
    fields: list[Any]
    pieces: list[bytes]


class Channel:
    """Sends and receives messages."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def over(cls, end: socket.socket) -> "Channel":
        """Return the channel over this end of a pair of sockets."""
        return cls(*await asyncio.open_unix_connection(sock=end, limit=PIECE))

    def send(self, kind: int, number: int = 0, fields: Sequence[object] = (), pieces: Sequence[bytes] = ()) -> None:
        """Send a whole message, even if the sender is cancelled; do nothing if the other process has ended."""
        if self._writer.is_closing():
            return
        encoded = orjson.dumps(fields)
        self._writer.write(HEAD.pack(kind, number, len(encoded), sum(map(len, pieces))) + encoded)
        for piece in pieces:
            self._writer.write(piece)

    async def receive(self) -> Message | None:
        """Return the next message; None when the channel is closed."""
        try:
            kind, number, fields_size, bytes_left = HEAD.unpack(await self._reader.readexactly(HEAD.size))
            fields = orjson.loads(await self._reader.readexactly(fields_size))
            pieces: list[bytes] = []
            while bytes_left:
                piece = await self._reader.read(min(bytes_left, PIECE))
                if not piece:
                    return None
                pieces.append(piece)
                bytes_left -= len(piece)
        except (asyncio.IncompleteReadError, ConnectionError):
            return None
        return Message(kind, number, fields, pieces)

    def close(self) -> None:
        """Close the channel, so that the other process ends."""
        self._writer.close()


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
        if len(body) <= LARGE_BODY:
            return await self.scores(requests.parse(served, kind, query, body, self.limits))
        request = await self._in_thread(requests.parse, served, kind, query, body, self.limits)
        return await self.scores(request, large=True)

    async def scores(self, request: requests.ScoreRequest, *, large: bool = False) -> Answer:
        """Return the answer to a request that has been parsed."""
        served = request.served
        rows, unreadable = await self._in_thread(request.rows) if large else request.rows()
        explanation = served.explanation(request.ts[0]) if request.explain else None
        units = await self.queue.score(served.units, rows)
        contributions = None if explanation is None else await self.queue.score(explanation, rows)
        if large:
            answer = await self._in_thread(requests.answer, request, units, contributions, unreadable)
        else:
            answer = requests.answer(request, units, contributions, unreadable)
        kind = requests.ARROW if request.arrow else JSON
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


Load: TypeAlias = Callable[[Path], CentralityModel | Timeline]  # picklable

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
    """Counts the bytes of answers that clients have not read yet; `has_space` is set while there are not too many."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self.has_space = asyncio.Event()
        self.has_space.set()

    def put(self, answer: Answer) -> None:
        """Add an answer that waits to be sent."""
        self._add(sum(map(len, answer.pieces)))

    def remove(self, answer: Answer) -> None:
        """Remove an answer that was sent, or never will be."""
        self._add(-sum(map(len, answer.pieces)))

    def _add(self, size: int) -> None:
        self._bytes += size
        if self._bytes <= self._max_bytes:
            self.has_space.set()
        else:
            self.has_space.clear()


class Worker:
    """Answers large requests in a process of its own, which starts with the service, and again if it has ended."""

    def __init__(self, load: Load, limits: Limits, scored_together: Callable[[int, int], None]) -> None:
        self._load = load
        self._limits = limits
        self._scored_together = scored_together
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
                self._process = await WorkerProcess.start(
                    served, self._load, self._limits, self._scored_together, self.outgoing
                )
            return self._process

    async def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            await self._process.end()


class WorkerProcess:
    """Communicates with one process, which has one version of the model."""

    def __init__(
        self, process: "subprocess.Popen[bytes]", version: str, channel: Channel, outgoing: OutgoingBuffer
    ) -> None:
        self.process = process
        self.version = version
        self._channel = channel
        self._outgoing = outgoing
        self._receiving: asyncio.Task[None] | None = None
        self.ended = False
        self.waiting = 0  # rows
        self._retired = False
        self._ready_by = asyncio.get_running_loop().time() + START_SECONDS
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Answer]] = {}
        self._cancelled: set[int] = set()  # the process is killed unless it sends messages until it has dropped these
        self._kill_timer: asyncio.TimerHandle | None = None

    @classmethod
    async def start(
        cls,
        served: ServedModel,
        load: Load,
        limits: Limits,
        scored_together: Callable[[int, int], None],
        outgoing: OutgoingBuffer,
    ) -> "WorkerProcess":
        """Start a process, make it load the model, and receive its messages from now on."""
        ours, theirs = socket.socketpair()
        path = os.pathsep.join(part for part in sys.path if part)
        process = subprocess.Popen(
            [sys.executable, "-m", "centrality.apps.service.large_requests", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env=os.environ | ENVIRONMENT | {"PYTHONPATH": path},
        )
        theirs.close()
        started = cls(process, served.version, await Channel.over(ours), outgoing)
        started._channel.send(SETUP, pieces=[pickle.dumps((load, limits, served.version, served.content))])
        started._receiving = asyncio.create_task(started.receive(scored_together))
        return started

    async def answer(self, kind: str, query: bytes, pieces: Sequence[bytes]) -> Answer:
        """Return the process's answer; if the caller is cancelled, make the process drop the request."""
        number = next(self._numbers)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        self._channel.send(ASK, number, [kind, query.decode("latin-1")], pieces)
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.cancelled():
                self._channel.send(CANCEL, number)
                self._cancelled.add(number)
                self._reset_kill_timer()
            elif answer.exception() is None:  # it arrived at the same moment
                self._outgoing.remove(answer.result())
            raise
        finally:
            del self._answers[number]
            self._end_if_retired()

    def _reset_kill_timer(self) -> None:
        """Restart the timeout of a process that has yet to drop requests."""
        if self._kill_timer is not None:
            self._kill_timer.cancel()
            self._kill_timer = None
        if self._cancelled and not self.ended:
            loop = asyncio.get_running_loop()
            self._kill_timer = loop.call_at(max(loop.time() + GRACE, self._ready_by), self.process.kill)

    async def receive(self, scored_together: Callable[[int, int], None]) -> None:
        """Receive the process's messages until it ends; then fail the requests that are not answered."""
        while (message := await self._channel.receive()) is not None:
            if message.kind == ANSWER:
                waiting = self._answers.get(message.number)
                if waiting is not None and not waiting.done():
                    status, kind, headers, self.waiting = message.fields
                    pairs = tuple((name.encode(), value.encode()) for name, value in headers)
                    answer = Answer(status, kind, message.pieces, pairs)
                    self._outgoing.put(answer)
                    waiting.set_result(answer)
                await self._outgoing.has_space.wait()
            elif message.kind == BATCH:
                requests, rows, self.waiting = message.fields
                scored_together(requests, rows)
            elif message.kind == FREED:
                (self.waiting,) = message.fields
                self._cancelled.remove(message.number)
                self._end_if_retired()
            else:
                self._ready_by = 0.0
            self._reset_kill_timer()
        self.ended = True
        self.waiting = 0
        self._reset_kill_timer()
        for waiting in self._answers.values():
            if not waiting.done():
                waiting.set_exception(RequestError(503, LOST))
        await self.end()

    def retire(self) -> None:
        """Answer the requests that were sent, then end."""
        self._retired = True
        self._end_if_retired()

    def _end_if_retired(self) -> None:
        if self._retired and not self._answers and not self._cancelled:
            self._channel.close()

    async def end(self) -> None:
        """Close the channel, and make sure that the process has ended."""
        self._channel.close()
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(self.process.wait, END_SECONDS)
        self.process.kill()
        self.process.wait()
