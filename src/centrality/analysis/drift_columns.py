"""Test which columns and pairs of columns have changed, by the shares of training rows below a few values of each.

Of every column a model keeps some values, and the share of the training rows below and up to each of them. A value is
kept as it is only if several rows share it; else it is replaced by the middle between two rows' values, so that no cell
of a row can be read from a model. New rows are counted on both sides of the same values, so columns of few values need
no special treatment: Kolmogorov and Smirnov's test is conservative for ties. Rows beyond the outermost values are
counted once more, exactly (hypergeometric), because that test is nearly blind there. Two columns that begin to move
together, or cease to, are found by the mean product of their ranks.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays, safe_divide, subsample_evenly
from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows, ColumnBlocks

TAIL = 0.005  # the share of the training rows beyond the outermost value of a column, on either side
VALUES = 51  # of a column, and at least 11
MOST_VALUES = 1 << 20  # of all columns
SHARED = 5  # rows that must share a value if it is to be kept as it is
ROWS = 10_000  # training rows used, at most
PAIRED = 64  # columns of which pairs are compared, at most
VARIES = 0.08  # the least variance of ranks: 1/3 without ties, 0.09 where a tenth of the rows differ from the rest
MANY = 0.03  # the share of rows beyond an outermost value that matters, six times as many as before

Matrix = NDArray[np.float64]
Quantiles = tuple[Matrix, Matrix, Matrix]  # values, and the shares of the rows below and up to each of them


@dataclass(frozen=True)
class ColumnDrift:
    """The drift of one column: the largest gap between the two distributions, its p-value, and Cliff's delta.

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
    """How the rank correlation of two columns has changed: before, now, and the p-value.

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


@dataclass(frozen=True)
class Constant:
    """A column that had one value in all training rows, so that nothing else is known of it."""

    name: str
    value: str  # in words
    changed: NDArray[np.bool_]  # (m,) which of the new rows have another one

    def compare(self, training_rows: int) -> "ConstantDrift":
        """Test whether the value has changed in more of the new rows than chance can explain."""
        m = len(self.changed)
        count = int(self.changed.sum())
        return ConstantDrift(self.name, self.value, count / m, more_beyond(count, m, 0, training_rows))


@dataclass(frozen=True)
class ConstantDrift:
    """The share of new rows in which a column no longer has the one value that all training rows had.

    >>> from centrality.analysis.drift_columns import ConstantDrift
    >>> print(ConstantDrift("currency", "'EUR'", share=0.4, p_value=1e-9))
    currency is no longer always 'EUR' (other in 40% of the rows)
    """

    name: str
    value: str
    share: float
    p_value: float

    def matters(self, effect: float) -> bool:
        """Say whether the change is large: in as many rows as matter beyond the ends of other columns."""
        return self.share >= MANY

    def __str__(self) -> str:
        return f"{self.name} is no longer always {self.value} (other in {self.share:.0%} of the rows)"


@dataclass(frozen=True)
class Names:
    """The names of the columns of vectors, and which of these have an order (higher and lower)."""

    of_columns: Sequence[str]
    directions: Sequence[bool]

    @classmethod
    def numbered(cls, count: int) -> "Names":
        """Return the names x0, x1, ... for so many columns."""
        return cls([f"x{j}" for j in range(count)], [True] * count)


@dataclass(frozen=True, eq=False)
class TrainingColumns(FrozenArrays):
    """The summary of the training rows' columns that a model keeps: of each column, and of pairs."""

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
        p = rows.shape[1]
        rows = subsample_evenly(rows, ROWS)
        n = rows.shape[0]
        k = max(11, min(VALUES, MOST_VALUES // p))
        # The places of at most k quantiles among n sorted values, the outermost ones in the tails.
        levels = np.sort(np.concatenate([[TAIL], np.linspace(0, 1, k)[1:-1], [1 - TAIL]]))
        places = np.unique(np.clip(np.round(levels * n).astype(np.intp) - 1, 0, n - 1))
        summaries = []
        ranks = []
        for column in _columns(rows):
            order = np.argsort(column)
            rising = column[order]
            summaries.append(quantile_summary(rising, places, k))
            if p <= PAIRED:
                ranks.append(_ranks(summaries[-1], rising, order))
        values, below, upto = np.stack(summaries, axis=2)  # (k, p) each
        products, spreads = _products(np.stack(ranks)) if ranks else (np.zeros((0, 0)), np.zeros((0, 0)))
        return cls(values, below, upto, products, spreads, n)

    def compare(self, rows: CheckedRows, names: Names) -> tuple[tuple[ColumnDrift, ...], tuple[PairDrift, ...]]:
        """Compare each column of new rows, and each pair of them, with the training rows."""
        from scipy.stats import t

        n = self.rows
        m = rows.shape[0]
        drifts = []
        for j, column in enumerate(_columns(rows)):
            x = np.sort(column)
            below = self.below[:, j]
            upto = self.upto[:, j]
            new_below = np.searchsorted(x, self.values[:, j], side="left") / m
            new_upto = np.searchsorted(x, self.values[:, j], side="right") / m
            low = float(new_below[0])
            high = float(1 - new_upto[-1])
            gap = float(max(np.abs(new_below - below).max(), np.abs(new_upto - upto).max()))
            below_first = more_beyond(round(low * m), m, round(below[0] * n), n)
            above_last = more_beyond(round(high * m), m, round((1 - upto[-1]) * n), n)
            p = min(1.0, 3 * min(gap_p_value(gap, n, m), below_first, above_last))
            effect = float(self._ranks_of(j, x).mean())
            drifts.append(ColumnDrift(names.of_columns[j], gap, p, effect, low, high, names.directions[j]))
        if len(self.products) < 2:
            return tuple(drifts), ()

        # The rank correlation of each pair; for nearly constant columns a mean product is noise.
        products, spreads = _products(np.stack([self._ranks_of(j, x) for j, x in enumerate(_columns(rows))]))
        first, second = np.triu_indices(len(self.products), 1)
        varies: NDArray[np.bool_] = np.diag(self.products) >= VARIES
        both_vary = varies[first] & varies[second]
        first = first[both_vary]
        second = second[both_vary]
        change = (products - self.products)[first, second]
        # One variance for both, as the null says: a sample in which nothing varies does not count as certain.
        pooled = (n * self.spreads + m * spreads)[first, second] / (n + m)
        error = np.sqrt(pooled * (1 / n + 1 / m))
        with np.errstate(divide="ignore", invalid="ignore"):
            p_values = np.where(change == 0, 1.0, 2 * t.sf(np.abs(change) / error, min(n, m) - 1))
        before = _correlations(self.products)[first, second]
        after = _correlations(products)[first, second]
        pairs = tuple(
            PairDrift((names.of_columns[int(i)], names.of_columns[int(j)]), float(a), float(b), float(p))
            for i, j, a, b, p in zip(first, second, before, after, p_values, strict=True)
        )
        return tuple(drifts), pairs

    def _ranks_of(self, j: int, x: Matrix) -> Matrix:  # (m,) in [-1, 1]
        """Return P(X < x) + P(X <= x) - 1 for a training row's X in column j."""
        order = np.argsort(x)
        return _ranks((self.values[:, j], self.below[:, j], self.upto[:, j]), x[order], order)


def _columns(rows: CheckedRows) -> Iterator[Matrix]:
    """Yield each column of the rows, sparse or not."""
    for _, block in ColumnBlocks(rows, MOST_VALUES):
        yield from np.ascontiguousarray(block.T)


def quantile_summary(x: Matrix, places: NDArray[np.intp], k: int) -> Quantiles:
    """Return at most k values of a rising column, repeated up to k, and the shares of the rows below and up to each.

    `places` are those of the values to keep; values that occur at several are kept once.
    """
    n = len(x)
    first = np.searchsorted(x, x[places], side="left")
    last = np.searchsorted(x, x[places], side="right")
    shared = last - first >= min(SHARED, n)
    middle = 0.5 * x[last - 1] + 0.5 * x[np.minimum(last, n - 1)]  # halves first: the sum may be too large
    value = np.unique(np.where(shared, x[places], middle)[shared | (last < n)])
    if not len(value):  # a few rows, all but equal: the middle of the column
        value = np.array([0.5 * x[0] + 0.5 * x[-1]])
    value = np.concatenate([value, np.full(k - len(value), value[-1])])
    return value, np.searchsorted(x, value, side="left") / n, np.searchsorted(x, value, side="right") / n


def _ranks(quantiles: Quantiles, x: Matrix, order: NDArray[np.intp]) -> Matrix:  # (m,) in [-1, 1]
    """Return P(X < x) + P(X <= x) - 1 for X with these quantiles; x was sorted by `order`, which is undone."""
    below, upto = distribution(quantiles, x)
    ranks: Matrix = np.empty_like(below)
    ranks[order] = below + upto - 1
    return ranks


def distribution(quantiles: Quantiles, x: Matrix) -> tuple[Matrix, Matrix]:  # (m,), (m,)
    """Return P(X < x) and P(X <= x) for these rising x; they differ where x is one of the values of X."""
    values, below, upto = quantiles
    # Between two values, rise from what is not above the lower one to what is below the upper one. Beyond the first
    # and the last nobody knows how far: half of what lies there.
    low = np.append(values[:1], values)
    high = np.append(values, values[-1:])
    low_share = np.append(0.0, upto)
    rise = np.append(below, 1.0) - low_share
    differ = high > low
    start = np.where(differ, low_share, low_share + 0.5 * rise)
    rise = np.where(differ, rise, 0.0)
    width = np.where(differ, high - low, 1.0)
    reached = np.searchsorted(x, values, side="left")  # where the rows reach each value, and pass it
    passed = np.searchsorted(x, values, side="right")
    counts = np.diff(passed, prepend=0, append=len(x))
    way = np.clip((x - np.repeat(low, counts)) / np.repeat(width, counts), 0.0, 1.0)
    less = np.repeat(start, counts) + way * np.repeat(rise, counts)
    if not (reached < passed).any():
        return less, less
    at_most = less.copy()
    tied = np.flatnonzero(np.repeat(high, counts) == x)
    less[tied] = below[np.searchsorted(values, x[tied])]
    at_most[tied] = upto[np.searchsorted(values, x[tied], side="right") - 1]
    return less, at_most


def _products(ranks: Matrix) -> tuple[Matrix, Matrix]:  # (q, n) -> (q, q), (q, q)
    """Return mean and variance of the products of any two columns' ranks, each centred."""
    n = ranks.shape[1]
    centred = ranks - ranks.mean(1, keepdims=True)
    mean = centred @ centred.T / n
    np.square(centred, out=centred)  # one array on both sides of a product: BLAS then computes half of it
    return mean, np.maximum(centred @ centred.T / n - np.square(mean), 0.0)


def _correlations(products: Matrix) -> Matrix:
    size = np.sqrt(np.diag(products))
    return safe_divide(products, np.outer(size, size))


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
