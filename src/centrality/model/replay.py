"""Remember a small uniform sample of all rows a model has seen: with it, a model learns on without forgetting.

It never goes into a file.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._estimator import CheckedRows

REMEMBERED_VALUES = 1 << 18  # 2 MiB in float64
FEWEST_REMEMBERED = 256  # rows, however wide they are
HYPERGEOMETRIC_ROWS = 10**9  # numpy draws from that law for fewer rows than this, on either side


@dataclass(frozen=True)
class Memory:
    """Hold some of the rows seen so far; a loaded model has none of them, for a file holds no rows."""

    rows: CheckedRows | None  # in the user's units
    folds: NDArray[np.int64] | None  # of those rows: which networks have not seen them, nor may learn from them later
    seen: int  # how many rows it stands for

    @classmethod
    def of(cls, X: CheckedRows, folds: NDArray[np.int64] | None, rng: np.random.Generator) -> "Memory":
        """Remember rows of X, which are all that was seen."""
        n, room = X.shape[0], _room(X)
        kept = np.arange(n) if n <= room else _some(n, room, rng)
        return cls(X[kept], None if folds is None else folds[kept], n)

    def with_new(self, X: CheckedRows, folds: NDArray[np.int64] | None, rng: np.random.Generator) -> "Memory":
        """Remember some of these rows too: of all rows seen, each is as likely to be remembered as any other."""
        n = X.shape[0]
        seen = self.seen + n
        if self.rows is None:
            return replace(Memory.of(X, folds, rng), seen=seen)
        remembered = self.rows.shape[0]
        size = min(_room(X), remembered + n)
        # A loaded model has forgotten what it saw: fewer old rows are left than may be asked for.
        new = max(_new_among(size, new=n, old=self.seen, rng=rng), size - remembered)
        old, fresh = _some(remembered, size - new, rng), _some(n, new, rng)
        parts = [self.rows[old], X[fresh]]
        together = (
            sparse.vstack(parts, format="csr")
            if sparse.issparse(X)
            else np.concatenate([np.asarray(part) for part in parts])
        )
        both = None if self.folds is None or folds is None else np.concatenate([self.folds[old], folds[fresh]])
        return Memory(together, both, seen)


def _room(X: CheckedRows) -> int:
    """Return how many rows of this width are remembered at most."""
    return max(FEWEST_REMEMBERED, REMEMBERED_VALUES // int(X.shape[1]))


def _new_among(size: int, *, new: int, old: int, rng: np.random.Generator) -> int:
    """Draw how many of `size` rows are new, if they are chosen at random from new and old rows without repetition."""
    if max(new, old) < HYPERGEOMETRIC_ROWS:
        return int(rng.hypergeometric(new, old, size))
    # Of so many rows hardly any is chosen twice: to allow that changes the variance by less than 0.03%.
    return min(new, int(rng.binomial(size, new / (new + old))))


def _some(n: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return so many of n row numbers, chosen at random without repetition, in their order."""
    return np.sort(rng.choice(n, count, replace=False))
