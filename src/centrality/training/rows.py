"""The rows that training works on: scaled, in float32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality.network.scaling import Scaling, dense, rows_per_block
from centrality.training.off_support import how_many, moved_off

FEWEST_ROWS_HELD = 1024  # however wide they are


class Rows:
    """The rows that training works on, scaled, as one float32 array.

    All of them are held if they fit into `room` values, and no more than `most` are of use; else as many as fit,
    drawn at random, and `renew` draws others. With `folds`, those of fold 0 are never drawn then. `off_support` adds
    rows off the data behind them, at positions from len(rows) on.
    """

    def __init__(
        self,
        X: Any,
        scaling: Scaling,
        rng: np.random.Generator,
        *,
        room: int,
        most: int | None = None,
        folds: NDArray[np.int64] | None = None,
        off_support: bool = False,
    ) -> None:
        self._folds = folds  # (n,) of the rows of X; None: everybody may learn from all of them
        self.X, self.scaling, self._rng = X, scaling, rng
        self.total, self.width = int(X.shape[0]), int(X.shape[1])
        self.size = min(held_at_once(self.total, self.width, room), most or self.total)
        self._drawable = np.arange(self.total) if folds is None else np.flatnonzero(folds != 0)
        self.numbers: NDArray[np.intp] = np.arange(self.size)  # which rows of X are held
        self.off = how_many(self.size) if off_support else 0
        self.all = np.empty((self.size + self.off, self.width), dtype=np.float32)  # rows held, then rows off the data
        self.z = self.all[: self.size]
        self.renew()

    def __len__(self) -> int:
        return self.size

    @property
    def holds_all(self) -> bool:
        return self.size == self.total

    def renew(self) -> None:
        """Put other random rows in place of those held; where all are held, they stay, in their order."""
        if not self.holds_all:  # sorted: memory is read from one end to the other
            self.numbers = np.sort(self._drawable[self._rng.integers(len(self._drawable), size=self.size)])
        step = rows_per_block(self.width)
        for start in range(0, self.size, step):
            at = slice(start, start + step) if self.holds_all else self.numbers[start : start + step]
            self.z[start : start + step] = self.scaling.apply(self.given(at))
        if self.off:
            self.all[self.size :] = moved_off(self.z, self.off, self._rng)

    def without(self, folds: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the positions of the rows held that belong to none of these folds."""
        if self._folds is None:
            return np.arange(self.size)
        return np.flatnonzero(~np.isin(self._folds[self.numbers], folds))

    def given(self, numbers: Any) -> NDArray[Any]:
        """Return rows of X by their numbers, in the user's units, as a dense array."""
        return dense(self.X[numbers])

    def as_given(self) -> NDArray[np.float32]:
        """Return the rows held, in the user's units."""
        return self.given(slice(None) if self.holds_all else self.numbers).astype(np.float32)


def held_at_once(n: int, width: int, room: int) -> int:
    """Return how many of n rows fit into room for so many values."""
    return min(n, max(room // width, FEWEST_ROWS_HELD))

