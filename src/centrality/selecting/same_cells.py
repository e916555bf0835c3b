"""Find rows that agree in every cell, or in all cells but those of one column: by hashes that add up cell by cell."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]
COMMON = 0.1  # of the rows: if so many agree in all columns but one, it is that column that tells rows apart


class CellHashes:
    """Holds a hash for each row, the sum of the hashes of its cells: without a column, it is that much less."""

    def __init__(self, table: pa.Table) -> None:
        self._columns = table.columns
        self.rows: Hashes = np.zeros(table.num_rows, dtype=np.uint64)
        for number, column in enumerate(self._columns):
            self.rows += _hashed(column, number)

    def exact(self) -> NDArray[np.intp]:  # (n,)
        """Return for each row the first row that agrees with it in every cell: itself, where there is none before."""
        return _first_alike(self.rows)

    def but_one(self, rows: NDArray[np.intp]) -> Iterator[tuple[int, list[NDArray[np.intp]]]]:
        """Yield each column, by number, without which some of these rows agree, and the groups of those that do."""
        for number, column in enumerate(self._columns if len(self._columns) > 1 else []):
            rest = (self.rows - _hashed(column, number))[rows]
            order = np.argsort(rest, kind="stable")
            starts = np.flatnonzero(np.append(True, np.diff(rest[order]) != 0))
            groups = [group for group in np.split(order, starts[1:]) if len(group) > 1]
            if groups and sum(map(len, groups)) <= COMMON * len(rows):
                yield number, [np.sort(rows[group]) for group in groups]


def _hashed(column: pa.ChunkedArray, number: int) -> Hashes:
    """Return a hash for each cell of a column; a gap is a value like others."""
    if not (pa.types.is_dictionary(column.type) or _is_plain_number(column)):
        column = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    if _is_plain_number(column):
        bits = (column.to_numpy().astype(np.float64) + 0.0).view(np.uint64)  # + 0.0: a zero has no sign
    else:
        codes = column.indices if hasattr(column, "indices") else column.combine_chunks().indices
        bits = codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
    return _mixed(bits + np.uint64((number + 1) * 0x9E3779B97F4A7C15 % (1 << 64)))


def _is_plain_number(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_floating(column.type)) and column.null_count == 0


def _mixed(bits: Hashes) -> Hashes:
    """Return numbers in which every bit depends on all bits of those given: the finisher of splitmix64."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _first_alike(hashes: Hashes) -> NDArray[np.intp]:
    _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
    return np.asarray(first[group], dtype=np.intp)
