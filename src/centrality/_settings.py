"""What the user asked for, checked: each answer says what was wanted and what came."""

from collections.abc import Sequence
from typing import Any

import torch

from centrality._numbers import positive as positive
from centrality._numbers import whole as whole


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
