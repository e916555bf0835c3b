"""Rows that nobody brought, for the global head to be compared with: off the data, or between training rows.

Which of two points is nearer to the anchors can be told of any two points. Comparisons among training rows teach
nothing about what lies beyond them: where a column holds zeros and amounts, a large negative number could be the most
central of all. So some candidates are training rows with one or more cells moved out of the column's range. And where
rows are few for their columns, the head would learn them by heart: others are then crossed from two training rows, each
cell taken from one of them. Anchors are never made, and the local head sees none of them.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SHARE = 4  # one compared candidate in so many is a made row
FEW = 10  # training rows for each column, below which others are made too, and every other candidate is a made row
MADE = 2048  # how many there are at a time
SAMPLE = 2000  # rows that tell the range of a column, about
NEAR = 1.0  # in scaled units, how far beyond the range half of the moved cells lie, on average
FAR = 36.0  # up to where the others lie: a bent column ends there, since 10 + log(1e15 - 10) is 45

Rows = NDArray[np.float32]


@dataclass(frozen=True)
class MadeRows:
    """Hold made rows, and of which rows they were made: a network that must not see those leaves them out."""

    z: Rows  # (MADE, p)
    parents: NDArray[np.intp]  # (MADE, 2)

    @classmethod
    def of(cls, z: Rows, rng: np.random.Generator, learned: NDArray[np.bool_] | None = None) -> "MadeRows":
        """Make rows of the scaled rows z: all with cells moved off the data, or one in four if z are few.

        Columns that are not `learned` are a context, which a made row has from its first parent.
        """
        parents = rng.integers(len(z), size=(MADE, 2))
        crossed = np.arange(MADE) % 4 > 0 if few(z) else np.zeros(MADE, dtype=bool)
        parents[~crossed, 1] = parents[~crossed, 0]
        made = moved_off(z, z[parents[:, 0]], rng)
        either = rng.random((int(crossed.sum()), z.shape[1])) < 0.5
        made[crossed] = np.where(either, z[parents[crossed, 0]], z[parents[crossed, 1]])
        return cls(made if learned is None else np.where(learned, made, z[parents[:, 0]]), parents)


def few(z: Rows) -> bool:
    """Say whether rows are few for their columns."""
    return bool(len(z) < FEW * z.shape[1])


def usual_range(z: Rows) -> tuple[Rows, Rows]:  # (p,), (p,)
    """Return the 1st and 99th percentile of each column, which no wild cell stretches; its ends if they are equal."""
    low, high = np.quantile(z[:: -(-len(z) // SAMPLE)], [0.01, 0.99], axis=0)
    rare = low == high
    return np.where(rare, z.min(0), low).astype(np.float32), np.where(rare, z.max(0), high).astype(np.float32)


def moved_off(z: Rows, rows: Rows, rng: np.random.Generator) -> Rows:
    """Return rows with cells moved out of the usual ranges of the columns of z, to either side.

    Half of them have one cell moved, the others any number; a constant column is left alone.
    """
    count, p = rows.shape
    low, high = usual_range(z)
    share = np.where(rng.random(count) < 0.5, 0.0, rng.random(count))  # of the cells, beside the one that always moves
    moved = rng.random((count, p)) < share[:, None]
    moved[np.arange(count), rng.integers(p, size=count)] = True
    moved &= high > low
    beyond = np.where(rng.random((count, p)) < 0.5, rng.exponential(NEAR, (count, p)), FAR * rng.random((count, p)))
    there = np.where(rng.random((count, p)) < 0.5, low - beyond, high + beyond)
    return np.where(moved, there, rows).astype(np.float32)
