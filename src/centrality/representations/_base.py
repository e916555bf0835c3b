"""What every representation shares: which columns it reads, what it says of itself, and how it is saved."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from centrality._checks import InputTypeError
from centrality.tables.columns import TableError, first_few, require

Arrays = dict[str, NDArray[Any]]
State = dict[str, Any]


class DataNote(UserWarning):
    """Something about the data that its owner should know; the rows are scored all the same."""


class Representation(TransformerMixin, BaseEstimator):
    """Turns rows of something into rows of numbers. A subclass brings `fit`, `transform` and its state."""

    kind: str  # what it reads: "table", "text", "images" or "series"
    spellings: tuple[str, ...]  # what `--represent` may say for it
    scaled = False  # True: the numbers are already in units that can be compared
    rows_at_once = 4096  # how many rows are best turned into vectors together
    windowed = False  # True: all rows are one series, and the vectors are those of its windows
    columns_: list[str] | None  # the columns of a table it reads; None: what it was given was no table

    @classmethod
    def asked_for(cls, column: str, options: Mapping[str, Any]) -> Self:
        """Return what `--represent KIND:COLUMN` asks for, with those of the command's options that it knows."""
        given = {"column": column or None, **options}
        known = cls._get_param_names()
        return cls(**{name: value for name, value in given.items() if name in known and value is not None})

    def types(self) -> dict[str, pa.DataType]:
        """How the columns should be read from text files."""
        return {}

    def describe(self) -> dict[str, str]:
        """What becomes of each column, in words."""
        raise NotImplementedError

    def origins(self) -> tuple[list[str], NDArray[np.intp]] | None:
        """What an explanation can speak of, and which of it each number stands for; None where numbers mean nothing."""
        return None

    def spread(self, scores: NDArray[np.float64], length: int) -> NDArray[np.float64]:
        """Return scores of windows as scores of the moments of a series of this length."""
        raise NotImplementedError

    def shown(self, X: Any) -> Sequence[Any] | None:
        """Return what the items behind the vectors look like, one for each; None where rows speak for themselves."""
        return None

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return where each vector's row stands among so many rows: every row has one, unless there are windows."""
        return np.arange(length)

    def values(self, X: Any) -> list[list[Any]]:
        """What the rows hold, a list for each of the `origins`."""
        raise NotImplementedError

    def typical(self, z: NDArray[Any]) -> list[Any]:
        """What a vector says of each of the `origins`; None where that cannot be told."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Load what transforming needs, where that takes a while."""

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
            raise TableError(f"Say which column to read, column=...: there are {first_few(table.column_names)}.")
        column = table.column_names[0]
    require(table.column_names, [column])
    return column, table[column].to_pylist()
