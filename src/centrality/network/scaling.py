"""Scale columns before the networks take them, and stretch what lies beyond their range.

A column is centred on its median, divided by its deviation with the tails drawn in (winsorised), and bent like a
logarithm beyond ten deviations. So no odd cell decides how the others are scaled. Measured without the bend: 1% of wild
cells in the training rows cost .03 to .07 of the power to find rows that are odd elsewhere, and columns with heavy
tails lose .003 +- .002 of one-class AUC (SpamBase .02 to .03).

A network has learned nothing outside the range of its rows; its outputs go on linearly there. Where the scale is bent,
three times the largest value is hardly farther out than that value itself, and one such cell is lost among fifty
others. So the scale is steeper beyond the range: a value that lies outside by the width of the range is at least
OUT_OF_RANGE_DISTANCE scaled units outside. Values within the range, and so all training rows, stay as they are.

Large data is never copied as a whole: dense, integer and sparse rows are converted block by block.
"""

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal.arrays import (
    FrozenArrays,
    column_quantiles,
    largest,
    mean_and_deviation,
    safe_divide,
    unbend,
    unit_of,
)
from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows, ColumnBlocks, SparseRows, as_floats
from centrality.engine import Engine, engine

Matrix = NDArray[np.float64]
_Block: TypeAlias = tuple[slice, NDArray[np.float64]]  # of columns, and their values
_Moments: TypeAlias = tuple[int, NDArray[np.float64], NDArray[np.float64]]  # rows, mean, sum of squares about it

SCALINGS = ("auto", "standard", "none")
BLOCK_VALUES = 1 << 18  # values of a block in passes over all rows: 2 MiB in float64
MOST_VALUES = 1 << 22  # of a block, if its rows are very wide: 32 MiB
SAMPLE_VALUES = 1 << 19  # values that quantiles are estimated from
SAMPLE_ROWS = 1024  # rows that they are estimated from at least, however wide these are
TAILS = (0.05, 0.95)  # the quantiles at which a column's tails are drawn in before its spread is taken
SPREAD_OF_NORMAL = 0.9117  # the deviation of a standard normal column whose tails are drawn in there
KNEE = 10.0  # spreads beyond which a column is bent
RARE = 1.0  # sets how far off a rare value counts, in a column constant between its tails: 1 / sqrt(RARE) spreads
LIMIT = 1e15  # no scaled number is larger
SMALL_SQUARE = 1e-250  # columns with a smaller sum of squares,
SMALL_MEAN = 1e-100  # and a smaller mean, are measured again
SMALLEST = float(np.finfo(np.float64).tiny)  # so that 1 / SMALLEST is finite
SHARED_BELOW = 5.0  # ratio of the largest to the least spread: below it, all columns are divided by one spread
OWN_ABOVE = 20.0  # above it, each by its own
MANY = 50_000  # rows: among more, leaving one out hardly changes a range, and shares need not be exact
OUT_OF_RANGE_DISTANCE = 20.0  # scaled units: measured, benchmarks/known_truth.py and benchmarks/detection
RANGE_MARGIN = 1e-5  # relative: a greatest value that is written with six digits is still within the range
ROWS_PER_COLUMN = 16  # where rows are fewer, many ordinary new rows lie beyond the range of a column

OUTWARD = np.array([[-1.0], [1.0]])


