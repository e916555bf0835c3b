"""Find the rows beside a row: the nearest typical one, to compare an odd row with, and the nearest of all."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

NEAREST = 6  # rows told of each row, the nearest typical one first
MOST_CANDIDATES = 20_000  # rows that are compared with; of more, evenly spaced ones
ROWS_AT_ONCE = 256  # so that distances fit into memory

Neighbours: TypeAlias = Callable[[NDArray[np.intp]], NDArray[np.intp]]  # (k,) rows -> (k, NEAREST)


def neighbours_of(vectors: NDArray[np.floating], centrality: NDArray[np.float64]) -> Neighbours | None:
    """Return what finds the neighbours of rows among all rows; None where there are too few to speak of.

    Typical are the rows of the more central half. Distances are Euclidean, of vectors as the network sees them.
    """
    n = len(vectors)
    if n < 2 * NEAREST:
        return None
    order = np.argsort(centrality, kind="stable")
    typical, others = (_Candidates(vectors, rows) for rows in (np.sort(order[n // 2 :]), np.arange(n)))

    def neighbours(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        found = np.empty((len(rows), NEAREST), dtype=np.intp)
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            here = vectors[rows[part]].astype(np.float64)
            found[part, :1] = typical.nearest(here, rows[part], 1)
            found[part, 1:] = others.nearest(here, rows[part], NEAREST - 1)
        return found

    return neighbours


class _Candidates:
    """Holds the rows that others are compared with: at most so many, evenly spaced."""

    def __init__(self, vectors: NDArray[np.floating], rows: NDArray[np.intp]) -> None:
        self.rows = rows[:: -(-len(rows) // MOST_CANDIDATES)]
        self.vectors = vectors[self.rows].astype(np.float64)
        self.squares = (self.vectors**2).sum(1)

    def nearest(self, here: NDArray[np.float64], rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:  # (k, most)
        """Return the candidates nearest to each row, the row itself left out."""
        apart = self.squares - 2 * here @ self.vectors.T  # without the row's own square, which changes no order
        apart[rows[:, None] == self.rows] = np.inf
        nearest = np.argpartition(apart, most - 1, axis=1)[:, :most]
        ranked = np.argsort(np.take_along_axis(apart, nearest, axis=1), axis=1, kind="stable")
        return self.rows[np.take_along_axis(nearest, ranked, axis=1)]
