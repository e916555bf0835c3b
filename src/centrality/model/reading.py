"""Describe how a model reads rows and which features it can name, in plain values that every kind of model gives."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality.scores.drift import Names
from centrality.tables.unreadable import MOST

FeatureValues: TypeAlias = Sequence[Sequence[object]] | NDArray[np.generic]  # feature by feature, row by row


@dataclass(frozen=True)
class Reading:
    """Say how a model reads a table: which columns, how text files hold them, and what a row is."""

    kind: str  # "numbers", "table", "text", "images" or "series"
    columns: list[str] | None  # None: whatever columns there are, in their order
    types: dict[str, pa.DataType] = field(default_factory=dict)
    one_series: bool = False  # all rows together are one series, scored by its windows
    rows_at_once: int = 4096  # how many rows are best read together
    unreadable: float = MOST  # the share of rows in which a column may fail to be read


@dataclass(frozen=True)
class Features:
    """Name the features of explanations, and say which feature each number of a vector belongs to."""

    names: list[str]
    owner: NDArray[np.intp] | None = None  # (p,) None: every number is a feature of its own


def names_of_vectors(features: Features | None, width: int) -> Names:
    """Return names for the numbers of a vector: those of their features, where features have names."""
    if features is None:
        return Names([f"number {j} of the vector" for j in range(width)], [True] * width)
    if features.owner is None:
        return Names(features.names, [True] * width)
    alone = np.bincount(features.owner, minlength=len(features.names)) == 1
    return Names([features.names[k] for k in features.owner], [bool(alone[k]) for k in features.owner])
