"""The scaled rows that training works on, in float32, and behind them synthetic rows.

Synthetic rows are candidates of the global head's comparisons. Any point can be compared, but comparisons among
training rows alone teach nothing of what lies beyond them: where a column holds zeros and amounts, a large negative
number could get the highest score. So some candidates are training rows with one or more cells displaced out of the
column's range. Where rows are few for their columns the head would overfit; there most synthetic rows are crossed from
two training rows: each cell is taken from one of them. Anchors are never synthetic, nor are rows of the local head.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import column_quantiles
from centrality._internal.input import CheckedRows
from centrality.network.folds import Folds
from centrality.network.scaling import Scaling, dense, rows_per_block

FEWEST_ROWS = 1024  # held in memory, however wide they are
SYNTHETIC_ROWS = 2048  # how many there are at a time
EVERY = 4  # one candidate in so many is synthetic,
EVERY_IF_FEW = 2  # or one in so many, where rows are few for their columns
FEW = 10  # training rows for each column, below which rows are few: three in four synthetic rows are then crossed
SAMPLE = 2000  # rows that tell the range of a column, about
NEAR = 1.0  # half of the displaced cells lie this far beyond the range on average, in scaled units
FAR = 36.0  # the others lie up to this far: a bent column ends there, since 10 + log(1e15 - 10) is 45

Index = NDArray[np.intp]
Matrix = NDArray[np.float32]


class TrainingData:
    """Rows of X in scaled units, as one float32 array, and which of them a member may learn from.

    Memory holds all rows, or a random sample if there are more than `max_rows`, or more than `max_values` values. Then
    `redraw` draws another sample; rows of the first of the `folds` are never drawn, since all members leave it out.
    With `synthetic`, synthetic rows are behind them, at positions from len(data) on. `context` are the columns whose
    distribution is not learned.
    """

    def __init__(
        self,
        X: CheckedRows,
        scaling: Scaling,
        rng: np.random.Generator,
        *,
        max_values: int,
        max_rows: int | None = None,
        folds: Folds | None = None,
        synthetic: bool = False,
        context: NDArray[np.int64] | None = None,
    ) -> None:
        self.X = X
        self.folds = folds  # None: every member learns from all rows
        self.total = int(X.shape[0])
        self.width = int(X.shape[1])
        self._scaling = scaling
        self._rng = rng
        self.learned_columns = np.ones(self.width, dtype=np.float32)  # 0 for a column of the context
        self.learned_columns[[] if context is None else context] = 0.0
        size = min(rows_in_memory(self.total, self.width, max_values), max_rows or self.total)
        self.holds_all = size == self.total
        self.row_numbers: Index = np.arange(size)  # which rows of X are in memory
        self.candidates = np.empty((size + SYNTHETIC_ROWS * synthetic, self.width), dtype=np.float32)
        self.z = self.candidates[:size]  # without the synthetic rows
        self.synthetic_every = EVERY_IF_FEW if are_few(self.z) else EVERY  # one candidate in so many is synthetic
        self._synthetic: SyntheticRows | None = None
        self._positions: dict[tuple[str, tuple[int, ...]], Index] = {}
        self.redraw()

    def __len__(self) -> int:
        return len(self.z)

    def redraw(self) -> None:
        """Fill the memory with other random rows, or with all rows in order if they fit; then make synthetic rows."""
        size = len(self)
        if not self.holds_all:
            numbers: Index = np.empty(0, dtype=np.intp)
            while len(numbers) < size:  # with repetition: a list of all row numbers might not fit into memory
                more = self._rng.integers(self.total, size=size)
                if self.folds is not None:
                    more = more[self.folds.fold_of_row[more] > 0]
                numbers = np.concatenate([numbers, more])[:size]
            self.row_numbers = np.sort(numbers)  # so that rows are read from one end of X to the other
        self._positions.clear()
        step = rows_per_block(self.width)
        for start in range(0, size, step):
            at = slice(start, start + step) if self.holds_all else self.row_numbers[start : start + step]
            self.z[start : start + step] = self._scaling.apply(self.unscaled(at))
        if len(self.candidates) > size:
            self._synthetic = SyntheticRows.of(self.z, self._rng, self.learned_columns > 0)
            self.candidates[size:] = self._synthetic.z

    def learned_by(self, member: int) -> Index:
        """Return the positions of the rows in memory that this member may learn from."""
        left_out = () if self.folds is None else self.folds.left_out[member]
        key = ("rows", left_out)
        if key not in self._positions:
            allowed = np.ones(len(self), dtype=bool)
            if self.folds is not None:
                allowed = ~np.isin(self.folds.fold_of_row[self.row_numbers], left_out)
            self._positions[key] = np.flatnonzero(allowed)
        return self._positions[key]

    def synthetic_for(self, member: int) -> Index:
        """Return the positions of the synthetic rows whose parents this member may learn from; there may be none."""
        if self._synthetic is None:
            return np.empty(0, dtype=np.intp)
        left_out = () if self.folds is None else self.folds.left_out[member]
        key = ("synthetic", left_out)
        if key not in self._positions:
            allowed = np.zeros(len(self), dtype=bool)
            allowed[self.learned_by(member)] = True
            self._positions[key] = len(self) + np.flatnonzero(allowed[self._synthetic.parents].all(1))
        return self._positions[key]

    def unscaled(self, numbers: slice | Index | None = None) -> NDArray[np.generic]:
        """Return the rows of X with these numbers, or those in memory, in the user's units, as a dense array."""
        if numbers is None:
            numbers = slice(None) if self.holds_all else self.row_numbers
        return dense(self.X[numbers])


