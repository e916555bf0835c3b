"""Make values outside the range seen count more: beyond the least and greatest value, a column's scale is steeper.

A network has learned nothing outside the range of its rows; its outputs go on linearly. Where tails are long, and so
the scale is bent, three times the largest value seen is hardly farther out than that value itself, and one such cell is
lost among fifty others. So a value that lies beyond the seen range by the width of that range is put at least REACH
scaled units beyond it. Rows within the range, those learned from among them, stay as they are.
"""

from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._estimator import CheckedRows, ColumnBlocks
from centrality.engine import engine
from centrality.network.folds import MANY
from centrality.network.scaling import MOST_VALUES, Scaling, as_floats, rows_per_block

REACH = 20.0  # scaled units: measured, benchmarks/known_truth.py and benchmarks/detection
ROOM = 1e-5  # relative margin: the greatest value rounded to six digits is still within the range
ROWS_PER_COLUMN = 16  # with fewer rows, many ordinary new rows lie beyond some column's range

Matrix = NDArray[np.float64]
OUTWARD = np.array([[-1.0], [1.0]])


class FirstPass:
    """Looks at all rows once, to tell whether their values are finite, and keeps the ends of the columns found."""

    def __init__(self) -> None:
        self._seen: tuple[object, Matrix] | None = None

    def all_finite(self, X: NDArray[Any]) -> bool:
        """Say whether all values are finite numbers."""
        self._seen = X, (ends := _ends(X))
        return bool(np.isfinite(ends).all())

    def ends(self, X: CheckedRows) -> Matrix:  # (2, p)
        """Return the least and the greatest value of each column, those found before if they are of these very rows."""
        return self._seen[1] if self._seen is not None and self._seen[0] is X else _ends(X)


def with_ends(
    scaling: Scaling,
    X: CheckedRows,
    first: FirstPass | None = None,
    measurements: NDArray[np.bool_] | None = None,
) -> Scaling:
    """Return the scaling with the least and greatest values of X as ends; earlier ends only move outward.

    The scale is steeper beyond those of `measurements` alone, if columns encode other things as well.
    """
    ends = (first or FirstPass()).ends(X)
    seen = _with_room(scaling, ends)
    if scaling.seen is not None:
        return replace(scaling, seen=OUTWARD * np.maximum(OUTWARD * scaling.seen, OUTWARD * seen))
    with np.errstate(over="ignore"):  # a range may overflow to infinity: values beyond it are far enough then
        # From the ends themselves, not from the room around them: it may be all there is between the two.
        reached = np.abs(scaling.scaled(ends + OUTWARD * np.ptp(ends, axis=0)) - scaling.scaled(ends))
    # A column that is constant among the rows of X, though not among those that set the scaling, has no range to go by.
    steeper = np.divide(REACH, reached, out=np.ones_like(reached), where=reached > 0) - 1
    which = np.ones(X.shape[1], dtype=bool) if measurements is None else measurements
    enough = min(1.0, X.shape[0] / (ROWS_PER_COLUMN * max(which.sum(), 1)))
    return replace(scaling, seen=seen, beyond=np.where(which, enough**2 * np.maximum(steeper, 0.0), 0.0))


def by_others(scaling: Scaling, X: CheckedRows) -> tuple[Scaling, NDArray[np.bool_]]:
    """Return a scaling whose ends leave out each column's extreme values, and say which rows hold one.

    These rows are then scored as new rows are, which may lie beyond the ends; with the usual ends, no training row
    does. The ends are each column's second least and second greatest values.
    """
    changed = np.zeros(X.shape[0], dtype=bool)
    if scaling.seen is None or not 3 <= X.shape[0] <= MANY:
        return scaling, changed
    second = []
    for _, values in ColumnBlocks(X, MOST_VALUES):
        second.append(np.partition(values, (1, -2), axis=0)[[1, -2]])
        changed |= ((values < second[-1][0]) | (values > second[-1][1])).any(1)
    return replace(scaling, seen=_with_room(scaling, np.concatenate(second, axis=1))), changed


def _ends(X: CheckedRows) -> Matrix:  # (2, p)
    """Return the least and the greatest value of each column."""
    if sparse.issparse(X):
        rows = cast(Any, X)
        return np.stack([end.toarray().ravel().astype(np.float64) for end in (rows.min(axis=0), rows.max(axis=0))])
    rows = cast(NDArray[np.generic], X)
    if rows.dtype in (np.float32, np.float64) and rows.flags.c_contiguous:
        return engine().ends(rows)
    size = rows_per_block(rows.shape[1])
    blocks = [engine().ends(as_floats(rows[start : start + size])) for start in range(0, rows.shape[0], size)]
    return np.stack([np.min([block[0] for block in blocks], axis=0), np.max([block[1] for block in blocks], axis=0)])


def _with_room(scaling: Scaling, ends: Matrix) -> Matrix:  # (2, p)
    """Return the columns' ends in scaled units, moved outward by a little."""
    return replace(scaling, seen=None, beyond=None).scaled(ends + OUTWARD * ROOM * np.abs(ends))
