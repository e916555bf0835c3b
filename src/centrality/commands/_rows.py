"""Find rows of a table by their number, counted from 0, or by a text that one of their cells holds."""

import argparse
from typing import TYPE_CHECKING

from centrality._checks import InputError

if TYPE_CHECKING:
    import pyarrow as pa


def row_names(text: str) -> list[str]:
    """Read numbers or names of rows that are separated by commas."""
    names = [part.strip() for part in text.split(",")]
    if "" in names or any(name.startswith("-") and name[1:].isdecimal() for name in names):
        raise argparse.ArgumentTypeError(f"row numbers from 0 on, or names of rows, were wanted, got {text}")
    return names


def rows_called(names: list[str], table: "pa.Table") -> list[int]:
    """Return the numbers of the rows with these numbers or names; raise if a name fits no row, or more than one."""
    return [_row_called(name, table) for name in names]


def _row_called(name: str, table: "pa.Table") -> int:
    if name.isdecimal():
        if int(name) >= table.num_rows:
            raise InputError(f"--rows counts from 0 to {table.num_rows - 1} here, got {name}.")
        return int(name)
    rows = sorted({row for column in table.itercolumns() for row in _rows_with(name, column)})
    if len(rows) != 1:
        found = "none holds it" if not rows else f"{len(rows):,} rows hold it, the first are {rows[:3]}"
        raise InputError(
            f"--rows: a number from 0 to {table.num_rows - 1} was wanted, or a text that one row holds, "
            f"got {name}: {found}."
        )
    return rows[0]


def _rows_with(text: str, column: "pa.ChunkedArray") -> list[int]:
    import pyarrow as pa
    from pyarrow import compute

    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return []
    found: list[int] = compute.indices_nonzero(compute.equal(column, text)).to_pylist()
    return found
