"""Find rows with equal cells, and rows that lie near each other.

Many rows are divided into cells of about a thousand by a quick k-means, and only rows of one cell are compared. A row
and its copy lie in one cell unless a border runs between them, which is rare. On one core this is many times quicker
than an index that answers any query, and finds copies as often (benchmarks/copies.py neighbours).

Rows of few different values agree in all columns but one by chance, too. How many pairs do is estimated from the pairs
that differ in this column and in a second one: if a share s of all pairs agrees in the second column, then for each
pair that differs there, s / (1 - s) pairs agree there by chance.

For near rows, let d_k be the distance of a row to its k-th neighbour. Rows that are no copies lie evenly within that
distance, so the nearest of them lies at a distance of d or less with probability 1 - (1 - u)^(k - 1), where
u = (d / d_k)^dimension. The dimension is that of the data around the row, estimated by the distances of its neighbours
(Levina and Bickel). Pairs are called copies by these p-values at a false discovery rate of 1% (Benjamini and Hochberg),
if their distance is also less than a quarter of the usual distance between neighbours. Each pair is tested once, by the
larger p-value of its two rows: of n rows, n p / 2 pairs are below p by chance. Rows of a table that share values do not
lie evenly: `coincidence` says how many of them are near by chance.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from tqdm import tqdm

from centrality.tables.columns import TableError, is_number, is_text

ONE_CELL = 5_000  # up to so many rows, every row is compared with every other
CELL = 1_000  # rows of a cell, on average
ROUNDS = 3  # of k-means
BLOCK = 2_048  # rows compared at once

Floats = NDArray[np.float32]


def nearest(
    Z: Floats, k: int, rng: np.random.Generator, *, progress: bool = False
) -> tuple[Floats, NDArray[np.intp]]:  # (n, k), (n, k)
    """Return the rising distances of each row to its k nearest others in its cell, and the numbers of these.

    If a cell holds fewer rows, the remaining distances are infinite and the numbers -1.

    >>> apart, which = nearest(np.array([[0.0], [1.0], [5.0]], dtype=np.float32), 1, np.random.default_rng(0))
    >>> apart.ravel().tolist(), which.ravel().tolist()
    ([1.0, 1.0, 4.0], [1, 0, 1])
    """
    apart = np.full((len(Z), k), np.inf, dtype=np.float32)
    which = np.full((len(Z), k), -1, dtype=np.intp)
    cell = _cell_of_row(Z, rng)
    order = np.argsort(cell, kind="stable")
    members = np.split(order, np.searchsorted(cell[order], np.arange(1, int(cell.max()) + 1)))
    for rows in tqdm(members, disable=not progress, desc="Comparing rows", leave=False):
        if len(rows) == 1:
            continue
        E = Z[rows] - Z[rows].mean(0)  # small numbers: differences of their squares are exact enough
        squares = np.einsum("ij,ij->i", E, E)
        count = min(k, len(rows) - 1)
        for start in range(0, len(rows), BLOCK):
            part = slice(start, min(start + BLOCK, len(rows)))
            distance = squares[part, None] + squares - 2 * E[part] @ E.T
            distance[np.arange(len(distance)), np.arange(part.start, part.stop)] = np.inf  # of each row to itself
            near = np.argpartition(distance, count - 1, axis=1)[:, :count]
            exact = np.sqrt(np.square(E[part, None] - E[near]).sum(2))  # exact for rows that nearly agree
            rising = np.argsort(exact, axis=1, kind="stable")
            apart[rows[part], :count] = np.take_along_axis(exact, rising, 1)
            which[rows[part], :count] = rows[np.take_along_axis(near, rising, 1)]
    return apart, which


def _cell_of_row(Z: Floats, rng: np.random.Generator) -> NDArray[np.intp]:  # (n,)
    """Return the cell of each row, the number of the nearest centre, by k-means on a sample."""
    if len(Z) <= ONE_CELL:
        return np.zeros(len(Z), dtype=np.intp)
    count = len(Z) // CELL
    centres = Z[rng.choice(len(Z), count, replace=False)]
    sample = Z[rng.choice(len(Z), min(len(Z), 50 * count), replace=False)]
    for _ in range(ROUNDS):
        cell = _nearest_centre(sample, centres)
        sizes = np.bincount(cell, minlength=count)
        sums = np.zeros_like(centres)
        np.add.at(sums, cell, sample)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres).astype(np.float32)
    return _nearest_centre(Z, centres)


def _nearest_centre(Z: Floats, centres: Floats) -> NDArray[np.intp]:
    squares = np.einsum("ij,ij->i", centres, centres)
    parts = [np.argmin(squares - 2 * Z[s : s + BLOCK] @ centres.T, axis=1) for s in range(0, len(Z), BLOCK)]
    return np.concatenate(parts)


Hashes = NDArray[np.uint64]
BY_CHANCE = 0.05  # if a larger share of the pairs that agree but for one column do so by chance, none are called copies
SECOND_COLUMNS = 3  # columns, those in which the fewest pairs agree, by which that share is estimated
ENOUGH_PAIRS = 5  # must agree by chance in a column to say whether it determines another one
# If so large a share of a column's cells are different, rows with equal ones may be copies: they do not show chance.
HARDLY_REPEATED = 0.9
DECIMALS = 6  # numbers with more decimals do not agree by chance


class CellHashes:
    """A hash for each row: the sum of the hashes of its cells, so that subtracting one leaves out its column."""

    def __init__(self, table: pa.Table) -> None:
        self._columns = table.columns
        self.rows: Hashes = np.zeros(table.num_rows, dtype=np.uint64)
        for number, (name, column) in enumerate(zip(table.column_names, self._columns, strict=True)):
            try:
                self.rows += _hashed(column, number)
            except pa.ArrowNotImplementedError:
                raise TableError(
                    f"Numbers, text, dates or categories were wanted, but column {name!r} holds {column.type}, which "
                    "cannot be compared: leave it out."
                ) from None

    def cells(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:  # (len(rows), columns)
        """Return a number for each cell of these rows; equal cells of a column have equal numbers."""
        columns = [self._of(rows, number).view(np.int64) for number in range(len(self._columns))]
        return np.stack(columns, axis=1)

    def exact(self) -> NDArray[np.intp]:  # (n,)
        """Return for each row the first row with the same cells, which may be the row itself."""
        _, first, group = np.unique(self.rows, return_index=True, return_inverse=True)
        return np.asarray(first[group], dtype=np.intp)

    def but_one(self, rows: NDArray[np.intp]) -> Iterator[tuple[int, list[NDArray[np.intp]]]]:
        """Yield columns, by number, and for each the groups of rows that differ in this column alone.

        The rows must all differ in some cell. Columns for which such groups arise by chance are left out.
        """
        columns = range(len(self._columns)) if len(self._columns) > 1 else ()
        groups_of_column = {number: groups_alike(self._without(rows, [number])) for number in columns}
        groups_of_column = {number: groups for number, groups in groups_of_column.items() if groups}
        if not groups_of_column:
            return
        pairs = {
            number: sum(len(group) * (len(group) - 1) / 2 for group in groups)
            for number, groups in groups_of_column.items()
        }
        shares = [self._share_agreeing(rows, number) for number in columns]
        for number, groups in groups_of_column.items():
            if self._pairs_by_chance(rows, number, pairs, shares) <= BY_CHANCE * pairs[number]:
                yield number, [rows[group] for group in groups]

    def _without(self, rows: NDArray[np.intp], numbers: Sequence[int]) -> Hashes:
        """Return the hashes of these rows without the columns of these numbers."""
        hashes = self.rows[rows]
        for number in numbers:
            hashes = hashes - self._of(rows, number)
        return hashes

    def _of(self, rows: NDArray[np.intp], number: int) -> Hashes:
        return _hashed(self._columns[number], number)[rows]

    def _share_agreeing(self, rows: NDArray[np.intp], number: int) -> float:
        """Return the share of all pairs of rows that agree in this column by chance."""
        hashes = self._of(rows, number)
        column = self._columns[number]
        is_hardly_repeated = len(np.unique(hashes)) >= HARDLY_REPEATED * len(rows)
        if is_hardly_repeated and is_text(column.type):
            return 0.0
        if is_hardly_repeated and (pa.types.is_timestamp(column.type) or pa.types.is_date(column.type)):
            seconds = column.drop_null().to_numpy().astype("M8[s]").astype(np.int64)
            step = next(step for step in (86_400, 3_600, 60, 1) if not (seconds % step).any())
            return _agreeing_when_rounded(seconds / step)
        if is_hardly_repeated and is_number(column.type):
            return _agreeing_when_rounded(column.cast(pa.float64(), safe=False).drop_null().to_numpy())
        return count_pairs(hashes) / (len(rows) * (len(rows) - 1) / 2)

    def _pairs_by_chance(
        self, rows: NDArray[np.intp], number: int, pairs: dict[int, float], shares: list[float]
    ) -> float:
        """Estimate how many pairs of rows agree by chance in all columns but this one.

        The estimate is the largest of those by some second columns. Columns that the second one determines, as a price
        determines the price with tax, are left out with it: rows that agree in the one agree in the other.
        """
        others = [other for other in np.argsort(shares, kind="stable").tolist() if other != number]
        others = [other for other in others if shares[other] < 1]
        if not others:  # all other columns hold one value
            return pairs[number]
        estimates = [0.0]
        candidates = [other for other in others[:SECOND_COLUMNS] if shares[other] > 0]
        for second in candidates:
            hashes = self._of(rows, second)
            by_chance = shares[second] * len(rows) * (len(rows) - 1) / 2
            left_out = [number, second]
            for other in candidates if by_chance >= ENOUGH_PAIRS else ():
                differ = count_pairs(hashes) - count_pairs(hashes + self._of(rows, other))
                if other != second and differ < by_chance / 2:
                    left_out.append(other)
            agree = count_pairs(self._without(rows, left_out))
            differ_in_both = agree - pairs[number] - pairs.get(second, 0)
            estimates.append(differ_in_both * shares[second] / (1 - shares[second]))
        return max(estimates)


def _hashed(column: pa.ChunkedArray, number: int) -> Hashes:
    """Return a hash for each cell of a column; missing cells have one, too."""
    if not (pa.types.is_dictionary(column.type) or _is_plain_number(column)):
        column = pc.dictionary_encode(column.combine_chunks(), null_encoding="encode")
    if _is_plain_number(column):
        bits = (column.to_numpy().astype(np.float64) + 0.0).view(np.uint64)  # + 0.0 makes 0 of -0
    else:
        codes = column.indices if hasattr(column, "indices") else column.combine_chunks().indices
        bits = codes.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
    # The splitmix64 generator: every bit of the result depends on all bits of the cell and of the column's number.
    bits = bits + np.uint64((number + 1) * 0x9E3779B97F4A7C15 % (1 << 64))
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _is_plain_number(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_floating(column.type)) and column.null_count == 0


def groups_alike(hashes: NDArray[Any]) -> list[NDArray[np.intp]]:
    """Return the groups of two or more positions with the same hash or value; groups and their positions are sorted."""
    order = np.argsort(hashes, kind="stable")
    starts = np.flatnonzero(np.append(True, np.diff(hashes[order]) != 0))
    sizes = np.diff(np.append(starts, len(order)))
    groups = [order[starts[which] : starts[which] + sizes[which]] for which in np.flatnonzero(sizes > 1)]
    return sorted(groups, key=lambda group: int(group[0]))


def count_pairs(hashes: NDArray[Any]) -> float:
    """Count the pairs with the same hash."""
    sizes = np.unique(hashes, return_counts=True)[1].astype(np.float64)
    return float((sizes * (sizes - 1)).sum() / 2)


def _agreeing_when_rounded(values: NDArray[np.float64]) -> float:
    """Return the share of pairs of numbers that are equal only because numbers are rounded.

    That is the rounding step over twice the width of the middle half of the numbers.

    >>> _agreeing_when_rounded(np.arange(101.0))  # 101 whole numbers
    0.01
    """
    low, high = np.quantile(values, [0.25, 0.75]) if len(values) else (0.0, 0.0)
    for decimals in range(DECIMALS + 1 if high > low else 0):
        step = 10.0**-decimals
        if np.mean(np.abs(values - np.round(values, decimals)) < 1e-6 * step) > 0.99:
            return float(min(0.5 * step / (high - low), 1.0))
    return 0.0


NEIGHBOURS = 15
FALSE_SHARE = 0.01  # of the pairs called near copies, on average
FAR_BELOW = 0.25  # of the usual distance to the nearest other row: pairs farther apart are no copies
MARKEDLY = 1.5  # times as large: four standard deviations of a mean over the neighbours of a row
FEWEST = 20  # fewest rows whose spacing can be estimated


def near_copies(
    Z: Floats,
    rng: np.random.Generator,
    *,
    far_below: float = FAR_BELOW,
    by_chance: Callable[[NDArray[np.intp]], NDArray[np.float64]] | None = None,
    progress: bool = False,
) -> list[NDArray[np.intp]]:
    """Return groups of rows that are near copies of each other; no row is in two of them.

    Parameters
    ----------
    far_below : the share of the usual distance between neighbours above which no pair is a copy.
    by_chance : a function from pairs of rows, (m, 2), to how many pairs are as near in the same way by chance. None is
        for rows that lie evenly, of which no two share a value.
    """
    apart, which = nearest(Z, NEIGHBOURS, rng, progress=progress)
    spacing = np.median(apart[:, 0][apart[:, 0] > 0]) if (apart[:, 0] > 0).any() else 0.0
    is_too_far = (apart > far_below * spacing) & (which >= 0)
    # The probability that a row has another row so near by chance.
    farthest = np.broadcast_to(apart[:, -1:], apart.shape)
    is_known = (farthest > 0) & np.isfinite(apart)
    ratio = np.divide(apart, farthest, out=np.ones(apart.shape), where=is_known)
    u = np.clip(ratio, 0, 1) ** _dimension(apart, which, is_too_far)[:, None]
    chance = -np.expm1((apart.shape[1] - 1) * np.log1p(-np.minimum(u, 1 - 1e-12)))  # (n, k)
    chance[is_too_far] = 1.0
    # Pairs that are near as seen from both of their rows, each once, with the larger of the two probabilities.
    n = len(apart)
    is_near = (chance.ravel() <= FALSE_SHARE) & (which.ravel() >= 0)
    row = np.repeat(np.arange(n), apart.shape[1])[is_near]
    other = which.ravel()[is_near]
    pair = np.minimum(row, other) * n + np.maximum(row, other)
    order = np.argsort(pair, kind="stable")
    pair = pair[order]
    p = chance.ravel()[is_near][order]
    twice = np.flatnonzero(pair[1:] == pair[:-1])
    first = pair[twice] // n
    second = pair[twice] % n
    p = np.maximum(p[twice], p[twice + 1])
    # How many pairs are as near by chance, and which pairs are copies at the false discovery rate.
    expected = p * n / 2
    if by_chance is not None and len(p):
        expected = np.maximum(expected, by_chance(np.stack([first, second], axis=1)))
    rising = np.sort(expected)
    passed = np.flatnonzero(rising <= FALSE_SHARE * np.arange(1, len(rising) + 1))
    is_copy = expected <= (rising[passed[-1]] if len(passed) else -1.0)
    return groups_of(first[is_copy], second[is_copy], len(Z))


def _dimension(apart: Floats, which: NDArray[np.intp], is_too_far: NDArray[np.bool_]) -> NDArray[np.float64]:  # (n,)
    """Estimate the dimension of the data around each row, by how distances grow from the second neighbour on.

    If rows lie evenly, dimension * log(d_k / d_j) for j = 1 to k - 1 are k - 1 sorted exponential numbers. Leave out
    the largest, that of the nearest neighbour, which may be a copy: the others sum up to
    k - 1 - (1 + 1/2 + ... + 1/(k - 1)) on average, and the median of such a sum is 1/3 less. The median over all rows
    thus gives the dimension. But if the mean over the neighbours of a row that are too far to be its copies gives a
    markedly smaller dimension, that one is taken: in a table, rows of the same categories differ in few columns.
    """
    has_spacing = np.isfinite(apart[:, -1]) & (apart[:, 1] > 0)
    if not has_spacing.any():
        return np.ones(len(apart))
    others = apart.shape[1] - 1
    expected = others - (1 / np.arange(1, others + 1)).sum()
    growth = np.full(len(apart), np.nan)
    growth[has_spacing] = np.log(apart[has_spacing, -1:] / apart[has_spacing, 1:-1]).sum(1)
    overall = np.nanmedian(growth) * expected / (expected - 1 / 3)
    growths = np.where(has_spacing, growth, overall)
    nearby = (growths[which] * is_too_far).sum(1) / np.maximum(is_too_far.sum(1), 1)
    return np.asarray(expected / np.maximum(np.where(nearby > MARKEDLY * overall, nearby, overall), 1e-6))


def groups_of(first: NDArray[np.intp], second: NDArray[np.intp], n: int) -> list[NDArray[np.intp]]:
    """Return the groups of n rows that these pairs connect, each in order; rows without a pair are left out."""
    if not len(first):
        return []
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label)
    groups = np.split(order, np.cumsum(sizes)[:-1])
    return [groups[g] for g in np.flatnonzero(sizes > 1)]
