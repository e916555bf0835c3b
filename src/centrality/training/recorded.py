"""Record a step of training on a GPU once, and replay it."""

from collections.abc import Callable

import torch


class Recorded:
    """Call a step again and again: on a GPU it is recorded once and replayed, elsewhere simply called.

    The step must find and leave everything in the same memory. Its first calls are plain ones, in which libraries set
    themselves up.
    """

    PLAIN_CALLS = 3

    def __init__(self, step: Callable[[], None], device: torch.device, *, able: bool = True) -> None:
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
