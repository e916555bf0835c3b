"""Find the typical points: the deepest point of all training rows, and one of each further region of typical rows.

Two points belong to one region if the local head has no valley on the straight way between them. An explanation starts
from the typical point next to the row.
"""

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import CheckedRows
from centrality.model.explanations import Field
from centrality.network.scaling import Scaling, dense, rows_per_block

Matrix = NDArray[np.float64]

NEIGHBOURS = 10  # rows whose mean is a typical point, so that no row is kept
SAMPLE, VALUES = 4000, 1 << 22  # most rows searched for further regions, and most values of them; at least 200 rows
MOST = 16  # regions
PERIPHERAL = 0.2  # the share of the rows, the least dense and the least central, that no region is made from
VALLEY = 0.5  # how deep a valley is, in units of the upper half of the training rows
STOPS = np.linspace(0, 1, 11, dtype=np.float32)  # on the way between two points


def typical_points(seen: CheckedRows, scores: Matrix, local: Matrix, field: Field, scaling: Scaling) -> Matrix:
    """Return (k, p) typical points in the user's units; the first is the deepest by `scores`, others by `local`."""
    centre = centre_of(seen, scores, scaling)
    count = min(seen.shape[0], SAMPLE, max(VALUES // seen.shape[1], 200))
    few = np.linspace(0, seen.shape[0] - 1, count).astype(np.intp)
    # A far group, however dense, is odd: its rows are explained by what sets them apart from typical ones.
    few = few[_upper(local[few]) & _upper(scores[few])]
    some, height = seen[few], local[few]
    z = scaling.scaled(some)
    group = _far_apart(z, int(height.argmax()))
    deepest = (np.flatnonzero(group == k) for k in range(group.max() + 1))
    found = [centre_of(some[rows], height[rows], scaling) for rows in deepest if len(rows) >= NEIGHBOURS]
    points = [centre]
    for point in sorted(found, key=lambda point: -float(_heights(field, scaling, point, point)[0])):
        if all(_valley(field, scaling, point, known) for known in points):
            points.append(point)
    return np.stack(points)


def centre_of(seen: CheckedRows, scores: Matrix, scaling: Scaling) -> Matrix:  # (p,)
    """Return the deepest point: the mean of the deepest row and its nearest neighbours, so that no row is kept."""
    n = seen.shape[0]
    deepest = scaling.scaled(seen[[int(scores.argmax())]])
    size = rows_per_block(seen.shape[1])
    blocks = (scaling.scaled(seen[i : i + size]) - deepest for i in range(0, n, size))
    distance = np.concatenate([np.einsum("ij,ij->i", block, block) for block in blocks])
    nearest = np.argsort(distance, kind="stable")[: min(NEIGHBOURS, (n + 1) // 2)]
    return np.asarray(dense(seen[np.sort(nearest)]).astype(np.float64).mean(0))


def _upper(scores: Matrix) -> NDArray[np.bool_]:
    return np.asarray(scores >= np.quantile(scores, PERIPHERAL))


def nearest(points: Matrix, rows: Matrix) -> NDArray[np.intp]:  # (k, p), (n, p) -> (n,)
    """Return which of the points is nearest to each row; all are scaled."""
    distances = [np.einsum("ij,ij->i", rows - point, rows - point) for point in points]
    return np.asarray(np.stack(distances).argmin(0))


def _far_apart(z: Matrix, first: int) -> NDArray[np.intp]:
    """Group rows around at most MOST of them; each of these is the row farthest from those chosen before."""
    chosen, distance = [first], np.full(len(z), np.inf)
    group = np.zeros(len(z), dtype=np.intp)
    while True:
        off = z - z[chosen[-1]]
        nearer = np.einsum("ij,ij->i", off, off)
        group[nearer < distance] = len(chosen) - 1
        distance = np.minimum(distance, nearer)
        if len(chosen) == MOST or not distance.any():
            return group
        chosen.append(int(distance.argmax()))


def _valley(field: Field, scaling: Scaling, a: Matrix, b: Matrix) -> bool:
    heights = _heights(field, scaling, a, b)
    return bool(heights.min() < min(heights[0], heights[-1]) - VALLEY)


def _heights(field: Field, scaling: Scaling, a: Matrix, b: Matrix) -> Matrix:
    """Return the local score on the way from a to b, in units."""
    ends = scaling.apply(np.stack([a, b]))
    raw = field.raw_on_lines(ends[:1], ends[1:] - ends[:1], STOPS[None])[0]
    return np.asarray(field.calibration.units(raw)[:, 1])
