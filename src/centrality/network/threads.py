"""Hold torch to fewer threads, for one caller alone."""

import ctypes
import os
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path

import torch

# A forked child has none of its parent's threads, but OpenMP waits for them for ever: it computes with its own alone.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))

Undo = Callable[[], object]


class threads:  # noqa: N801 (a context manager, and quicker than a generator made into one)
    """Use no more than `most` threads within the caller's torch operations; give how many there were before.

    `torch.set_num_threads` sets the number of the thread that calls it, and also the one that every other thread takes
    over, for good, when it first touches torch. If we lowered that, a thread that begins while another scores would
    keep one thread for ever. So the caller's own number alone is set, in the libraries below torch.
    """

    __slots__ = ("_most", "_undo")

    def __init__(self, most: int) -> None:
        self._most = most if most > 1 else 1

    def __enter__(self) -> int:
        before, self._undo = (_lower_mine() or SHARED_NUMBER.lower)(self._most)
        return before

    def __exit__(self, *_: object) -> None:
        self._undo()


@cache
def _lower_mine() -> Callable[[int], tuple[int, Undo]] | None:
    """Return what lowers only the calling thread's number, in OpenMP and MKL; None if torch ignores those."""
    openmp, mkl = _function("omp_set_num_threads"), _function("MKL_Set_Num_Threads_Local")
    if openmp is None or (mkl is None and torch.backends.mkl.is_available()):  # type: ignore[no-untyped-call]
        return None
    before = torch.get_num_threads()
    openmp(before + 1)
    goes_by_it = torch.get_num_threads() == before + 1
    openmp(before)
    if not goes_by_it:
        return None

    def lower(most: int) -> tuple[int, Undo]:
        before = torch.get_num_threads()  # this makes the thread known to torch, which then leaves its number alone
        if before <= most:
            return before, int
        openmp(most)
        if mkl is None:
            return before, lambda: openmp(before)
        mkls = mkl(most)  # what it was before: 0 for "as everywhere"
        return before, lambda: (openmp(before), mkl(mkls))

    return lower


def _function(name: str) -> Callable[[int], int] | None:
    """Return a C function from int to int, of torch's own library or of those it is linked with."""
    try:
        # PyDLL: a call so short is over before the interpreter's lock could be given away.
        library = ctypes.PyDLL(str(next(Path(torch.__file__).parent.glob("lib/*torch_cpu.*"))))
        found = getattr(library, name)
    except (StopIteration, OSError, AttributeError):
        return None
    found.argtypes, found.restype = [ctypes.c_int], ctypes.c_int
    return found  # type: ignore[no-any-return]


class SharedNumber:
    """Lower the process's number of threads, where a thread's own number cannot be set.

    The first thread to enter notes the number. A thread that is new to torch finds what others have lowered; when it
    leaves, it sets what the first one noted.
    """

    def __init__(self) -> None:
        self._lock, self._mine = threading.Lock(), threading.local()
        self._inside = self._wanted = 0

    def lower(self, most: int) -> tuple[int, Undo]:
        depth = getattr(self._mine, "depth", 0)
        with self._lock:
            if self._inside == 0:
                self._wanted = torch.get_num_threads()
            before = torch.get_num_threads() if depth else self._wanted
            self._inside += 1
            self._mine.depth = depth + 1
            torch.set_num_threads(min(before, most))

        def undo() -> None:
            with self._lock:
                self._inside -= 1
                self._mine.depth = depth
                torch.set_num_threads(before)

        return before, undo


SHARED_NUMBER = SharedNumber()
