"""Say what the encoder of one column of a table is, and what it makes of the column's cells."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FAR = 6.0  # deviations: where a cell lies that is like none in fitting

Block = NDArray[np.float64]  # (n, numbers that stand for the column)
Mask = NDArray[np.bool_]  # (n,)


@dataclass
class Cells:
    """Holds a column's cells as numbers, where there are gaps, and which are like none in fitting, by fault."""

    block: Block
    gaps: Mask
    faults: dict[str, Mask]


class ColumnEncoder(Protocol):
    """Describes the encoder of one column, which has learned what there is to know of it."""

    @property
    def kind(self) -> str:
        """Name the kind of column, as it is saved."""

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        """Return the numbers that stand for the values, and which cells are faulty; `name` is for messages."""

    def far_off(self) -> NDArray[np.float64]:
        """Return the numbers that stand for a value like none in fitting."""

    def typical(self, z: NDArray[np.floating]) -> object:
        """Return the value that these numbers stand for; None where that cannot be told."""

    def type(self) -> pa.DataType:
        """Return the type in which a text file is to be parsed, so that `encode` reads it as in fitting."""

    def names(self, name: str) -> list[str]:
        """Name the numbers that stand for the column of this name."""

    def describe(self) -> str:
        """Say in words what becomes of the column."""


@dataclass
class LeftOut:
    """Leaves a column out that carries nothing."""

    why: str
    kind = "left out"

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        return Cells(np.empty((len(values), 0)), np.zeros(len(values), dtype=bool), {})

    def far_off(self) -> NDArray[np.float64]:
        return np.empty(0)

    def typical(self, z: NDArray[np.floating]) -> None:
        return None

    def type(self) -> pa.DataType:
        return pa.string()

    def names(self, name: str) -> list[str]:
        return []

    def describe(self) -> str:
        return f"left out: {self.why}"


def texts_of(values: pa.ChunkedArray) -> pa.Array:
    """Return the values as text."""
    return values.cast(pa.string()).combine_chunks()


def mask_of(values: pa.Array) -> Mask:
    """Return the values, which are true or false, as an array."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
