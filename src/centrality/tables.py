"""Files of rows: .csv, .parquet, .npy and .npz, read as Arrow tables and written whole or not at all."""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._files import written_whole

SUFFIXES = (".csv", ".parquet", ".npy", ".npz")


class TableError(ValueError):
    """A file or a column that cannot be used; the message says what was wanted."""


def read(path: str | os.PathLike[str]) -> pa.Table:
    """The rows of a file as an Arrow table. Columns of bare arrays are called x0, x1, ..."""
    path = Path(path)
    suffix = known_suffix(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file at {path}.")
    try:
        table = _READERS[suffix](path)
    except (pa.ArrowException, ValueError, EOFError, OSError, BadZipFile) as error:
        if isinstance(error, TableError):
            raise
        raise TableError(f"{path} cannot be read as {suffix}: {error}") from None
    if table.num_rows == 0 or table.num_columns == 0:
        raise TableError(f"{path} is empty: it has {table.num_rows} rows and {table.num_columns} columns.")
    return table


def write(table: pa.Table, path: str | os.PathLike[str]) -> None:
    """Write a table in the format its suffix names: for .npy the numbers alone, for .npz an array a column."""
    suffix = known_suffix(path)
    with written_whole(path) as beside:
        _WRITERS[suffix](table, beside)


def known_suffix(path: str | os.PathLike[str]) -> str:
    """The path's suffix, if it is one that can be read and written."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise TableError(f"{path}: a file ending in {', '.join(SUFFIXES)} was wanted, got {suffix or 'no ending'}.")
    return suffix


def select(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """These columns in this order; a missing one is named, with the nearest name there is."""
    missing = [name for name in columns if name not in table.column_names]
    if missing:
        near = difflib.get_close_matches(missing[0], table.column_names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise TableError(
            f"Missing column: {', '.join(map(repr, missing))}.{hint} There are: {_some(table.column_names)}."
        )
    return table.select(list(columns))


def numbers(table: pa.Table) -> NDArray[Any]:
    """(n, p) array of a table whose columns are all numbers; missing values become NaN."""
    other = [field.name for field in table.schema if not _is_number(field.type)]
    if other:
        numeric = [field.name for field in table.schema if _is_number(field.type)]
        raise TableError(
            f"Numbers were wanted, but these columns hold something else: {_some(other)}. "
            f"Choose columns of numbers, for example: {','.join(numeric[:8]) or 'there are none'}"
        )
    kinds = {column.type for column in table.columns}
    dtype = np.float32 if kinds == {pa.float32()} else np.float64
    matrix = np.empty((table.num_rows, table.num_columns), dtype=dtype)
    for j, column in enumerate(table.columns):
        matrix[:, j] = column.cast(pa.float64(), safe=False).to_numpy()
    return matrix


def with_columns(table: pa.Table, new: dict[str, NDArray[Any]]) -> pa.Table:
    """The table with these columns at its end; one of the same name is replaced."""
    table = table.drop_columns([name for name in new if name in table.column_names])
    for name, values in new.items():
        table = table.append_column(name, pa.array(values))
    return table


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _some(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def _read_csv(path: Path) -> pa.Table:
    from pyarrow import csv

    return csv.read_csv(path)


def _read_parquet(path: Path) -> pa.Table:
    from pyarrow import parquet

    return parquet.read_table(path)


def _read_array(path: Path) -> pa.Table:
    with path.open("rb") as file:
        array = np.load(file, allow_pickle=False)  # never: a pickle can run code
        if not isinstance(array, np.ndarray):
            array = _only_matrix(path, array)
    if array.ndim == 1:
        array = array[:, None]
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        raise TableError(f"{path}: a two-dimensional array of numbers was wanted, got {array.dtype} {array.shape}.")
    return pa.table({f"x{j}": np.ascontiguousarray(array[:, j]) for j in range(array.shape[1])})


def _only_matrix(path: Path, archive: Any) -> NDArray[Any]:
    """X, or the only array of two dimensions."""
    if "X" in archive.files:
        return np.asarray(archive["X"])
    matrices = [name for name in archive.files if archive[name].ndim == 2]
    if len(matrices) != 1:
        raise TableError(f"{path}: an array named X was wanted, got {_some(archive.files) or 'an empty archive'}.")
    return np.asarray(archive[matrices[0]])


def _write_csv(table: pa.Table, path: Path) -> None:
    from pyarrow import csv

    csv.write_csv(table, path)


def _write_parquet(table: pa.Table, path: Path) -> None:
    from pyarrow import parquet

    parquet.write_table(table, path)


def _write_npy(table: pa.Table, path: Path) -> None:
    np.save(path, numbers(table), allow_pickle=False)


def _write_npz(table: pa.Table, path: Path) -> None:
    arrays: dict[str, Any] = {name: numbers(table.select([name]))[:, 0] for name in table.column_names}
    np.savez(path, allow_pickle=False, **arrays)


_READERS = {".csv": _read_csv, ".parquet": _read_parquet, ".npy": _read_array, ".npz": _read_array}
_WRITERS = {".csv": _write_csv, ".parquet": _write_parquet, ".npy": _write_npy, ".npz": _write_npz}
