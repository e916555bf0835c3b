"""Find the nearest rows of every row: among all rows if they are few, else among the rows of the same cell.

Cells are those of a quick k-means, about a thousand rows each: a row's nearest neighbour lies in its cell unless a
border runs between them, which it hardly does between copies. On one core this is many times quicker than an index that
answers any query, and finds copies as often (benchmarks/copies.py neighbours).
"""

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

ONE_CELL = 5_000  # up to so many rows, every row is compared with every other
CELL = 1_000  # rows of a cell, about
ROUNDS = 3  # of k-means
BLOCK = 2_048  # rows compared at once

Floats = NDArray[np.float32]


def nearest(
    Z: Floats, k: int, rng: np.random.Generator, *, progress: bool = False
) -> tuple[Floats, NDArray[np.intp]]:  # (n, k), (n, k)
    """Return the distances of each row to its k nearest others, rising, and the numbers of these.

    Where a cell holds fewer, the distances are infinite and the numbers -1.

    >>> apart, which = nearest(np.array([[0.0], [1.0], [5.0]], dtype=np.float32), 1, np.random.default_rng(0))
    >>> apart.ravel().tolist(), which.ravel().tolist()
    ([1.0, 1.0, 4.0], [1, 0, 1])
    """
    apart = np.full((len(Z), k), np.inf, dtype=np.float32)
    which = np.full((len(Z), k), -1, dtype=np.intp)
    cell = _cells(Z, rng)
    order = np.argsort(cell, kind="stable")
    members = np.split(order, np.searchsorted(cell[order], np.arange(1, int(cell.max()) + 1)))
    for rows in tqdm(members, disable=not progress, desc="Comparing rows", leave=False):
        if len(rows) > 1:
            apart[rows, : len(rows) - 1], which[rows, : len(rows) - 1] = _within(Z, rows, k)
    return apart, which


def _within(Z: Floats, rows: NDArray[np.intp], k: int) -> tuple[Floats, NDArray[np.intp]]:
    """Return the distances and numbers of each row's nearest rows among these rows."""
    E = Z[rows] - Z[rows].mean(0)  # small numbers: differences of squares are then exact enough
    squares = np.einsum("ij,ij->i", E, E)
    k = min(k, len(rows) - 1)
    apart, which = np.empty((len(rows), k), dtype=np.float32), np.empty((len(rows), k), dtype=np.intp)
    for start in range(0, len(rows), BLOCK):
        part = slice(start, min(start + BLOCK, len(rows)))
        distance = squares[part, None] + squares - 2 * E[part] @ E.T
        distance[np.arange(len(distance)), np.arange(part.start, part.stop)] = np.inf
        near = np.argpartition(distance, k - 1, axis=1)[:, :k]
        exact = np.sqrt(np.square(E[part, None] - E[near]).sum(2))  # exact for rows that nearly agree
        rising = np.argsort(exact, axis=1, kind="stable")
        apart[part], which[part] = np.take_along_axis(exact, rising, 1), rows[np.take_along_axis(near, rising, 1)]
    return apart, which


def _cells(Z: Floats, rng: np.random.Generator) -> NDArray[np.intp]:  # (n,)
    """Return the cell of each row: the number of the nearest centre."""
    if len(Z) <= ONE_CELL:
        return np.zeros(len(Z), dtype=np.intp)
    count = len(Z) // CELL
    centres = Z[rng.choice(len(Z), count, replace=False)]
    sample = Z[rng.choice(len(Z), min(len(Z), 50 * count), replace=False)]
    for _ in range(ROUNDS):
        cell = _nearest_centre(sample, centres)
        sums, sizes = np.zeros_like(centres), np.bincount(cell, minlength=count)
        np.add.at(sums, cell, sample)
        centres = np.where(sizes[:, None] > 0, sums / np.maximum(sizes, 1)[:, None], centres).astype(np.float32)
    return _nearest_centre(Z, centres)


def _nearest_centre(Z: Floats, centres: Floats) -> NDArray[np.intp]:
    squares = np.einsum("ij,ij->i", centres, centres)
    parts = [np.argmin(squares - 2 * Z[s : s + BLOCK] @ centres.T, axis=1) for s in range(0, len(Z), BLOCK)]
    return np.concatenate(parts)
