"""Find the smallest correction of an odd row: the fewest columns to change so that it is no longer an outlier.

A changed column takes the value of the nearest typical point, or, if it is a number, another frequent value where that
one fits the rest of the row better: the typical number of school years would be wrong beside a doctorate. The search is
greedy: a step adds the column that raises the score most. Then columns that are not needed get their values back, and
numbers move only as far as they must.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import ModelRows
from centrality.model.fitted import Fitted
from centrality.model.reader import RowReader
from centrality.network.scaling import dense
from centrality.scores.corrections import Correction, Corrections

MOST = 16  # columns changed at most: a list of more would not say what is wrong with a row
HALVINGS = 10  # steps of the bisection that finds how far numbers must move
LEVELS = np.linspace(0.05, 0.95, 19)  # quantiles of a column: values that are frequent, and checked for whole numbers
CLOSE = 1e-5  # a number this close to a whole one counts as whole

Matrix = NDArray[np.float64]
Score = Callable[[Matrix], Matrix]  # (k, p) -> (k,)


def corrections(reader: RowReader, X: ModelRows, t: float) -> Corrections:
    """Return the smallest correction of each row of X; it is empty for a row without a vector."""
    features, fitted, vectors = reader.features_with_names(), reader.fitted, reader.vectors(X)
    given = np.asarray(dense(vectors), dtype=np.float64)
    owner, frequent = reader.owner(), _frequent_values(fitted)
    goals, bound, values = fitted.typical_for(vectors), fitted.offset_for(t), reader.values(X, vectors)
    found = []
    for k, row in enumerate(given):
        if np.isnan(row).any():
            found.append(Correction(k, (), (), (), np.nan, np.nan, enough=False))
            continue
        change = smallest_change(
            lambda rows: fitted.scores(rows, t), row, np.vstack([goals[k], frequent]), owner, bound
        )
        groups, corrected = change.groups, _with_whole_counts(reader, row, change, owner, frequent)
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


def smallest_change(score: Score, row: Matrix, goals: Matrix, owner: NDArray[np.intp], bound: float) -> Change:
    """Change as few features of a row as possible, until the row's score reaches `bound`.

    `owner` says which feature each number of the row belongs to. A feature takes its value of the first of the `goals`,
    (k, p); a feature of one number takes that of whichever goal gives the best score.
    """
    if score(row[None])[0] >= bound:
        return Change(row, (), enough=True)
    numbers = np.bincount(owner)
    left = [
        (int(group), goal)
        for group in np.unique(owner[(row != goals).any(0)])
        for goal in (goals if numbers[group] == 1 else goals[:1])
    ]
    chosen: list[int] = []
    moved, enough = row, False
    while left and not enough and len(chosen) < MOST:
        tried = np.stack([np.where(owner == group, goal, moved) for group, goal in left])
        scores = score(tried)
        best = int(scores.argmax())
        moved, enough = tried[best], bool(scores[best] >= bound)
        chosen.append(left[best][0])
        left = [(group, goal) for group, goal in left if group != chosen[-1]]
    if not enough and len(goals) > 1:  # values that fit an odd row can lead nowhere; those of one typical row cannot
        return smallest_change(score, row, goals[:1], owner, bound)
    if not enough:
        return Change(row, (), enough=False)
    for group in chosen[:-1]:
        fewer = np.where(owner == group, row, moved)
        if score(fewer[None])[0] >= bound:
            chosen, moved = [other for other in chosen if other != group], fewer
    short = np.isin(owner, [group for group in chosen if numbers[group] == 1])
    return Change(_no_farther(score, row, moved, short, bound), tuple(chosen), enough=True)


def _frequent_values(fitted: Fitted) -> Matrix:  # (levels, p)
    """Return values of each column that are frequent in the training rows; none where rows are relative to a kind."""
    columns = fitted.training_scores.columns
    if columns is None or fitted.context is not None:
        return np.empty((0, fitted.width))
    places = [np.searchsorted(upto, LEVELS) for upto in columns.upto.T]
    return np.column_stack([values[place] for values, place in zip(columns.values.T, places, strict=True)])


def _no_farther(score: Score, row: Matrix, moved: Matrix, short: NDArray[np.bool_], bound: float) -> Matrix:
    """Find by bisection how far features of one number must move; codes of several numbers move all the way."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2
        tried = np.where(short, row + share * (moved - row), moved)
        low, high = (low, share) if score(tried[None])[0] >= bound else (share, high)
    return np.where(short, row + high * (moved - row), moved) if high < 1 else moved


def _with_whole_counts(
    reader: RowReader, row: Matrix, change: Change, owner: NDArray[np.intp], frequent: Matrix
) -> Matrix:
    """Return the corrected row with changed values of integer columns rounded away from the row's original value."""
    made = change.row.copy()
    for group in change.groups:
        place = int(np.flatnonzero(owner == group)[0])  # its value; a second number, if any, marks a missing one

        def value(z: float, place: int = place, group: int = group) -> object:
            point = made.copy()
            point[place] = z
            return reader.values_of(point)[group]

        here, beside = value(made[place]), value(made[place] - np.copysign(1.0, made[place]))
        if not (_is_number(here) and _is_number(beside)) or here == beside or not _holds_counts(frequent, place, value):
            continue
        whole = np.floor(here + CLOSE) if made[place] < row[place] else np.ceil(here - CLOSE)
        made[place] += (whole - here) / (here - beside) * np.copysign(1.0, made[place])
    return made


def _holds_counts(frequent: Matrix, place: int, value: Callable[[float], object]) -> bool:
    """Say whether a column of the training rows held whole numbers, its extreme values apart, which may be wrong."""
    values = [value(z) for z in frequent[:, place]]
    return bool(values) and all(_is_number(x) and abs(x - np.round(x)) < CLOSE * max(abs(x), 1.0) for x in values)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
