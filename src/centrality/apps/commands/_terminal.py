"""Talk to the terminal: colours, tables, progress, signals, closed streams."""

import argparse
import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure


Result: TypeAlias = dict[str, Any]  # what a command returns: plain values, which `--json` prints as they are
FAIL = 1  # what the process exits with where a command comes upon what --fail-on names
STYLES = {"heading": "1", "good": "32", "bad": "31", "faint": "2"}  # numbers of the ANSI escape codes
# How styles are marked in a text until it is printed: by characters that are invisible and do nothing in a terminal.
MARKS = {style: chr(0xE001 + k) for k, style in enumerate(STYLES)}
END = chr(0xE000)


def shows_progress(arguments: argparse.Namespace) -> bool:
    """Say whether progress bars are wanted: on a terminal, unless --quiet was given."""
    return sys.stderr.isatty() and not getattr(arguments, "quiet", False)


def shows_colour(stream: TextIO | None = None) -> bool:
    """Say whether the stream shows colour: a terminal that is not dumb, and no NO_COLOR in the environment."""
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def paint(text: str, style: str) -> str:
    """Return the text with marks of this style around it, which `coloured` replaces by colours or removes."""
    return f"{MARKS[style]}{text}{END}"


def coloured(text: str, *, colour: bool) -> str:
    """Replace the marks in a text by a terminal's colour codes, or remove them for a pipe or a file.

    >>> coloured(paint("Done", "good"), colour=True), coloured(paint("Done", "good"), colour=False)
    ('\\x1b[32mDone\\x1b[0m', 'Done')
    """
    for style, mark in MARKS.items():
        text = text.replace(mark, f"\033[{STYLES[style]}m" if colour else "")
    return text.replace(END, "\033[0m" if colour else "")


def aligned(header: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int] = ()) -> list[str]:
    """Return the lines of a table: columns are aligned right, except those whose numbers are in `left`."""
    widths = [max(len(row[k]) for row in (header, *rows)) for k in range(len(header))]
    lines = [
        "  ".join(
            cell.ljust(w) if k in left else cell.rjust(w) for k, (cell, w) in enumerate(zip(r, widths, strict=True))
        )
        for r in (header, *rows)
    ]
    return [paint(lines[0].rstrip(), "faint"), *(line.rstrip() for line in lines[1:])]


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure to a file, completely or not at all."""
    from centrality._internal.files import write_atomically

    with write_atomically(path) as beside:
        figure.savefig(beside)


@contextmanager
def working(text: str, arguments: argparse.Namespace) -> Iterator[None]:
    """Show on a terminal what is going on and for how long; nothing in a pipe.

    Parts of the work that know their end show a bar with the time left, in the line below.
    """
    if not shows_progress(arguments):
        yield
        return
    from tqdm import tqdm

    end = threading.Event()
    with tqdm(desc=text, bar_format="{desc} ... {elapsed}", leave=False) as line:

        def tick() -> None:
            while not end.wait(0.5):
                line.refresh()

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()


# Control characters but line breaks and tabs: they move the cursor, change colours, retitle windows, type for the user.
# And those that change the direction of writing, so that a line looks different from what it says.
COMMANDING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def harmless(text: str) -> str:
    r"""Return the text with control characters spelled out, so that they have no effect on a terminal.

    >>> harmless("red \x1b[31m")
    'red \\x1b[31m'
    """
    return COMMANDING.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def open_closed_streams() -> bool:
    """Open /dev/null for standard streams that the caller has closed; return whether stdout was one of them.

    Else the next file that is opened would take their number, and whatever a library prints would go into it.
    """
    was_closed = sys.stdout is None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: PTH123, SIM115  (to the very end)
    return was_closed


def escape_unencodable() -> None:
    """Make stdout and stderr spell out characters that they cannot encode, such as ▁ in ASCII."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def discard_stdout() -> None:
    """Redirect a broken stdout to /dev/null: else Python would print an error when it flushes it at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


AGAIN = 5.0  # seconds after which the program is interrupted again, in case something swallowed it
ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Interrupted:
    """The signal that asked the program to end; None as long as there was none."""

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
