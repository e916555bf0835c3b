"""End the program cleanly on Ctrl-C, on SIGTERM, or when its terminal closes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 5.0  # seconds after which the program is interrupted again, in case something swallowed it
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted:
    """Hold the signal that asked the program to end; None as long as there was none."""

    def __init__(self) -> None:
        self.by: int | None = None

    @property
    def status(self) -> int:
        """Return the exit status that shells report for a program ended by this signal."""
        return 128 + (self.by or signal.SIGINT)


@contextmanager
def ending_in_order() -> Iterator[Interrupted]:
    """Raise KeyboardInterrupt in the block when the program is asked to end, so that half-written files are removed.

    An interrupt may come where Python ignores exceptions, as in a destructor or a callback: then it is raised again.
    """
    interrupted = Interrupted()
    if threading.current_thread() is not threading.main_thread():  # only the main thread may set handlers
        yield interrupted
        return

    def end(number: int, _: FrameType | None) -> None:
        interrupted.by = interrupted.by or number
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise KeyboardInterrupt

    watched = [*ENDING, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    before = {number: signal.getsignal(number) for number in watched}
    for number in watched:
        if before[number] is not signal.SIG_IGN or number not in ENDING:  # so that `nohup` and `&` still work
            signal.signal(number, end)
    try:
        yield interrupted
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
