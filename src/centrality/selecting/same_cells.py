"""Find rows that agree in every cell, or in all but one, by comparing sums of the cells' hashes.

Rows of few values agree in all columns but one by chance, too. The number of such pairs is estimated from those that
differ in that column and in another one: if a share s of all pairs agrees in the other one, s / (1 - s) times as many
agree there.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from centrality.tables.columns import is_number, is_text

Hashes = NDArray[np.uint64]
BY_CHANCE = 0.05  # of the pairs that agree but for a column: if more do so by chance, none of them are called copies
TELLING = 3  # columns, those in which the fewest pairs agree, that say how many do by chance
HARDLY_REPEATED = 0.9  # of the cells of a column differ from all others: what agrees there may be copies
DECIMALS = 6  # numbers with more of them do not agree by chance


class CellHashes:
    """Hold a hash for each row, the sum of the hashes of its cells; subtracting a cell's hash leaves out its column."""

    def __init__(self, table: pa.Table) -> None:
        self._columns = table.columns
        self.rows: Hashes = np.zeros(table.num_rows, dtype=np.uint64)
        for number, column in enumerate(self._columns):
            self.rows += _hashed(column, number)

    def exact(self) -> NDArray[np.intp]:  # (n,)
        """Return for each row the first row that agrees with it in every cell; this may be the row itself."""
        return _first_alike(self.rows)

    def but_one(self, rows: NDArray[np.intp]) -> Iterator[tuple[int, list[NDArray[np.intp]]]]:
        """Yield each column, by number, that alone differs between some rows, and the groups of these rows.

        No two of the rows may agree in every cell. Columns for which such groups arise by chance are left out.
        """
        found = {number: groups_alike(self._without(rows, number)) for number in range(len(self._columns))}
        found = {number: groups for number, groups in found.items() if groups} if len(found) > 1 else {}
        if not found:
            return
        pairs = {number: sum(len(group) * (len(group) - 1) / 2 for group in groups) for number, groups in found.items()}
        shares = [self._agreeing(rows, number) for number in range(len(self._columns))]
        for number, groups in found.items():
            if self._by_chance(rows, number, pairs, shares) <= BY_CHANCE * pairs[number]:
                yield number, [rows[group] for group in groups]

    def _without(self, rows: NDArray[np.intp], *numbers: int) -> Hashes:
        """Return the hashes of these rows without those of some columns."""
        hashes = self.rows[rows]
        for number in numbers:
            hashes = hashes - self._of(rows, number)
        return hashes

    def _of(self, rows: NDArray[np.intp], number: int) -> Hashes:
        return _hashed(self._columns[number], number)[rows]

    def _agreeing(self, rows: NDArray[np.intp], number: int) -> float:
        """Return the share of all pairs of rows that agree in this column by chance."""
        hashes, column = self._of(rows, number), self._columns[number]
        is_hardly_repeated = len(np.unique(hashes)) >= HARDLY_REPEATED * len(rows)
        if is_hardly_repeated and is_text(column.type):
            return 0.0
        if is_hardly_repeated and is_number(column.type):
            return _agreeing_when_rounded(column.cast(pa.float64(), safe=False).drop_null().to_numpy())
        return _pairs(hashes) / (len(rows) * (len(rows) - 1) / 2)

    def _by_chance(self, rows: NDArray[np.intp], number: int, pairs: dict[int, float], shares: list[float]) -> float:
        """Return the largest of some estimates of how many pairs of rows agree by chance in all other columns."""
        others = [other for other in np.argsort(shares, kind="stable").tolist() if other != number]
        others = [other for other in others if shares[other] < 1]
        if not others:  # all other columns hold one value
            return pairs[number]
        estimates = [0.0]
        for other in (other for other in others[:TELLING] if shares[other] > 0):
            differ_in_both = _pairs(self._without(rows, number, other)) - pairs[number] - pairs.get(other, 0)
            estimates.append(differ_in_both * shares[other] / (1 - shares[other]))
        return max(estimates)


def _hashed(column: pa.ChunkedArray, number: int) -> Hashes:
    """Return a hash for each cell of a column; a missing value is a value like others."""
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


def groups_alike(hashes: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the groups of two or more positions with the same hash or value; groups and their positions are sorted."""
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(hashes[order]) != 0))
    sizes = np.diff(np.append(starts, len(order)))
    groups = [order[starts[which] : starts[which] + sizes[which]] for which in np.flatnonzero(sizes > 1)]
    return sorted(groups, key=lambda group: int(group[0]))


def _pairs(hashes: Hashes) -> float:
    """Return how many pairs have the same hash."""
    sizes = np.unique(hashes, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1)).sum() / 2)


def _agreeing_when_rounded(values: NDArray[np.float64]) -> float:
    """Return how often two numbers agree only because they are rounded: the step over twice the middle half's width.

    >>> _agreeing_when_rounded(np.arange(101.0))  # 101 whole numbers
    0.01
    """
    low, high = np.quantile(values, [0.25, 0.75]) if len(values) else (0.0, 0.0)
    for decimals in range(DECIMALS + 1 if high > low else 0):
        step = 10.0**-decimals
        if np.mean(np.abs(values - np.round(values, decimals)) < 1e-6 * step) > 0.99:
            return float(min(0.5 * step / (high - low), 1.0))
    return 0.0
