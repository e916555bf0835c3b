"""Where to compute, and with how many threads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from centrality._checks import InputError


def find_device(name: str) -> torch.device:
    """The device of this name, if this machine has it: never another one in its place."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise InputError(f"device must be auto, cpu, cuda, cuda:<number> or mps, got {name!r}.") from None
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(device.type, False):
        has = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count())), *(["mps"] if there["mps"] else [])]
        raise InputError(f"device {name!r} was asked for, but this machine has only: {', '.join(has)}.")
    return device


@contextmanager
def threads(most: int) -> Iterator[int]:
    """No more threads than `most` within torch's operations; yields how many there were before."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, max(1, most)))
    try:
        yield before
    finally:
        torch.set_num_threads(before)


class Recorded:
    """A step that is called again and again: on a GPU recorded once and replayed, elsewhere simply called.

    The step must find and leave everything in the same memory. Its first calls are plain ones, in which libraries set
    themselves up.
    """

    PLAIN_CALLS = 3

    def __init__(self, step: Callable[[], None], device: torch.device, able: bool = True) -> None:
        self._step, self._calls = step, 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._able = able and device.type == "cuda"
        self._device = device

    def __call__(self) -> None:
        if self._graph is not None:
            self._graph.replay()
        elif not self._able:
            self._step()
        elif self._calls < self.PLAIN_CALLS:
            self._calls += 1
            # Recording wants its memory from another stream than the default.
            aside = torch.cuda.Stream(self._device)  # type: ignore[no-untyped-call]
            aside.wait_stream(torch.cuda.current_stream(self._device))
            with torch.cuda.stream(aside):
                self._step()
            torch.cuda.current_stream(self._device).wait_stream(aside)
        else:
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._step()
            self._graph.replay()  # recording has run nothing yet
