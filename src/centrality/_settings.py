"""What the user asked for, checked: each answer says what was wanted and what came; and where to compute."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any

import torch


def whole(name: str, value: Any, at_least: int = 1) -> int:
    """`value` as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < at_least:
        raise ValueError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)


def positive(name: str, value: Any, or_zero: bool = False) -> float:
    """`value` as a finite float above zero."""
    number = float("nan") if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not (0 < number < float("inf") or (or_zero and number == 0)):
        raise ValueError(f"{name} must be a {'number of at least' if or_zero else 'number above'} 0, got {value!r}.")
    return number


def widths(hidden: Any) -> tuple[int, ...]:
    """The encoder's layer widths."""
    if not isinstance(hidden, Sequence) or isinstance(hidden, str) or len(hidden) == 0:
        raise ValueError(f"hidden must be the widths of one or more layers, such as (128, 128), got {hidden!r}.")
    return tuple(whole("each width in hidden", width) for width in hidden)


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
