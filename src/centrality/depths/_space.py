"""Turn a plane about a point of space: halfspace depth in three dimensions, exactly.

The fewest rows on a side of a plane through the point lie, as directions from it, beyond a cell that the rows' own
planes cut out of the sphere. Every cell has an edge, which belongs to one of the rows; along that edge the plane turns
about the line through the row, which is the problem of the plane again: seen along that line, all other rows lie in a
plane, and the rows on the line itself fall to the side that has fewer of them.
"""

import numpy as np

from centrality.depths._frames import Array, blocks, unit_vectors
from centrality.depths._sweep import fewest_on_a_side, sweep_directions

PARALLEL = 1e-10  # directions closer than this are one: rounding moves them by less


def fewest_beyond(point: Array, rows: Array, slack: float) -> int:
    """Return the least number of rows in a closed halfspace with the point, (3,), on its border; rows are (n, 3)."""
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
