"""Define zonoid depth: how many rows can share in making the point their average."""

import numpy as np
from scipy.optimize import linprog

from centrality.depths._estimator import Depth
from centrality.depths._frames import Array, Flat, smallest_flat


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
        low, high = self._points.min(0) - self._frame.slack, self._points.max(0) + self._frame.slack
        within = ((points >= low) & (points <= high)).all(1)
        depth = np.zeros(len(points), dtype=self.dtype)
        depth[within] = [self._largest_share(point) for point in points[within].astype(np.float64)]
        return depth

    def _largest_share(self, point: Array) -> float:
        """Maximise Σ m_i over 0 <= m_i <= 1 with Σ m_i (row_i - x) = 0: the optimum is n times the depth."""
        n, r = self._points.shape
        optimum = linprog(-np.ones(n), A_eq=(self._points - point).T, b_eq=np.zeros(r), bounds=(0, 1), method="highs")
        share = -optimum.fun / n
        # In the convex hull the depth is at least 1 / n; less is the solver's tolerance.
        return share if share > (1 - 1e-6) / n else 0.0
