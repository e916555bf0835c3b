"""Find near copies: rows that are nearer to each other, compared with their other neighbours, than chance explains.

Within the ball that reaches to a row's k-th neighbour, rows by chance lie evenly: the nearest is then as near as
u = (d / d_k)^dimension or nearer with probability 1 - (1 - u)^(k - 1). The dimension is that of the data itself, by the
distances of the neighbours (Levina and Bickel). Pairs are called copies by these p-values at a false discovery rate of
1% (Benjamini and Hochberg), if they also lie at less than a quarter of the usual distance between neighbours. A pair is
tested once, though both of its rows have a p-value: of n rows, n p / 2 pairs have one below p by chance.
"""

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from centrality.selecting.nearest import Floats, nearest

NEIGHBOURS = 15
FALSE_SHARE = 0.01
FAR_BELOW = 0.25  # of the usual distance to the nearest other row
MARKEDLY = 1.5  # four times the standard deviation of a mean over the neighbours of a row
FEWEST = 20  # fewest rows whose spacing can be estimated


def near_copies(
    Z: Floats, rng: np.random.Generator, *, far_below: float = FAR_BELOW, progress: bool = False
) -> list[NDArray[np.intp]]:
    """Return groups of rows that are near copies of each other; no row is in two of them.

    `far_below` is the share of the usual distance between neighbours above which no pair is a copy.
    """
    apart, which = nearest(Z, NEIGHBOURS, rng, progress=progress)
    first, second = _pairs(apart, which, far_below)
    return groups_of(first, second, len(Z))


def _pairs(apart: Floats, which: NDArray[np.intp], far_below: float) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs of rows that are near copies, as two arrays of row numbers."""
    spacing = np.median(apart[:, 0][apart[:, 0] > 0]) if (apart[:, 0] > 0).any() else 0.0
    is_other = (apart > far_below * spacing) & (which >= 0)  # too far for a copy
    chance = _chance(apart, apart[:, -1], _dimension(apart, which, is_other))
    chance[is_other] = 1.0
    rows = np.repeat(np.arange(len(apart)), apart.shape[1])
    seen = (chance.ravel() <= FALSE_SHARE) & (which.ravel() >= 0)
    one, other, p = rows[seen], which.ravel()[seen], chance.ravel()[seen]
    first, second, p = _mutual(one, other, p, len(apart))
    enough = _at_false_discovery_rate(p, len(apart) / 2)
    return first[enough], second[enough]


def _dimension(apart: Floats, which: NDArray[np.intp], is_other: NDArray[np.bool_]) -> NDArray[np.float64]:  # (n,)
    """Estimate the dimension of the data around each row, by how distances grow from the second neighbour on.

    Of rows that lie evenly, dimension * log(d_k / d_j) are k - 1 exponential numbers in order. Without the largest,
    that of the nearest neighbour, which may be a copy, they sum up to k - 1 - (1 + 1/2 + ... + 1/(k - 1)); the median
    of such a sum is 1/3 less. The median over all rows gives the dimension, but where the mean over those neighbours of
    a row that are no copies of it gives a markedly smaller one: in a table, rows of the same categories differ in few
    columns.
    """
    there = np.isfinite(apart[:, -1]) & (apart[:, 1] > 0)
    if not there.any():
        return np.ones(len(apart))
    others = apart.shape[1] - 1
    expected = others - (1 / np.arange(1, others + 1)).sum()
    growth = np.full(len(apart), np.nan)
    growth[there] = np.log(apart[there, -1:] / apart[there, 1:-1]).sum(1)
    overall = np.nanmedian(growth) * expected / (expected - 1 / 3)
    known = np.where(there, growth, overall)
    nearby = (known[which] * is_other).sum(1) / np.maximum(is_other.sum(1), 1)
    return np.asarray(expected / np.maximum(np.where(nearby > MARKEDLY * overall, nearby, overall), 1e-6))


def _chance(apart: Floats, reach: Floats, dimension: NDArray[np.float64]) -> NDArray[np.float64]:  # (n, k)
    """Return the probability that a row has another row so near by chance."""
    ratio = np.divide(apart, reach[:, None], out=np.ones(apart.shape), where=(reach > 0)[:, None] & np.isfinite(apart))
    inside = np.clip(ratio, 0, 1) ** dimension[:, None]
    return np.asarray(-np.expm1((apart.shape[1] - 1) * np.log1p(-np.minimum(inside, 1 - 1e-12))))


def _mutual(
    one: NDArray[np.intp], other: NDArray[np.intp], p: NDArray[np.float64], n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]:
    """Return each pair that is close as seen from both of its rows, once, with the larger of both probabilities."""
    key = np.minimum(one, other) * n + np.maximum(one, other)
    order = np.argsort(key, kind="stable")
    key, p = key[order], p[order]
    twice = np.flatnonzero(key[1:] == key[:-1])
    return key[twice] // n, key[twice] % n, np.maximum(p[twice], p[twice + 1])


def _at_false_discovery_rate(p: NDArray[np.float64], tests: float) -> NDArray[np.bool_]:
    """Say which of `tests` tests are discoveries (Benjamini and Hochberg), given all of their small p-values."""
    in_order = np.sort(p)
    passed = np.flatnonzero(in_order <= FALSE_SHARE * np.arange(1, len(p) + 1) / tests)
    return p <= (in_order[passed[-1]] if len(passed) else -1.0)


def groups_of(first: NDArray[np.intp], second: NDArray[np.intp], n: int) -> list[NDArray[np.intp]]:
    """Return the groups of n rows that these pairs connect, each in order; rows without a pair are left out."""
    if not len(first):
        return []
    graph = coo_array((np.ones(len(first), dtype=np.int8), (first, second)), shape=(n, n))
    _, label = connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    sizes = np.bincount(label)
    groups = np.split(order, np.cumsum(sizes)[:-1])
    return [groups[g] for g in np.flatnonzero(sizes > 1)]
