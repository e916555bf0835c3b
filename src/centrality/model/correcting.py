"""Find the fewest columns whose change toward the nearest typical point makes a row odd no longer.

One column is tried after the other, then each beside the best one, and so on: every step keeps the column that raises
the score most. Columns that turn out not to be needed go back, and numbers move only as far as they must.
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

MOST = 16  # columns changed: a row that needs more has nothing wrong that one could name
HALVINGS = 10  # of the way that a number moves
LEVELS = np.linspace(0.05, 0.95, 19)  # of a column, at which its values tell whether it holds whole numbers
CLOSE = 1e-5  # to a whole number

Matrix = NDArray[np.float64]
Score = Callable[[Matrix], Matrix]  # (k, p) -> (k,)


def corrections(reader: RowReader, X: ModelRows, t: float) -> Corrections:
    """Return the smallest correction of each row of X; a row that has no vector has none."""
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
    """Hold a corrected row, which groups of its numbers were changed, and whether that was enough."""

    row: Matrix  # (p,)
    groups: tuple[int, ...]
    enough: bool


def smallest_change(score: Score, row: Matrix, goal: Matrix, owner: NDArray[np.intp], bound: float) -> Change:
    """Move groups of numbers of a row, those of one owner together, to those of the goal until its score is `bound`."""
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
    """Halve the way of those that are one number each, as often as that is still enough; codes move as a whole."""
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        share = (low + high) / 2
        tried = np.where(short, row + share * (moved - row), moved)
        low, high = (low, share) if score(tried[None])[0] >= bound else (share, high)
    return np.where(short, row + high * (moved - row), moved) if high < 1 else moved


def _with_whole_counts(reader: RowReader, row: Matrix, change: Change, owner: NDArray[np.intp]) -> Matrix:
    """Return the corrected row, its numbers of columns that hold whole ones moved on to the next of these."""
    made = change.row.copy()
    for group in change.groups:
        place = int(np.flatnonzero(owner == group)[0])  # behind it stands, if anything, what marks a gap

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
    """Say whether a column held whole numbers in fitting; its ends, which may be wrong or drawn in, do not count."""
    columns = reader.fitted.training_scores.columns
    if columns is None or reader.fitted.context is not None:
        return False
    seen = columns.values[np.searchsorted(columns.upto[:, place], LEVELS), place]
    return all(_is_number(x) and abs(x - np.round(x)) < CLOSE * max(abs(x), 1.0) for x in map(value, seen))


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
