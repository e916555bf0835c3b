"""Start the potentials from a background: a robust mixture of a few t-distributions with shrunk covariances.

A potential is the log-density of the rows blurred by noise. The background is a first model of it, with all that means,
correlations and a few groups of rows say; the network learns what it leaves. Beyond the rows, and between groups that
lie apart, where a network has nothing to learn from, the background decides.

Each covariance is low-rank plus isotropic: of many columns it keeps the axes of the largest variances, and one variance
for all others. Noise adds to variances, so the same components serve every noise scale; and a last, sharp level of
hardly any noise keeps the narrow directions that noise as wide as the rows' spacing hides.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from centrality.network.network import BACKGROUND_PARTS, Weights

DEGREES = 4.0  # of freedom of each t-distribution; 0: Gaussians
SHARP = 0.05  # noise of the last level, times the least noise scale
MOST_AXES = 64  # of each component; the other directions share a variance
LOWEST = -1e30  # level of a component that a member lacks

Matrix = NDArray[np.float64]


def background_of(
    members: Sequence[NDArray[np.float32]], noise_scales: Sequence[float], rng: np.random.Generator, *, clean: bool
) -> Weights:
    """Return a background for each member, fitted to the scaled rows that it learns from.

    Members of the same rows, one array, share a background. Where one has fewer components than another, its first is
    repeated at a level so low that it counts for nothing.
    """
    fits: dict[int, Weights] = {}
    for z in members:
        if id(z) not in fits:
            fits[id(z)] = fit_background(z, noise_scales, rng, clean=clean)
    each = [fits[id(z)] for z in members]
    most = max(len(fit["mean"]) for fit in each)
    filled = [_filled(fit, most) for fit in each]
    parts = {name: np.stack([fit[name] for fit in filled]) for name in BACKGROUND_PARTS[:-1]}
    return {**parts, "degrees": np.full(len(members), DEGREES, dtype=np.float32)}


def _filled(fit: Weights, count: int) -> Weights:
    """Return the fit with so many components."""
    index = np.arange(count) % len(fit["mean"])
    index[len(fit["mean"]) :] = 0
    found = {name: part[index] if name in ("mean", "axes") else part[:, index] for name, part in fit.items()}
    found["level"][:, len(fit["mean"]) :] = LOWEST
    return found


def fit_background(
    z: NDArray[np.float32], noise_scales: Sequence[float], rng: np.random.Generator, *, clean: bool
) -> Weights:
    """Fit the mixture to scaled rows, (n, p), for the levels of blur: the noise scales, and a sharp one.

    `mean` (C, p), `axes` (C, d, p), `precision` (levels, C, d) along the axes, `rest` (levels, C) of all other
    directions, and `level` (levels, C), each component's logarithm at its mean.
    """
    n, p = z.shape
    mean = z.mean(0, dtype=np.float64)
    off = z - mean
    covariance = off.T @ off / n
    ridge = np.trace(covariance) / p
    share = min(1.0, p / n)
    variances, directions = np.linalg.eigh((1 - share) * covariance + share * ridge * np.eye(p))
    d = min(p, MOST_AXES)
    variances = np.maximum(variances, 1e-6 * max(variances[-1], 1e-6))
    rest = float(variances[:-d].mean()) if d < p else 0.0
    noise = np.square([*noise_scales, SHARP * min(noise_scales)])
    blurred = variances[-d:] + noise[:, None]  # (levels, d)
    level = -0.5 * np.log(blurred).sum(1) - 0.5 * (p - d) * np.log(rest + noise)
    parts = {
        "mean": mean[None],
        "axes": directions[:, -d:].T[None],
        "precision": 1 / blurred[:, None],
        "rest": (1 / (rest + noise) if d < p else np.zeros(len(noise)))[:, None],
        "level": (level - level.mean())[:, None],
    }
    return {name: np.ascontiguousarray(part, dtype=np.float32) for name, part in parts.items()}
