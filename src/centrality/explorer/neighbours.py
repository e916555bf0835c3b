"""Find the rows beside a row: the nearest typical one, to compare an odd row with, and the nearest of all."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

NEAREST = 6  # rows told of each row, the nearest typical one first
SPARE = 8  # more rows than are told are ranked by their exact distances

Neighbours: TypeAlias = Callable[[NDArray[np.intp]], NDArray[np.intp]]  # (k,) rows -> (k, NEAREST)


def neighbours_of(vectors: NDArray[np.floating], centrality: NDArray[np.float64]) -> Neighbours | None:
    """Return a function that finds the neighbours of rows among all rows; None if there are too few rows.

    The rows of the more central half are typical. Distances are Euclidean, between scaled vectors.
    """
    n = len(vectors)
    if n < 2 * NEAREST:
        return None

    @cache  # made with the first answer: a page does not wait for it
    def sought() -> tuple[Neighbours, Neighbours]:
        typical = np.sort(np.argsort(centrality, kind="stable")[n // 2 :])
        return _nearest_among(vectors, typical, 1), _nearest_among(vectors, np.arange(n), NEAREST - 1)

    return lambda rows: np.hstack([nearest(rows) for nearest in sought()])


def _nearest_among(vectors: NDArray[np.floating], candidates: NDArray[np.intp], most: int) -> Neighbours:
    """Return a function that finds the nearest candidates of rows, the rows themselves left out."""
    from sklearn.neighbors import NearestNeighbors

    count = min(1 + most + SPARE, len(candidates))
    held = vectors if len(candidates) == len(vectors) else vectors[candidates]
    index = NearestNeighbors(n_neighbors=count, algorithm="brute").fit(held)

    def nearest(rows: NDArray[np.intp]) -> NDArray[np.intp]:  # (k, most)
        found = candidates[index.kneighbors(vectors[rows], return_distance=False)]
        # Anew, as differences: products of large numbers have rounded small distances away.
        apart = ((vectors[found].astype(np.float64) - vectors[rows, None].astype(np.float64)) ** 2).sum(2)
        apart[found == rows[:, None]] = np.inf
        ranked = np.lexsort([found, apart], axis=1)[:, :most]
        return np.take_along_axis(found, ranked, axis=1)

    return nearest
