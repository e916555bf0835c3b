"""Where to compute, and with how many threads."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


def find_device(name: str) -> torch.device:
    """The device of this name, if this machine has it: never another one in its place."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise ValueError(f"device must be auto, cpu, cuda, cuda:<number> or mps, got {name!r}.") from None
    there = {
        "cpu": True,
        "cuda": torch.cuda.is_available() and (device.index or 0) < torch.cuda.device_count(),
        "mps": torch.backends.mps.is_available(),
    }
    if not there.get(device.type, False):
        has = ["cpu", *(f"cuda:{k}" for k in range(torch.cuda.device_count())), *(["mps"] if there["mps"] else [])]
        raise ValueError(f"device {name!r} was asked for, but this machine has only: {', '.join(has)}.")
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
