"""Choose the rows that are held aside, and those that each network is not trained on: these it scores as new rows.

The rows are dealt out at random to a few folds. An ensemble's networks leave out two of four each, every network
another pair: each row is unseen by half of the networks. A network alone leaves out one fold of ten.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError, fraction
from centrality._estimator import CheckedRows, Dissimilarity

FOLDS = 4  # for an ensemble
LEFT_OUT = ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))  # by its members: each pair is followed by the other half
FOLDS_FOR_ONE = 10  # for one network, which leaves out the first: measured, a tenth of clean rows is not missed
JUDGED_AT_LEAST, MOST_LEFT_OUT = 30, 0.3  # rows a network alone leaves out, where that is no more than such a share
JUDGED_GIVEN, MOST_GIVEN = 3000, 0.5  # the same given a context: p-values are to hold within kinds, which are parts
MANY = 50_000  # rows, of which those that set an end are too few to matter, and a share need not be exact
FEWEST_LEARNED = 3  # rows that a network must be left with: an anchor and a pair to compare
LEARNED_BY_ALL = 100  # the fold of a row that no network leaves out


@dataclass(frozen=True)
class Split:
    """Hold the fold of each training row, and which folds each network is trained without."""

    own: NDArray[np.int8]  # (n,)
    left_out: tuple[tuple[int, ...], ...]  # one for each network

    @property
    def apart(self) -> bool:
        """Say whether networks leave out different rows."""
        return len(set(self.left_out)) > 1

    @property
    def suffices(self) -> bool:
        """Say whether each network leaves rows out, and has enough to learn from."""
        sizes = [int(np.count_nonzero(_among(self.own, folds))) for folds in self.left_out]
        return min(sizes) > 0 and len(self.own) - max(sizes) >= FEWEST_LEARNED

    def unseen(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:  # (members, rows)
        """Say which networks were not trained on which of these rows."""
        return np.stack([_among(self.own[rows], folds) for folds in self.left_out])

    def setting_ends(self, X: CheckedRows) -> CheckedRows:
        """Return the rows of X that set the columns' ends: the training rows, if all networks leave out the same rows.

        The rows left out may then lie beyond the ends, as new rows may. All rows set them if they are very many, since
        few are at an end, or if networks leave out different rows.
        """
        return X if self.apart or X.shape[0] > MANY else X[np.flatnonzero(~_among(self.own, self.left_out[0]))]

    def judged(self) -> NDArray[np.intp]:
        """Return the numbers of the rows that some network was not trained on."""
        return np.flatnonzero(_among(self.own, {fold for folds in self.left_out for fold in folds}))


def split(n: int, members: int, rng: np.random.Generator, *, alike: bool, given: bool = False) -> Split | None:
    """Divide n rows into folds at random; return None if rows are too few to leave any out.

    `alike`: all networks leave out the same rows; `given`: there is a context.
    """
    if n > MANY and (alike or members == 1):  # nothing else is held for each row
        own = np.minimum(rng.integers(FOLDS_FOR_ONE, size=n, dtype=np.int8), 1)
    elif alike or members == 1:
        wanted, most = (JUDGED_GIVEN, MOST_GIVEN) if given else (JUDGED_AT_LEAST, MOST_LEFT_OUT)
        share = np.clip(wanted / n, 1 / FOLDS_FOR_ONE, most)
        own = np.ones(n, dtype=np.int8)
        order = np.arange(n, dtype=np.int32)
        rng.shuffle(order)
        own[order[: int(share * n)]] = 0
    else:
        own = rng.permutation(np.resize(np.arange(FOLDS, dtype=np.int8), n))
    parted = Split(own, _left_out_by(members, alike=alike))
    return parted if parted.suffices else None


def split_few(n: int, members: int, rng: np.random.Generator, *, alike: bool, given: bool = False) -> Split:
    """Divide rows that are too few for `split`, each by itself, so that it joins others that have folds already."""
    if alike or members == 1:
        own = (rng.random(n) >= (MOST_GIVEN if given else MOST_LEFT_OUT)).astype(np.int8)
    else:
        own = rng.integers(FOLDS, size=n, dtype=np.int8)
    return Split(own, _left_out_by(members, alike=alike))


def _left_out_by(members: int, *, alike: bool) -> tuple[tuple[int, ...], ...]:
    """Return the folds that each network leaves out."""
    if alike or members == 1:
        return ((0,),) * members
    return tuple(LEFT_OUT[member % len(LEFT_OUT)] for member in range(members))


def _among(own: NDArray[np.int8], folds: Iterable[int]) -> NDArray[np.bool_]:
    """Say which rows belong to one of these folds."""
    found = np.zeros(own.shape, dtype=bool)
    for fold in folds:
        found |= own == fold
    return found


def split_off_holdout(
    holdout: float | None, X: CheckedRows, dissimilarity: Dissimilarity, rng: np.random.Generator
) -> tuple[CheckedRows, CheckedRows | None, Dissimilarity]:
    """Return rows to train on, rows to calibrate on (None without a holdout), and the former's dissimilarity."""
    if holdout is None:
        return X, None, dissimilarity
    n = X.shape[0]
    count = max(1, round(fraction("holdout", holdout) * n))
    if n - count < 3:
        raise InputError(f"holdout={holdout:g} of {n} rows leaves {n - count} to train on, at least 3 were wanted.")
    order = rng.permutation(n)
    learned, aside = np.sort(order[count:]), np.sort(order[:count])
    return X[learned], X[aside], among(dissimilarity, learned, n)


def among(dissimilarity: Dissimilarity, index: NDArray[np.intp], n: int) -> Dissimilarity:
    """Return the dissimilarity restricted to these of n rows, which get new numbers from 0 on."""
    if dissimilarity is None:
        return None
    if callable(dissimilarity):
        return lambda i, j: dissimilarity(index[i], index[j])
    matrix = np.asarray(dissimilarity)
    if matrix.shape != (n, n):
        raise InputError(
            f"dissimilarity must be a square matrix with one row and column for each of the {n} rows of X, "
            f"got shape {matrix.shape}."
        )
    return matrix[np.ix_(index, index)]
