"""What every representation shares: which columns it reads, what it says of itself, and how it is saved."""

from collections.abc import Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from centrality._checks import InputTypeError
from centrality.tables.columns import TableError, require, some

Arrays = dict[str, NDArray[Any]]
State = dict[str, Any]


class DataNote(UserWarning):
    """Something about the data that its owner should know; the rows are scored all the same."""


class Representation(TransformerMixin, BaseEstimator):
    """Turns rows of something into rows of numbers. A subclass brings `fit`, `transform` and its state."""

    scaled = False  # True: the numbers are already in units that can be compared
    columns_: list[str] | None  # the columns of a table it reads; None: what it was given was no table

    def types(self) -> dict[str, pa.DataType]:
        """How the columns should be read from text files."""
        return {}

    def describe(self) -> dict[str, str]:
        """What becomes of each column, in words."""
        raise NotImplementedError

    def origins(self) -> tuple[list[str], NDArray[np.intp]] | None:
        """What an explanation can speak of, and which of it each number stands for; None where numbers mean nothing."""
        return None

    def values(self, X: Any) -> list[list[Any]]:
        """What the rows hold, a list for each of the `origins`."""
        raise NotImplementedError

    def typical(self, z: NDArray[Any]) -> list[Any]:
        """What a vector says of each of the `origins`; None where that cannot be told."""
        raise NotImplementedError

    def state(self) -> tuple[State, Arrays]:
        """What `fit` learned, as JSON values and arrays."""
        raise NotImplementedError

    def restore(self, state: State, arrays: Arrays) -> Self:
        """Make this the fitted representation that `state` described."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "columns_")


def is_frame(X: Any) -> bool:
    return isinstance(X, pa.RecordBatch) or bool(nw.dependencies.is_into_dataframe(X))


def as_arrow(X: Any) -> pa.Table:
    """A pandas, polars or Arrow table as an Arrow table; of an array, the columns are called x0, x1, ..."""
    if isinstance(X, pa.RecordBatch):
        return pa.Table.from_batches([X])
    if is_frame(X):
        return nw.from_native(X, eager_only=True).to_arrow()
    array = np.asarray(X)
    if array.ndim != 2:
        raise TableError(
            f"A table was wanted (pandas, polars, Arrow, or an array of rows), got {type(X).__name__} "
            f"of shape {array.shape}."
        )
    return pa.table({f"x{j}": pa.array(array[:, j].tolist() if array.dtype == object else array[:, j])
                     for j in range(array.shape[1])})  # fmt: skip


def chosen_column(X: Any, column: str | None) -> tuple[str | None, Sequence[Any]]:
    """The items of X: of a table, its named or only column; of anything else, X itself."""
    if not is_frame(X):
        if isinstance(X, str | bytes):
            raise InputTypeError(f"Several items were wanted, for example a list, got one {type(X).__name__}.")
        return None, X
    table = as_arrow(X)
    if column is None:
        if table.num_columns != 1:
            raise TableError(f"Say which column to read, column=...: there are {some(table.column_names)}.")
        column = table.column_names[0]
    require(table.column_names, [column])
    return column, table[column].to_pylist()
