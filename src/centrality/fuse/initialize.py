"""Choose noise scales, and return the networks before training: random weights and backgrounds.

A new rule for noise scales is a function of the training data and an entry in RULES.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from centrality._internal.checks import InputError, optional, positive
from centrality.engine import engine
from centrality.fuse.background import backgrounds_of_members
from centrality.fuse.data import TrainingData
from centrality.network.network import Network, build

if TYPE_CHECKING:
    from centrality.fuse.config import FitConfig

SCALES_GIVEN = (0.05, 0.1, 0.2, 0.4, 0.8)  # of relative rows, whose spread is 1 in every context: measured
SPACING_SAMPLE = 2000  # rows looked at to find their spacing
SPACING_NEIGHBOUR = 10  # the neighbour whose distance is the spacing


def neighbour_distance(data: TrainingData, rng: np.random.Generator) -> float:
    """Return the median distance to the 10th neighbour over √p, on a sample: the spacing of typical rows.

    Noise of this size blurs neighbours into each other and keeps larger structures.
    """
    index = np.sort(rng.permutation(len(data))[:SPACING_SAMPLE])
    z = data.z[index]
    k = min(SPACING_NEIGHBOUR, len(z) - 1)
    distances = engine().neighbour_distances(z, k) / np.sqrt(data.width)
    typical = float(np.median(distances))
    if typical > 0:
        return typical
    # At least half of the rows have k exact copies: look at the others; if there are none, at the spread of all rows.
    of_others = distances[distances > 0]
    if len(of_others):
        return float(np.median(of_others))
    return float(np.sqrt(z.var(0).mean())) or 1.0


def spacing(data: TrainingData, rng: np.random.Generator) -> tuple[float, ...]:
    """Return one noise scale, the spacing of the rows; or several fixed ones, where there is a context."""
    return (neighbour_distance(data, rng),) if data.learned_columns.all() else SCALES_GIVEN


RULES: dict[str, Callable[[TrainingData, np.random.Generator], tuple[float, ...]]] = {"auto": spacing}


def check_noise_scale(noise_scale: float | Sequence[float] | str) -> str | tuple[float, ...]:
    """Return the parameter `noise_scale` as the name of a rule, or as a tuple; raise if it is neither."""
    if isinstance(noise_scale, str) and noise_scale in RULES:
        return noise_scale
    scales = np.atleast_1d(np.asarray(noise_scale, dtype=object))
    if isinstance(noise_scale, str) or scales.ndim != 1 or scales.size == 0:
        raise InputError(f"noise_scale must be {', '.join(map(repr, RULES))}, a number or a list, got {noise_scale!r}.")
    return tuple(positive("noise_scale", scale) for scale in scales)


def choose_noise_scales(
    noise_scale: str | tuple[float, ...], data: TrainingData, rng: np.random.Generator
) -> tuple[float, ...]:
    """Return the noise scales: those that the user wants, or what a rule makes of the rows."""
    return RULES[noise_scale](data, rng) if isinstance(noise_scale, str) else noise_scale


def initialize(data: TrainingData, config: "FitConfig", rng: np.random.Generator) -> Network:
    """Return the networks before training: random weights, and backgrounds of the rows that each learns from."""
    rng_of_weights = np.random.default_rng(config.seed + 1)
    layout = config.layout
    if not layout.standard:
        optional("torch", "torch")
        from centrality.torch.networks import build_around_encoder  # brings torch

        return build_around_encoder(layout, rng_of_weights)
    network = build(layout, rng_of_weights)
    if not config.background:
        return network
    positions = [data.learned_by(member) for member in range(layout.members)]
    learned = {id(index): data.z[index] for index in positions}  # members of the same rows share a background
    rows = [learned[id(index)] for index in positions]
    return replace(network, background=backgrounds_of_members(rows, config.noise_scales, rng, clean=config.clean))
