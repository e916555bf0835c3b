"""A sample of the rows that a model was trained on, for further training. It never goes into a file."""

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
MOST_KNOWN = 0.5  # above what chance gives: of rows of equally frequent whole numbers, at most 37% look known
MOST_COMPARED = 20_000  # rows
HYPERGEOMETRIC_ROWS = 10**9  # numpy's hypergeometric draw takes fewer rows than this, old or new


@dataclass(frozen=True)
class Reservoir:
    """A sample of the rows trained on so far; a loaded model has none of them, for a file holds no rows."""

    rows: CheckedRows | None  # in the user's units
    folds: NDArray[np.int8] | None  # for each of those rows, the networks that were not trained on it and never may be
    seen: int  # how many rows it stands for

    @classmethod
    def of(cls, X: CheckedRows, folds: NDArray[np.int8] | None, rng: np.random.Generator) -> "Reservoir":
        """Sample rows of X, taken as all rows that the model was trained on."""
        n, capacity = X.shape[0], _capacity(X)
        sample = np.arange(n) if n <= capacity else _draw(n, capacity, rng)
        return cls(X[sample], None if folds is None else folds[sample], n)

    def with_new(self, X: CheckedRows, folds: NDArray[np.int8] | None, rng: np.random.Generator) -> "Reservoir":
        """Return a sample of the old and the new rows together, in which every row seen is equally likely to be."""
        n = X.shape[0]
        total = self.seen + n
        if self.rows is None:
            return replace(Reservoir.of(X, folds, rng), seen=total)
        remembered = self.rows.shape[0]
        size = min(_capacity(X), remembered + n)
        # A model loaded from a file has lost its sample: fewer old rows are left than the draw may ask for.
        new = max(_new_among(size, new=n, old=self.seen, rng=rng), size - remembered)
        old = _draw(remembered, size - new, rng)
        fresh = _draw(n, new, rng)
        together = _together(self.rows[old], X[fresh])
        if folds is None:
            return Reservoir(together, None, total)
        of_old = np.full(len(old), LEARNED_BY_ALL, dtype=np.int8) if self.folds is None else self.folds[old]
        return Reservoir(together, np.concatenate([of_old, folds[fresh]]), total)

    def with_its_copies(self, X: CheckedRows, folds: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the folds of new rows, with those that copy remembered rows in the folds of these."""
        if self.rows is None or self.folds is None:
            return folds
        records = Records.of(_together(self.rows, X))
        old = self.rows.shape[0]
        first = np.flatnonzero(records.first)[records.of_row[old:]]
        return np.where(first < old, self.folds[np.minimum(first, old - 1)], folds)

    def warn_of_known(self, rows: CheckedRows | None) -> None:
        """Warn if the sample shows that most of these rows, which should be new, were already trained on."""
        if (share := self.estimated_overlap(rows)) > MOST_KNOWN:
            warn_caller(
                f"About {share:.0%} of these rows are training rows, which the networks have seen: p-values would be "
                "too small, and too many rows would be called outliers. Call calibrate with other rows, or without any."
            )

    def estimated_overlap(self, rows: CheckedRows | None) -> float:
        """Estimate from the sample which share of these rows the model was trained on.

        Only rows that occur once on both sides count: new rows of a few repeated values would look known.
        """
        if not isinstance(rows, np.ndarray) or not isinstance(self.rows, np.ndarray):
            return 0.0
        sample = rows[:: max(1, len(rows) // MOST_COMPARED)]
        once = np.intersect1d(unique_rows(sample), unique_rows(self.rows), assume_unique=True)
        return min(1.0, len(once) / len(sample) * self.seen / len(self.rows))


def _together(old: CheckedRows, new: CheckedRows) -> CheckedRows:
    """Return old rows with new ones below them."""
    if sparse.issparse(new):
        return cast(CheckedRows, sparse.vstack([old, new], format="csr"))
    return np.concatenate([np.asarray(old), np.asarray(new)])


def unique_rows(rows: NDArray[np.generic]) -> NDArray[np.void]:
    """Return the rows that occur once, each packed into one value."""
    values = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # which makes 0 of -0
    keys, counts = np.unique(values.view(np.dtype((np.void, values.shape[1] * 8))).ravel(), return_counts=True)
    return np.asarray(keys[counts == 1])


def _capacity(X: CheckedRows) -> int:
    """Return the largest number of rows of this width in the sample."""
    return max(FEWEST_REMEMBERED, REMEMBERED_VALUES // int(X.shape[1]))


def _new_among(size: int, *, new: int, old: int, rng: np.random.Generator) -> int:
    """Draw how many of `size` rows are new, if they are chosen at random from new and old rows without repetition."""
    if max(new, old) < HYPERGEOMETRIC_ROWS:
        return int(rng.hypergeometric(new, old, size))
    # Of so many rows hardly any is chosen twice: to allow that changes the variance by less than 0.03%.
    return min(new, int(rng.binomial(size, new / (new + old))))


def _draw(n: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return so many of n row numbers, chosen at random without repetition, in their order."""
    return np.sort(rng.choice(n, count, replace=False))
