"""Find groups of rows by k-means, on one thread: OpenMP's threads are lost in a fork, where a child would hang."""

import warnings
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Floats = NDArray[np.floating]


def k_means(
    rows: Floats, count: int, seed: int, *, rounds: int, start: NDArray[np.intp] | None = None
) -> tuple[Floats, NDArray[np.int32]]:
    """Return the centres of so many groups, (m, p), and the group of each row; of copies there may be fewer groups.

    `start` are the numbers of the rows to begin with; without it, rows that lie far apart.
    """
    from sklearn.cluster import KMeans  # here: scoring does not need it

    if start is None:
        start = far_apart(rows - rows.mean(axis=0), count, seed, trials=2 + int(np.log(count)))
    means = KMeans(count, init=rows[start], n_init=1, max_iter=rounds)
    with warnings.catch_warnings(), _threads_of_sklearn().limit(limits=1, user_api="openmp"):
        warnings.filterwarnings("ignore", message="Number of distinct clusters")  # copies: fewer groups are fine
        means.fit(rows)
    return means.cluster_centers_, means.labels_


def far_apart(rows: Floats, count: int, seed: int, *, trials: int) -> NDArray[np.intp]:  # (count,)
    """Return the numbers of `count` rows that lie far from one another, as k-means++ chooses its start.

    The next row is drawn by its squared distance to the nearest one chosen, `trials` times; the one that leaves the
    least distance in all is taken. The rows are the same as scikit-learn's, but without its checks, which cost more
    than the distances do.
    """
    rng, n, fine = np.random.RandomState(seed), len(rows), rows.astype(np.float64)
    squares, ones = np.einsum("ij,ij->i", fine, fine), np.ones(n, dtype=rows.dtype)

    def distances(chosen: NDArray[np.intp]) -> Floats:  # (trials, n)
        found = -2.0 * (fine[chosen] @ fine.T)
        found += squares[chosen, None]
        found += squares
        return np.asarray(np.maximum(found.astype(rows.dtype), 0))

    picked = np.full(count, rng.choice(n, p=ones / ones.sum()))
    nearest = distances(picked[:1])[0]
    left = nearest @ ones
    for place in range(1, count):
        drawn = np.searchsorted(np.cumsum(nearest), rng.uniform(size=trials) * left)
        drawn = np.minimum(drawn, n - 1)
        each = np.minimum(nearest, distances(drawn))
        leaves = each @ ones[:, None]  # (trials, 1)
        best = int(leaves.argmin())
        picked[place], nearest, left = drawn[best], each[best], leaves[best]
    return picked


@cache
def _threads_of_sklearn() -> "ThreadpoolController":
    """Return the object that limits the threads of the loaded libraries; it is cached, as making it is slow."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
