"""Let a network of few columns resolve small structures: many groups in the plane, narrow gaps, rings.

A network starts from smooth features, each nearly a straight line across all rows. With many columns there are enough
directions for every group to have its own; with few, training would have to bend the same lines again and again, and of
sixteen groups on a grid it learns next to nothing. So its first features are steeper there, and bend at places all over
the rows. The fewer rows there are, the less steep: they could not tell small structures from chance. Rows that lie far
from 0, as they may without scaling, keep smooth features: steep ones would lose their differences to rounding.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from centrality.network.network import Network

STEEPEST = 32  # the square of how much steeper features are, times the columns: 4 in the plane, 1 from 32 columns on
FARTHEST = 10.0  # from 0, where a column's rows may lie: its mean and its deviation together
ROWS_EACH = 30  # rows for each unit of that square


def steepness(rows: int, columns: int) -> float:
    """Return how many times steeper than usual the first features are for so many rows and columns, at least 1."""
    return float(max(1.0, np.sqrt(min(STEEPEST, rows / ROWS_EACH) / columns)))


def refined(network: Network, z: NDArray[np.float32], rng: np.random.Generator) -> Network:
    """Return the untrained network with steeper first features that bend among the scaled rows z, if columns are few.

    A feature bends where its sum is 0: at a point drawn as a normal row with the columns' means and deviations. Where
    the global head has a trunk of its own, that stays smooth, as distances are.
    """
    times = steepness(*z.shape)
    if times == 1.0 or (np.abs(z.mean(0)) + z.std(0)).max() > FARTHEST:
        return network
    name = f"trunks.{network.layout.trunks - 1}.0"
    steep = times * network.weights[f"{name}.weight"]  # (members, outputs, p)
    bend = z.mean(0) + z.std(0) * rng.normal(size=steep.shape)
    bias = -np.einsum("mop,mop->mo", steep, bend)
    changed = {f"{name}.weight": steep.astype(np.float32), f"{name}.bias": bias.astype(np.float32)}
    return replace(network, weights={**network.weights, **changed})
