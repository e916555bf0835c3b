"""Simplicial and zonoid depth."""

import numpy as np
from scipy.optimize import linprog

from centrality._internal.checks import whole_number
from centrality._internal.input import RandomState, random_numbers
from centrality.depths._base import Array, Depth, Flat, by_blocks, smallest_flat
from centrality.depths.directional import sweep, triangles_around


class Zonoid(Depth):
    """Computes zonoid depth: the largest share a with x = Σ w_i row_i, where no weight w_i is above 1 / (n a).

    It is 0 outside the convex hull. Each point takes one linear programme: exact, and slower than the other depths.

    Parameters
    ----------
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64" or "float32", of the result.

    Examples
    --------
    >>> from centrality.depths import Zonoid
    >>> Zonoid().fit([[-1.0], [0.0], [1.0]]).score_samples([[0.0], [0.5], [1.0], [2.0]]).round(6)
    array([1.      , 0.666667, 0.333333, 0.      ])
    """

    _frame: Flat

    def _learn_frame(self, rows: Array) -> Flat:
        return smallest_flat(rows, whiten=True)

    def _depth(self, points: Array) -> Array:
        if self._frame.rank == 0:
            return np.ones(len(points), dtype=self.dtype)
        low = self._points.min(0) - self._frame.slack
        high = self._points.max(0) + self._frame.slack
        within = ((points >= low) & (points <= high)).all(1)
        depth = np.zeros(len(points), dtype=self.dtype)
        n, r = self._points.shape
        for number in np.flatnonzero(within):
            # Maximise Σ m_i over 0 <= m_i <= 1 with Σ m_i (row_i - x) = 0: the optimum is n times the depth.
            steps = (self._points - points[number].astype(np.float64)).T
            share = -linprog(-np.ones(n), A_eq=steps, b_eq=np.zeros(r), bounds=(0, 1), method="highs").fun / n
            # In the convex hull the depth is at least 1 / n; less is the solver's tolerance.
            depth[number] = share if share > (1 - 1e-6) / n else 0.0
        return depth


class Simplicial(Depth):
    """Computes simplicial depth: the share of the closed simplices of rows that hold the point.

    The simplices are intervals of two rows, triangles of three, and so on.

    It is exact where the rows lie on a line or in a plane, so always for one or two columns; beyond, the share among
    `simplices` random ones.

    Parameters
    ----------
    simplices : how many random simplices, where the depth is not exact.
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64" or "float32", of the result.
    random_state : a seed makes the random simplices the same each time.

    Examples
    --------
    >>> from centrality.depths import Simplicial
    >>> corners = [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]
    >>> Simplicial().fit(corners).score_samples([[1.0, 1.0], [0.5, 1.0], [3.0, 0.0]])
    array([1. , 0.5, 0. ])
    """

    _frame: Flat

    def __init__(
        self,
        *,
        simplices: int = 2000,
        contamination: float | str = "auto",
        dtype: str = "float64",
        random_state: RandomState = None,
    ) -> None:
        self.simplices = simplices
        self.contamination = contamination
        self.dtype = dtype
        self.random_state = random_state

    def _learn_frame(self, rows: Array) -> Flat:
        return smallest_flat(rows, whiten=rows.shape[1] > 2)

    def _prepare(self) -> None:
        count = whole_number("simplices", self.simplices)
        rng = np.random.default_rng(random_numbers(self.random_state).randint(2**31))
        if self._frame.rank > 2:
            self._weights = random_simplices(self._points, count, rng)

    def _depth(self, points: Array) -> Array:
        n = len(self._points)
        if self._frame.rank == 0:
            return np.ones(len(points), dtype=self.dtype)
        slack = self._frame.slack
        if self._frame.rank == 1:  # the share of the closed intervals between two rows that hold the point
            rows = np.sort(self._points[:, 0])
            below = np.searchsorted(rows, points[:, 0] - slack, side="left")
            above = n - np.searchsorted(rows, points[:, 0] + slack, side="right")
            share = 1 - (below * (below - 1) + above * (above - 1)) / (n * (n - 1))
            return np.asarray(share, dtype=self.dtype)
        if self._frame.rank == 2:
            around = by_blocks(lambda block: triangles_around(sweep(block, self._points, slack)), points, n)
            return np.asarray(around / (n * (n - 1) * (n - 2) // 6), dtype=self.dtype)

        def share_around(block: Array) -> Array:  # (b,)
            weights = np.column_stack([block, np.ones(len(block))]) @ self._weights  # (k, b, r + 1) of each corner
            return np.asarray((weights.min(2) >= -1e-9).mean(0))

        return by_blocks(share_around, points, self._weights[:, :, 0].size).astype(self.dtype, copy=False)


def random_simplices(points: Array, count: int, rng: np.random.Generator) -> Array:  # (k, r + 1, r + 1)
    """Return for each random simplex the matrix that turns (x, 1) into the weights of its corners in x.

    x lies in the simplex if no weight is negative. A simplex without volume has only negative ones.
    """
    n, r = points.shape
    corners = np.array([rng.choice(n, r + 1, replace=False, shuffle=False) for _ in range(count)])
    matrices = np.concatenate([points[corners], np.ones((*corners.shape, 1))], axis=2).astype(np.float64)
    solid = np.linalg.cond(matrices) < 1e12
    weights = np.zeros_like(matrices)
    weights[solid] = np.linalg.inv(matrices[solid])
    weights[~solid, -1] = -1.0
    return weights
