"""Test which columns and pairs of columns have changed, by the shares of training rows below a few values of each.

A model keeps, of every column by itself, some values and the share of the training rows below and up to each of them.
A value is kept as it is only where several rows share it; else one in the middle between two rows' values stands in, so
that no cell of a row can be read from a model. New rows are counted on both sides of the same values, so columns of few
values need no care of their own: Kolmogorov and Smirnov's test is conservative for them, whatever the ties. Rows beyond
the outermost values are counted once more, exactly (hypergeometric), since that test hardly looks there.

Two columns that begin to move together, or cease to, are found by the mean product of their ranks among the training
rows: its mean and variance are kept for every pair, where columns are not too many.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays
from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows, ColumnBlocks

TAIL = 0.005  # the share of the training rows beyond the outermost value kept, on either side
VALUES, MOST_VALUES = 51, 1 << 20  # values kept of a column, and of all columns; 11 of a column at least
SHARED = 5  # rows that must share a value if it is to be kept as it is
ROWS = 10_000  # training rows looked at, at most
PAIRED = 64  # columns of which pairs are compared, at most
VARIES = 0.08  # the least variance of ranks: 1/3 without ties, 0.09 where a tenth of the rows differ from the rest
MANY = 0.03  # so many rows beyond an outermost value matter, six times as many as before

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class ColumnDrift:
    """Hold one column's drift: the largest gap between the two distributions, its p-value, and Cliff's delta.

    `below` and `above` are the shares of new rows beyond values that about 0.5% of the training rows lie beyond.

    >>> from centrality.analysis.drift_columns import ColumnDrift
    >>> print(ColumnDrift("price", statistic=0.4, p_value=1e-9, effect=0.5, below=0.0, above=0.02))
    price is higher (effect +0.50)
    """

    name: str
    statistic: float
    p_value: float
    effect: float  # -1: every new value is lower than every training row's; 0: neither; 1: the reverse
    below: float
    above: float
    direction: bool = True  # False: the numbers of this column are a code, of which higher and lower mean nothing

    def matters(self, effect: float) -> bool:
        """Say whether the change is large: in the whole column, or in the number of values beyond its usual ends."""
        return max(abs(self.effect), self.statistic) >= effect or max(self.below, self.above) >= MANY

    def __str__(self) -> str:
        if not self.direction:
            return f"{self.name} differs"
        share, side = max((self.below, "low"), (self.above, "high"))
        if share >= MANY and abs(self.effect) < 2.5 * share:  # what lies beyond explains about all of the effect
            return f"{self.name} is unusually {side} in {share:.0%} of the rows"
        if abs(self.effect) >= 0.5 * self.statistic:
            return f"{self.name} is {'higher' if self.effect > 0 else 'lower'} (effect {self.effect:+.2f})"
        return f"{self.name} is spread otherwise (gap {self.statistic:.2f})"


@dataclass(frozen=True)
class PairDrift:
    """Hold how the rank correlation of two columns has changed: before, now, and the p-value.

    >>> from centrality.analysis.drift_columns import PairDrift
    >>> print(PairDrift(("price", "area"), before=0.8, now=0.1, p_value=1e-9))
    price and area correlate by +0.10, not +0.80
    """

    names: tuple[str, str]
    before: float
    now: float
    p_value: float

    def matters(self, effect: float) -> bool:
        """Say whether the correlation has changed by enough to matter."""
        return abs(self.now - self.before) >= effect

    def __str__(self) -> str:
        return f"{self.names[0]} and {self.names[1]} correlate by {self.now:+.2f}, not {self.before:+.2f}"


@dataclass(frozen=True, eq=False)
class TrainingColumns(FrozenArrays):
    """Hold the summary of the training rows' columns that a model keeps: of each column, and of pairs."""

    values: Matrix  # (k, p) rising in each column; where there are fewer than k, the last is repeated
    below: Matrix  # (k, p) share of the rows below each value
    upto: Matrix  # (k, p) share of the rows that are not above it
    products: Matrix  # (q, q) mean product of two columns' centred ranks; q is p, or 0 where columns are many
    spreads: Matrix  # (q, q) variance of these products
    rows: int

    def __post_init__(self) -> None:
        """Raise if values are out of order, or shares are not in [0, 1]."""
        super().__post_init__()
        if not (np.diff(self.values, axis=0) >= 0).all():
            raise InputError("columns.values must rise, got them in another order.")
        if not ((self.below >= 0) & (self.below <= self.upto) & (self.upto <= 1)).all():
            raise InputError("columns.below and columns.upto must be shares from 0 to 1, the first no larger.")

    @classmethod
    def of(cls, rows: CheckedRows) -> "TrainingColumns":  # (n, p)
        """Return the summary of these training rows; of more than 10,000, evenly spaced ones are used."""
        n, p = rows.shape
        some = rows if n <= ROWS else rows[np.linspace(0, n - 1, ROWS).astype(np.intp)]
        k = max(11, min(VALUES, MOST_VALUES // p))
        paired, kept, ranks, at = p <= PAIRED, [], [], _places(some.shape[0], k)
        for _, block in ColumnBlocks(some, MOST_VALUES):
            for column in np.ascontiguousarray(block.T):
                order = np.argsort(column)
                x = column[order]
                kept.append(quantile_summary(x, at, k))
                if paired:
                    ranks.append(_ranks(kept[-1], x, order))
        values, below, upto = (np.stack(part, axis=1) for part in zip(*kept, strict=True))
        products = _products(np.stack(ranks)) if paired else (np.zeros((0, 0)), np.zeros((0, 0)))
        return cls(values, below, upto, *products, some.shape[0])

    def compare(
        self, rows: CheckedRows, names: Sequence[str], directions: Sequence[bool]
    ) -> tuple[tuple[ColumnDrift, ...], tuple[PairDrift, ...]]:
        """Compare each column of new rows, and each pair of them, with the training rows."""
        each: list[ColumnDrift] = []
        for _, block in ColumnBlocks(rows, MOST_VALUES):
            for values in np.ascontiguousarray(block.T):
                j = len(each)
                each.append(self._column(j, values, names[j], direction=directions[j]))
        return tuple(each), self._pairs(rows, names) if len(self.products) > 1 else ()

    def _column(self, j: int, x: Matrix, name: str, *, direction: bool) -> ColumnDrift:
        x, n, m = np.sort(x), self.rows, len(x)
        values, below, upto = self.values[:, j], self.below[:, j], self.upto[:, j]
        new_below, new_upto = (np.searchsorted(x, values, side=side) / m for side in ("left", "right"))
        gap = float(max(np.abs(new_below - below).max(), np.abs(new_upto - upto).max()))
        ends = (new_below[0], below[0]), (1 - new_upto[-1], 1 - upto[-1])
        p = min(gap_p_value(gap, n, m), *(more_beyond(round(new * m), m, round(old * n), n) for new, old in ends))
        effect = float(self._ranks(j, x).mean())
        return ColumnDrift(name, gap, min(1.0, 3 * p), effect, float(ends[0][0]), float(ends[1][0]), direction)

    def _ranks(self, j: int, x: Matrix) -> Matrix:  # (m,) in [-1, 1]
        """Return P(X < x) + P(X <= x) - 1 for a training row's X in column j."""
        order = np.argsort(x)
        return _ranks((self.values[:, j], self.below[:, j], self.upto[:, j]), x[order], order)

    def _products(self, rows: CheckedRows) -> tuple[Matrix, Matrix]:  # (q, q), (q, q)
        """Return mean and variance of the products of any two columns' ranks, each centred."""
        columns = (values for _, block in ColumnBlocks(rows, MOST_VALUES) for values in np.ascontiguousarray(block.T))
        return _products(np.stack([self._ranks(j, x) for j, x in enumerate(columns)]))

    def _paired(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the pairs of columns whose ranks vary enough; for nearly constant columns a mean product is noise."""
        first, second = np.triu_indices(len(self.products), 1)
        varies = np.diag(self.products) >= VARIES
        both = varies[first] & varies[second]
        return first[both], second[both]

    def _pairs(self, rows: CheckedRows, names: Sequence[str]) -> tuple[PairDrift, ...]:
        from scipy.stats import t

        n, m = self.rows, rows.shape[0]
        now, spread = self._products(rows)
        first, second = self._paired()
        change = (now - self.products)[first, second]
        # One variance for both, as the null says: a sample in which nothing varies does not count as certain.
        pooled = (n * self.spreads + m * spread)[first, second] / (n + m)
        error = np.sqrt(pooled * (1 / n + 1 / m))
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(change == 0, 1.0, 2 * t.sf(np.abs(change) / error, min(n, m) - 1))
        before, after = (_correlations(each)[first, second] for each in (self.products, now))
        columns = zip(first, second, before, after, p, strict=True)
        return tuple(PairDrift((names[i], names[j]), float(a), float(b), float(c)) for i, j, a, b, c in columns)


def _places(n: int, k: int) -> NDArray[np.intp]:
    """Return the places, among n sorted values, of at most k quantiles, the outermost ones in the tails."""
    levels = np.concatenate([[TAIL], np.linspace(0, 1, k)[1:-1], [1 - TAIL]])
    return np.unique(np.clip(np.round(np.sort(levels) * n).astype(np.intp) - 1, 0, n - 1))


def quantile_summary(x: Matrix, at: NDArray[np.intp], k: int) -> tuple[Matrix, Matrix, Matrix]:
    """Return at most k values of a sorted column, repeated up to k, and the shares of the rows below and up to each.

    `at` are the places of the values to keep; shared ones are kept once.
    """
    n = len(x)
    first, last = np.searchsorted(x, x[at], side="left"), np.searchsorted(x, x[at], side="right")
    shared, after = last - first >= min(SHARED, n), np.minimum(last, n - 1)
    middle = 0.5 * x[last - 1] + 0.5 * x[after]  # halves first: the sum may be too large
    value = np.unique(np.where(shared, x[at], middle)[shared | (last < n)])
    if not len(value):  # a few rows, all but equal: the middle of the column
        value = np.array([0.5 * x[0] + 0.5 * x[-1]])
    value = np.concatenate([value, np.full(k - len(value), value[-1])])
    return value, np.searchsorted(x, value, side="left") / n, np.searchsorted(x, value, side="right") / n


def _ranks(kept: tuple[Matrix, Matrix, Matrix], x: Matrix, order: NDArray[np.intp]) -> Matrix:  # (m,) in [-1, 1]
    """Return P(X < x) + P(X <= x) - 1 for X with these values kept.

    x is sorted, by `order`; the result is in the order before.
    """
    less, most = distribution(kept, x)
    found: Matrix = np.empty_like(less)
    found[order] = less + most - 1
    return found


def distribution(kept: tuple[Matrix, Matrix, Matrix], x: Matrix) -> tuple[Matrix, Matrix]:  # (m,), (m,)
    """Return P(X < x) and P(X <= x) for these rising x; they differ where x is one of the values kept of X.

    `kept` are values, and the shares of X below and up to each of them.
    """
    values, below, upto = kept
    # Between two values kept, rise from what is not above the lower one to what is below the upper one. Beyond the
    # first and the last nobody knows how far: half of what lies there.
    low, high = np.append(values[:1], values), np.append(values, values[-1:])
    low_share, high_share = np.append(0.0, upto), np.append(below, 1.0)
    apart, rise = high > low, high_share - low_share
    start, rise = np.where(apart, low_share, low_share + 0.5 * rise), np.where(apart, rise, 0.0)
    width = np.where(apart, high - low, 1.0)
    reached, passed = (np.searchsorted(x, values, side=side) for side in ("left", "right"))  # each value, by the rows
    counts = np.diff(passed, prepend=0, append=len(x))
    low, width, start, rise = (np.repeat(each, counts) for each in (low, width, start, rise))
    less = start + np.clip((x - low) / width, 0.0, 1.0) * rise
    if not (reached < passed).any():
        return less, less
    most, tied = less.copy(), np.flatnonzero(np.repeat(high, counts) == x)
    less[tied] = below[np.searchsorted(values, x[tied])]
    most[tied] = upto[np.searchsorted(values, x[tied], side="right") - 1]
    return less, most


def _products(ranks: Matrix) -> tuple[Matrix, Matrix]:  # (q, n) -> (q, q), (q, q)
    """Return mean and variance of the products of any two columns' ranks, each centred."""
    n, u = ranks.shape[1], ranks - ranks.mean(1, keepdims=True)
    mean = u @ u.T / n
    np.square(u, out=u)  # one array on both sides of a product: BLAS then computes half of it
    return mean, np.maximum(u @ u.T / n - np.square(mean), 0.0)


def _correlations(products: Matrix) -> Matrix:
    size = np.sqrt(np.diag(products))
    sizes = np.outer(size, size)
    return np.asarray(np.divide(products, sizes, out=np.zeros_like(products), where=sizes > 0))


def gap_p_value(gap: float, n: int, m: int) -> float:
    """Return the p-value of a gap between the distributions of n and of m values; with ties it is conservative."""
    from scipy.stats import kstwo  # 40 MiB that scoring alone does not need

    return float(kstwo.sf(gap, max(1, round(n * m / (n + m)))))


def more_beyond(new: int, m: int, old: int, n: int) -> float:
    """Return the chance that `new` or more of m new rows lie beyond a value that `old` of n training rows lie beyond.

    The number of new rows among the outermost new + old of all n + m rows is hypergeometric.
    """
    from scipy.stats import hypergeom

    return 1.0 if new * n <= old * m else float(hypergeom.sf(new - 1, n + m, m, new + old))
