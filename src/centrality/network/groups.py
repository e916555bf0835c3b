"""Find groups of rows by k-means, on one thread: OpenMP's do not outlive a fork, and a child would wait for them."""

import warnings
from typing import Any

from numpy.typing import NDArray


def k_means(
    rows: NDArray[Any], count: int, seed: int, *, rounds: int, start: NDArray[Any] | str = "k-means++"
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the centres of so many groups, (m, p), and the group of each row; of copies there may be fewer groups."""
    from sklearn.cluster import KMeans  # here: scoring does not need it
    from threadpoolctl import threadpool_limits

    means = KMeans(count, init=start, n_init=1, max_iter=rounds, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1, user_api="openmp"):
        warnings.filterwarnings("ignore", message="Number of distinct clusters")  # copies: fewer will do
        means.fit(rows)
    return means.cluster_centers_, means.labels_
