"""Add a potential whose noise has the covariance of the rows, if it fits rows left out better than round noise.

Round noise hides narrow directions: where columns are correlated, or many, what is odd is often a small step across the
rows, and noise as wide as their spacing blurs it away. Noise shaped by the rows' covariance S would not; and wide noise
of this shape makes any rows Gaussian, so that its potential need not be learned: it falls with the Mahalanobis distance
d, here as -sqrt(1 + d²). S is shrunk (Ledoit and Wolf). Of many columns it keeps the directions of the largest
variances, and one variance for all others.

A single Gaussian does not fit groups of rows. So rows that a network was not trained on decide how much it counts:
by how much more likely they are under it than under the rows learned from, blurred by the best of the round noises.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from centrality.engine import engine
from centrality.network.levels import JUDGED, LEARNED, density, missing, sample
from centrality.network.network import Network, Weights
from centrality.network.scorer import EngineScorer

DIRECTIONS = 256  # at most
FEWEST = 20  # fewest rows left out that can decide
EVIDENCE = (0.2, 0.4)  # nats a column by which rows left out must be more likely to count at all, and to count in full
SHARE = 0.6  # of the potentials' spread, at most
WIDTHS = (0.01, 0.99)  # quantiles between which a potential's spread is taken

Matrix = NDArray[np.float64]


def shaped(
    network: Network,
    z: NDArray[np.float32],
    scales: Sequence[float],
    learned: Sequence[NDArray[np.intp]],
    rng: np.random.Generator,
) -> Network:
    """Return the network with a shaped potential for each member, if it fits rows left out of training better.

    `learned` are the rows of z, which are scaled, that each member was trained on.
    """
    varying = np.flatnonzero(z.std(0) > 0)
    judged = [sample(np.flatnonzero(missing(seen, len(z))), z.shape[1], JUDGED, rng) for seen in learned]
    if min(map(len, judged)) < FEWEST or len(varying) < 2:
        return network
    parts, evidence = [], []
    for seen, other in zip(learned, judged, strict=True):
        some = sample(seen, z.shape[1], LEARNED, rng)
        shape, likelihood = _gaussian(z[some], z[other], varying)
        blurred = density(z[np.ix_(some, varying)], z[np.ix_(other, varying)], np.asarray(scales)) - np.log(len(some))
        evidence.append((np.median(likelihood) - np.median(blurred, axis=0).max()) / len(varying))
        parts.append(shape)
    share = SHARE * float(np.clip((np.mean(evidence) - EVIDENCE[0]) / (EVIDENCE[1] - EVIDENCE[0]), 0.0, 1.0))
    if share == 0:
        return network
    alone = (EngineScorer(network.alone(member), engine()) for member in range(len(judged)))
    spreads = [_spread(scorer(z[other])[0, :, 1:]) for scorer, other in zip(alone, judged, strict=True)]
    own = [_spread(potential(shape, z[other])[:, None]) for shape, other in zip(parts, judged, strict=True)]
    weight = share / (1 - share) * np.stack(spreads) / np.maximum(np.stack(own), np.finfo(np.float32).eps)
    together = {name: np.stack([part[name] for part in parts]) for name in parts[0]}
    return replace(network, shape={**together, "weight": weight.astype(np.float32)})


def potential(shape: Weights, z: NDArray[np.float32]) -> Matrix:  # (n,)
    """Return -sqrt(1 + d²) for one member's shape and scaled rows."""
    off = z.astype(np.float64) - shape["mean"]
    rest, across = float(shape["rest"]), np.square(off @ shape["map"].T.astype(np.float64)).sum(1)
    square = rest * np.square(off).sum(1) - across if rest else across
    return np.asarray(-np.sqrt(1 + np.maximum(square, 0.0)))


def _gaussian(
    seen: NDArray[np.float32], rows: NDArray[np.float32], varying: NDArray[np.intp]
) -> tuple[Weights, Matrix]:
    """Return the Gaussian fitted to the seen rows, and its log-density at other rows without the constant of 2π.

    The squared distance is |map (z - mean)|²; of many columns, rest |z - mean|² - |map (z - mean)|².
    """
    from sklearn.covariance import ledoit_wolf  # here: scoring does not need it

    mean = seen.mean(0, dtype=np.float64).astype(np.float32)
    variances, directions = np.linalg.eigh(ledoit_wolf(seen[:, varying].astype(np.float64))[0])
    variances = np.maximum(variances, 1e-6 * variances[-1])
    count = len(variances)
    kept = min(count, DIRECTIONS)
    if count > kept:
        variances[:-kept] = variances[:-kept].mean()
    rest = 1 / variances[0] if count > kept else 0.0
    factor = np.sqrt(np.maximum(rest - 1 / variances[-kept:], 0.0) if rest else 1 / variances)
    across = np.zeros((kept, seen.shape[1]), dtype=np.float32)
    across[:, varying] = factor[:, None] * directions[:, -kept:].T
    shape = {"mean": mean, "map": across, "rest": np.float32(rest)}
    square = np.square(potential(shape, rows)) - 1
    return shape, -0.5 * square - 0.5 * np.log(variances).sum()


def _spread(values: Matrix) -> Matrix:
    low, high = np.quantile(values, WIDTHS, axis=0)
    return np.asarray(high - low)
