"""Which rows a network must not be trained on, so that it can judge them: folds by the rows' content.

A row's fold follows from a hash of its numbers. So a row that was trained on can be recognised when it comes back, and
be scored by a network that has not seen it. What is kept of it are 32 bits, which one other row in four billion shares.

Copies of a row are dealt out to one fold after another: the network that judges one of them has seen the others, just
as it may have seen a new row's copies. Were they all left out together, common rows would look as if nobody had seen
their like, and thresholds would follow (measured on `donors`, four rows in five a copy: average precision .38, dealt
out .89).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

FOLDS = 5  # for an ensemble, each of whose members leaves out another one
FOLDS_FOR_ONE = 10  # for one network, which leaves out the first: measured, a tenth of clean rows is not missed
FEWEST_LEARNED = 3  # rows that a member must be left with: an anchor and a pair to compare
ROWS_HASHED_AT_ONCE = 8192
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits well mixed: 2⁶⁴ over the golden ratio


def hashes(rows: Any, varying: NDArray[np.bool_]) -> NDArray[np.uint64]:  # (n, p), (p,) -> (n,)
    """Hash each row's numbers, in float64: equal rows have equal hashes whatever they are stored as.

    Only the columns that vary count: no network looks at the others.
    """
    n, size = rows.shape[0], ROWS_HASHED_AT_ONCE
    parts = [_hashes(rows[start : start + size], varying) for start in range(0, n, size)]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.uint64)


def _hashes(block: Any, varying: NDArray[np.bool_]) -> NDArray[np.uint64]:
    values = np.asarray(block.toarray() if sparse.issparse(block) else block, dtype=np.float64) + 0.0  # -0 becomes 0
    values[:, ~varying] = 0.0
    with np.errstate(over="ignore"):  # arithmetic modulo 2⁶⁴ is meant
        columns = _mixed(np.arange(1, values.shape[1] + 1, dtype=np.uint64) * MULTIPLIER)
        bits = np.ascontiguousarray(values).view(np.uint64)
        return _mixed(_mixed(bits ^ columns).sum(1, dtype=np.uint64))


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Let every bit depend on every other: the finish of SplitMix64 (Steele, Lea and Flood)."""
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))


def folds_of(hashed: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """Return each row's fold, a number below `count`."""
    return ((hashed >> np.uint64(32)) % np.uint64(count)).astype(np.int64)


def dealt(hashed: NDArray[np.uint64], count: int) -> NDArray[np.int64]:
    """Return the fold, of so many, that each training row is left out with; its copies have one fold after another."""
    _, which, counts = np.unique(hashed, return_inverse=True, return_counts=True)
    number = np.empty(len(hashed), dtype=np.int64)  # of each row among its copies
    number[np.argsort(which, kind="stable")] = np.arange(len(hashed)) - np.repeat(np.cumsum(counts) - counts, counts)
    return (folds_of(hashed, count) + number) % count


@dataclass(frozen=True)
class Folds:
    """Which fold each member of an ensemble was trained without, and by what training rows are recognised."""

    count: int  # of folds
    left_out: tuple[int, ...]  # one for each member
    known: NDArray[np.uint32]  # (n,) sorted: the lower halves of the training rows' hashes

    @classmethod
    def of(cls, count: int, left_out: tuple[int, ...], hashed: NDArray[np.uint64]) -> "Folds":
        """Remember the training rows with these hashes, unless no member could judge most of them anyway."""
        known = hashed if len(set(left_out)) > 1 else hashed[:0]
        return cls(count, left_out, np.unique(known.astype(np.uint32)))

    def extended(self, hashed: NDArray[np.uint64]) -> "Folds":
        """Return these folds, knowing the rows with these hashes too."""
        return Folds.of(self.count, self.left_out, np.union1d(self.known, hashed.astype(np.uint32)))

    def one_each(self, outputs: NDArray[Any], rows: Any, varying: NDArray[np.bool_]) -> None:
        """Let each row, trained on or not, be judged as training rows are: by the members without its fold.

        So new rows and training rows can be compared with one another.
        """
        if len(set(self.left_out)) < 2:
            return  # one judgement is all there is
        self.honest(outputs, np.arange(outputs.shape[1]), folds_of(hashes(rows, varying), self.count))

    def honest(self, outputs: NDArray[Any], at: Any, folds: NDArray[np.int64]) -> None:
        """Let all members say of these rows, in place, what those say that have not seen them."""  # (members, n, k)
        for fold in set(self.left_out) & set(folds.tolist()):
            rows = at[folds == fold]
            unseen = np.flatnonzero(np.array(self.left_out) == fold)
            outputs[:, rows] = outputs[unseen][:, rows].mean(0)

    def recognised(self, rows: Any, varying: NDArray[np.bool_]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return which of the rows were trained on, and their folds."""
        if not len(self.known):
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
        hashed = hashes(rows, varying)
        low = hashed.astype(np.uint32)
        at = np.minimum(np.searchsorted(self.known, low), len(self.known) - 1)
        found = np.flatnonzero(self.known[at] == low)
        return found, folds_of(hashed[found], self.count)


@dataclass(frozen=True)
class Split:
    """Hold which of the training rows each member is trained without."""

    count: int  # of folds
    left_out: tuple[int, ...]  # one for each member
    hashed: NDArray[np.uint64]  # (n,)
    own: NDArray[np.int64]  # (n,) the fold that each row is left out with

    @classmethod
    def of(cls, X: Any, varying: NDArray[np.bool_], *, count: int, left_out: tuple[int, ...]) -> "Split | None":
        """Return the split of these rows; None if they are too few, so that all must be learned from."""
        hashed = hashes(X, varying)
        own = dealt(hashed, count)
        sizes = np.bincount(own, minlength=count)[list(left_out)]
        enough = sizes.min() > 0 and len(own) - sizes.max() >= FEWEST_LEARNED
        return cls(count, left_out, hashed, own) if enough else None

    def judged(self) -> NDArray[np.intp]:
        """Return the numbers of the rows that some member has not seen."""
        return np.flatnonzero(np.isin(self.own, self.left_out))

    def folds(self) -> Folds:
        """Return what a model remembers of the split."""
        return Folds.of(self.count, self.left_out, self.hashed)