def rows_in_memory(n: int, width: int, max_values: int) -> int:
    """Return how many of n rows to hold, so that they have at most `max_values` values."""
    return min(n, max(max_values // width, FEWEST_ROWS))


@dataclass(frozen=True)
class SyntheticRows:
    """Synthetic rows and their parents: a member learns from those alone whose parents it may learn from."""

    z: Matrix  # (SYNTHETIC_ROWS, p)
    parents: NDArray[np.intp]  # (SYNTHETIC_ROWS, 2)

    @classmethod
    def of(cls, z: Matrix, rng: np.random.Generator, learned: NDArray[np.bool_] | None = None) -> "SyntheticRows":
        """Make synthetic rows of the scaled rows z: cells are displaced, or three in four crossed if z has few rows.

        Columns that are not `learned` are a context, which a synthetic row takes from its first parent.
        """
        count = SYNTHETIC_ROWS
        parents = rng.integers(len(z), size=(count, 2))
        is_crossed = np.arange(count) % 4 > 0 if are_few(z) else np.zeros(count, dtype=bool)
        parents[~is_crossed, 1] = parents[~is_crossed, 0]
        first = z[parents[:, 0]]
        second = z[parents[:, 1]]
        rows = displace_cells(z, first, rng)
        from_first = rng.random((int(is_crossed.sum()), z.shape[1])) < 0.5
        rows[is_crossed] = np.where(from_first, first[is_crossed], second[is_crossed])
        return cls(rows if learned is None else np.where(learned, rows, first), parents)


def are_few(z: Matrix) -> bool:
    """Say whether rows are few for their columns."""
    return bool(len(z) < FEW * z.shape[1])


def usual_range(z: Matrix) -> tuple[Matrix, Matrix]:  # (p,), (p,)
    """Return the 1st and 99th percentile of each column; where they are equal, its smallest and largest value."""
    low, high = column_quantiles(z[:: -(-len(z) // SAMPLE)], [0.01, 0.99])
    rare = low == high
    if rare.any():
        low = np.where(rare, z.min(0), low)
        high = np.where(rare, z.max(0), high)
    return low.astype(np.float32), high.astype(np.float32)


def displace_cells(z: Matrix, rows: Matrix, rng: np.random.Generator) -> Matrix:
    """Return rows with cells displaced out of the usual ranges of the columns of z, to either side.

    Half of the rows have one such cell, the others any number; a constant column is left alone.
    """
    count, p = rows.shape
    low, high = usual_range(z)
    share = np.where(rng.random(count) < 0.5, 0.0, rng.random(count))  # of the cells, beside one that always is
    is_displaced = rng.random((count, p)) < share[:, None]
    is_displaced[np.arange(count), rng.integers(p, size=count)] = True
    is_displaced &= high > low
    distance = np.where(rng.random((count, p)) < 0.5, rng.exponential(NEAR, (count, p)), FAR * rng.random((count, p)))
    cells = np.where(rng.random((count, p)) < 0.5, low - distance, high + distance)
    return np.where(is_displaced, cells, rows).astype(np.float32)
