"""Choose where to compute, and on how many cores. Devices have torch's names; torch is asked only for a GPU."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from centrality._internal.checks import InputError, optional

Result = TypeVar("Result")
NAMES = "auto, cpu, cuda, cuda:<number> or mps"


def find_device(name: str) -> str:
    """Return the device of this name; raise if this machine lacks it, rather than take another one."""
    kind, colon, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if kind not in ("auto", "cpu", "cuda", "mps") or (colon and (kind == "auto" or not number.isdecimal())):
        raise InputError(f"device must be {NAMES}, got {name!r}.")
    if kind in ("auto", "cpu"):
        return "cpu"
    torch = optional("torch", "torch")
    has_mps = torch.backends.mps.is_available()
    has_cuda = torch.cuda.is_available() and int(number or 0) < torch.cuda.device_count()
    if not (has_cuda if kind == "cuda" else has_mps):
        has = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count())), *(["mps"] if has_mps else [])]
        raise InputError(f"device {name!r} was asked for, but this machine has only: {', '.join(has)}.")
    return name


def find_encoder_device(name: str) -> str:
    """Return the device of a large encoder of texts or images; "auto" is a GPU if there is one."""
    if name != "auto":
        return find_device(name)
    return "cuda" if optional("torch", "torch").cuda.is_available() else "cpu"


def start_on_thread(work: Callable[[], Result]) -> Callable[[], Result]:
    """Start this work on another thread, if there is a core for it; return a function that waits for its result."""
    if count_threads() == 1:
        return work
    pool = ThreadPoolExecutor(1)
    begun = pool.submit(work)
    pool.shutdown(wait=False)  # the thread ends with its work
    return begun.result


def count_cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def count_threads() -> int:
    """Return how many threads compute: as many as this process has cores, or fewer as OMP_NUM_THREADS or torch says."""
    allowed = count_cores()
    with suppress(ValueError):
        allowed = min(allowed, max(1, int(os.environ.get("OMP_NUM_THREADS", allowed))))
    if (torch := sys.modules.get("torch")) is not None and hasattr(torch, "get_num_threads"):
        allowed = min(allowed, torch.get_num_threads())
    return allowed
