"""Run work in other processes, and bring back results, warnings and errors.

They are programs of their own (`python -m centrality._internal.processes`), not forks: they share nothing with the
caller, and numpy and torch are limited to one thread before they are imported. A worker that is killed is replaced, and
another one does its item.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings
from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Generic, TypeAlias, TypeVar

Result = TypeVar("Result")

# An error's type, the arguments that it hands to its base class, and its attributes.
ErrorParts: TypeAlias = tuple[type[BaseException], tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Success(Generic[Result]):
    """Carries the result of the work on an item, and the warnings that were raised."""

    result: Result
    warnings: list[str]


@dataclass(frozen=True)
class Failure:
    """Carries an error to another process: the error itself, or the nearest to it that can be pickled."""

    pickled: bytes
    message: str
    trace: str

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """Return the failure that carries an error just caught."""
        message = str(error)
        name = type(error).__qualname__
        attributes = {key: value for key, value in vars(error).items() if _can_be_pickled(value)}
        candidates: list[Exception | PicklableError] = [
            error,
            # For errors whose constructor takes other arguments than it passes on, or with unpicklable attributes.
            PicklableError(type(error), error.args, attributes),
            PicklableError(type(error), (message,), attributes),
            # For types that the other process does not know: the nearest base class, with the name in the message.
            *(PicklableError(kind, (f"{name}: {message}",), {}) for kind in type(error).__mro__[1:]),
        ]
        trace = "".join(traceback.format_exception(error))
        return cls(next(filter(None, map(_pickled, candidates))), f"{name}: {message}", trace)

    def error(self) -> BaseException:
        """Return the error, with a note of where in the other process it was raised."""
        try:
            error: BaseException = pickle.loads(self.pickled)
        except Exception:  # noqa: BLE001  (a module that is missing here, or whatever foreign constructors raise)
            error = RuntimeError(self.message)
        error.add_note(f"In a worker process:\n{self.trace}")
        return error


Outcome: TypeAlias = Success[Result] | Failure


class PicklableError:
    """Replaces an error when pickled; unpickling makes the error again without calling its constructor."""

    def __init__(self, kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        self.parts: ErrorParts = kind, arguments, attributes

    def __reduce__(self) -> tuple[Callable[..., BaseException], ErrorParts]:
        return _make_error, self.parts

    def __str__(self) -> str:
        return str(_make_error(*self.parts))


def _make_error(kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """Make an error of this type without calling its constructor, which may want other arguments."""
    error = kind.__new__(kind, *arguments)
    vars(error).update(attributes)
    return error


def _pickled(error: Exception | PicklableError) -> bytes | None:
    """Return the pickled error, or None if it cannot be pickled or its message would change."""
    with suppress(Exception):  # whatever foreign constructors and attributes can raise
        content = pickle.dumps(error)
        if str(pickle.loads(content)) == str(error):
            return content
    return None


def _can_be_pickled(value: object) -> bool:
    """Say whether the value can be pickled and unpickled."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:  # noqa: BLE001  (foreign classes may raise anything when they are pickled)
        return False
    return True


Item = TypeVar("Item")

PATIENCE = 1.0  # seconds that a worker without a caller has to end in order
MOST_DEATHS = 3  # when so many workers died over one item, the item is the cause
ENVIRONMENT = {
    # One thread each: there is a worker for every core.
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"), "1"),
    # Memory that Arrow frees goes back to the machine at once: 100 MiB less a worker. Memory for a block of rows stays
    # with the process, since the next block needs it again: getting it anew took a fifth of the time.
    "MIMALLOC_PURGE_DELAY": "0",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(64 << 20),
}


def run(work: Callable[[Item], Result], items: Sequence[Item], workers: int) -> Generator[tuple[Item, Result]]:
    """Yield each item with the result of `work` when it is done. `work`, items and results must be picklable."""
    waiting = deque(enumerate(items))
    deaths = Counter[int]()  # by the number of the item
    busy: dict[object, Worker[Item, Result]] = {}  # by the pipe to it
    already_warned: set[str] = set()
    try:
        while waiting or busy:
            for _ in range(min(workers - len(busy), len(waiting))):
                worker: Worker[Item, Result] = Worker(work, *waiting.popleft())
                busy[worker.pipe] = worker
            for pipe in wait([worker.pipe for worker in busy.values()]):
                worker = busy[pipe]
                answer = worker.answer()
                if answer is None:
                    del busy[pipe]
                    deaths[worker.number] += 1
                    if deaths[worker.number] == MOST_DEATHS:
                        raise ChildProcessError(worker.how_it_died())
                    waiting.append((worker.number, worker.item))
                    continue
                yield worker.item, result_of(answer, already_warned)
                if waiting:
                    worker.give(*waiting.popleft())
                else:
                    busy.pop(pipe).end()
    finally:
        for worker in busy.values():
            worker.stop()


