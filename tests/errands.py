"""What tests send to other processes: functions that need next to nothing, so that these start at once."""

import os
import signal
import time
from pathlib import Path


def slow_square(x: int) -> int:
    time.sleep(0.05)
    return x * x


def killed_once(path: str, x: int) -> int:
    """Ends its process the first time it sees 3, as a kernel short of memory would."""
    if x == 3 and not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def killed_by_three(x: int) -> int:
    if x == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return x


def refuses_three(x: int) -> int:
    from centrality.tables import TableError

    if x == 3:
        raise TableError("no threes")
    return x


def threads(_: int) -> int:
    import torch

    return torch.get_num_threads()
