"""Choose rows that cover all rows: greedily, each next row is the one that most reduces the distance of the others.

The mean distance of all rows to the nearest chosen one is what is made small (facility location), or the mean of its
square, in which rows far from all chosen ones, such as those of a rare class, count more. Each step tries a few
candidates, drawn in proportion to that distance or square, and keeps the best: greedy k-means++. Many rows are
represented by a sample, whose mean distance is that of all rows within a per cent. Rows chosen first never change, so
that every prefix is a good choice for its size.
"""

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

SAMPLE = 10_000  # rows that stand for all others, or ten for each row to choose, if that is more
DISTANCES = 1 << 18  # computed in each step: by so many, few rows have more candidates
FEWEST_TRIED = 16  # candidates of each step

Floats = NDArray[np.float32]


def sample_for(k: int, rows: NDArray[np.intp], rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the rows from which k are chosen: all rows, or a sample of very many, in order."""
    size = max(SAMPLE, 10 * k)
    return rows if len(rows) <= size else np.sort(rng.choice(rows, size, replace=False))


def spread(
    Z: Floats,  # (m, p)
    k: int,
    rng: np.random.Generator,
    weight: Floats | None = None,  # (m,)
    *,
    squared: bool = False,
    progress: bool = False,
) -> NDArray[np.intp]:  # (k,)
    """Return the numbers of k rows that cover all rows, which count by their weights; rows of weight 0 come last.

    With `squared`, the mean of squared distances is reduced.

    >>> line = np.array([[0.0], [0.1], [5.0], [5.1], [9.0]], dtype=np.float32)
    >>> sorted(spread(line, 3, np.random.default_rng(0)) // 2)  # one of each pair, and the last
    [np.int64(0), np.int64(1), np.int64(2)]
    """
    weight = np.ones(len(Z), dtype=np.float32) if weight is None else weight
    tries = max(FEWEST_TRIED, DISTANCES // len(Z))
    squares = np.einsum("ij,ij->i", Z, Z)
    apart: Floats | None = None  # (m,) the distance of each row to the nearest chosen one, or its square
    chosen: list[int] = []
    for _ in tqdm(range(k), disable=not progress, desc="Picking", leave=False):
        candidates = _drawn(weight if apart is None else weight * apart, tries, rng)
        if not len(candidates):  # every row with a weight equals a chosen one
            break
        tried = squares[candidates, None] + squares - 2 * Z[candidates] @ Z.T
        np.maximum(tried, 0, out=tried)
        if not squared:
            np.sqrt(tried, out=tried)
        if apart is not None:
            np.minimum(tried, apart, out=tried)
        best = int(np.argmin(tried @ weight))
        chosen.append(int(candidates[best]))
        apart = tried[best]
        apart[chosen[-1]] = 0  # which rounding may have missed: a row is chosen once
    return _filled(np.array(chosen, dtype=np.intp), k, weight, rng)


def _drawn(chance: Floats, tries: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw a few different rows with these relative chances; return none if all are 0."""
    sums = np.cumsum(chance, dtype=np.float64)
    if not sums[-1] > 0:
        return np.empty(0, dtype=np.intp)
    return np.unique(np.searchsorted(sums, rng.random(tries) * sums[-1], side="right").clip(max=len(chance) - 1))


def _filled(chosen: NDArray[np.intp], k: int, weight: Floats, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return k rows: the chosen ones, then others, those with a weight first."""
    if len(chosen) == k:
        return chosen
    others = np.setdiff1d(np.arange(len(weight)), chosen)
    others = rng.permutation(others)
    others = others[np.argsort(-(weight[others] > 0).astype(np.int8), kind="stable")]
    return np.concatenate([chosen, others[: k - len(chosen)]])
