"""Set the level of a network's potentials in each region of the rows by how many rows lie there.

Score matching teaches a potential's slopes. Between groups of rows that lie apart there is nothing to learn slopes
from, so which group is the denser one is left to chance. But the rows themselves know: the potential of noise η is the
logarithm of their density blurred by η, up to one constant. So rows that the network has not learned from say, region
by region, how far its potential is off, and the local head's weights are changed by the smallest amount that moves each
region by as much: a ridge regression on the features that the head reads.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from centrality.engine import engine
from centrality.network.groups import k_means
from centrality.network.network import Network
from centrality.network.scorer import EngineScorer, features_of

LEARNED, JUDGED = 2000, 1000  # rows that make up the density, and rows that it is compared on, at most
VALUES = 1 << 22  # of wide rows, so many values of them
REGIONS, ROWS_EACH = 16, 40  # at most so many, of so many rows at least that were not learned from
FEWEST = 15  # rows left out that must lie in a region to say how far off its level is: a few odd ones do not
RIDGE = 1e-3  # of the features' mean square
# Which share of how far potentials are off must the differences of regions explain, at one noise scale at least? Below
# the first, rows are one group, whose slopes say it all; from the second on, groups lie apart.
APART = (0.4, 0.7)

Matrix = NDArray[np.float64]


def closed(
    network: Network,
    z: NDArray[np.float32],
    scales: Sequence[float],
    learned: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
) -> Network:
    """Return the network with its levels set by the scaled rows z; `learned` are those that each member has seen.

    The prior of clean rows has them already.
    """
    if network.prior:
        return network
    weight, bias = (np.array(network.weights[f"local_head.{part}"]) for part in ("weight", "bias"))
    scorer = EngineScorer(network, engine())
    for member, seen in enumerate(learned):
        unseen = np.flatnonzero(missing(seen, len(z)))
        regions = min(REGIONS, len(unseen) // ROWS_EACH)
        if regions < 2:
            return network
        some, other = sample(seen, z.shape[1], LEARNED, rng), sample(unseen, z.shape[1], JUDGED, rng)
        off = density(z[some], z[other], np.asarray(scales)) - scorer(z[other])[member, :, 1:]  # (n, k)
        region = _regions(z[some], z[other], regions, rng)
        change, shift = _smallest_change(features_of(network, member)(z[other]), _wanted(off, region))
        weight[member] += change
        bias[member] += shift
    return replace(network, weights={**network.weights, "local_head.weight": weight, "local_head.bias": bias})


def missing(rows: NDArray[np.intp], count: int) -> NDArray[np.bool_]:  # (count,)
    """Say which of so many rows are not among these."""
    missing = np.ones(count, dtype=bool)
    missing[rows] = False
    return missing


def sample(rows: NDArray[np.intp], width: int, most: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw so many of these rows, or fewer where they are wide, and return them in order."""
    return np.sort(rng.permutation(rows)[: min(most, max(VALUES // width, 200))])


def _wanted(off: Matrix, region: NDArray[np.intp]) -> Matrix:  # (n, k)
    """Return by how much the potentials are to be moved in each row's region.

    That is the median of how far they are off there, less the median of all rows, and shrunk by as much of the medians'
    differences as chance explains: where columns are many, a row's own density is hardly known. A region of few rows
    stays as it is, and so do all where no groups lie apart: there slopes say more than the rows' own density does.
    """
    sizes = np.bincount(region)
    medians = np.stack([np.median(off[region == r], axis=0) for r in range(len(sizes))])
    within = np.stack([np.median(np.abs(off[region == r] - medians[r]), axis=0) for r in range(len(sizes))])
    chance = np.average(np.square(1.86 * within) / sizes[:, None], axis=0, weights=sizes)  # variance of a median
    found = np.where(sizes[:, None] < FEWEST, 0.0, medians - np.median(off, axis=0))
    total = np.average(np.square(found), axis=0, weights=sizes)
    spread = np.average(np.square(1.48 * within), axis=0, weights=sizes)
    explained = np.divide(total, total + spread, out=np.zeros_like(total), where=total > 0).max()
    kept = np.divide(np.maximum(total - chance, 0.0), total, out=np.zeros_like(total), where=total > 0)
    kept *= np.clip((explained - APART[0]) / (APART[1] - APART[0]), 0.0, 1.0)
    return np.asarray((kept * found)[region])


def _smallest_change(features: Matrix, wanted: Matrix) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return what is to be added to a linear head, (k, q) and (k,), to move what it says of the features by so much."""
    mean = features.mean(0)
    centred = features - mean
    square = centred.T @ centred / len(centred)
    ridge = RIDGE * np.trace(square) / len(square)
    change = np.linalg.solve(square + ridge * np.eye(len(square)), centred.T @ wanted / len(centred)).T
    return change.astype(np.float32), (wanted.mean(0) - change @ mean).astype(np.float32)


def density(seen: NDArray[np.float32], rows: NDArray[np.float32], scales: Matrix) -> Matrix:  # (n, k)
    """Return the logarithm of the seen rows' density at these rows, blurred by each noise scale, up to a constant."""
    seen, rows = np.ascontiguousarray(seen), np.ascontiguousarray(rows)
    return np.asarray(engine().log_density(rows, seen, scales) - seen.shape[1] * np.log(scales))


def _regions(
    seen: NDArray[np.float32], rows: NDArray[np.float32], count: int, rng: np.random.Generator
) -> NDArray[np.intp]:
    """Return the region of each row: that of the nearest k-means centre of the seen rows; none is empty."""
    from scipy.spatial.distance import cdist

    centres, _ = k_means(seen, min(count, len(seen)), int(rng.integers(2**31)), rounds=20)
    return np.asarray(np.unique(cdist(rows, centres).argmin(1), return_inverse=True)[1])
