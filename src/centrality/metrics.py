"""Measure how good a centrality is: how smooth over the data, and how much in agreement with another."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_array

from centrality._internal.checks import InputError, whole_number
from centrality._internal.input import RowsLike

CORRELATIONS = {"spearman": stats.spearmanr, "kendall": stats.kendalltau}


def graph_smoothness(X: RowsLike, scores: ArrayLike, *, neighbors: int = 10) -> float:
    """Measure how much scores change between neighbouring rows: 0 is perfectly smooth, larger is rougher.

    It is sᵀLs / ‖s‖², with s the scores rescaled to [0, 1] and L the Laplacian of the graph that joins two rows when
    either is among the other's nearest `neighbors`. Scores that are all equal give 0.

    >>> from centrality.metrics import graph_smoothness
    >>> graph_smoothness([[0.0], [1.0], [2.0]], [0.0, 0.5, 1.0], neighbors=1)  # 2 edges, each (1/2)², over 1.25
    0.4
    """
    rows = check_array(X, accept_sparse="csr")
    s = _one_score_per_row(scores, rows.shape[0])
    neighbors = whole_number("neighbors", neighbors)
    if neighbors >= rows.shape[0]:
        raise InputError(f"neighbors must be below the number of rows, got {neighbors} for {rows.shape[0]} rows.")
    s = s - s.min()
    if not s.any():
        return 0.0
    s /= s.max()
    nearest = kneighbors_graph(rows, neighbors)
    edges = nearest.maximum(nearest.T).tocoo()  # each edge twice, once from either end
    return float(np.square(s[edges.row] - s[edges.col]).sum() / 2 / np.square(s).sum())


def rank_correlation(first: ArrayLike, second: ArrayLike, *, method: str = "spearman") -> float:
    """Return Spearman's or Kendall's rank correlation of two lists of scores.

    >>> from centrality.metrics import rank_correlation
    >>> rank_correlation([1, 2, 3], [10, 20, 15])
    0.5
    """
    if method not in CORRELATIONS:
        raise InputError(f"method must be one of {', '.join(CORRELATIONS)}, got {method!r}.")
    a = _one_score_per_row(first, None)
    b = _one_score_per_row(second, len(a))
    if len(a) < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        raise InputError("A rank correlation needs two lists of scores, each with at least two different values.")
    return float(CORRELATIONS[method](a, b).statistic)


def _one_score_per_row(scores: ArrayLike, n: int | None) -> NDArray[np.float64]:  # (n,)
    """Return the scores as an array; raise if they are not finite, or not one for each of `n` rows."""
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1 or (n is not None and len(values) != n):
        wanted = "one score per row was" if n is None else f"{n} scores, one per row, were"
        raise InputError(f"{wanted} wanted, got shape {values.shape}.")
    if not np.isfinite(values).all():
        raise InputError("The scores hold NaN or infinity: finite numbers were wanted.")
    return values
