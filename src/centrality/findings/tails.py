"""Say how rare a number is among others: one in how many is as far out, also beyond all of them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

TAILS = (0.1, 0.05, 0.025)  # of the numbers, the farthest: their spacings say how the tail goes on
FOURFOLD = 4.0  # the tail thins out so many times between the depths at which it is measured
HEAVIEST = 1.0  # the shape of the heaviest tail that is extrapolated: means of heavier ones do not exist


def far_out(distances: Floats) -> Floats:
    """Return one in how many of these distances is as large as each, at least 1; NaN stays.

    Within the numbers that is counted. Beyond the farthest tenth, a generalized Pareto tail goes on as the spacings of
    quantiles say (Pickands), the median over three depths; so that up to a fortieth of the numbers may be wrong and
    still does not make the tail look heavy.

    >>> rng = np.random.default_rng(0)
    >>> severity = far_out(np.append(np.abs(rng.normal(size=999)), 8.0))
    >>> bool(severity[-1] > 1e3), bool(np.median(severity) < 3)
    (True, True)
    """
    present = np.sort(distances[~np.isnan(distances)])
    if len(present) < 20 or present[0] == present[-1]:
        return np.where(np.isnan(distances), np.nan, 1.0)
    at_least = len(present) - np.searchsorted(present, distances, side="left")
    counted = len(present) / np.maximum(at_least, 1.0)
    start, spread, shape = _tail(present)
    if spread <= 0:
        return np.where(np.isnan(distances), np.nan, counted)
    beyond = np.maximum(distances - start, 0.0) / spread
    further = np.log1p(shape * beyond) / shape if shape > 1e-6 else beyond
    return np.where(distances > start, np.exp(np.minimum(further, 50.0)) / TAILS[0], counted)


def _tail(present: Floats) -> tuple[float, float, float]:
    """Return where the tail begins, its scale there, and its shape: 0 for an exponential one.

    The scale is the larger one of two depths: a tail that thins out on the way is taken for one that does not.
    """
    shapes = []
    for share in TAILS:
        low, middle, high = np.quantile(present, [1 - 4 * share, 1 - 2 * share, 1 - share])
        if middle > low:
            shapes.append(np.log2(max(high - middle, 1e-12) / (middle - low)))
    shape = float(np.clip(np.median(shapes), 0.0, HEAVIEST)) if shapes else 0.0
    before, start, end = np.quantile(present, [1 - TAILS[0] * FOURFOLD, 1 - TAILS[0], 1 - TAILS[0] / FOURFOLD])
    growth = (FOURFOLD**shape - 1) / shape if shape > 1e-6 else np.log(FOURFOLD)
    return float(start), float(max(end - start, (start - before) * FOURFOLD**shape) / growth), shape
