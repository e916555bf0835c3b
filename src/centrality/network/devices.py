"""Choose where to compute, and on how many cores. Devices have torch's names; torch is asked only if need be.

No GPU, no need: a machine without one, or a user who says "cpu", never waits for torch to be imported.
"""

import os
import sys
from contextlib import suppress
from pathlib import Path

from centrality._checks import InputError
from centrality._optional import optional

NVIDIA = (Path("/proc/driver/nvidia/version"), Path("/dev/nvidiactl"), Path("/dev/dxg"))  # dxg: Windows' Linux
NAMES = "auto, cpu, cuda, cuda:<number> or mps"


def find_device(name: str) -> str:
    """Return the device of this name; an error if this machine lacks it, never another device instead."""
    if name == "cpu" or (name == "auto" and not may_have_cuda()):
        return "cpu"
    kind, _, number = name.partition(":") if isinstance(name, str) else ("", "", "")
    if name != "auto" and (
        kind not in ("cpu", "cuda", "mps") or (number and not number.isdecimal()) or name.endswith(":")
    ):
        raise InputError(f"device must be {NAMES}, got {name!r}.")
    if kind == "cpu":
        return "cpu"
    torch = optional("torch", "torch")
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    has_mps = torch.backends.mps.is_available()
    there = torch.cuda.is_available() and int(number or 0) < torch.cuda.device_count() if kind == "cuda" else has_mps
    if not there:
        has = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count())), *(["mps"] if has_mps else [])]
        raise InputError(f"device {name!r} was asked for, but this machine has only: {', '.join(has)}.")
    return name


def is_cpu(device: str) -> bool:
    """Say whether a device is the CPU."""
    return device == "cpu"


def may_have_cuda() -> bool:
    """Say whether it is worth asking torch for a GPU: there is a driver, and torch is installed."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    driver = any(path.exists() for path in NVIDIA) or sys.platform == "win32"
    return driver and has_torch()


def has_torch() -> bool:
    """Say whether torch is installed, without importing it."""
    from importlib.util import find_spec

    return find_spec("torch") is not None


def free_memory(device: str) -> int:
    """Return how many bytes are free on a GPU."""
    return int(optional("torch", "torch").cuda.mem_get_info(device)[0])


def cores() -> int:
    """Return on how many cores to compute: all this process may use, or as many as it was told to."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with suppress(ValueError):
        allowed = min(allowed, max(1, int(os.environ.get("OMP_NUM_THREADS", allowed))))
    if (torch := sys.modules.get("torch")) is not None and hasattr(torch, "get_num_threads"):
        allowed = min(allowed, torch.get_num_threads())
    return allowed
