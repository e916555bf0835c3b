"""Set the level of a network's potentials in each region of the rows by how many rows lie there.

Score matching teaches a potential's slopes. Between groups of rows that lie apart there is nothing to learn slopes
from, so which group is the denser one is left to chance. But the rows themselves show it: the potential of noise η is
the logarithm of their density blurred by η, up to one constant. So rows that the network was not trained on show,
region by region, the error of its potential, and the local head's weights are changed by the smallest amount that
corrects each region: a ridge regression on the features that the head reads.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from centrality.engine import engine
from centrality.network.groups import k_means
from centrality.network.network import Network
from centrality.network.scorer import features_of

LEARNED, JUDGED = 2000, 1000  # rows that make up the density, and rows that it is compared on, at most
VALUES = 1 << 22  # of wide rows, so many values of them
REGIONS, ROWS_EACH = 16, 40  # at most so many, of so many rows at least that were not learned from
FEWEST = 15  # rows left out that a region must have for its level to be corrected: a few odd rows are not enough
RIDGE = 1e-3  # of the features' mean square
# The share of the potentials' errors that differences of regions must explain, at one noise scale at least: below
# the first, rows are one group and nothing is corrected; from the second on, groups lie apart.
APART = (0.4, 0.7)

Matrix = NDArray[np.float64]


def closed(
    network: Network,
    z: NDArray[np.float32],
    scales: Sequence[float],
    learned: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
) -> Network:
    """Return the network with its levels set by the scaled rows z; `learned` are those that each member was trained on.

    A network with the prior of clean rows is returned as it is: the prior has the levels already.
    """
    if network.prior:
        return network
    weight, bias = (np.array(network.weights[f"local_head.{part}"]) for part in ("weight", "bias"))
    left_out = [np.flatnonzero(missing(seen, len(z))) for seen in learned]
    regions = min(REGIONS, min(map(len, left_out)) // ROWS_EACH)
    if regions < 2:
        return network
    for member, (seen, unseen) in enumerate(zip(learned, left_out, strict=True)):
        some, other = sample(seen, z.shape[1], LEARNED, rng), sample(unseen, z.shape[1], JUDGED, rng)
        features = features_of(network, member)(z[other])
        potentials = features @ weight[member].T.astype(np.float64) + bias[member]
        off = density(z[some], z[other], np.asarray(scales)) - potentials  # (n, k)
        region = _regions(z[some], z[other], regions, rng)
        change, shift = _smallest_change(features, _wanted(off, region))
        weight[member] += change
        bias[member] += shift
    return replace(network, weights={**network.weights, "local_head.weight": weight, "local_head.bias": bias})


def missing(rows: NDArray[np.intp], count: int) -> NDArray[np.bool_]:  # (count,)
    """Say which of `count` rows are not among these."""
    missing = np.ones(count, dtype=bool)
    missing[rows] = False
    return missing


def sample(rows: NDArray[np.intp], width: int, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw at most `most` of these rows, fewer if they are wide, and return their numbers in order."""
    return np.sort(rng.permutation(rows)[: min(most, max(VALUES // width, 200))])


def _wanted(off: Matrix, region: NDArray[np.intp]) -> Matrix:  # (n, k)
    """Return the correction of the potentials in each row's region.

    That is the median of their errors there, less the median of all rows, and shrunk by as much of the medians'
    differences as chance explains: where columns are many, a row's own density is hardly known. A region of few rows
    stays as it is, and so do all where no groups lie apart: there the learned slopes are more exact than the density.
    """
    sizes = np.bincount(region)
    medians = _medians(off, region, sizes)
    within = _medians(np.abs(off - medians[region]), region, sizes)
    chance = np.average(np.square(1.86 * within) / sizes[:, None], axis=0, weights=sizes)  # variance of a median
    found = np.where(sizes[:, None] < FEWEST, 0.0, medians - np.median(off, axis=0))
    total = np.average(np.square(found), axis=0, weights=sizes)
    spread = np.average(np.square(1.48 * within), axis=0, weights=sizes)
    explained = np.divide(total, total + spread, out=np.zeros_like(total), where=total > 0).max()
    kept = np.divide(np.maximum(total - chance, 0.0), total, out=np.zeros_like(total), where=total > 0)
    kept *= np.clip((explained - APART[0]) / (APART[1] - APART[0]), 0.0, 1.0)
    return np.asarray((kept * found)[region])


def _medians(values: Matrix, region: NDArray[np.intp], sizes: NDArray[np.intp]) -> Matrix:  # (regions, k)
    """Return the median of each column's values in each region, all by one sort of the column."""
    last = np.cumsum(sizes)
    middle = last - sizes + np.stack([(sizes - 1) // 2, sizes // 2])  # of an even number, the two in the middle
    columns = [column[np.lexsort((column, region))][middle].mean(0) for column in values.T]
    return np.stack(columns, axis=1)


def _smallest_change(features: Matrix, wanted: Matrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return the smallest change of a linear head's weights, (k, q) and (k,), that changes its outputs as wanted."""
    mean = features.mean(0)
    centred = features - mean
    square = centred.T @ centred / len(centred)
    ridge = RIDGE * np.trace(square) / len(square)
    change = np.linalg.solve(square + ridge * np.eye(len(square)), centred.T @ wanted / len(centred)).T
    return change.astype(np.float32), (wanted.mean(0) - change @ mean).astype(np.float32)


def density(seen: NDArray[np.float32], rows: NDArray[np.float32], scales: Matrix) -> Matrix:  # (n, k)
    """Return the log-density at these rows of the seen rows blurred by each noise scale, up to a constant."""
    seen, rows = np.ascontiguousarray(seen), np.ascontiguousarray(rows)
    return np.asarray(engine().log_density(rows, seen, scales) - seen.shape[1] * np.log(scales))


def _regions(
    seen: NDArray[np.float32], rows: NDArray[np.float32], count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the region of each row: the nearest k-means centre of the seen rows. Regions without rows do not count."""
    from scipy.spatial.distance import cdist

    centres, _ = k_means(seen, min(count, len(seen)), int(rng.integers(2**31)), rounds=20)
    return np.asarray(np.unique(cdist(rows, centres).argmin(1), return_inverse=True)[1])
