"""What tests send to other processes: functions that need next to nothing, so that these start at once."""

import os
import signal
import threading
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


class MisfitError(Exception):
    """Its constructor wants two arguments and hands on one, so that pickle cannot call it."""

    def __init__(self, row: int, column: str) -> None:
        super().__init__(f"row {row} does not fit {column}")
        self.row, self.column = row, column


class HeldError(ValueError):
    """Holds what cannot be pickled, among its arguments and its attributes."""

    def __init__(self, what: str, lock: object) -> None:
        super().__init__(what, lock)
        self.what, self.lock = what, lock

    def __str__(self) -> str:
        return f"held: {self.what}"


def misfit(x: int) -> None:
    raise MisfitError(x, "width")


def held(x: int) -> None:
    raise HeldError("a door", threading.Lock())


def nobody_knows(x: int) -> None:
    class LocalError(KeyError):
        def __str__(self) -> str:
            return "no such drawer"

    raise LocalError(threading.Lock())


def gives_a_lock(x: int) -> object:
    return threading.Lock()


def threads(_: int) -> int:
    import torch

    return torch.get_num_threads()


def tells_its_number_and_sleeps(folder: str, x: int) -> int:
    (Path(folder) / str(os.getpid())).touch()
    time.sleep(60)
    return x
