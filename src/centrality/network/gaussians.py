"""Start the potentials of clean rows from a mixture of round Gaussians.

Beyond the rows it was trained on, a network of GELU layers goes on linearly, in directions that are left to chance;
and among many small groups of rows its units blur what each group has to say. With clean training rows
(`novelty=True`) each potential therefore starts from the log-density of Gaussians around k-means centres of the rows,
blurred by its noise, log Σ wᵢ N(z; cᵢ, vᵢ + η²), and the network learns the difference.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from centrality.network.groups import far_apart, k_means
from centrality.network.network import Weights

SAMPLE, SAMPLE_VALUES = 10_000, 1 << 22  # rows looked at, and values of theirs
CENTRES, ROWS_EACH = 512, 3  # at most so many, and no more than one for so many rows
FEWEST_OWNED = 5  # rows that a centre is the mean of, at least: a model file must not tell what a single row was
VALUES = 1 << 19  # at most, of all centres together: the wider the rows, the fewer centres
SHRINKAGE = 2  # a centre's variance counts as much as that of all centres once it has so many rows
ROUNDING = 2.0**-19  # of |centre|²: distances in float32 cannot tell a smaller variance from none
LOWEST = -1e30  # of a Gaussian's logarithm: float32 holds no less than -3e38, and what follows must be able to add


def fit_mixture(z: NDArray[np.float32], scales: Sequence[float], rng: np.random.Generator) -> Weights:
    """Return the mixture of these scaled rows at these noise scales; where they are many, of a sample of them.

    `mean` (p,) is the rows'; `centres` (m, p) are as seen from it; `precision` (k, m) is 1 / (vᵢ + η²); `level` (k, m)
    is each Gaussian's logarithm at its centre.
    """
    enough = min(SAMPLE, max(ROWS_EACH * CENTRES, SAMPLE_VALUES // z.shape[1]))
    if len(z) > enough:
        z = z[np.sort(rng.permutation(len(z))[:enough])]
    p, mean = z.shape[1], z.mean(0, dtype=np.float64)
    centres, owner = _groups((z - mean).astype(np.float32), rng)
    count = np.bincount(owner)
    squares = np.bincount(owner, np.square(z - mean - centres[owner]).sum(1))
    usual = squares.sum() / max(len(z) - len(centres), 1)
    variance = (squares + SHRINKAGE * usual) / (p * (count - 1 + SHRINKAGE))
    blurred = variance + np.square(scales)[:, None]
    blurred = np.maximum(blurred, ROUNDING * np.square(centres).sum(1))
    level = np.log(count / len(z)) - 0.5 * p * np.log(blurred)
    found = {"mean": mean, "centres": centres, "precision": 1 / blurred, "level": level - level.max(1)[:, None]}
    return {name: value.astype(np.float32) for name, value in found.items()}


def _groups(z: NDArray[np.float32], rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return centres, each the mean of at least FEWEST_OWNED rows, and to which of them each row belongs.

    K-means begins with centres far apart (k-means++), so that a few rows far from all others have a centre too: else
    the prior would be wildly wrong about them, and the network would have to spend its capacity on correcting that.
    """
    n, p = z.shape
    wanted = max(1, min(CENTRES, n // ROWS_EACH, VALUES // p))
    seed = int(rng.integers(2**31))
    start = far_apart(z, wanted, seed, trials=1)  # more trials: not better, but slower
    _, owner = np.unique(k_means(z, wanted, seed, rounds=10, start=start)[1], return_inverse=True)
    return _centres(z.astype(np.float64), owner), owner


def _centres(z: NDArray[np.float64], owner: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean of each group's rows; where they are fewer than FEWEST_OWNED, with the rows next to them."""
    counts = np.bincount(owner)
    centres = np.stack([np.bincount(owner, column) for column in z.T], axis=1) / counts[:, None]
    for small in np.flatnonzero(counts < FEWEST_OWNED):
        away = z - centres[small]
        distance = np.einsum("ij,ij->i", away, away)
        distance[owner == small] = -1.0  # its own rows come first
        last = min(FEWEST_OWNED, len(z)) - 1
        near = np.flatnonzero(distance <= np.partition(distance, last)[last])
        centres[small] = z[near[np.argsort(distance[near], kind="stable")[:FEWEST_OWNED]]].mean(0)
    return centres
