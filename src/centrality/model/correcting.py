"""Find the smallest correction of an odd row: the fewest columns to change so that it is no longer an outlier.

Changed columns take the values of the nearest typical point. The search is greedy: a step adds the column that raises
the score most. Then columns that are not needed get their values back, and numbers move only as far as they must.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import ModelRows
from centrality.model.reader import RowReader
from centrality.network.scaling import dense
from centrality.scores.corrections import Correction, Corrections

MOST = 16  # columns changed at most: a list of more would not say what is wrong with a row
HALVINGS = 10  # steps of the bisection that finds how far numbers must move
LEVELS = np.linspace(0.05, 0.95, 19)  # quantiles of a column that are checked for whole numbers
CLOSE = 1e-5  # a number this close to a whole one counts as whole

Matrix = NDArray[np.float64]
Score = Callable[[Matrix], Matrix]  # (k, p) -> (k,)


def corrections(reader: RowReader, X: ModelRows, t: float) -> Corrections:
    """Return the smallest correction of each row of X; it is empty for a row without a vector."""
    features, fitted, vectors = reader.features_with_names(), reader.fitted, reader.vectors(X)
    given = np.asarray(dense(vectors), dtype=np.float64)
    owner = np.arange(fitted.width) if features.owner is None else features.owner
    goals, bound, values = fitted.typical_for(vectors), fitted.offset_for(t), reader.values(X, vectors)
    found = []
    for k, row in enumerate(given):
        if np.isnan(row).any():
            found.append(Correction(k, (), (), (), np.nan, np.nan, enough=False))
            continue
        change = smallest_change(lambda rows: fitted.scores(rows, t), row, goals[k], owner, bound)
        groups, corrected = change.groups, _with_whole_counts(reader, row, change, owner)
        before, after = fitted.centrality(np.stack([row, corrected]), t)
        new, enough = reader.values_of(corrected), change.enough and fitted.scores(corrected[None], t)[0] >= bound
        names, old = tuple(features.names[g] for g in groups), tuple(values[g][k] for g in groups)
        made = tuple(new[g] for g in groups)
        found.append(Correction(k, names, old, made, float(before), float(after), enough=bool(enough)))
    return Corrections(tuple(found))


@dataclass(frozen=True)
class Change:
    """Hold a corrected row, the groups of its numbers that were changed, and whether its score reaches the bound."""

    row: Matrix  # (p,)
    groups: tuple[int, ...]
    enough: bool


def smallest_change(score: Score, row: Matrix, goal: Matrix, owner: NDArray[np.intp], bound: float) -> Change:
    """Set as few features of a row as possible to the goal's, until the row's score reaches `bound`.

    `owner` says which feature each number of the row belongs to; the numbers of one feature move together.
    """
    if score(row[None])[0] >= bound:
        return Change(row, (), enough=True)
    chosen: list[int] = []
    left = [int(group) for group in np.unique(owner[row != goal])]
    enough = False
    while left and not enough and len(chosen) < MOST:
        scores = score(np.stack([_moved(row, goal, owner, [*chosen, group]) for group in left]))
        best = int(scores.argmax())
        chosen.append(left.pop(best))
        enough = bool(scores[best] >= bound)
    if not enough:
        return Change(row, (), enough=False)
    for group in chosen[:-1]:
        fewer = [other for other in chosen if other != group]
        if score(_moved(row, goal, owner, fewer)[None])[0] >= bound:
            chosen = fewer
    short = np.isin(owner, [group for group in chosen if (owner == group).sum() == 1])
    moved = _no_farther(score, row, _moved(row, goal, owner, chosen), short, bound)
    return Change(moved, tuple(chosen), enough=True)


def _moved(row: Matrix, goal: Matrix, owner: NDArray[np.intp], groups: list[int]) -> Matrix:
    return np.where(np.isin(owner, groups), goal, row)


def _no_farther(score: Score, row: Matrix, moved: Matrix, short: NDArray[np.bool_], bound: float) -> Matrix:
    """Find by bisection how far features of one number must move; codes of several numbers move all the way."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2
        tried = np.where(short, row + share * (moved - row), moved)
        low, high = (low, share) if score(tried[None])[0] >= bound else (share, high)
    return np.where(short, row + high * (moved - row), moved) if high < 1 else moved


def _with_whole_counts(reader: RowReader, row: Matrix, change: Change, owner: NDArray[np.intp]) -> Matrix:
    """Return the corrected row with changed values of integer columns rounded away from the row's original value."""
    made = change.row.copy()
    for group in change.groups:
        place = int(np.flatnonzero(owner == group)[0])  # its value; a second number, if any, marks a missing one

        def value(z: float, place: int = place, group: int = group) -> object:
            point = made.copy()
            point[place] = z
            return reader.values_of(point)[group]

        here, beside = value(made[place]), value(made[place] - np.copysign(1.0, made[place]))
        if not (_is_number(here) and _is_number(beside)) or here == beside or not _holds_counts(reader, place, value):
            continue
        whole = np.floor(here + CLOSE) if made[place] < row[place] else np.ceil(here - CLOSE)
        made[place] += (whole - here) / (here - beside) * np.copysign(1.0, made[place])
    return made


def _holds_counts(reader: RowReader, place: int, value: Callable[[float], object]) -> bool:
    """Say whether a column of the training rows held whole numbers, its extreme values apart, which may be wrong."""
    columns = reader.fitted.training_scores.columns
    if columns is None or reader.fitted.context is not None:
        return False
    seen = columns.values[np.searchsorted(columns.upto[:, place], LEVELS), place]
    return all(_is_number(x) and abs(x - np.round(x)) < CLOSE * max(abs(x), 1.0) for x in map(value, seen))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
