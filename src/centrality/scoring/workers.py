"""Worker processes on this machine: each takes an item, gives back what the work makes of it, and takes the next.

They are programs of their own (`python -m centrality.scoring.workers`), not forks: nothing of the caller is shared, and
threads inside numpy and torch are held to one before these are imported. A worker that is killed is replaced, and its
item given to another.
"""

import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from centrality.scoring.failures import Failure

MOST_DEATHS = 3  # of workers with one item in hand: then the item is to blame
SURROUNDINGS = {
    # One thread each: there is a worker for every core.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"),
    # What Arrow frees goes back to the machine at once: 100 MiB less a worker. What a block of rows needs stays with
    # the process, since the next one needs it again: a fifth of the time went into getting it anew.
    "MIMALLOC_PURGE_DELAY": "0",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}


Answer = tuple[bool, Any, list[str]]  # whether the work was done, its result or a Failure, and notes


def cores() -> int:
    """How many this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(work: Callable[[Any], Any], items: Sequence[Any], workers: int) -> Generator[tuple[Any, Any]]:
    """Each item and what `work` makes of it, as they get done. `work`, items and results must be picklable."""
    waiting, deaths = deque(enumerate(items)), Counter[int]()
    busy: dict[Any, Worker] = {}
    said: set[str] = set()
    try:
        while waiting or busy:
            for _ in range(min(workers - len(busy), len(waiting))):
                worker = Worker(work, *waiting.popleft())
                busy[worker.pipe] = worker
            for pipe in wait(list(busy)):
                worker = busy[pipe]
                answer = worker.answer()
                if answer is None:
                    del busy[pipe]
                    deaths[worker.number] += 1
                    if deaths[worker.number] == MOST_DEATHS:
                        raise ChildProcessError(worker.epitaph())
                    waiting.append((worker.number, worker.item))
                    continue
                yield worker.item, result_of(answer, said)
                if waiting:
                    worker.give(*waiting.popleft())
                else:
                    busy.pop(pipe).end()
    finally:
        for worker in busy.values():
            worker.stop()


def result_of(answer: Answer, said: set[str]) -> Any:
    done, result, notes = answer
    if not done:
        raise result.error()
    for note in notes:
        if note not in said:  # each worker notes for itself what all of them see
            said.add(note)
            warnings.warn(note, stacklevel=3)
    return result


class Worker:
    """The caller's side of one process."""

    def __init__(self, work: Callable[[Any], Any], number: int, item: Any) -> None:
        self.pipe, theirs = Pipe()
        path = os.pathsep.join(part for part in sys.path if part)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "centrality.scoring.workers", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # it belongs to the caller
            env=os.environ | SURROUNDINGS | {"PYTHONPATH": path},
        )
        theirs.close()
        self._send(work)
        self.give(number, item)

    def give(self, number: int, item: Any) -> None:
        self.number, self.item = number, item
        self._send(item)

    def _send(self, what: Any) -> None:
        with suppress(BrokenPipeError):  # it has died: `answer` will say so
            self.pipe.send_bytes(pickle.dumps(what))  # `send` would leave torch's tensors in shared memory

    def answer(self) -> Answer | None:
        """None if the process died."""
        try:
            return pickle.loads(self.pipe.recv_bytes())  # type: ignore[no-any-return]
        except (EOFError, OSError):
            self.process.wait()
            self.pipe.close()
            return None

    def epitaph(self) -> str:
        code = self.process.returncode
        how = f"was killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with {code}"
        return (
            f"A worker process {how} {MOST_DEATHS} times over {self.item}. "
            "If memory ran out, use fewer --workers, or --split to make units smaller."
        )

    def end(self) -> None:
        """Nothing more to do: it sees the end of the pipe and goes."""
        self.pipe.close()
        self.process.wait()

    def stop(self) -> None:
        """Now, in the middle of its work, which it takes back."""
        self.process.terminate()
        self.end()


def main(handle: int) -> None:
    """The other side: work, then items, until the pipe ends."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that half-written files are removed
    pipe = Connection(handle)
    try:
        work = pickle.loads(pipe.recv_bytes())
        while True:
            answer = outcome(work, pickle.loads(pipe.recv_bytes()))
            try:
                content = pickle.dumps(answer)
            except Exception as error:  # a result that cannot travel
                content = pickle.dumps((False, Failure.of(error), []))
            pipe.send_bytes(content)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)


def outcome(work: Callable[[Any], Any], item: Any) -> Answer:
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("default", UserWarning)
        try:
            result = work(item)
        except Exception as error:  # the caller's to judge, whatever it is
            return False, Failure.of(error), []
    return True, result, [str(note.message) for note in notes if issubclass(note.category, UserWarning)]


if __name__ == "__main__":
    main(int(sys.argv[1]))
