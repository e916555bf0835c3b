"""Rows that lie off the data, for the global head to be compared with.

Comparisons among training rows teach nothing about what lies beyond them: where a column holds zeros and amounts, a
large negative number could be the most central of all. So some of the compared candidates are training rows with one or
more cells moved out of the column's range. Anchors are never among them, and the local head does not see them.
"""

import numpy as np
from numpy.typing import NDArray

SHARE = 4  # one compared candidate in so many lies off the data
FEWEST, MOST = 256, 4096  # how many such rows are made at once
NEAR = 1.0  # in scaled units, how far beyond the range half of the moved cells lie, on average
FAR = 36.0  # up to where the others lie: a bent column ends there, since 10 + log(1e15 - 10) is 45


def how_many(n: int) -> int:
    """Return how many rows off the data are made beside n rows."""
    return int(np.clip(n // SHARE, FEWEST, MOST))


def moved_off(z: NDArray[np.float32], count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return so many of the scaled rows z with cells moved out of their columns' ranges, to either side.

    Half of them have one cell moved, the others any number; a constant column is left alone.
    """
    n, p = z.shape
    rows = z[rng.integers(n, size=count)]
    low, high = z.min(0), z.max(0)
    share = np.where(np.arange(count) % 2, 0.0, rng.random(count))  # of the cells, beside the one that always moves
    moved = rng.random((count, p)) < share[:, None]
    moved[np.arange(count), rng.integers(p, size=count)] = True
    moved &= high > low
    beyond = np.where(rng.random((count, p)) < 0.5, rng.exponential(NEAR, (count, p)), FAR * rng.random((count, p)))
    there = np.where(rng.random((count, p)) < 0.5, low - beyond, high + beyond)
    return np.where(moved, there, rows).astype(np.float32)
