"""Turn a line about a point of the plane, or a plane about a point of space, and count the rows it passes.

Each row is a direction seen from the point. Directions are folded onto the upper half-plane, remembering which
were turned over, and sorted by an angle-like key that needs one division and is equal for parallel directions.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality.depths._frames import Array, blocks, unit_vectors

ABOVE, HERE, BELOW = 0, 1, 2  # a row's direction: in the upper half-plane, none (it is the point), turned over
UNITS = 1 << 50  # so many steps of the key make a right angle
PARALLEL = 1e-10  # directions in space closer than this are one: rounding moves them by less
SAME = 256  # keys closer than this (2e-13 right angles) are one direction: rounding moves them by less


@dataclass(frozen=True)
class Sweep:
    """Holds, for b points, the n rows in the order in which the line turning about the point meets them."""

    kind: NDArray[np.int32]  # (b, n) ABOVE, HERE or BELOW; rows that are HERE come last
    last: NDArray[np.bool_]  # (b, n) whether this row is the last in its direction from the point


def sweep(points: Array, rows: Array, slack: float) -> Sweep:
    """Turn a line about each point; a row no further than `slack` from the point is the point."""
    points, rows = points.astype(np.float64, copy=False), rows.astype(np.float64, copy=False)
    return sweep_directions(rows[:, 0] - points[:, :1], rows[:, 1] - points[:, 1:], slack)


def sweep_directions(x: Array, y: Array, slack: float) -> Sweep:
    """Turn a line about b points that see n rows in the directions (x, y), each (b, n); x is overwritten."""
    length = np.abs(x)
    length += np.abs(y)
    here = np.flatnonzero(length <= slack)
    length.ravel()[here] = 1
    x /= length
    x *= np.copysign(1.0, y)
    key = np.subtract(1, x, out=x)  # from 0 along the axis up to 2 against it
    around = np.flatnonzero(key > 2 - SAME / UNITS)  # half a turn: the direction 0, seen from the other side
    key.ravel()[around] = 0
    key *= UNITS
    packed = key.astype(np.int64)
    packed <<= 2
    packed |= np.signbit(y).view(np.int8) << 1  # ABOVE or BELOW
    packed.ravel()[around] ^= BELOW
    packed.ravel()[here] = (3 * UNITS << 2) | HERE
    packed.sort(axis=1)
    last = np.ones(packed.shape, dtype=bool)
    np.greater(packed[:, 1:] - packed[:, :-1], SAME << 2, out=last[:, :-1])
    return Sweep((packed & 3).astype(np.int32), last)


def fewest_on_a_side(turn: Sweep) -> Array:  # (b,)
    """Return the least number of rows in a closed half-plane with the point on its border."""
    others = (turn.kind != HERE).sum(1)
    passed = np.cumsum(turn.kind - 1, axis=1, dtype=np.int32)  # a row above leaves the left side, one below enters
    above = (others - passed[:, -1]) // 2  # on the left side at first
    # Only between two directions: where rows lie on the line itself, a small turn leaves some of them out.
    passed[~turn.last] = 0
    fewest = above + np.minimum(passed.min(1), 0)
    most = above + np.maximum(passed.max(1), 0)
    return np.asarray(turn.kind.shape[1] - others + np.minimum(fewest, others - most))


def triangles_around(turn: Sweep) -> Array:  # (b,)
    """Count how many of the C(n, 3) triangles of rows hold the point, inside or on the border.

    A triangle misses the point if it lies within an open half-plane: then it has a first corner, and the other
    two are among the rows that follow within half a turn.
    """
    n = turn.kind.shape[1]
    first = np.ones(turn.last.shape, dtype=bool)
    first[:, 1:] = turn.last[:, :-1]
    group = np.maximum.accumulate(np.where(first, np.arange(n), 0), axis=1)  # where this direction began
    missing = np.zeros(len(turn.kind), dtype=np.int64)
    for side, other in ((ABOVE, BELOW), (BELOW, ABOVE)):
        mine, theirs = turn.kind == side, turn.kind == other
        later = mine.sum(1)[:, None] - np.cumsum(mine, axis=1)
        passed = np.take_along_axis(np.cumsum(theirs, axis=1) - theirs, group, axis=1)
        follow = later + passed
        missing += np.where(mine, follow * (follow - 1) // 2, 0).sum(1)
    return np.asarray(n * (n - 1) * (n - 2) // 6 - missing)


def fewest_beyond(point: Array, rows: Array, slack: float) -> int:
    """Return the least number of rows in a closed halfspace with the point, (3,), on its border; rows are (n, 3).

    The fewest rows on a side of a plane through the point lie, as directions from it, beyond a cell that the rows' own
    planes cut out of the sphere. Every cell has an edge, which belongs to one of the rows; along that edge the plane
    turns about the line through the row, which is the problem of the plane again: seen along that line, all other rows
    lie in a plane, and the rows on the line itself fall to the side that has fewer of them.
    """
    directions = rows - point
    away = np.abs(directions).sum(1) > slack
    directions = unit_vectors(directions[away])
    here = len(rows) - len(directions)
    if here == len(rows):
        return here
    fewest = len(directions)
    for some in blocks(len(directions), len(directions)):
        first, second = _planes_across(directions[some])
        x, y = first @ directions.T, second @ directions.T
        on_line, ahead = np.abs(x) + np.abs(y) <= PARALLEL, directions[some] @ directions.T > 0
        most_on_line = np.maximum((on_line & ahead).sum(1), (on_line & ~ahead).sum(1))
        counts = fewest_on_a_side(sweep_directions(x, y, PARALLEL)) - most_on_line
        fewest = min(fewest, int(counts.min()))
    return here + fewest


def _planes_across(axes: Array) -> tuple[Array, Array]:  # (b, 3) each
    """Return two unit vectors across each axis and each other."""
    other = np.eye(3)[np.abs(axes).argmin(1)]
    first = unit_vectors(np.cross(axes, other))
    return first, np.cross(axes, first)
