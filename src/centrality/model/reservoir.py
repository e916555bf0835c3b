"""A sample of the rows that a model was trained on, for further training. It is never written to a file."""

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal.checks import warn_caller
from centrality._internal.input import CheckedRows
from centrality.network.folds import LEARNED_BY_ALL, Records

REMEMBERED_VALUES = 1 << 18  # 2 MiB in float64
FEWEST_REMEMBERED = 256  # rows, however wide they are
# The estimated share of training rows among rows to calibrate with from which on the user is warned. Chance alone can
# make it 37%: of rows of whole numbers, all equally frequent.
MOST_OVERLAP = 0.5
MOST_COMPARED = 20_000  # rows
HYPERGEOMETRIC_ROWS = 10**9  # numpy draws from a hypergeometric distribution only below this many rows


@dataclass(frozen=True)
class Reservoir:
    """A sample of the rows trained on so far; it is empty in a loaded model, since files hold no rows."""

    rows: CheckedRows | None  # in the user's units
    folds: NDArray[np.int8] | None  # for each of these rows, the networks that must not be trained on it
    seen: int  # how many rows the model was trained on

    @classmethod
    def of(cls, X: CheckedRows, folds: NDArray[np.int8] | None, rng: np.random.Generator) -> "Reservoir":
        """Sample from X, all rows that the model was trained on."""
        n = X.shape[0]
        capacity = _capacity(X)
        sample = np.arange(n) if n <= capacity else _draw(n, capacity, rng)
        return cls(X[sample], None if folds is None else folds[sample], n)

    def with_new(self, X: CheckedRows, folds: NDArray[np.int8] | None, rng: np.random.Generator) -> "Reservoir":
        """Return a sample of all rows, old and new: each is equally likely to be in it."""
        n = X.shape[0]
        total = self.seen + n
        if self.rows is None:
            return replace(Reservoir.of(X, folds, rng), seen=total)
        remembered = self.rows.shape[0]
        size = min(_capacity(X), remembered + n)
        if max(n, self.seen) < HYPERGEOMETRIC_ROWS:
            count = int(rng.hypergeometric(n, self.seen, size))  # of the sample, how many rows are new
        else:  # of so many rows hardly any would be chosen twice: repetition changes the variance by less than 0.03%
            count = min(n, int(rng.binomial(size, n / (n + self.seen))))
        # If the model was loaded in between, fewer old rows are remembered than the draw may want.
        count = max(count, size - remembered)
        old = _draw(remembered, size - count, rng)
        new = _draw(n, count, rng)
        rows = _stacked(self.rows[old], X[new])
        if folds is None:
            return Reservoir(rows, None, total)
        folds_of_old = np.full(len(old), LEARNED_BY_ALL, dtype=np.int8) if self.folds is None else self.folds[old]
        return Reservoir(rows, np.concatenate([folds_of_old, folds[new]]), total)

    def folds_like_copies(self, X: CheckedRows, folds: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the folds of new rows, of which a copy of a remembered row goes into the fold of that row."""
        if self.rows is None or self.folds is None:
            return folds
        old = self.rows.shape[0]
        records = Records.of(_stacked(self.rows, X))
        first_equal = np.flatnonzero(records.first)[records.of_row[old:]]  # for each new row, the first one equal to it
        return np.where(first_equal < old, self.folds[np.minimum(first_equal, old - 1)], folds)

    def warn_of_known(self, rows: CheckedRows | None) -> None:
        """Warn if most of these rows, which should be new, seem to be training rows."""
        if (share := self.estimated_overlap(rows)) > MOST_OVERLAP:
            warn_caller(
                f"About {share:.0%} of these rows are training rows, which the networks have seen: p-values would be "
                "too small, and too many rows would be called outliers. Call calibrate with other rows, or without any."
            )

    def estimated_overlap(self, rows: CheckedRows | None) -> float:
        """Estimate from the sample which share of these rows the model was trained on.

        Only rows that occur once on either side count: new rows of few different values equal training rows by chance.
        """
        if not isinstance(rows, np.ndarray) or not isinstance(self.rows, np.ndarray):
            return 0.0
        sample = rows[:: max(1, len(rows) // MOST_COMPARED)]
        equal = np.intersect1d(unique_rows(sample), unique_rows(self.rows), assume_unique=True)
        return min(1.0, len(equal) / len(sample) * self.seen / len(self.rows))


def _stacked(old: CheckedRows, new: CheckedRows) -> CheckedRows:
    if sparse.issparse(new):
        return cast(CheckedRows, sparse.vstack([old, new], format="csr"))
    return np.concatenate([np.asarray(old), np.asarray(new)])


def unique_rows(rows: NDArray[np.generic]) -> NDArray[np.void]:
    """Return the rows that occur once, the bytes of each as one value."""
    values = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # -0 becomes 0
    keys, counts = np.unique(values.view(np.dtype((np.void, values.shape[1] * 8))).ravel(), return_counts=True)
    return np.asarray(keys[counts == 1])


def _capacity(X: CheckedRows) -> int:
    """Return the largest number of rows of this width in the sample."""
    return max(FEWEST_REMEMBERED, REMEMBERED_VALUES // int(X.shape[1]))


def _draw(n: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Choose `count` of n row numbers at random, without repetition; return them in rising order."""
    return np.sort(rng.choice(n, count, replace=False))
