"""Choose the rows that each network is not trained on, and scores as new ones; and those that the user keeps aside.

Rows are dealt out to folds at random. Each network of an ensemble leaves out two of four folds, every network another
pair, so that each row is unseen by half of the networks. A network alone leaves out a tenth of the rows.

Copies of one record share a fold, since a network that is trained on one of them has seen them all. But rows may also
be equal by chance, where columns have few values. They are dealt out one by one: new rows will equal them too.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, fraction
from centrality._internal.input import CheckedRows, ColumnBlocks, Dissimilarity
from centrality.network.scaling import MANY, MOST_VALUES, dense, rows_per_block

FOLDS = 4  # for an ensemble
LEFT_OUT = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))  # by the members in turn: two in a row leave out all rows
SHARE_LEFT_OUT = 0.1  # by one network, of the rows: measured, training misses no tenth of clean rows
FEWEST_LEFT_OUT = 30  # rows that one network leaves out, though they may be more than a tenth,
LARGEST_LEFT_OUT = 0.3  # but no larger a share than this
FEWEST_LEFT_OUT_GIVEN = 3000  # the same two with a context: p-values are to hold for each of its categories
LARGEST_LEFT_OUT_GIVEN = 0.5
FEWEST_LEARNED = 3  # rows that a network must be left with: an anchor and a pair to compare
FEWEST_UNSEEN = 3  # rows that a network must leave out, since its scores are measured in their spread
LEARNED_BY_ALL = 100  # the fold of a row that no network leaves out
MOST_COPIES = 20  # of one record; rows that are equal more often are equal by chance,
MOST_COPIES_SHARE = 0.05  # or if they are a larger share of all rows than this: so there are 20 records at least
BY_CHANCE = 0.1  # rows are copies if independent columns would lead to fewer equal rows than this share of them
COMMON = 4  # so many rows equal by chance are scored by all networks, as a new row that equals them will be


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
    def can_train(self) -> bool:
        """Say whether each network has enough rows to learn from."""
        return len(self.fold_of_row) - max(self._rows_left_out()) >= FEWEST_LEARNED

    @property
    def can_calibrate(self) -> bool:
        """Say whether each network has enough rows to learn from, and enough others to be calibrated by."""
        return self.can_train and min(self._rows_left_out()) >= FEWEST_UNSEEN

    def _rows_left_out(self) -> list[int]:
        """Return how many rows each network leaves out."""
        return [int(np.count_nonzero(_among(self.fold_of_row, folds))) for folds in self.left_out]

    def unseen(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:  # (members, rows)
        """Say which networks were not trained on which of these rows."""
        return np.stack([_among(self.fold_of_row[rows], folds) for folds in self.left_out])

    def rows_for_range(self, X: CheckedRows) -> CheckedRows:
        """Return the rows of X that set the range of each column.

        If all networks leave out the same rows, these are the others: rows left out may then lie beyond the range, as
        new rows may. Otherwise all rows set it; and so they do where they are very many, since few lie at an end.
        """
        if self.members_differ or X.shape[0] > MANY:
            return X
        return X[np.flatnonzero(~_among(self.fold_of_row, self.left_out[0]))]

    def held_out_rows(self) -> NDArray[np.intp]:
        """Return the numbers of the rows that some network was not trained on."""
        return np.flatnonzero(_among(self.fold_of_row, {fold for folds in self.left_out for fold in folds}))


@dataclass(frozen=True)
class Records:
    """The records that the rows stand for: copies are one record, and every other row is a record of its own.

    Rows may also be equal by chance, where columns have few values. These are no copies, since new rows will equal them
    as well: a network trained on one of them scores the others as it scores such new rows.
    """

    of_row: NDArray[np.intp]  # (n,) numbers from 0 on, in the order of the rows
    first: NDArray[np.bool_]  # (n,) the row is the first of its record
    common: NDArray[np.bool_]  # (n,) the row is equal by chance to so many others that new rows will equal it too

    @classmethod
    def of(cls, X: CheckedRows) -> "Records":
        """Find the records of the rows of X. Each of very many rows is its own: no network learns one by heart."""
        n = X.shape[0]
        numbers = np.arange(n)
        first_equal = numbers if n > MANY else equal_rows(X)
        counts = np.bincount(first_equal, minlength=n)[first_equal]
        is_copied = (counts > 1) & (counts <= max(1.0, min(MOST_COPIES, MOST_COPIES_SHARE * n)))
        copied = np.flatnonzero(is_copied)
        is_copied[copied[expected_equal(X, copied) >= BY_CHANCE * (counts[copied] - 1)]] = False
        first = ~is_copied | (first_equal == numbers)
        number = np.cumsum(first) - 1
        of_row = np.where(first, number, number[first_equal])
        return cls(of_row, first, ~is_copied & (counts >= COMMON))

    @property
    def count(self) -> int:
        """Return how many records there are."""
        return int(np.count_nonzero(self.first))


def expected_equal(X: CheckedRows, rows: NDArray[np.intp]) -> NDArray[np.float64]:  # (len(rows),)
    """Return how many rows of X would be equal to each of these rows if the columns were independent of each other."""
    n = X.shape[0]
    expected = np.full(len(rows), float(n))
    if not len(rows):
        return expected
    for _, values in ColumnBlocks(X, MOST_VALUES):
        for column in values.T:
            _, places, counts = np.unique(column, return_inverse=True, return_counts=True)
            expected *= counts[places[rows]] / n
        if (expected < BY_CHANCE).all():  # all are copies already: further columns only make it fewer
            break
    return expected


def equal_rows(X: CheckedRows) -> NDArray[np.intp]:  # (n,)
    """Return for each row the number of the first row that is equal to it, which may be the row itself.

    All values are compared only among rows whose randomly weighted sums are equal: few rows have that by chance.
    """
    n = X.shape[0]
    size = rows_per_block(X.shape[1])
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
    members_differ: bool,
    has_context: bool = False,
    records: Records | None = None,
) -> Folds | None:
    """Divide n rows into folds at random; return None if rows are too few to leave any out.

    If `members_differ`, each network leaves out other rows, else all leave out the same ones. Rows of one of the
    `records` share a fold.
    """
    count = n if records is None else records.count
    if members_differ and members > 1:
        fold = rng.permutation(np.resize(np.arange(FOLDS, dtype=np.int8), count))
    elif n > MANY:  # a byte for each row, and no list of their numbers
        fold = np.minimum(rng.integers(round(1 / SHARE_LEFT_OUT), size=count, dtype=np.int8), 1)
    else:
        fewest = FEWEST_LEFT_OUT_GIVEN if has_context else FEWEST_LEFT_OUT
        largest = LARGEST_LEFT_OUT_GIVEN if has_context else LARGEST_LEFT_OUT
        share = np.clip(fewest / count, SHARE_LEFT_OUT, largest)
        fold = np.ones(count, dtype=np.int8)
        order = np.arange(count, dtype=np.int32)
        rng.shuffle(order)
        fold[order[: int(share * count)]] = 0
    fold_of_row = fold if records is None else fold[records.of_row]
    folds = Folds(fold_of_row, _left_out_by(members, members_differ=members_differ))
    return folds if folds.can_calibrate else None


def split_few(
    n: int, members: int, rng: np.random.Generator, *, members_differ: bool, has_context: bool = False
) -> Folds:
    """Divide rows that are too few for `split`, each by itself: they will join rows that have folds already."""
    if members_differ and members > 1:
        fold = rng.integers(FOLDS, size=n, dtype=np.int8)
    else:
        share = LARGEST_LEFT_OUT_GIVEN if has_context else LARGEST_LEFT_OUT
        fold = (rng.random(n) >= share).astype(np.int8)
    return Folds(fold, _left_out_by(members, members_differ=members_differ))


def _left_out_by(members: int, *, members_differ: bool) -> tuple[tuple[int, ...], ...]:
    """Return the folds that each network leaves out."""
    if members_differ and members > 1:
        return tuple(LEFT_OUT[member % len(LEFT_OUT)] for member in range(members))
    return ((0,),) * members


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

    Copies of a record are all trained on or all kept aside; of those kept aside, only the first calibrates.
    """
    if holdout is None:
        return None, None
    n = X.shape[0]
    share = fraction("holdout", holdout)
    records = Records.of(X)
    count = max(1, round(share * records.count))
    is_aside = np.zeros(records.count, dtype=bool)
    is_aside[rng.permutation(records.count)[:count]] = True
    learned = np.flatnonzero(~is_aside[records.of_row])
    if len(learned) < 3:
        raise InputError(f"holdout={holdout:g} of {n} rows leaves {len(learned)} to train on, at least 3 were wanted.")
    return learned, np.flatnonzero(is_aside[records.of_row] & records.first)


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
