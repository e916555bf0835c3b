"""Give each row a key that does not change when rows are reordered, added or removed; marks are kept under it."""

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import cast, overload

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality import tables
from centrality._checks import InputError

LETTERS = b"abcdefghijklmnopqrstuvwxyz234567"
BETWEEN, GAP = "\x1f", "\x00"  # what stands between two cells, and for none


def row_keys(table: pa.Table, column: str | None = None) -> tuple[str, ...]:
    """Return a key for each row: its cell in a column that tells all rows apart, else a fingerprint of all its cells.

    Rows whose cells are all equal are told apart by their order: the second one's key ends in "-2".

    >>> import pyarrow as pa
    >>> row_keys(pa.table({"id": [7, 9], "size": [1.5, 2.5]}), "id")
    ('7', '9')
    """
    if column is None:
        return fingerprints(_joined_cells(table))
    cells = cell_texts(tables.select(table, [column])[column]).to_pylist()
    first: dict[str, int] = {}
    for row, cell in enumerate(cells):
        if not cell:
            raise InputError(f"A key needs a value in each row, but {column!r} has none in row {row:,}. {_INSTEAD}")
        if (before := first.setdefault(cell, row)) != row:
            raise InputError(
                f"A key is another in each row, but {column!r} has {cell!r} in rows {before:,} and {row:,}. {_INSTEAD}"
            )
    return tuple(cells)


_INSTEAD = "Name another column, or none: rows are then known by all their cells."


class LateKeys(Sequence[str]):
    """Holds keys that are made when the first of them is asked for: those of a million rows take seconds."""

    def __init__(self, count: int, make: Callable[[], tuple[str, ...]]) -> None:
        self._count, self._make, self._made = count, make, None
        self._lock = Lock()

    _made: tuple[str, ...] | None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> tuple[str, ...]: ...
    def __getitem__(self, row: int | slice) -> str | tuple[str, ...]:
        with self._lock:
            if self._made is None:
                self._made = self._make()
        return self._made[row]


def fingerprints(rows: Iterable[bytes]) -> tuple[str, ...]:
    """Return a text of twelve letters and digits for each row's bytes; repeats get a number at the end."""
    digests = b"".join([hashlib.blake2b(row, digest_size=10).digest() for row in rows])
    first_eight = np.frombuffer(digests, dtype=np.uint8).reshape(-1, 10)[:, :8].tobytes()
    keys: list[str] = _in_base_32(first_eight).tolist()
    if len(set(keys)) == len(keys):
        return tuple(keys)
    seen: Counter[str] = Counter()
    for k, text in enumerate(keys):
        seen[text] += 1
        keys[k] = text if seen[text] == 1 else f"{text}-{seen[text]}"
    return tuple(keys)


def _in_base_32(eight_bytes: bytes) -> NDArray[np.str_]:
    """Return the first sixty bits of each eight bytes as twelve letters and digits, as `base64.b32encode` does."""
    bits = np.frombuffer(eight_bytes, dtype=">u8").astype(np.uint64)
    places = np.arange(59, 0, -5, dtype=np.uint64)
    letters = np.frombuffer(LETTERS, dtype=np.uint8)[((bits[:, None] >> places) & np.uint64(31)).astype(np.intp)]
    return letters.view("S12")[:, 0].astype(str)


def _joined_cells(table: pa.Table) -> Iterable[bytes]:
    """Return the cells of each row as one text; the order of the columns does not matter."""
    with ThreadPoolExecutor(os.cpu_count()) as threads:  # Arrow lets others compute meanwhile
        columns = list(threads.map(lambda name: cell_texts(_one_unit(table[name])), sorted(table.column_names)))
    between = pa.scalar(BETWEEN, pa.large_string())
    joined = pc.binary_join_element_wise(*columns, between, null_handling="replace", null_replacement=GAP)
    return cast("list[bytes]", joined.cast(pa.large_binary()).to_pylist())


def _one_unit(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert moments to microseconds, so that their texts do not depend on the unit of the file format."""
    kind = column.type
    return column.cast(pa.timestamp("us", kind.tz), safe=False) if pa.types.is_timestamp(kind) else column


def cell_texts(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells as texts; missing ones stay missing."""
    if pa.types.is_dictionary(column.type):
        return cell_texts(column.cast(column.type.value_type))
    try:
        return column.cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # lists, records, bytes that are no text
        return pa.chunked_array(
            [[None if cell is None else str(cell) for cell in column.to_pylist()]], pa.large_string()
        )
