"""Find groups of rows by k-means, the same ones on every CPU: the engine adds up all distances in one order."""

import numpy as np
from numpy.typing import NDArray

from centrality.engine import engine

Rows = NDArray[np.floating]  # (n, p)
Positions = NDArray[np.int64]


def k_means(
    rows: Rows, count: int, seed: int, *, rounds: int, start: Positions | None = None
) -> tuple[NDArray[np.float64], Positions]:
    """Return the centres of so many groups, (m, p), and the group of each row; of copies there may be fewer groups.

    `start` are the positions of the rows to begin with; without it, rows that lie far apart.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    if start is None:
        start = far_apart(rows, count, seed, trials=2 + int(np.log(count)))
    centres = rows[start].astype(np.float64)
    return centres, engine().k_means(rows, centres, rounds)


def far_apart(rows: Rows, count: int, seed: int, *, trials: int) -> Positions:  # (count,)
    """Return the positions of `count` rows that lie far from one another, as k-means++ chooses its start.

    The next row is drawn by its squared distance to the nearest one chosen, `trials` times; the one that leaves the
    least distance in all is taken. The rows are the same as scikit-learn's.
    """
    rng, n = np.random.RandomState(seed), len(rows)
    first = int(rng.choice(n, p=np.full(n, 1 / n)))
    drawn = rng.uniform(size=(count - 1, trials))
    return engine().far_apart(np.ascontiguousarray(rows, dtype=np.float32), first, drawn)
