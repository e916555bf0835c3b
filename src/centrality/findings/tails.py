"""Say how rare a number is among others: one in how many is as far out, also beyond all of them."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST = 20  # numbers whose tail can be told
TAIL = 0.1  # the share of the numbers, the farthest, that the tail is fitted to
APART = 0.05  # the largest share that may lie apart, beyond a gap
CHANCE = 0.05  # of a gap as wide in a tail without any: what is left out without need is judged all the same
PRIOR_SHAPE, PRIOR_ROWS = 0.2, 20  # a tail a little heavier than an exponential one, with the weight of so many rows
LIGHTEST, HEAVIEST = 0.0, 1.0


def far_out(distances: Floats, chance: float = CHANCE) -> Floats:
    """Return one in how many of these distances is as large as each, at least 1; NaN stays.

    Within the numbers that is counted, and extrapolated where they end, by a generalized Pareto law that is fitted to
    the farthest tenth. Numbers beyond a gap that a tail does not have by itself are left out of the fit: else what is
    wrong would make the tail look heavy, and nothing odd. `chance` is that of so wide a gap in a tail without any.

    >>> rng = np.random.default_rng(0)
    >>> severity = far_out(np.append(np.abs(rng.normal(size=999)), 20.0))
    >>> bool(severity[-1] > 1e4), bool(np.median(severity) < 3)
    (True, True)
    """
    present = np.sort(distances[~np.isnan(distances)])
    if len(present) < FEWEST or present[0] == present[-1]:
        return np.where(np.isnan(distances), np.nan, 1.0)
    present = _spread(present)
    at_least = len(present) - np.searchsorted(present, distances, side="left")
    counted = len(present) / np.maximum(at_least, 1.0)
    ordinary = present[: len(present) - _apart(present, chance)]
    size = max(int(TAIL * len(present)), FEWEST // 2)
    start = ordinary[-size - 1]
    excess = ordinary[-size:] - start
    scale, shape = _pareto(excess)
    if scale <= 0:
        return np.where(np.isnan(distances), np.nan, counted)
    beyond = np.maximum(distances - start, 0.0) / scale
    further = np.log1p(shape * beyond) / shape if shape > 1e-6 else beyond
    extrapolated = np.exp(np.minimum(further, 50.0)) * len(ordinary) / size
    return np.where(distances > ordinary[-1], np.maximum(extrapolated, len(ordinary)), counted)


def _spread(present: Floats) -> Floats:
    """Return rising numbers with equal ones spread over the step to the next: whole numbers stand for a range."""
    levels, first, counts = np.unique(present, return_index=True, return_counts=True)
    if 2 * len(levels) > len(present):
        return present
    step = np.median(np.diff(levels))
    place = (np.arange(len(present)) - np.repeat(first, counts) + 0.5) / np.repeat(counts, counts)
    return np.asarray(np.maximum(present + step * (place - 0.5), 0.0))


def _apart(present: Floats, chance: float) -> int:
    """Return how many of these rising numbers lie beyond a gap that is too wide for the tail that ends before it.

    In a Pareto tail, the i-th largest number is ahead of the next one by a factor whose logarithm, times i, is
    exponential with the same mean for all i; in a lighter tail this falls outward.
    """
    limit = max(int(APART * len(present)), 1)
    top = np.log(np.maximum(present[::-1][: 3 * limit + FEWEST // 2], 1e-300))
    steps = np.arange(1, len(top)) * (top[:-1] - top[1:])
    upto = np.concatenate([[0.0], np.cumsum(steps)])
    here = np.arange(1, min(limit, len(steps) - 1) + 1)  # the gap after so many numbers, beside the next steps inward
    end = np.minimum(here + np.maximum(FEWEST, 2 * here), len(steps))
    mean_step = (upto[end] - upto[here]) / (end - here)
    times = np.divide(steps[: len(here)], mean_step, out=np.zeros(len(here)), where=mean_step > 0)
    wide = np.flatnonzero(times > np.log(limit / chance))
    return int(wide[-1]) + 1 if len(wide) else 0


def _pareto(excess: Floats) -> tuple[float, float]:
    """Return scale and shape of the generalized Pareto law of these rising numbers, by their weighted moments."""
    n = len(excess)
    first = float(excess.mean())
    second = float((excess * (1 - (np.arange(1, n + 1) - 0.35) / n)).mean())
    if first <= 2 * second:
        return first, LIGHTEST
    shape = 2 - first / (first - 2 * second)
    shape = float(np.clip((n * shape + PRIOR_ROWS * PRIOR_SHAPE) / (n + PRIOR_ROWS), LIGHTEST, HEAVIEST))
    return first * (1 - min(shape, 0.9)), shape
