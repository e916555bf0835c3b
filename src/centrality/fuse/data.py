"""Hold the rows that training works on: scaled, in float32; and behind them, rows made of them.

Made rows are for the global head, as candidates of comparisons. Which of two points is nearer to the anchors can be
told of any two points, but comparisons among training rows teach nothing about what lies beyond them: where a column
holds zeros and amounts, a large negative number could get the highest score. So some candidates are training rows
with one or more cells moved out of the column's range. And where rows are few for their columns, the head would learn
overfit: others are then crossed from two training rows, each cell taken from one of them. Anchors are never made,
and the local head sees no made row.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import column_quantiles
from centrality._internal.input import CheckedRows
from centrality.network.scaling import Scaling, dense, rows_per_block

FEWEST_ROWS_HELD = 1024  # however wide they are
SHARE = 4  # one compared candidate in so many is a made row
FEW = 10  # training rows for each column, below which others are made too, and every other candidate is a made row
MADE = 2048  # how many there are at a time
SAMPLE = 2000  # rows that tell the range of a column, about
NEAR = 1.0  # in scaled units, how far beyond the range half of the moved cells lie, on average
FAR = 36.0  # up to where the others lie: a bent column ends there, since 10 + log(1e15 - 10) is 45

Matrix = NDArray[np.float32]


class TrainingData:
    """Hold the rows that training works on, scaled, as one float32 array.

    All of them are held if they have no more than `max_values` values, and no more than `most` are of use; else as many
    as fit, drawn at random, and `renew` draws others. With `folds`, those of fold 0 are never drawn then. `off_support`
    puts rows made of them behind them, at positions from len(rows) on. The columns `given` are a context: nothing is
    learned of their own distribution.
    """

    def __init__(
        self,
        X: CheckedRows,
        scaling: Scaling,
        rng: np.random.Generator,
        *,
        max_values: int,
        most: int | None = None,
        folds: NDArray[np.int8] | None = None,
        off_support: bool = False,
        given: NDArray[np.int64] | None = None,
    ) -> None:
        self._folds = folds  # (n,) of the rows of X; None: everybody may learn from all of them
        self.X, self.scaling, self._rng = X, scaling, rng
        self.total, self.width = int(X.shape[0]), int(X.shape[1])
        self.learned = np.ones(self.width, dtype=np.float32)  # 1 for a column that is learned, 0 for one that is given
        self.learned[[] if given is None else given] = 0.0
        self.size = min(rows_in_memory(self.total, self.width, max_values), most or self.total)
        self.holds_all = self.size == self.total
        self.numbers: NDArray[np.intp] = np.arange(self.size)  # which rows of X are held
        self._made: SyntheticRows | None = None
        self._known: dict[tuple[str, tuple[int, ...]], NDArray[np.intp]] = {}  # positions that were asked for
        made = MADE if off_support else 0
        self.all = np.empty((self.size + made, self.width), dtype=np.float32)  # the rows held, then those made of them
        self.z = self.all[: self.size]
        self.renew()

    def __len__(self) -> int:
        return self.size

    def renew(self) -> None:
        """Fill the array with other random rows, or with all rows in order if they fit; then make the made rows."""
        if not self.holds_all:  # sorted: memory is read from one end to the other
            self.numbers = np.sort(self._drawn(self.size))
        self._known.clear()
        step = rows_per_block(self.width)
        for start in range(0, self.size, step):
            at = slice(start, start + step) if self.holds_all else self.numbers[start : start + step]
            self.z[start : start + step] = self.scaling.apply(self.given(at))
        if len(self.all) > self.size:
            self._made = SyntheticRows.of(self.z, self._rng, self.learned > 0)
            self.all[self.size :] = self._made.z

    def _drawn(self, count: int) -> NDArray[np.intp]:
        """Draw the numbers of so many rows at random, none of them of fold 0."""
        drawn: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        while len(drawn) < count:  # what rows must not be drawn is no list: it might be longer than memory allows
            some = self._rng.integers(self.total, size=count)
            drawn = np.concatenate([drawn, some if self._folds is None else some[self._folds[some] > 0]])[:count]
        return drawn

    def without(self, folds: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the positions of the rows held that belong to none of these folds."""
        asked = ("held", folds)
        if asked not in self._known:
            allowed = np.ones(self.size, dtype=bool)
            if self._folds is not None:
                allowed = ~np.isin(self._folds[self.numbers], folds)
            self._known[asked] = np.flatnonzero(allowed)
        return self._known[asked]

    def made_without(self, folds: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the positions of made rows without a parent in these folds; it is empty if there are no made rows."""
        if self._made is None:
            return np.empty(0, dtype=np.intp)
        asked = ("made", folds)
        if asked not in self._known:
            allowed = np.zeros(self.size, dtype=bool)
            allowed[self.without(folds)] = True
            self._known[asked] = self.size + np.flatnonzero(allowed[self._made.parents].all(1))
        return self._known[asked]

    @property
    def synthetic_every(self) -> int:
        """Return k such that one compared candidate in k is a made row."""
        return 2 if few(self.z) else SHARE

    def given(self, numbers: slice | NDArray[np.intp]) -> NDArray[np.generic]:
        """Return rows of X by their numbers, in the user's units, as a dense array."""
        return dense(self.X[numbers])

    def as_given(self) -> NDArray[np.float32]:
        """Return the rows held, in the user's units."""
        return self.given(slice(None) if self.holds_all else self.numbers).astype(np.float32)


def rows_in_memory(n: int, width: int, max_values: int) -> int:
    """Return how many of n rows to hold, so that they have at most `max_values` values."""
    return min(n, max(max_values // width, FEWEST_ROWS_HELD))


@dataclass(frozen=True)
class SyntheticRows:
    """Hold made rows and their parents: a network that must not see a parent is not shown the made row."""

    z: Matrix  # (MADE, p)
    parents: NDArray[np.intp]  # (MADE, 2)

    @classmethod
    def of(cls, z: Matrix, rng: np.random.Generator, learned: NDArray[np.bool_] | None = None) -> "SyntheticRows":
        """Make rows from the scaled rows z: all by moving cells off the data, or one in four if z has few rows.

        Columns that are not `learned` are a context, which a made row takes from its first parent.
        """
        parents = rng.integers(len(z), size=(MADE, 2))
        crossed = np.arange(MADE) % 4 > 0 if few(z) else np.zeros(MADE, dtype=bool)
        parents[~crossed, 1] = parents[~crossed, 0]
        made = displace_cells(z, z[parents[:, 0]], rng)
        either = rng.random((int(crossed.sum()), z.shape[1])) < 0.5
        made[crossed] = np.where(either, z[parents[crossed, 0]], z[parents[crossed, 1]])
        return cls(made if learned is None else np.where(learned, made, z[parents[:, 0]]), parents)


def few(z: Matrix) -> bool:
    """Say whether rows are few for their columns."""
    return bool(len(z) < FEW * z.shape[1])


def usual_range(z: Matrix) -> tuple[Matrix, Matrix]:  # (p,), (p,)
    """Return the 1st and 99th percentile of each column, robust to wild cells; its ends if the two are equal."""
    low, high = column_quantiles(z[:: -(-len(z) // SAMPLE)], [0.01, 0.99])
    rare = low == high
    if rare.any():
        low, high = np.where(rare, z.min(0), low), np.where(rare, z.max(0), high)
    return low.astype(np.float32), high.astype(np.float32)


def displace_cells(z: Matrix, rows: Matrix, rng: np.random.Generator) -> Matrix:
    """Return rows with cells moved out of the usual ranges of the columns of z, to either side.

    Half of them have one cell moved, the others any number; a constant column is left alone.
    """
    count, p = rows.shape
    low, high = usual_range(z)
    share = np.where(rng.random(count) < 0.5, 0.0, rng.random(count))  # of the cells, beside the one that always moves
    moved = rng.random((count, p)) < share[:, None]
    moved[np.arange(count), rng.integers(p, size=count)] = True
    moved &= high > low
    beyond = np.where(rng.random((count, p)) < 0.5, rng.exponential(NEAR, (count, p)), FAR * rng.random((count, p)))
    there = np.where(rng.random((count, p)) < 0.5, low - beyond, high + beyond)
    return np.where(moved, there, rows).astype(np.float32)
