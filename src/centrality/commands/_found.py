"""Show the rows that a command has found: in the terminal the first ones, in a file all of them."""

import argparse
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from centrality.commands._arguments import require_output

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel


def rows_output(command: argparse.ArgumentParser, what: str) -> None:
    """Add to a command the file that takes all rows found."""
    command.add_argument("-o", "--output", type=Path, metavar="ROWS", help=f"write {what} there")


def require_rows_output(arguments: argparse.Namespace, *inputs: str | Path | None) -> None:
    """Raise if the file asked for, if any, cannot be written: before the work, not after it."""
    from centrality import tables

    if arguments.output is not None:
        tables.kind_to_write(arguments.output)
        require_output(arguments.output, *inputs)


def the_rest(result: Mapping[str, Any], found: int, shown: int, name: str) -> list[str]:
    """Return the last lines: how many rows or groups are not shown, and where all of them are."""
    lines = []
    if shown < found:
        lines.append(f"... and {found - shown:,} more" + ("" if "file" in result else ": -o ROWS writes them all"))
    return [*lines, f"{name}: {result['file']}"] if "file" in result else lines


@contextmanager
def said_already() -> Iterator[None]:
    """Say nothing of the data again: some of its rows are read a second time."""
    from centrality.tables.unreadable import DataNote

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        yield


def columns_to_print(model: "CentralityModel") -> list[str] | None:
    """Return the one column that says what a row is, where that is a text or an image; else None."""
    from centrality.model.reader import reader_of

    reading = reader_of(model).reading()
    return reading.columns if reading.kind in ("text", "images") else None
