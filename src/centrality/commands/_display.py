"""Write for a terminal: aligned tables, colour where it is shown, progress where somebody watches."""

import argparse
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeAlias

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Result: TypeAlias = dict[str, Any]  # what a command returns: plain values, which `--json` prints as they are
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
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(
            cell.ljust(w) if k in left else cell.rjust(w) for k, (cell, w) in enumerate(zip(r, widths, strict=True))
        )
        for r in (header, *rows)
    ]
    return [paint(lines[0].rstrip(), "faint"), *(line.rstrip() for line in lines[1:])]


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a figure to a file, completely or not at all."""
    from centrality._atomic import write_atomically

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

    over = threading.Event()
    with tqdm(desc=text, bar_format="{desc} ... {elapsed}", leave=False) as line:

        def tick() -> None:
            while not over.wait(0.5):
                line.refresh()

        thread = threading.Thread(target=tick, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