@dataclass(frozen=True, eq=False)
class Scaling(FrozenArrays):
    """Scale the columns: z = (x - center) * weight.

    With `shrink`, z is bent like a logarithm beyond the knee, and then multiplied by `shrink`. Values outside the range
    `seen` are put farther out, by `beyond` times their distance from it. A constant column has weight 0.
    """

    center: NDArray[np.float64]  # (p,)
    weight: NDArray[np.float64]  # (p,)
    shrink: NDArray[np.float64] | None = None  # (p,) None: columns are not bent
    seen: NDArray[np.float64] | None = None  # (2, p) the least and greatest scaled values; None: no range
    beyond: NDArray[np.float64] | None = None  # (2, p) how much steeper the scale is below and above the range

    @classmethod
    def fit(cls, X: CheckedRows, kind: str, measurements: NDArray[np.bool_] | None = None) -> "Scaling":
        """Return the scaling of this kind, fitted to the rows X.

        With `measurements`, a representation has centred and weighted all columns. Then "auto" only bends them, and
        shrinks measurement columns with many far values.
        """
        check_scaling(kind)
        if kind == "auto" and measurements is not None:
            bent = cls.none(X.shape[1]).with_bend(_sample(X))
            assert bent.shrink is not None
            return replace(bent, shrink=np.where(measurements, bent.shrink, 1.0))
        if kind == "auto":
            return cls._robust(_sample(X), functools.cache(lambda: _moments(X)[1]))
        mean, deviation = _moments(X)
        return cls.none(len(mean)) if kind == "none" else cls(mean, _inverse(deviation))

    @classmethod
    def none(cls, width: int) -> "Scaling":
        """Return the scaling that leaves so many columns as they are."""
        return cls(np.zeros(width), np.ones(width))

    @classmethod
    def of_columns(cls, columns: Sequence[NDArray[np.float64]]) -> "Scaling":
        """Return the scaling "auto" of columns with unequal numbers of values: those of a table with gaps."""
        step = _step(max(map(len, columns)), len(columns))
        sample = [(slice(k, k + 1), values[::step, None]) for k, values in enumerate(columns)]
        return cls._robust(sample, lambda: np.array([mean_and_deviation(values)[1] for values in columns]))

    @classmethod
    def _robust(cls, sample: Iterable[_Block], deviation: Callable[[], NDArray[np.float64]]) -> "Scaling":
        """Return the scaling by each column's median and winsorised deviation.

        `deviation` reads all rows, to tell constant columns from those with rare values. It is called only if a column
        of the sample is constant between its tails.
        """
        blocks = list(median_and_spread(sample, deviation))
        median = np.concatenate([of_block for of_block, _ in blocks])
        spread = np.concatenate([of_block for _, of_block in blocks])
        return cls(median, _inverse(share_similar_scales(spread))).with_bend(sample)

    def with_bend(self, sample: Iterable[_Block]) -> "Scaling":
        """Return the scaling bent beyond the knee; columns with many values there are shrunk to a spread of 1."""
        spread = [
            np.clip(Scaling(self.center[at], self.weight[at]).scaled(values), -KNEE, KNEE).std(0)
            for at, values in sample
        ]
        shrink = np.minimum(1.0, _inverse(np.concatenate(spread)))
        return replace(self, shrink=np.where(shrink > 0, shrink, 1.0))

    def parts(self) -> dict[str, NDArray[np.float64] | NDArray[np.int64] | None]:
        """Return the arrays by their names."""
        return {part.name: getattr(self, part.name) for part in fields(self)}

    def to_engine(self, engine: Engine) -> object:
        """Return this scaling as the engine takes it."""
        return engine.Scaling(*self.parts().values(), KNEE, LIMIT)

    @cached_property
    def _in_engine(self) -> object:
        return self.to_engine(engine())

    def apply(self, block: CheckedRows) -> NDArray[np.float32]:
        """Return the rows in scaled units, in float32, as the network takes them."""
        # The engine computes in float64 and rounds last: a float32 column around 1e6 keeps its small differences.
        return engine().scale_to_floats(as_floats(block), self._in_engine)

    def blocks(self, X: CheckedRows) -> Iterator[NDArray[np.float64]]:
        """Yield the rows of X in scaled units, block by block."""
        size = rows_per_block(X.shape[1])
        return (self.scaled(X[start : start + size]) for start in range(0, X.shape[0], size))

    def scaled(self, block: CheckedRows) -> NDArray[np.float64]:
        """Return the rows in scaled units, before they are rounded to float32."""
        # No scaled number is beyond LIMIT: an infinity would turn the network's output into NaN.
        return engine().scale(as_floats(block), self._in_engine)

    def varying(self) -> NDArray[np.bool_]:  # (p,)
        """Say which columns are not constant; a constant one has no influence on scores."""
        return np.asarray(self.weight != 0)

    def in_users_units(self, rows: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled points in the user's units; points[:, 0] are these rows."""  # (n, s, p)
        unscaled = np.where(self.varying(), self.unscaled(points), rows[:, None])
        return np.where(points == points[:, :1], rows[:, None], unscaled)  # values equal to the row's keep their bits

    def unscaled(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled points in the user's units; a constant column holds its constant."""  # (..., p)
        varies = self.varying()
        z = points.copy()
        if self.seen is not None and self.beyond is not None:
            above = np.maximum(z - self.seen[1], 0.0)
            below = np.maximum(self.seen[0] - z, 0.0)
            steeper = 1 + self.beyond
            z += below * (1 - 1 / steeper[0]) - above * (1 - 1 / steeper[1])
        if self.shrink is not None:
            z = unbend(z / self.shrink, KNEE, farthest=700.0)
        unscaled = np.broadcast_to(self.center, points.shape).copy()
        unscaled[..., varies] += z[..., varies] / self.weight[varies]
        return unscaled


def check_scaling(kind: str) -> str:
    """Return the name of a scaling; raise if there is none of this name."""
    if kind not in SCALINGS:
        raise InputError(f"scaling must be one of {', '.join(SCALINGS)}, got {kind!r}.")
    return kind


def _sample(X: CheckedRows) -> ColumnBlocks:
    """Return all rows of X, or evenly spaced ones that are enough to estimate its columns' quantiles."""
    return ColumnBlocks(X[:: _step(*X.shape)], MOST_VALUES)


def _step(n: int, p: int) -> int:
    """Return k such that quantiles are estimated from every k-th of n rows."""
    return -(-n // max(SAMPLE_VALUES // p, SAMPLE_ROWS))


def median_and_spread(
    sample: Iterable[_Block], deviation: Callable[[], NDArray[np.float64]]
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
    """Yield median and spread of the columns, block by block; a constant column has spread 0."""
    for at, values in sample:
        low, median, high = column_quantiles(values, [TAILS[0], 0.5, TAILS[1]])
        spread = mean_and_deviation(np.clip(values, low, high))[1] / SPREAD_OF_NORMAL
        if (low < high).all():
            yield median, spread
            continue
        plain = deviation()[at]
        rare = (low == high) & (plain > 0)
        differing = np.abs(values[:, rare] - median[rare]) > 0
        share = np.maximum(differing.mean(0), 1 / len(values))
        spread[rare] = plain[rare] * np.sqrt(np.maximum(RARE / share, 1.0))
        spread[plain == 0] = 0.0
        yield median, spread


def share_similar_scales(spread: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return one common spread for columns whose spreads are similar, so that scaling keeps distances and angles.

    Where spreads differ much, each column keeps its own; in between, it gets one between its own and the common one.
    """
    varies = spread > 0
    if not varies.any():
        return spread
    logs = np.log(spread[varies])
    own_weight = np.clip((np.ptp(logs) - np.log(SHARED_BELOW)) / np.log(OWN_ABOVE / SHARED_BELOW), 0.0, 1.0)
    unit = unit_of(spread.max())
    common = 0.5 * np.log(np.square(spread[varies] / unit).mean()) + np.log(unit)
    shared = np.zeros_like(spread)
    shared[varies] = np.exp(own_weight * logs + (1 - own_weight) * common)
    return shared


def _inverse(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 / deviation, always a finite number, or 0 where the deviation is 0."""
    return np.where(deviation > 0, 1.0 / np.maximum(deviation, SMALLEST), 0.0)


def dense(block: CheckedRows) -> NDArray[Any]:
    """Return the rows as an array, whether they are sparse or not."""
    return np.asarray(cast(SparseRows, block).toarray() if sparse.issparse(block) else block)


def rows_per_block(width: int) -> int:
    """Return how many rows of this width make a block that stays small in memory."""
    return min(max(BLOCK_VALUES // max(width, 1), min(256, MOST_VALUES // max(width, 1)), 8), 8192)


@np.errstate(over="ignore", invalid="ignore")  # columns whose squares are too large a number are measured again
def _moments(X: CheckedRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column, the latter exactly 0 where it is constant; raise if all are.

    It passes once over blocks, without a copy of the data. Deviations from each block's own mean are merged (Chan,
    Golub and LeVeque), which is stable for columns far from zero. Columns whose squares overflow or vanish are measured
    again in units of their magnitude.
    """
    n = X.shape[0]
    size = rows_per_block(X.shape[1])
    mean, squares = _sums(X)
    deviation = np.sqrt(squares / n)
    overflows = ~np.isfinite(squares)
    vanishes = (squares < SMALL_SQUARE) & (np.abs(mean) < SMALL_MEAN)  # larger numbers have no spacing so fine
    extreme = np.flatnonzero(overflows | vanishes)
    if len(extreme):
        if sparse.issparse(X):
            unit = unit_of(largest(cast(Any, X)[:, extreme]))
        else:
            blocks = (largest(dense(X[start : start + size])[:, extreme]) for start in range(0, n, size))
            unit = unit_of(functools.reduce(np.maximum, blocks))
        extreme = extreme[unit != 1]  # without columns of zeros, which are constant
        unit = unit[unit != 1]
    if len(extreme):
        mean_in_units, squares = _sums(X, extreme, unit)
        mean[extreme] = mean_in_units * unit
        deviation[extreme] = np.sqrt(squares / n) * unit
    # A deviation as small as a rounding error beside the mean: is the column constant?
    constant = np.flatnonzero((deviation > 0) & (deviation <= 1e-9 * np.abs(mean)))
    for start in range(0, n, size):
        if len(constant):
            first_row = dense(X[:1])[:, constant]
            constant = constant[(dense(X[start : start + size])[:, constant] == first_row).all(0)]
    deviation[constant] = 0.0
    if not deviation.any():
        raise InputError(
            f"All {n} rows are equal, so none is more central than another: "
            "give rows that differ in at least one column."
        )
    return mean, deviation


def _sums(
    X: CheckedRows, columns: slice | NDArray[np.intp] = slice(None), unit: NDArray[np.float64] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean and the sum of squares about it of all columns, or of these columns in these units."""
    n, p = X.shape
    size = rows_per_block(p)

    def of_block(start: int) -> _Moments:
        block = dense(X[start : start + size])[:, columns].astype(np.float64)
        if unit is not None:
            block /= unit
        mean = block.mean(0)
        block -= mean
        return len(block), mean, np.einsum("ij,ij->j", block, block)

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:  # numpy lets other threads run meanwhile
        _, mean, squares = merge_moments(pool.map(of_block, range(0, n, size)), at_once=max(8, MOST_VALUES // p))
    return mean, squares


def merge_moments(blocks: Iterator[_Moments], at_once: int) -> _Moments:
    """Combine the moments of blocks, a few at a time: for wide rows those of all blocks would fill the memory."""
    total: list[_Moments] = []
    while parts := [*total, *islice(blocks, at_once)]:
        if len(parts) == len(total):
            break
        counts = np.array([count for count, _, _ in parts])
        means = np.stack([mean for _, mean, _ in parts])
        squares = np.stack([square for _, _, square in parts])
        mean = np.average(means, axis=0, weights=counts)
        between = (counts[:, None] * np.square(means - mean)).sum(0)
        total = [(int(counts.sum()), mean, squares.sum(0) + between)]
    return total[0]


class ColumnRange:
    """The range of the columns: known from the pass over all rows that checks whether their values are finite."""

    def __init__(self) -> None:
        self._checked: tuple[object, Matrix] | None = None  # the rows, and their ends

    def all_finite(self, X: NDArray[Any]) -> bool:
        """Say whether all values are finite numbers."""
        ends = _ends(X)
        self._checked = X, ends
        return bool(np.isfinite(ends).all())

    def ends(self, X: CheckedRows) -> Matrix:  # (2, p)
        """Return the least and the greatest value of each column; of the rows that were checked, they are known."""
        return self._checked[1] if self._checked is not None and self._checked[0] is X else _ends(X)


def with_column_range(
    scaling: Scaling,
    X: CheckedRows,
    column_range: ColumnRange | None = None,
    measurements: NDArray[np.bool_] | None = None,
) -> Scaling:
    """Return the scaling with the range of X; a range that it already has is only widened.

    The scale becomes steeper beyond the range; if columns encode other things as well, only that of `measurements`.
    """
    ends = (column_range or ColumnRange()).ends(X)
    scaled_ends = _with_margin(scaling, ends)
    if scaling.seen is not None:
        return replace(scaling, seen=OUTWARD * np.maximum(OUTWARD * scaling.seen, OUTWARD * scaled_ends))
    with np.errstate(over="ignore"):  # a width may overflow to infinity: values beyond it are far enough then
        # Use the ends without their margin, which could exceed a narrow range.
        distance = np.abs(scaling.scaled(ends + OUTWARD * np.ptp(ends, axis=0)) - scaling.scaled(ends))
    # A column that is constant among the rows of X, though not among those that set the scaling, has no width: default.
    steeper = safe_divide(OUT_OF_RANGE_DISTANCE, distance, default=1.0) - 1
    chosen = np.ones(X.shape[1], dtype=bool) if measurements is None else measurements
    trust = min(1.0, X.shape[0] / (ROWS_PER_COLUMN * max(chosen.sum(), 1)))
    return replace(scaling, seen=scaled_ends, beyond=np.where(chosen, trust**2 * np.maximum(steeper, 0.0), 0.0))


def leave_one_out_range(scaling: Scaling, X: CheckedRows) -> tuple[Scaling, NDArray[np.bool_]]:
    """Return a scaling with the range from each column's second least to second greatest value, and say who is outside.

    A row that holds the least or greatest value of a column sets the range, beyond which new rows may lie. By this
    scaling it is scored as if it were new.
    """
    lies_outside = np.zeros(X.shape[0], dtype=bool)
    if scaling.seen is None or not 3 <= X.shape[0] <= MANY:
        return scaling, lies_outside
    second_ends = []
    for _, values in ColumnBlocks(X, MOST_VALUES):
        low, high = np.partition(values, (1, -2), axis=0)[[1, -2]]
        second_ends.append(np.stack([low, high]))
        lies_outside |= ((values < low) | (values > high)).any(1)
    return replace(scaling, seen=_with_margin(scaling, np.concatenate(second_ends, axis=1))), lies_outside


def _ends(X: CheckedRows) -> Matrix:  # (2, p)
    """Return the least and the greatest value of each column."""
    if sparse.issparse(X):
        rows = cast(Any, X)
        return np.stack([end.toarray().ravel().astype(np.float64) for end in (rows.min(axis=0), rows.max(axis=0))])
    rows = cast(NDArray[np.generic], X)
    if rows.dtype in (np.float32, np.float64) and rows.flags.c_contiguous:
        return engine().ends(rows)
    size = rows_per_block(rows.shape[1])
    blocks = [engine().ends(as_floats(rows[start : start + size])) for start in range(0, rows.shape[0], size)]
    return np.stack([np.min([block[0] for block in blocks], axis=0), np.max([block[1] for block in blocks], axis=0)])


def _with_margin(scaling: Scaling, ends: Matrix) -> Matrix:  # (2, p)
    """Return the columns' ends in scaled units, moved outward by RANGE_MARGIN."""
    return replace(scaling, seen=None, beyond=None).scaled(ends + OUTWARD * RANGE_MARGIN * np.abs(ends))
