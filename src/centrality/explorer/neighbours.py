"""Find the rows beside a row: the nearest typical one, to compare an odd row with, and the nearest of all."""

from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

NEAREST = 6  # rows told of each row, the nearest typical one first
SPARE = 8  # more rows than are told are ranked by their exact distances
ROWS_AT_ONCE, CANDIDATES_AT_ONCE = 256, 16_384  # so that distances fit into memory

Neighbours: TypeAlias = Callable[[NDArray[np.intp]], NDArray[np.intp]]  # (k,) rows -> (k, NEAREST)


def neighbours_of(vectors: NDArray[np.floating], centrality: NDArray[np.float64]) -> Neighbours | None:
    """Return a function that finds the neighbours of rows among all rows; None if there are too few rows.

    The rows of the more central half are typical. Distances are Euclidean, between scaled vectors.
    """
    n = len(vectors)
    if n < 2 * NEAREST:
        return None

    @cache  # made with the first answer: a page does not wait for it
    def candidates() -> tuple[_Candidates, _Candidates]:
        order = np.argsort(centrality, kind="stable")
        return _Candidates(vectors, np.sort(order[n // 2 :])), _Candidates(vectors, np.arange(n))

    def neighbours(rows: NDArray[np.intp]) -> NDArray[np.intp]:
        found = np.empty((len(rows), NEAREST), dtype=np.intp)
        typical, others = candidates()
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            here = vectors[rows[part]].astype(np.float64)
            found[part, :1] = typical.nearest(here, rows[part], 1)
            found[part, 1:] = others.nearest(here, rows[part], NEAREST - 1)
        return found

    return neighbours


class _Candidates:
    """Hold the rows among which neighbours are sought."""

    def __init__(self, vectors: NDArray[np.floating], rows: NDArray[np.intp]) -> None:
        self.vectors, self.rows = vectors, rows

    def nearest(self, here: NDArray[np.float64], rows: NDArray[np.intp], most: int) -> NDArray[np.intp]:  # (k, most)
        """Return the candidates nearest to each row, the row itself left out."""
        found = np.concatenate([self._nearest_of(part, here, rows, most) for part in self._parts()], axis=1)
        # Anew, as differences: products of large numbers have rounded small distances away.
        apart = ((self.vectors[found].astype(np.float64) - here[:, None]) ** 2).sum(2)
        apart[found == rows[:, None]] = np.inf
        ranked = np.lexsort([found, apart], axis=1)[:, :most]
        return np.take_along_axis(found, ranked, axis=1)

    def _parts(self) -> list[NDArray[np.intp]]:
        return [self.rows[start : start + CANDIDATES_AT_ONCE] for start in range(0, len(self.rows), CANDIDATES_AT_ONCE)]

    def _nearest_of(
        self, part: NDArray[np.intp], here: NDArray[np.float64], rows: NDArray[np.intp], most: int
    ) -> NDArray[np.intp]:  # (k, most + SPARE or fewer)
        """Return the nearest of some candidates by inexact distances (from products), a few more than are wanted."""
        there = self.vectors[part].astype(np.float64)
        apart = (there**2).sum(1) - 2 * here @ there.T  # without the row's own square, which changes no order
        apart[rows[:, None] == part] = np.inf
        count = min(most + SPARE, len(part))
        return np.asarray(part[np.argpartition(apart, count - 1, axis=1)[:, :count]])
