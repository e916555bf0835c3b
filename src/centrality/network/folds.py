"""Choose the rows that the user keeps aside, and those that each network is not trained on: it scores them as new ones.

The rows are dealt out at random to a few folds. An ensemble's networks leave out two of four each, every network
another pair: each row is unseen by half of the networks. A network alone leaves out one fold of ten.

Copies of a record share a fold: a network that is trained on one of them has seen them all. Rows that are equal because
columns are coarse are dealt out one by one, as new rows will equal them, too.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, fraction
from centrality._internal.input import CheckedRows, ColumnBlocks, Dissimilarity
from centrality.network.scaling import MANY, MOST_VALUES, dense, rows_per_block

FOLDS = 4  # for an ensemble
LEFT_OUT = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))  # by its members: each pair is followed by the other half
FOLDS_FOR_ONE = 10  # for one network, which leaves out the first: measured, a tenth of clean rows is not missed
HELD_OUT_AT_LEAST, MOST_LEFT_OUT = 30, 0.3  # rows a network alone leaves out, where that is no more than such a share
HELD_OUT_GIVEN, MOST_GIVEN = 3000, 0.5  # the same given a context: p-values are to hold within kinds, which are parts
FEWEST_LEARNED = 3  # rows that a network must be left with: an anchor and a pair to compare
FEWEST_UNSEEN = 3  # rows that a network must leave out, since its scores are measured in their spread
LEARNED_BY_ALL = 100  # the fold of a row that no network leaves out
MOST_COPIES, MOST_COPIES_SHARE = 20, 0.05  # of one record, and share of all rows: it leaves 20 units at least
BY_CHANCE = 0.1  # rows are copies of a record if independent columns explain a smaller share of them than this
COMMON = 4  # rows equal by chance, from which number on all networks score them, as they score a new row equal to them


@dataclass(frozen=True)
class Folds:
    """The fold of each training row, and the folds that each network is trained without."""

    fold_of_row: NDArray[np.int8]  # (n,)
    left_out: tuple[tuple[int, ...], ...]  # one for each network

    @property
    def members_differ(self) -> bool:
        """Say whether networks leave out different rows."""
        return len(set(self.left_out)) > 1

    @property
    def leaves_enough(self) -> bool:
        """Say whether each network has enough rows to learn from."""
        return len(self.fold_of_row) - max(self._counts_of_unseen()) >= FEWEST_LEARNED

    @property
    def suffices(self) -> bool:
        """Say whether each network has enough rows to learn from, and enough others to be calibrated by."""
        return self.leaves_enough and min(self._counts_of_unseen()) >= FEWEST_UNSEEN

    def _counts_of_unseen(self) -> list[int]:
        """Return how many rows each network leaves out."""
        return [int(np.count_nonzero(_among(self.fold_of_row, folds))) for folds in self.left_out]

    def unseen(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:  # (members, rows)
        """Say which networks were not trained on which of these rows."""
        return np.stack([_among(self.fold_of_row[rows], folds) for folds in self.left_out])

    def rows_for_range(self, X: CheckedRows) -> CheckedRows:
        """Return the rows of X that set the columns' ends: the training rows, if all networks leave out the same rows.

        The rows left out may then lie beyond the ends, as new rows may. All rows set them if they are very many, since
        few are at an end, or if networks leave out different rows.
        """
        if self.members_differ or X.shape[0] > MANY:
            return X
        return X[np.flatnonzero(~_among(self.fold_of_row, self.left_out[0]))]

    def held_out_rows(self) -> NDArray[np.intp]:
        """Return the numbers of the rows that some network was not trained on."""
        return np.flatnonzero(_among(self.fold_of_row, {fold for folds in self.left_out for fold in folds}))


@dataclass(frozen=True)
class Units:
    """The units that rows were drawn in: copies of one record are one unit, every other row is its own.

    Rows of coarse columns are equal by chance. They are no copies of one record: new rows will equal them as well, and
    networks trained on one of them score the others as they score such new rows.
    """

    of_row: NDArray[np.intp]  # (n,) numbers from 0 on, in the order of the rows
    first: NDArray[np.bool_]  # (n,) the row is the first of its unit
    common: NDArray[np.bool_]  # (n,) the row is equal by chance to so many others that new rows will equal it, too

    @classmethod
    def of(cls, X: CheckedRows) -> "Units":
        """Find the units of the rows of X; of very many rows each is its own, since no network learns one by heart."""
        n = X.shape[0]
        numbers = np.arange(n)
        first_equal = numbers if n > MANY else equal_rows(X)
        counts = np.bincount(first_equal, minlength=n)[first_equal]
        is_copied = (counts > 1) & (counts <= max(1.0, min(MOST_COPIES, MOST_COPIES_SHARE * n)))
        copied = np.flatnonzero(is_copied)
        is_copied[copied[expected_equal(X, copied) >= BY_CHANCE * (counts[copied] - 1)]] = False
        first = ~is_copied | (first_equal == numbers)
        place = np.cumsum(first) - 1
        return cls(np.where(first, place, place[first_equal]), first, ~is_copied & (counts >= COMMON))

    @property
    def count(self) -> int:
        """Return how many units there are."""
        return int(np.count_nonzero(self.first))


def expected_equal(X: CheckedRows, rows: NDArray[np.intp]) -> NDArray[np.float64]:  # (len(rows),)
    """Return how many rows of X would be equal to each of these rows if its columns were independent of each other."""
    n = X.shape[0]
    expected = np.full(len(rows), float(n))
    if not len(rows):
        return expected
    for _, values in ColumnBlocks(X, MOST_VALUES):
        for column in values.T:
            _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
            expected *= counts[places[rows]] / n
        if (expected < BY_CHANCE).all():  # no row has fewer than one copy
            break
    return expected


def equal_rows(X: CheckedRows) -> NDArray[np.intp]:  # (n,)
    """Return for each row the number of the first row that is equal to it, which may be the row itself.

    Equal rows have equal random weighted sums, and few others have: only among rows whose sums coincide are all values
    compared.
    """
    n, size = X.shape[0], rows_per_block(X.shape[1])
    weights = np.random.default_rng(0).normal(size=X.shape[1])
    blocks = (dense(X[start : start + size]) * weights for start in range(0, n, size))
    _, places, counts = np.unique(
        np.concatenate([block.sum(1) for block in blocks]), return_inverse=True, return_counts=True
    )
    numbers = np.arange(n)
    candidates = np.flatnonzero(counts[places] > 1)
    first: dict[bytes, int] = {}
    for start in range(0, len(candidates), size):
        block = candidates[start : start + size]
        values = dense(X[block]) + 0  # which makes 0 of -0
        numbers[block] = [
            first.setdefault(row.tobytes(), number) for number, row in zip(block.tolist(), values, strict=True)
        ]
    return numbers


def split(
    n: int,
    members: int,
    rng: np.random.Generator,
    *,
    alike: bool,
    given: bool = False,
    units: Units | None = None,
) -> Folds | None:
    """Divide n rows into folds at random; return None if rows are too few to leave any out.

    `alike`: all networks leave out the same rows; `given`: there is a context; `units`: rows of one share a fold.
    """
    count = n if units is None else units.count
    if n > MANY and (alike or members == 1):  # nothing else is held for each row
        fold = np.minimum(rng.integers(FOLDS_FOR_ONE, size=count, dtype=np.int8), 1)
    elif alike or members == 1:
        rows, largest_share = (HELD_OUT_GIVEN, MOST_GIVEN) if given else (HELD_OUT_AT_LEAST, MOST_LEFT_OUT)
        share = np.clip(rows / count, 1 / FOLDS_FOR_ONE, largest_share)
        fold = np.ones(count, dtype=np.int8)
        order = np.arange(count, dtype=np.int32)
        rng.shuffle(order)
        fold[order[: int(share * count)]] = 0
    else:
        fold = rng.permutation(np.resize(np.arange(FOLDS, dtype=np.int8), count))
    folds = Folds(fold if units is None else fold[units.of_row], _left_out_by(members, alike=alike))
    return folds if folds.suffices else None


def split_few(n: int, members: int, rng: np.random.Generator, *, alike: bool, given: bool = False) -> Folds:
    """Divide rows that are too few for `split`, each by itself, so that it joins others that have folds already."""
    if alike or members == 1:
        fold = (rng.random(n) >= (MOST_GIVEN if given else MOST_LEFT_OUT)).astype(np.int8)
    else:
        fold = rng.integers(FOLDS, size=n, dtype=np.int8)
    return Folds(fold, _left_out_by(members, alike=alike))


def _left_out_by(members: int, *, alike: bool) -> tuple[tuple[int, ...], ...]:
    """Return the folds that each network leaves out."""
    if alike or members == 1:
        return ((0,),) * members
    return tuple(LEFT_OUT[member % len(LEFT_OUT)] for member in range(members))


def _among(fold_of_row: NDArray[np.int8], folds: Iterable[int]) -> NDArray[np.bool_]:
    """Say which rows belong to one of these folds."""
    belongs = np.zeros(fold_of_row.shape, dtype=bool)
    for fold in folds:
        belongs |= fold_of_row == fold
    return belongs


def split_off_holdout(
    holdout: float | None, X: CheckedRows, rng: np.random.Generator
) -> tuple[NDArray[np.intp] | None, NDArray[np.intp] | None]:
    """Return the numbers of the rows to train on and of those to calibrate on; None for both without a holdout.

    Copies of a row are on one side, and of those aside only the first calibrates.
    """
    if holdout is None:
        return None, None
    n = X.shape[0]
    share = fraction("holdout", holdout)
    units = Units.of(X)
    count = max(1, round(share * units.count))
    is_aside = np.zeros(units.count, dtype=bool)
    is_aside[rng.permutation(units.count)[:count]] = True
    learned = np.flatnonzero(~is_aside[units.of_row])
    if len(learned) < 3:
        raise InputError(f"holdout={holdout:g} of {n} rows leaves {len(learned)} to train on, at least 3 were wanted.")
    return learned, np.flatnonzero(is_aside[units.of_row] & units.first)


def restrict_dissimilarity(dissimilarity: Dissimilarity, index: NDArray[np.intp], n: int) -> Dissimilarity:
    """Return the dissimilarity restricted to these of n rows, which get new numbers from 0 on."""
    if dissimilarity is None:
        return None
    if callable(dissimilarity):
        return lambda i, j: dissimilarity(index[i], index[j])
    return check_square(np.asarray(dissimilarity), n)[np.ix_(index, index)]


def check_square(matrix: NDArray[np.floating], n: int) -> NDArray[np.floating]:
    """Return a matrix of dissimilarities of n rows; raise unless it has a row and a column for each."""
    if matrix.shape != (n, n):
        raise InputError(
            f"dissimilarity must be a square matrix with one row and column for each of the {n} rows of X, "
            f"got shape {matrix.shape}."
        )
    return matrix