def result_of(answer: Outcome[Result], already_warned: set[str]) -> Result:
    """Return the result of an outcome and give its warnings once; raise the error if it is a failure."""
    if isinstance(answer, Failure):
        raise answer.error()
    for message in answer.warnings:
        if message not in already_warned:  # all workers give the same warnings
            already_warned.add(message)
            warnings.warn(message, stacklevel=3)
    return answer.result


class Worker(Generic[Item, Result]):
    """Communicates with one worker process, on the caller's side."""

    def __init__(self, work: Callable[[Item], Result], number: int, item: Item) -> None:
        self.pipe, theirs = Pipe()
        path = os.pathsep.join(part for part in sys.path if part)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "centrality._internal.processes", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.PIPE,  # never written to: it closes when this process is gone, for whatever reason
            process_group=0,  # Ctrl-C is handled here, and workers are told
            stdout=subprocess.DEVNULL,  # that stream carries the caller's own output
            env=os.environ | ENVIRONMENT | {"PYTHONPATH": path},
        )
        theirs.close()
        self._send(work)
        self.give(number, item)

    def give(self, number: int, item: Item) -> None:
        """Send the worker the next item."""
        self.number = number
        self.item = item
        self._send(item)

    def _send(self, what: object) -> None:
        """Send something through the pipe; if the process has died, `answer` will say so."""
        with suppress(BrokenPipeError):
            self.pipe.send_bytes(pickle.dumps(what))  # `send` would leave torch's tensors in shared memory

    def answer(self) -> Outcome[Result] | None:
        """Wait for the worker's outcome and return it; None if the process died."""
        try:
            answer: Outcome[Result] = pickle.loads(self.pipe.recv_bytes())
        except (EOFError, OSError):
            self.end()
            return None
        return answer

    def how_it_died(self) -> str:
        """Say how the process ended, over which item, and what to do."""
        code = self.process.returncode
        how = f"was killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with {code}"
        return (
            f"A worker process {how} {MOST_DEATHS} times over {self.item}. "
            "If memory ran out, use fewer --workers, or --split to make chunks smaller."
        )

    def end(self) -> None:
        """Close the pipe, so that the worker ends: there is nothing more to do."""
        self.pipe.close()
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def stop(self) -> None:
        """Stop the worker in the middle of its work; it removes its half-written files."""
        self.process.terminate()
        self.end()


def main(handle: int) -> None:
    """Run as the worker process: receive the work, then items, and send the outcome of each, until the pipe closes."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that half-written files are removed
    threading.Thread(target=end_with_caller, daemon=True).start()
    pipe = Connection(handle)
    try:
        work = pickle.loads(pipe.recv_bytes())
        while True:
            answer = outcome(work, pickle.loads(pipe.recv_bytes()))
            try:
                content = pickle.dumps(answer)
            except Exception as error:  # noqa: BLE001  (a result that cannot be pickled may raise anything)
                content = pickle.dumps(Failure.of(error))
            pipe.send_bytes(content)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        sys.exit(0)


def end_with_caller() -> None:
    """Wait until the process that started this one is gone; then end this process, in order if that is quick enough."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE)
    os._exit(1)


def outcome(work: Callable[[Item], Result], item: Item) -> Outcome[Result]:
    """Do the work on one item, and return its result and warnings, or the error."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("default", UserWarning)
        try:
            result = work(item)
        except Exception as error:  # noqa: BLE001  (the caller gets it, whatever it is, and raises it again)
            return Failure.of(error)
    return Success(result, [str(warning.message) for warning in raised if issubclass(warning.category, UserWarning)])


if __name__ == "__main__":
    # What is pickled names the module that its class belongs to: not __main__, which the caller does not know.
    from centrality._internal import processes

    processes.main(int(sys.argv[1]))
