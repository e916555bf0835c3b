"""Show the rows that a command has found: the first ones in the terminal, all of them in a file."""

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
    """Add to a command the option for a file of all rows found."""
    command.add_argument("-o", "--output", type=Path, metavar="ROWS", help=f"write {what} there")


def require_rows_output(arguments: argparse.Namespace, *inputs: str | Path | None) -> None:
    """Raise if the file of rows, if one is wanted, cannot be written. It is called before the work begins."""
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
    """Silence warnings about the data in the block, where rows are read a second time."""
    from centrality.tables.unreadable import DataNote

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        yield


def columns_to_print(model: "CentralityModel") -> list[str] | None:
    """Return the column of texts or images, if the model reads one, else None: all columns are printed."""
    from centrality.model.reader import reader_of

    reading = reader_of(model).reading()
    return reading.columns if reading.kind in ("text", "images") else None
