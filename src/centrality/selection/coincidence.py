"""Estimate how many pairs of rows of a table lie as near as a given pair by chance.

Rows of the same day have distance 0 in this column, as many rows do by chance: that does not make them near copies. So
let D be the columns in which a pair agrees. The result is the number of pairs that agree in D by chance, times the
probability that such a pair lies as near in the other columns.

Columns are not independent. The number of pairs that agree in D is estimated by taking the columns of D from the rarest
agreement on: the share of pairs that agree in the first one, times, for each further column, the share that agrees in
it among the pairs that agree in an earlier one; of several earlier ones, the largest share counts. The probability to
lie as near in the other columns is estimated among all rows, and among the pairs that agree in a column of D; the
larger one counts.

A pair may agree in any of the 2^a sets of a columns. To allow for so many chances, each size of a set has equal weight,
and so has each set of one size: the expected number is multiplied by a + 1 and by the number of sets of that size.

By distances alone, most simulated tables with dates had false near copies; with this estimate, hardly any did
(benchmarks/copies.py chance).
"""

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from centrality.selection.duplicates import count_pairs

SHARED = 0.05  # agreement in a column is by chance if a row shares its value with more rows than this, on average
PAIRS = 5_000  # sampled from those that agree in a column
ROWS = 2_000  # sampled to measure how near other rows are
NEIGHBOURS = 30  # nearest sampled rows, which set the scale and the dimension
FEW = 3  # if so many sampled rows are as near, their share is the probability; else it is extrapolated
BLOCK = 1 << 24  # distances computed at once

Pairs = NDArray[np.intp]  # (m, 2), numbers of rows
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]


def expected_by_chance(
    candidates: Pairs, cells: NDArray[np.int64], feature_column: NDArray[np.intp], Z: NDArray[np.float32],
    rng: np.random.Generator,
) -> Floats:  # (m,)  # fmt: skip
    """Return how many pairs of rows lie as near as each candidate, in the same way, by chance.

    Parameters
    ----------
    candidates : pairs of rows that may be near copies.
    cells : (n, columns) codes: equal codes are equal cells.
    feature_column : the column that each feature of Z belongs to.
    Z : (n, features) the rows in comparable units.
    """
    n = len(Z)
    all_pairs = n * (n - 1) / 2
    are_alike = cells[candidates[:, 0]] == cells[candidates[:, 1]]
    shares = np.array([count_pairs(column) for column in cells.T]) - are_alike.sum(0)  # without the candidates
    shares = np.maximum(shares, 0.0) / all_pairs
    repeated = np.flatnonzero(n * shares > SHARED)
    samples = [_sample_alike(cells[:, column], candidates, rng) for column in repeated]
    # Of the pairs that agree in one column, the share that agrees in another one.
    among = np.empty((len(repeated), len(repeated)))
    for place, pairs in enumerate(samples):
        agree = (cells[pairs[:, 0]][:, repeated] == cells[pairs[:, 1]][:, repeated]).sum(0)
        among[place] = (agree + 1) / (len(pairs) + 1)  # one more agrees, so that no share is zero
    patterns, which = np.unique(are_alike[:, repeated], axis=0, return_inverse=True)
    expected = np.zeros(len(candidates))  # stays 0 for a pair that shares no value
    for number, pattern in enumerate(patterns):
        chosen = np.flatnonzero(which.ravel() == number)
        D = np.flatnonzero(pattern)
        if not len(D):
            continue
        D = D[np.argsort(shares[repeated[D]], kind="stable")]
        log_share = 0.0
        for place, column in enumerate(D):
            log_share += np.log(shares[repeated[column]] if not place else among[D[:place], column].max())
        sets = comb(len(repeated), len(D))
        features = Z[:, ~np.isin(feature_column, repeated[D])].astype(np.float64)
        near = _chance_near_rows(features, candidates[chosen], rng)
        distance = _distances(features, candidates[chosen])
        for column in D:
            alike = np.sort(_distances(features, samples[column]))
            among_alike = [_chance(alike, far) for far in distance]
            near = np.maximum(near, among_alike)
        expected[chosen] = (len(repeated) + 1) * all_pairs * min(sets * np.exp(log_share), 1.0) * near
    return expected


def _sample_alike(codes: NDArray[np.int64], candidates: Pairs, rng: np.random.Generator) -> Pairs:
    """Return a sample of the pairs that agree in a column, without the candidates."""
    order = np.argsort(codes, kind="stable")
    _, start, group, size = np.unique(codes[order], return_index=True, return_inverse=True, return_counts=True)
    weights = (size[group] - 1).astype(np.float64)
    first = rng.choice(len(codes), PAIRS, p=weights / weights.sum())  # places in `order`
    step = 1 + (rng.random(PAIRS) * (size[group[first]] - 1)).astype(np.intp)
    second = start[group[first]] + (first - start[group[first]] + step) % size[group[first]]
    pairs = np.sort(np.stack([order[first], order[second]], axis=1), axis=1)
    keys = pairs @ [len(codes), 1]  # one number for each pair
    candidate_keys = np.sort(candidates, axis=1) @ [len(codes), 1]
    return np.asarray(pairs[~np.isin(keys, candidate_keys)])


def _distances(features: Floats, pairs: Pairs) -> Floats:
    return np.asarray(np.sqrt(np.square(features[pairs[:, 0]] - features[pairs[:, 1]]).sum(1)))


def _chance_near_rows(features: Floats, pairs: Pairs, rng: np.random.Generator) -> Floats:
    """Return the probability that any row lies as near to a row of a pair as its other row; the larger of the two."""
    sample = np.sort(rng.choice(len(features), min(ROWS, len(features)), replace=False))
    squares = np.square(features[sample]).sum(1)
    chance = np.zeros(len(pairs))
    step = max(BLOCK // len(sample), 1)
    for begin in range(0, len(pairs), step):
        block = pairs[begin : begin + step]
        distance = _distances(features, block)
        of_pair = (sample == block[:, :1]) | (sample == block[:, 1:])
        for rows in block.T:
            apart = np.square(features[rows]).sum(1)[:, None] + squares - 2 * features[rows] @ features[sample].T
            apart = np.sort(np.where(of_pair, np.inf, np.sqrt(np.maximum(apart, 0.0))), axis=1)
            here = [_chance(row[np.isfinite(row)], far) for row, far in zip(apart, distance, strict=True)]
            chance[begin : begin + step] = np.maximum(chance[begin : begin + step], here)
    return chance


def _chance(apart: Floats, distance: float) -> float:
    """Return the share of these rising distances that are as small; if they are too few, extrapolate by a power law."""
    within = int(np.searchsorted(apart, distance * (1 + 1e-6), side="right"))
    nearest = np.maximum(apart[:NEIGHBOURS], distance)
    is_equal_to_others = len(nearest) > 0 and nearest[0] <= 0  # a power law has no place for distances of 0
    if within >= FEW or len(nearest) < FEW or nearest[-1] <= distance or is_equal_to_others:
        return (within + 1) / (len(apart) + 1)
    dimension = (len(nearest) - 2) / np.log(nearest[-1] / nearest[:-1]).sum() if nearest[-1] > nearest[0] else 0.0
    return float(len(nearest) / len(apart) * (distance / nearest[-1]) ** dimension)
