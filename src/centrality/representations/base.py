"""Define what every representation has: the columns it reads, how it describes them, and how it is saved."""

import io
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias, TypeGuard, cast

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from narwhals.stable.v2.typing import IntoDataFrame
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from centrality._internal.checks import InputError, InputTypeError, optional
from centrality._internal.input import RowsLike, in_memory
from centrality._internal.model_file import Arrays
from centrality.tables.columns import CellIssues, TableError, first_few, repeated, require, require_distinct

ItemsLike: TypeAlias = RowsLike | Sequence[object]  # a table, or a list of texts, of images or of series
Options: TypeAlias = Mapping[str, Any]  # those of the command line, by name
State: TypeAlias = dict[str, Any]  # values that JSON can hold


class Representation(TransformerMixin, BaseEstimator):
    """Turns rows of some kind into rows of numbers; a subclass defines `fit`, `transform` and its state."""

    kind: str  # what it reads: "table", "text", "images" or "series"
    spellings: tuple[str, ...]  # what `--represent` may say for it
    rows_at_once = 4096  # how many rows are best turned into vectors together
    windowed = False  # True: all rows are one series, and the vectors are those of its windows
    columns_: list[str] | None  # the columns of a table it reads; None if it was not given a table

    @classmethod
    def from_command_line(cls, column: str, options: Options) -> Self:
        """Return the representation that `--represent KIND:COLUMN` means, with the command's options that it takes."""
        settings = {"column": column or None, **options}
        parameters = cls._get_param_names()
        return cls(**{name: value for name, value in settings.items() if name in parameters and value is not None})

    def types(self) -> dict[str, pa.DataType]:
        """Say in which types the columns should be read from text files."""
        return {}

    def examined(self, X: ItemsLike) -> tuple[NDArray[Any], CellIssues]:
        """Return the result of `transform`, and which cells could not be read, without a warning or an error."""
        vectors = np.asarray(self.transform(X))
        return vectors, CellIssues(len(vectors))

    def transform_as_new(self, X: ItemsLike) -> NDArray[Any] | None:
        """Return the vectors of the rows of fitting, each as if it had not been among them; None if that is no matter.

        Rows of fitting are judged by these. A word that only one row has is known to what is learned from that row; in
        a new row such a word would be unknown, and p-values are of new rows.
        """
        return None

    def constants(self) -> dict[str, str]:
        """Return the columns that are left out as every value is the same, and that value in words."""
        return {}

    def changed_constants(self, X: ItemsLike) -> dict[str, NDArray[np.bool_]]:
        """Say for each of the `constants` that X has in which rows its value is another one."""
        return {}

    def read_context(self, names: Sequence[str]) -> None:
        """Note which columns a model takes as context, so that `fit` reads them whatever else it leaves out."""

    def describe(self) -> dict[str, str]:
        """Describe in words how each column is encoded."""
        raise NotImplementedError

    def doubts(self) -> dict[str, str]:
        """Return the columns that may have been read otherwise than they are meant, with the reason for each."""
        return {}

    def watched(self) -> list[str]:
        """Return the columns that `examined` looks at if they are there, besides those it reads.

        All rows of fitting had the same value in them, or none: they say nothing, until they change.
        """
        return []

    def origins(self) -> tuple[list[str], NDArray[np.intp]] | None:
        """Return the names of a vector's features, and the feature of each number; None if they have no names."""
        return None

    def severities(self, X: ItemsLike) -> dict[str, NDArray[np.float64]]:
        """Return one in how many rows is as odd, for each part of a row; empty where rows are not made of parts."""
        return {}

    def block_names(self) -> list[str]:
        """Return the columns that are one part each, of many numbers: pictures, long texts, vectors."""
        return []

    def pairs(self) -> list[tuple[str, str]]:
        """Return the parts of a row of which two say something of each other."""
        return []

    def blocks_to_blame(self, vectors: NDArray[np.floating]) -> dict[str, NDArray[np.object_]]:
        """Return, for each of the `pairs` by name, which part of each row is odd by itself and explains it; else None.

        A picture like no other goes together with no words.
        """
        return {}

    def places(self, X: ItemsLike, block: str | None = None) -> NDArray[np.float64]:  # (n, d)
        """Return where rows lie, so that like ones are near each other; only by this block, if one is named."""
        if block is not None:
            raise InputError(f"block={block!r}: this model reads rows as one part each. Leave it out.")
        return np.nan_to_num(np.asarray(self.transform(X), dtype=np.float64))

    def places_around(
        self, query: object, among: ItemsLike, block: str | None = None
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # (1, d), (n, d)
        """Return where a phrase or a picture lies, and where rows do, by what answers to it: their text or picture."""
        if self.kind not in ("text", "images"):
            raise InputError(
                f"A phrase or a picture was wanted where rows are texts or images, but this model reads {self.kind}: "
                "give a row instead."
            )
        if block is not None:
            raise InputError(f"block={block!r}: this model reads rows as one part each. Leave it out.")
        return np.nan_to_num(np.asarray(self.transform([query]), dtype=np.float64)), self.places(among)

    def measurements(self) -> NDArray[np.bool_] | None:
        """Say which numbers of a vector measure something, all being scaled already; None: they are yet to be scaled.

        A measurement may lie beyond all that occurred in fitting, and then counts as rows of numbers do there.
        """
        return None

    def rarities(self) -> dict[str, int]:
        """Return, for features that are texts, the position of the number that says how rare their words are."""
        return {}

    def spread(self, scores: NDArray[np.float64], length: int) -> NDArray[np.float64]:
        """Return scores of windows as scores of the moments of a series of this length."""
        raise NotImplementedError

    def shown(self, X: ItemsLike) -> Sequence[object] | None:
        """Return the text, image or curve of each vector to show; None where the row's values are enough."""
        return None

    def rows_of(self, length: int) -> NDArray[np.intp]:
        """Return the row number of each vector among so many rows: one vector per row, except for windows."""
        return np.arange(length)

    def values(self, X: ItemsLike) -> list[list[object]]:
        """Return the rows' values, a list for each of the `origins`."""
        raise NotImplementedError

    def typical(self, z: NDArray[np.floating]) -> list[object]:
        """Return the value that a vector encodes for each of the `origins`; None where it cannot be decoded."""
        raise NotImplementedError

    def warm_up(self) -> None:
        """Load what `transform` needs, if loading takes a while."""

    def state(self) -> tuple[State, Arrays]:
        """Return what `fit` learned, as JSON values and arrays."""
        raise NotImplementedError

    def restore(self, state: State, arrays: Arrays) -> Self:
        """Restore what `fit` learned: the inverse of `state`."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "columns_")


def is_frame(X: object) -> TypeGuard[IntoDataFrame]:
    """Say whether X is a pandas, polars or Arrow table."""
    return isinstance(X, pa.RecordBatch) or bool(nw.dependencies.is_into_dataframe(X))


def as_arrow(X: ItemsLike) -> pa.Table:
    """Return a pandas, polars or Arrow table as an Arrow table; columns of an array are called x0, x1, ..."""
    if isinstance(X, pa.RecordBatch):
        X = pa.Table.from_batches([X])
    if isinstance(X, pa.Table):
        require_distinct(repeated(X.column_names), "The table")
        return X
    X = in_memory(X)
    if not is_frame(X):
        array = np.asarray(X)
        if array.ndim != 2:
            raise TableError(
                f"A table was wanted (pandas, polars, Arrow, or an array of rows), got {type(X).__name__} "
                f"of shape {array.shape}."
            )
        columns = [column.tolist() if array.dtype == object else column for column in array.T]
        return pa.table({f"x{j}": as_column(f"x{j}", column) for j, column in enumerate(columns)})
    if not nw.dependencies.is_pandas_dataframe(X):
        return nw.from_native(X, eager_only=True).to_arrow()
    return pa.table({str(name): as_column(str(name), X[name]) for name in X.columns})


def as_column(name: str, values: Any) -> pa.ChunkedArray | pa.Array:
    """Return a column of pandas or numpy as Arrow holds it; raise if it cannot."""
    kind = str(values.dtype) if hasattr(values, "dtype") else ""
    if kind.startswith("complex"):
        raise TableError(f"Column {name!r} holds complex numbers: give their parts, or their sizes and angles.")
    if kind.startswith("Sparse"):
        values = values.sparse.to_dense()
    elif kind.startswith("period"):
        values = values.dt.to_timestamp()
    elif "interval" in (kind if kind != "category" else str(values.cat.categories.dtype)):
        values = values.astype(str).where(values.notna(), None)
    elif kind == "object" and _are_pictures(values):
        files = []
        for picture in values:
            if isinstance(picture, np.ndarray):
                picture = optional("PIL.Image", "images").fromarray(picture)
            file = io.BytesIO()
            if hasattr(picture, "save"):
                picture.save(file, format="PNG", compress_level=1)  # which loses nothing
            files.append(file.getvalue() or None)
        return pa.array(files, pa.binary())
    elif kind.startswith((">", "float128", "longdouble")):
        values = np.asarray(values).astype(np.float64 if np.asarray(values).dtype.kind == "f" else np.int64)
    try:
        return pa.array(values, from_pandas=True)
    except OverflowError:  # whole numbers of twenty digits and more
        return pa.array([None if value is None or value != value else str(value) for value in values])
    except UnicodeEncodeError:
        raise TableError(f"Column {name!r} holds half a character (a lone surrogate), which is no text.") from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
        raise TableError(
            f"Column {name!r} holds values of several kinds, or of one that is none of numbers, text or dates: {error}"
        ) from None


def _are_pictures(values: Any) -> bool:
    """Say whether the first cell that is not missing is a picture of PIL, or the pixels of one."""
    first = next((value for value in values if value is not None and value is not np.nan), None)
    if isinstance(first, np.ndarray):
        return first.dtype == np.uint8 and first.ndim in (2, 3)
    return type(first).__module__.startswith("PIL.")


def chosen_column(X: ItemsLike, column: str | None) -> tuple[str | None, Sequence[object]]:
    """Return the column's name and the items of X: the named or only column of a table; else None and X itself."""
    if not is_frame(X):
        if isinstance(X, str | bytes):
            raise InputTypeError(f"Several items were wanted, for example a list, got one {type(X).__name__}.")
        return None, cast(Sequence[object], X)
    table = as_arrow(X)
    if column is None:
        if table.num_columns != 1:
            raise TableError(f"Say which column to read, column=...: there are {first_few(table.column_names)}.")
        column = table.column_names[0]
    require(table.column_names, [column])
    return column, table[column].to_pylist()
