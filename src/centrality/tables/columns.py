"""Choose columns of Arrow tables by name, and read them as numbers."""

import difflib
import warnings
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError

# What libraries raise of a file that is damaged, cut short, or of another kind than its name says.
DAMAGED = (pa.ArrowException, ValueError, EOFError, OSError, BadZipFile, zlib.error, MemoryError)
TRANSPOSED_TOGETHER = 4096  # rows: so many stay in the processor's cache, which takes a quarter of the time


class TableError(InputError):
    """Says that a file or a column cannot be used, and what was wanted.

    >>> from centrality import tables
    >>> try:
    ...     tables.require(["width", "height"], ["widht"])
    ... except tables.TableError as error:
    ...     print(error)
    Missing column: 'widht'. Did you mean 'width'? There are: 'width', 'height'.
    """


class DataNote(UserWarning):
    """Warns of something in the data; the rows are scored all the same."""


@contextmanager
def reading(name: object, kind: str, errors: tuple[type[Exception], ...] = DAMAGED) -> Iterator[None]:
    """Raise a TableError if the block fails because a file of this name cannot be read as this kind of file."""
    try:
        yield
    except (TableError, FileNotFoundError):
        raise
    except errors as error:
        raise TableError(f"{name} cannot be read as {kind}: {error}") from None


def select(table: Any, columns: Sequence[str]) -> Any:
    """Return these columns of a table or a batch, in this order; raise if one is missing, and suggest a similar name.

    >>> import pyarrow as pa
    >>> from centrality.tables import select
    >>> select(pa.table({"a": [1], "b": [2]}), ["b"]).column_names
    ['b']
    """
    require(table.schema.names, columns)
    return table.select(list(columns))


def require(there: Sequence[str], columns: Sequence[str]) -> None:
    """Raise if one of the columns is missing.

    >>> from centrality.tables import require
    >>> require(["length", "width"], ["length"])
    """
    known = Counter(there)
    require_distinct([name for name in columns if known[name] > 1], "The table")
    missing = [name for name in columns if name not in known]
    if missing:
        near = difflib.get_close_matches(missing[0], there, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise TableError(f"Missing column: {', '.join(map(repr, missing))}.{hint} There are: {first_few(there)}.")


def require_distinct(names: Sequence[str], where: str) -> None:
    """Raise if a wanted column occurs twice, as it is then unclear which one is meant."""
    if names:
        raise TableError(f"{where}: column names must differ, but {names[0]!r} comes twice.")


def require_replaceable(new: Iterable[str], learned: Collection[str]) -> None:
    """Raise if one of the output's new columns would replace a column that the model learned from."""
    if clash := sorted(name for name in new if name in learned):
        raise TableError(
            f"The model learned from a column {clash[0]!r}, which a new one would replace in the output: "
            "give it another name in the data, and fit again."
        )


def note_replaced(new: Iterable[str], there: Collection[str]) -> None:
    """Warn of columns of the data that new ones of the same name replace in the output."""
    if names := [name for name in new if name in there]:
        note = f"New columns replace those of the data called {first_few(names)}: rename these to keep both."
        warnings.warn(note, DataNote, stacklevel=3)


def repeated(names: Sequence[str]) -> list[str]:
    """Return the names that occur more than once."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def numbers(table: Any, advice: str = "") -> NDArray[Any]:  # (n, p)
    """Return a table or batch whose columns are all numbers as an array; missing values become NaN.

    If a column holds something else, the error names it and ends with this advice.

    >>> import pyarrow as pa
    >>> from centrality.tables import numbers
    >>> numbers(pa.table({"a": [1, 2], "b": [0.5, 1.5]})).tolist()
    [[1.0, 0.5], [2.0, 1.5]]
    """
    other = [field.name for field in table.schema if not is_number(field.type)]
    if other:
        numeric = [field.name for field in table.schema if is_number(field.type)]
        raise TableError(
            f"Numbers were wanted, but these columns hold something else: {first_few(other)}. "
            f"Columns of numbers here: {','.join(numeric[:8]) or 'none'}. {advice}".rstrip()
        )
    kinds = {field.type for field in table.schema}
    dtype = np.float32 if kinds == {pa.float32()} else np.float64
    matrix = np.empty((table.num_rows, table.num_columns), dtype=dtype)
    end = 0
    for batch in table.to_batches() if isinstance(table, pa.Table) else [table]:
        columns = [_array(column) for column in batch.columns]
        for start in range(0, batch.num_rows if columns else 0, TRANSPOSED_TOGETHER):
            block = np.stack([column[start : start + TRANSPOSED_TOGETHER] for column in columns])
            matrix[end : end + block.shape[1]] = block.T
            end += block.shape[1]
    return matrix


def _array(column: pa.Array) -> NDArray[Any]:
    if column.null_count or pa.types.is_boolean(column.type) or pa.types.is_float16(column.type):
        column = column.cast(pa.float64(), safe=False)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def first_few(names: Sequence[str], most: int = 8) -> str:
    """List the first of the names, for a message, and say how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more
