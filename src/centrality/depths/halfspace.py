"""Define halfspace (Tukey) depth: the least share of rows on one side of a hyperplane through the point."""

import numpy as np

from centrality.depths._directions import DirectionalDepth, tent
from centrality.depths._frames import Array, Flat, Frame, blocks, by_blocks, smallest_flat
from centrality.depths._sweep import fewest_beyond, fewest_on_a_side, sweep

FEW_IN_SPACE = 500  # rows: a point takes ten milliseconds then, and more with their square
WIDTH = 0.2  # width of the window around the hyperplane that guides the search, in standard deviations


class Halfspace(DirectionalDepth):
    """Computes halfspace depth: the least share of the rows in a closed halfspace that holds the point.

    Parameters
    ----------
    directions : "auto" is exact where the rows lie on a line or in a plane (so always for one or two columns), and
        where at most 500 rows lie in space; beyond, it looks along whitened directions through the sample's rows and
        through the point itself, and improves the worst of them step by step. "paper" takes clip(n 2^(d - 1), 100,
        50000) random directions; a number, so many random ones. Unless exact, the value is an upper bound.
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64", or "float32" for half the memory and time.
    random_state : a seed makes directions, and so depths, the same each time.

    Examples
    --------
    >>> from centrality.depths import Halfspace
    >>> corners = [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]
    >>> Halfspace().fit(corners).score_samples([[1.0, 1.0], [0.0, 0.0], [3.0, 0.0]])
    array([0.5 , 0.25, 0.  ])
    """

    def _learn_frame(self, rows: Array) -> Frame:
        if self.directions == "auto" and rows.shape[1] <= 2:
            return smallest_flat(rows, whiten=False)
        return super()._learn_frame(rows)

    def _prepare(self) -> None:
        super()._prepare()
        self._slack = float(np.finfo(self.dtype).eps) ** 0.6
        if isinstance(self._frame, Flat) and self.dtype == "float64":
            self._slack = self._frame.slack

    @property
    def _is_small_in_space(self) -> bool:
        """Say whether the rows lie in space and are so few that all planes there are can be tried."""
        return isinstance(self._frame, Flat) and self._frame.rank == 3 and len(self._points) <= FEW_IN_SPACE

    def _depth(self, points: Array) -> Array:
        n = len(self._points)
        if isinstance(self._frame, Flat) and self._frame.rank == 2:
            count = by_blocks(lambda some: fewest_on_a_side(sweep(some, self._points, self._slack)), points, n)
        elif self._is_small_in_space:
            rows = self._points.astype(np.float64)
            count = np.array([fewest_beyond(point, rows, self._slack) for point in points.astype(np.float64)])
        else:
            count, along = self._fewest_shared(points)
            if self.directions == "auto" and not self._exhaustive:
                count = -self._search(points, -count, along)
        return np.asarray(count / n, dtype=self.dtype)

    def _fewest_shared(self, points: Array) -> tuple[Array, Array]:  # (n,), (n, r)
        """Return the least number of rows on a side along the shared directions, and that direction, turned there."""
        n = len(self._points)
        count = np.full(len(points), n)
        along = np.zeros_like(points)
        for some in blocks(len(self._directions), max(n, len(points))):
            ordered = np.sort(self._directions[some] @ self._points.T, axis=1)
            projected = self._directions[some] @ points.T
            for direction, rows, x in zip(self._directions[some], ordered, projected, strict=True):
                # Only points that leave fewer rows on a side than before are counted; soon they are few.
                least = np.maximum(count, 1)
                fewer = np.flatnonzero((rows[least - 1] > x + self._slack) | (rows[n - least] < x - self._slack))
                before = np.searchsorted(rows, x[fewer] + self._slack, side="right")
                after = n - np.searchsorted(rows, x[fewer] - self._slack, side="left")
                count[fewer] = np.minimum(count[fewer], np.minimum(before, after))
                along[fewer] = np.where(after < before, 1, -1)[:, None] * direction
        return count, along

    def _height(self, directions: Array, points: Array) -> Array:  # (b,)
        """Return minus how many rows lie beyond each point, along the direction of the same number."""
        level = np.einsum("ij,ij->i", points, directions) - self._slack
        beyond = np.empty(len(points), dtype=np.int64)
        for block in blocks(len(points), len(self._points)):
            beyond[block] = (directions[block] @ self._points.T >= level[block, None]).sum(1)
        return -beyond

    def _height_and_slope(self, points: Array, directions: Array) -> tuple[Array, Array]:
        """Return minus the number of guides beyond the point, and the slope: away from the rows near the hyperplane."""
        distance = directions @ self._guides.T - np.einsum("ij,ij->i", points, directions)[:, None]  # (b, m)
        near = tent(distance, WIDTH)
        slope = near.sum(1)[:, None] * points - near @ self._guides
        return -(distance >= -self._slack).sum(1), slope
