"""Which rows a network must not be trained on, so that it can judge them: folds by the rows' content.

A row's fold follows from a hash of its scaled numbers. So a row that was trained on can be recognised when it comes
back, and be scored by a network that has not seen it. What is kept of it are 32 bits, which one other row in four
billion shares. Numbers are rounded first: rows that differ by less than a grain count as copies, and neither the units
of a column nor float32 change the folds.

Copies of a row are dealt out to one fold after another: the network that judges one of them has seen the others, just
as it may have seen a new row's copies. Were they all left out together, common rows would look as if nobody had seen
their like, and thresholds would follow (measured on `donors`, four rows in five a copy: average precision .38, dealt
out .89).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDS = 5  # for an ensemble, each of whose members leaves out another one
FOLDS_FOR_ONE = 10  # for one network, which leaves out the first: measured, a tenth of clean rows is not missed
FEWEST_LEARNED = 3  # rows that a member must be left with: an anchor and a pair to compare
GRAIN = 2.0**-12  # to which scaled numbers are rounded, in units of their size
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, its bits well mixed: 2⁶⁴ over the golden ratio

Scaled = NDArray[np.float64]


def hashes(z: Scaled, grain: float) -> NDArray[np.uint64]:  # (n, p) -> (n,)
    """Hash each scaled row's numbers, rounded to multiples of `grain`."""
    steps = np.rint(np.clip(z / grain, -(2.0**62), 2.0**62)).astype(np.int64)
    return hashes_of_bits(steps.view(np.uint64))


def hashes_of_bits(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:  # (n, p) -> (n,)
    """Hash each row of numbers of 64 bits."""
    with np.errstate(over="ignore"):  # arithmetic modulo 2⁶⁴ is meant
        columns = _mixed(np.arange(1, bits.shape[1] + 1, dtype=np.uint64) * MULTIPLIER)
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
    grain: float  # to which numbers are rounded before they are hashed
    known: NDArray[np.uint32]  # sorted: the lower halves of the training rows' hashes

    def knowing(self, hashed: NDArray[np.uint64]) -> "Folds":
        """Return these folds, remembering the rows with these hashes too.

        A network alone could not judge most of them anyway, and remembers none.
        """
        more = hashed.astype(np.uint32) if len(set(self.left_out)) > 1 else self.known[:0]
        return replace(self, known=np.union1d(self.known, more))

    def one_each(self, outputs: NDArray[Any], hashed: NDArray[np.uint64]) -> None:
        """Let each row, trained on or not, be judged as training rows are: by the members without its fold.

        So new rows and training rows can be compared with one another.
        """
        if len(set(self.left_out)) < 2:
            return  # one judgement is all there is
        self.honest(outputs, np.arange(outputs.shape[1]), folds_of(hashed, self.count))

    def honest(self, outputs: NDArray[Any], at: Any, folds: NDArray[np.int64]) -> None:
        """Let all members say of these rows, in place, what those say that have not seen them."""  # (members, n, k)
        for fold in set(self.left_out) & set(folds.tolist()):
            rows = at[folds == fold]
            unseen = np.flatnonzero(np.array(self.left_out) == fold)
            outputs[:, rows] = outputs[unseen][:, rows].mean(0)

    def recognised(self, hashed: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
        """Return which of the rows with these hashes were trained on, and their folds."""
        if not len(self.known):
            return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.int64)
        low = hashed.astype(np.uint32)
        at = np.minimum(np.searchsorted(self.known, low), len(self.known) - 1)
        found = np.flatnonzero(self.known[at] == low)
        return found, folds_of(hashed[found], self.count)


@dataclass(frozen=True)
class Split:
    """Hold which of the training rows each member is trained without."""

    folds: Folds
    own: NDArray[np.int64]  # (n,) the fold that each row is left out with

    @classmethod
    def of(cls, blocks: Iterable[Scaled], folds: Folds) -> "Split | None":
        """Split scaled rows, given block by block; None if they are too few, so that all must be learned from."""
        hashed = np.concatenate([hashes(z, folds.grain) for z in blocks])
        own = dealt(hashed, folds.count)
        sizes = np.bincount(own, minlength=folds.count)[list(folds.left_out)]
        enough = sizes.min() > 0 and len(own) - sizes.max() >= FEWEST_LEARNED
        return cls(folds.knowing(hashed), own) if enough else None

    def judged(self) -> NDArray[np.intp]:
        """Return the numbers of the rows that some member has not seen."""
        return np.flatnonzero(np.isin(self.own, self.folds.left_out))


def to_be_split(count: int, left_out: tuple[int, ...], sample: Scaled) -> Folds:
    """Return folds that know no rows yet; `sample` are some scaled rows, whose size says what a grain is.

    That is a size which no few numbers and no single column decide: rows may not have been scaled at all.
    """
    columns = np.abs(sample).T
    sizes = [np.median(column[column > 0]) for column in columns if column.any()]
    return Folds(count, left_out, GRAIN * float(np.median(sizes or [1.0])), np.empty(0, np.uint32))
