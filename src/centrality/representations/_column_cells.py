"""Define the encoder of one column of a table, and the encoded cells that it returns.

An encoder gives its column a block of numbers that is centred on the training rows and has a total variance of about
one, so that every column weighs alike, however many numbers encode it; the rarity of a text has one more. What an
encoder learned is a few JSON values and arrays: encoding a saved model's rows runs the same code on them.

A cell that cannot be read, or holds what never occurred in fitting, must not look typical: an encoder says which cells
are so, and puts them `FAR` deviations off.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

FAR = 6.0  # deviations from the mean at which a cell unlike any in fitting is put

Block = NDArray[np.float64]  # (n, numbers that stand for the column)
Mask = NDArray[np.bool_]  # (n,)


@dataclass
class Cells:
    """Hold a column's cells as numbers, where values are missing, and which cells have which fault."""

    block: Block
    gaps: Mask
    faults: dict[str, Mask]


class ColumnEncoder:
    """Encodes the cells of one column; a subclass is a dataclass of what it learned in fitting."""

    kind: str  # the name of this kind of column in a model file

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        """Return the values encoded as numbers, and which cells are faulty; `name` is used in messages."""
        raise NotImplementedError

    def encode_as_new(self, name: str, values: pa.ChunkedArray) -> Cells:
        """Encode the values of fitting, each as if it had not been among them: by what the others say alone."""
        return self.encode(name, values)

    def far_off(self) -> NDArray[np.float64]:
        """Return the numbers that encode a value unlike any in fitting."""
        raise NotImplementedError

    def names(self, name: str) -> list[str]:
        """Return names for the numbers that encode the column of this name."""
        raise NotImplementedError

    def describe(self) -> str:
        """Describe in words how the column is encoded."""
        raise NotImplementedError

    def typical(self, z: NDArray[np.floating]) -> object:
        """Return the value that these numbers encode; None where it cannot be decoded."""
        return None

    def type(self) -> pa.DataType:
        """Return the type in which a text file is to be parsed, so that `encode` reads it as in fitting."""
        return pa.string()


@dataclass
class LeftOut(ColumnEncoder):
    """Leaves out a column that carries no information."""

    why: str
    kind = "left out"

    def encode(self, name: str, values: pa.ChunkedArray) -> Cells:
        return Cells(np.empty((len(values), 0)), np.zeros(len(values), dtype=bool), {})

    def far_off(self) -> NDArray[np.float64]:
        return np.empty(0)

    def names(self, name: str) -> list[str]:
        return []

    def describe(self) -> str:
        return f"left out: {self.why}"


def texts_of(values: pa.ChunkedArray) -> pa.Array:
    """Return the values as text."""
    return values.cast(pa.string()).combine_chunks()


def mask_of(values: pa.Array) -> Mask:
    """Return an Arrow array of booleans as a numpy array."""
    return np.asarray(values.to_numpy(zero_copy_only=False), dtype=bool)
