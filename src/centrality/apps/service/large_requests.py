"""The process for large requests: `python -m centrality.apps.service.large_requests HANDLE`, started by `worker`."""

import asyncio
import os
import pickle
import signal
import socket
import sys
import tempfile
from pathlib import Path

from centrality.apps.service import worker
from centrality.apps.service.model import ServedModel, served_model
from centrality.apps.service.queue import Limits
from centrality.apps.service.requests import answer_of
from centrality.apps.service.worker import RequestScorer

NICENESS = 5  # small requests go first where there are too few cores


class LargeRequests:
    """Answers the requests that come over the channel."""

    def __init__(self, channel: worker.Channel, served: ServedModel, limits: Limits) -> None:
        self._channel = channel
        self._served = served
        self._scorer = RequestScorer(
            limits,
            lambda requests, rows: channel.send(worker.BATCH, 0, [requests, rows, self._scorer.queue.waiting]),
        )
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._cancelling: set[asyncio.Task[None]] = set()

    async def serve(self) -> bool:
        """Answer requests until the channel closes; return whether all were answered."""
        while (message := await self._channel.receive()) is not None:
            if message.kind == worker.ASK:
                self._tasks[message.number] = asyncio.create_task(self._answer(message))
            else:
                task = asyncio.create_task(self._cancel(message.number))
                self._cancelling.add(task)
                task.add_done_callback(self._cancelling.discard)
        return not self._tasks and not self._cancelling

    async def _answer(self, message: worker.Message) -> None:
        try:
            kind, query = message.fields
            body = b"".join(message.pieces)
            message.pieces.clear()
            work = self._scorer.answer(self._served, kind, query.encode("latin-1"), body)
            answer = await answer_of(work, "/score")
            assert isinstance(answer.body, bytes)
            headers = [(name.decode(), value.decode()) for name, value in answer.headers]
            fields = [answer.status, answer.content_type, headers, self._scorer.queue.waiting]
            self._channel.send(worker.ANSWER, message.number, fields, [answer.body])
        finally:
            del self._tasks[message.number]

    async def _cancel(self, number: int) -> None:
        """Cancel a request, and send a message when the threads have finished their current work."""
        task = self._tasks.get(number)
        if task is not None:
            task.cancel()
        await self._scorer.freed()
        self._channel.send(worker.FREED, number, [self._scorer.queue.waiting])


async def main(handle: int) -> bool:
    """Load the model that the first message holds, and answer all other messages."""
    channel = await worker.Channel.over(socket.socket(fileno=handle))
    message = await channel.receive()
    if message is None:
        return True
    load, limits, version, content = pickle.loads(b"".join(message.pieces))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.safetensors")
        path.write_bytes(content)
        served = served_model(load(path), version)
    bound_memory(limits.memory_bytes)
    channel.send(worker.READY)
    return await LargeRequests(channel, served, limits).serve()


def bound_memory(more_bytes: int) -> None:
    """Limit this process to so many bytes more than it uses now, if the system supports that."""
    status = Path("/proc/self/status")
    if status.exists():
        import resource

        kilobytes = next(line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmData"))
        limit = 1024 * int(kilobytes) + more_bytes
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


if __name__ == "__main__":
    for _number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(_number, signal.SIG_IGN)  # the service ends this process when it has its answers
    os.nice(NICENESS)
    if not asyncio.run(main(int(sys.argv[1]))):
        os._exit(0)  # the service is gone: nobody waits for the threads' results
