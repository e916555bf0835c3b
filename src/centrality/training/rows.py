"""The rows that training works on: scaled, in float32."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality.network.scaling import Scaling, dense, rows_per_block
from centrality.training.off_support import FEW, MADE, SHARE, MadeRows

FEWEST_ROWS_HELD = 1024  # however wide they are


class Rows:
    """The rows that training works on, scaled, as one float32 array.

    All of them are held if they fit into `room` values, and no more than `most` are of use; else as many as fit,
    drawn at random, and `renew` draws others. With `folds`, those of fold 0 are never drawn then. `off_support` puts
    rows made of them behind them, at positions from len(rows) on. The columns `given` are a context: nothing is learned
    of their own distribution.
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
        given: NDArray[np.int64] | None = None,
    ) -> None:
        self._folds = folds  # (n,) of the rows of X; None: everybody may learn from all of them
        self.X, self.scaling, self._rng = X, scaling, rng
        self.total, self.width = int(X.shape[0]), int(X.shape[1])
        self.learned = np.ones(self.width, dtype=np.float32)  # 1 for a column that is learned, 0 for one that is given
        self.learned[[] if given is None else given] = 0.0
        self.size = min(held_at_once(self.total, self.width, room), most or self.total)
        self._drawable = np.arange(self.total) if folds is None else np.flatnonzero(folds != 0)
        self.numbers: NDArray[np.intp] = np.arange(self.size)  # which rows of X are held
        self._made: MadeRows | None = None
        made = MADE if off_support else 0
        self.all = np.empty((self.size + made, self.width), dtype=np.float32)  # the rows held, then those made of them
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
        if len(self.all) > self.size:
            self._made = MadeRows.of(self.z, self._rng, self.learned > 0)
            self.all[self.size :] = self._made.z

    def without(self, folds: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the positions of the rows held that belong to none of these folds."""
        if self._folds is None:
            return np.arange(self.size)
        return np.flatnonzero(~np.isin(self._folds[self.numbers], folds))

    def made_without(self, folds: tuple[int, ...]) -> NDArray[np.intp]:
        """Return the positions of made rows of which no parent belongs to these folds; none where none are made."""
        if self._made is None:
            return np.empty(0, dtype=np.intp)
        allowed = np.ones(self.size, dtype=bool) if self._folds is None else np.zeros(self.size, dtype=bool)
        allowed[self.without(folds)] = True
        return self.size + np.flatnonzero(allowed[self._made.parents].all(1))

    @property
    def every_made(self) -> int:
        """Return that one compared candidate in so many is to be a made row."""
        return 2 if self.size < FEW * self.width else SHARE

    def given(self, numbers: Any) -> NDArray[Any]:
        """Return rows of X by their numbers, in the user's units, as a dense array."""
        return dense(self.X[numbers])

    def as_given(self) -> NDArray[np.float32]:
        """Return the rows held, in the user's units."""
        return self.given(slice(None) if self.holds_all else self.numbers).astype(np.float32)


def held_at_once(n: int, width: int, room: int) -> int:
    """Return how many of n rows fit into room for so many values."""
    return min(n, max(room // width, FEWEST_ROWS_HELD))
