"""Prepare untrained networks: noise scales, groups of rows, the first layer.

A new rule is a function of the rows and an entry in RULES.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, positive
from centrality.engine import engine
from centrality.fuse.data import TrainingData

SCALES_GIVEN = (0.05, 0.1, 0.2, 0.4, 0.8)  # given a context, whose kinds have a spread of one: measured
SPACING_SAMPLE = 2000  # rows looked at to find their spacing
SPACING_NEIGHBOUR = 10  # the neighbour whose distance is the spacing


def neighbour_distance(rows: TrainingData, rng: np.random.Generator) -> float:
    """Return the median distance to the 10th neighbour over √p, on a sample: the spacing of typical rows.

    Noise of this size blurs neighbours into each other and keeps larger structures.
    """
    index = np.sort(rng.permutation(len(rows))[:SPACING_SAMPLE])
    z = rows.z[index]
    k = min(SPACING_NEIGHBOUR, len(z) - 1)
    distances = engine().neighbour_distances(z, k) / np.sqrt(rows.width)
    typical = float(np.median(distances))
    if typical > 0:
        return typical
    # Duplicates: at least half of the rows have k exact copies, so measure those that have not, then all pairs.
    apart = distances[distances > 0]
    if len(apart):
        return float(np.median(apart))
    return float(np.sqrt(z.var(0).mean())) or 1.0


def spacing(rows: TrainingData, rng: np.random.Generator) -> tuple[float, ...]:
    """Return one noise scale, the spacing of the rows; given a context, whose kinds have a spread of one, several."""
    return (neighbour_distance(rows, rng),) if rows.learned.all() else SCALES_GIVEN


RULES: dict[str, Callable[[TrainingData, np.random.Generator], tuple[float, ...]]] = {"auto": spacing}


def noise_scales(
    asked: float | Sequence[float] | str, rows: TrainingData, rng: np.random.Generator
) -> tuple[float, ...]:
    """Return the scales that the parameter `noise_scale` asks for."""
    if isinstance(asked, str) and asked in RULES:
        return RULES[asked](rows, rng)
    scales = np.atleast_1d(np.asarray(asked, dtype=object))
    if isinstance(asked, str) or scales.ndim != 1 or scales.size == 0:
        raise InputError(f"noise_scale must be {', '.join(map(repr, RULES))}, a number or a list, got {asked!r}.")
    return tuple(positive("noise_scale", scale) for scale in scales)


Vectors = NDArray[np.floating]  # (n, p)
Positions = NDArray[np.int64]


def k_means(
    rows: Vectors, count: int, seed: int, *, rounds: int, start: Positions | None = None
) -> tuple[NDArray[np.float64], Positions]:
    """Return the centres of so many groups, (m, p), and the group of each row; of copies there may be fewer groups.

    `start` are the positions of the rows to begin with; without it, rows that lie far apart.
    """
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    if start is None:
        start = far_apart(rows, count, seed, trials=2 + int(np.log(count)))
    centres = rows[start].astype(np.float64)
    return centres, engine().k_means(rows, centres, rounds)


def far_apart(rows: Vectors, count: int, seed: int, *, trials: int) -> Positions:  # (count,)
    """Return the positions of `count` rows that lie far from one another, as k-means++ chooses its start.

    The next row is drawn by its squared distance to the nearest one chosen, `trials` times; the one that leaves the
    least distance in all is taken. The rows are the same as scikit-learn's.
    """
    rng, n = np.random.RandomState(seed), len(rows)
    first = int(rng.choice(n, p=np.full(n, 1 / n)))
    drawn = rng.uniform(size=(count - 1, trials))
    return engine().far_apart(np.ascontiguousarray(rows, dtype=np.float32), first, drawn)
