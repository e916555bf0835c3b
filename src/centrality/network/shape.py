"""Add a potential whose noise has the covariance of the rows, if it fits rows left out better than round noise.

Round noise hides narrow directions: where columns are correlated, or many, what is odd is often a small step across the
rows, and noise as wide as their spacing blurs it away. Noise shaped by the rows' covariance S would not; and wide noise
of this shape makes any rows Gaussian, so that its potential need not be learned: it falls with the Mahalanobis distance
d, here as -sqrt(1 + d²). S is shrunk (Ledoit and Wolf). Of many columns it keeps the directions of the largest
variances, and one variance for all others.

A single Gaussian does not fit groups of rows. So rows that a network was not trained on decide how much it counts:
by how much more likely they are under it than under the rows learned from, blurred by the best of the round noises.

That is a mean over all columns, in which one pair of correlated columns among many is lost. So where the whole Gaussian
does not count, d may be taken along narrow directions alone: those that correlations make narrow. Each is judged by
itself, by rows left out and against the same noise, and must have the tails of a Gaussian: where the width changes from
row to row, as it does about a curve or a ratio, a large step is no sign of an odd row. Other columns have no say in it.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

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
NARROW = 0.5  # of the width that a direction would have if columns were independent: wider ones are not narrow
NARROWEST = 0.01  # of the same: the least width that is believed, as of columns of which one is the sum of others
CLEARLY = (0.8, 1.2)  # nats by which rows left out must be more likely along a narrow direction, as EVIDENCE
PULL = 0.5  # of the potentials' spread, where all directions are narrow
TAILS = (1.8, 1.4)  # (90% quantile / median)² of the steps along it, over a Gaussian's, to count not at all and in full
OF_GAUSSIAN = (1.6449 / 0.6745) ** 2
ROUNDING = float(np.finfo(np.float32).eps)  # a column whose deviation is no larger does not vary

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
    judged = [sample(np.flatnonzero(missing(seen, len(z))), z.shape[1], JUDGED, rng) for seen in learned]
    if min(map(len, judged)) < FEWEST:
        return network
    known = [sample(seen, z.shape[1], LEARNED, rng) for seen in learned]
    least = np.min([z[some].std(0, dtype=np.float64) for some in known], axis=0)
    varying = np.flatnonzero(least > ROUNDING)  # to every member
    if len(varying) < 2:
        return network
    whole, samples, evidence = [], [], []
    for some, other in zip(known, judged, strict=True):
        shape, likelihood = _gaussian(z[some], z[other], varying)
        density_of = density(z[np.ix_(some, varying)], z[np.ix_(other, varying)], np.asarray(scales))
        blurred = np.median(density_of, axis=0) - np.log(len(some))
        evidence.append((np.median(likelihood) - blurred.max()) / len(varying))
        whole.append(shape)
        samples.append((z[some], z[other], scales[int(blurred.argmax())]))
    counts, parts, smallest = float(_ramp(np.mean(evidence), EVIDENCE)), whole, ROUNDING
    pull = SHARE * counts / (1 - SHARE * counts)
    if counts < 1 and len(varying) <= DIRECTIONS:
        narrow, numbers = zip(*(_narrow(*each, varying) for each in samples), strict=True)
        # The log-density of m Gaussian directions of p spreads as the root of m/p of them all.
        if (root := float(np.sqrt(np.mean(numbers) / len(varying)))) > counts:
            pull, parts, smallest = PULL * root, _padded(narrow), 1.0
    if pull == 0:
        return network
    alone = (EngineScorer(network.alone(member), engine()) for member in range(len(judged)))
    spreads = [_spread(scorer(z[other])[0, :, 1:]) for scorer, other in zip(alone, judged, strict=True)]
    own = [_spread(potential(shape, z[other])[:, None]) for shape, other in zip(parts, judged, strict=True)]
    weight = pull * np.stack(spreads) / np.maximum(np.stack(own), smallest)
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


def _narrow(
    seen: NDArray[np.float32], rows: NDArray[np.float32], noise: float, varying: NDArray[np.intp]
) -> tuple[Weights, float]:
    """Return the shape along narrow directions alone, and how many of these count; in the map each has its part.

    They are eigenvectors of the correlations. Their widths are those of the rows left out: the seen rows, which set the
    directions, would have them too narrow.
    """
    mean = seen.mean(0, dtype=np.float64).astype(np.float32)
    known, asked = ((some - mean)[:, varying].astype(np.float64) for some in (seen, rows))
    deviations = known.std(0)
    directions = np.linalg.eigh(np.cov((known / deviations).T))[1] / deviations[:, None]
    directions /= np.sqrt(np.square(deviations) @ np.square(directions))  # of width 1, were columns independent
    width = np.maximum(np.sqrt(np.square(asked @ directions).mean(0)), NARROWEST)
    found = np.flatnonzero(width < NARROW)
    directions, width = directions[:, found], width[found]
    blur = noise * np.linalg.norm(directions, axis=0)  # the noise, in the units of these directions
    lines = zip((known @ directions).T, (asked @ directions).T, width, blur, strict=True)
    part = np.array([_part(*line) for line in lines])
    across = np.zeros((len(found), len(mean)), dtype=np.float32)
    across[:, varying] = (np.sqrt(part) / width * directions).T
    return {"mean": mean, "map": across, "rest": np.float32(0.0)}, float(part.sum())


def _part(known: Matrix, steps: Matrix, width: float, noise: float) -> float:
    """Return how much a direction counts, from 0 to 1, by the likelihood and the tails of the steps along it."""
    likelihood = np.median(-0.5 * np.square(steps / width)) - np.log(width)
    seen, rows = known[:, None].astype(np.float32), steps[:, None].astype(np.float32)
    blurred = np.median(density(seen, rows, np.array([noise]))) - np.log(len(seen))
    middle, far = np.quantile(np.abs(steps), (0.5, 0.9))
    tails = (far / max(middle, NARROWEST)) ** 2 / OF_GAUSSIAN
    return float(_ramp(likelihood - blurred, CLEARLY) * _ramp(tails, TAILS))


def _padded(shapes: Sequence[Weights]) -> list[Weights]:
    """Return the shapes with maps of one length: rows of zeros add nothing."""
    most = max(len(shape["map"]) for shape in shapes)
    return [{**shape, "map": np.pad(shape["map"], ((0, most - len(shape["map"])), (0, 0)))} for shape in shapes]


def _ramp(value: Any, ends: tuple[float, float]) -> Any:
    """Return 0 up to the first end, 1 from the second on, and a straight line in between."""
    return np.clip((value - ends[0]) / (ends[1] - ends[0]), 0.0, 1.0)


def _spread(values: Matrix) -> Matrix:
    low, high = np.quantile(values, WIDTHS, axis=0)
    return np.asarray(high - low)
