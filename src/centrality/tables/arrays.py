"""Arrays of numpy, .npy and .npz, and the published data sets, which are such arrays."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality.datasets import bundled_sets, published
from centrality.tables.columns import TableError, first_few, numbers
from centrality.tables.source import BATCH, Format, Sink, Source, Types


class ArraySource(Source):
    """Reads the rows of a .npy or .npz file; columns are called x0, x1, ..."""

    def __init__(self, path: Path) -> None:
        self.name, self.kind = str(path), path.suffix.lower()
        try:
            array = self._array(path)
        except TableError:
            raise
        except (ValueError, EOFError, OSError, BadZipFile) as error:
            raise TableError(f"{path} cannot be read as {self.kind}: {error}") from None
        if array.ndim == 1:
            array = array[:, None]
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise TableError(f"{path}: a two-dimensional array of numbers was wanted, got {array.dtype} {array.shape}.")
        self._rows, self.rows = array, len(array)
        kind = pa.from_numpy_dtype(array.dtype)
        self.schema = pa.schema([(f"x{j}", kind) for j in range(array.shape[1])])
        self._require_rows()

    def _array(self, path: Path) -> NDArray[Any]:
        if self.kind == ".npy":
            return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))  # never: a pickle can run code
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            if "X" in archive.files:
                return np.asarray(archive["X"])
            matrices = [name for name in archive.files if archive[name].ndim == 2]
            if len(matrices) != 1:
                names = first_few(archive.files) or "an empty archive"
                raise TableError(f"{path}: an array named X was wanted, got {names}.")
            return np.asarray(archive[matrices[0]])

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        places = [int(name[1:]) for name in names]
        for start in range(0, len(self._rows), BATCH):
            block = self._rows[start : start + BATCH]
            yield pa.RecordBatch.from_arrays(
                [pa.array(np.ascontiguousarray(block[:, j])) for j in places], names=list(names)
            )


class PublishedSource(ArraySource):
    """Reads a published data set by its name, wherever it lies."""

    def _array(self, path: Path) -> NDArray[Any]:
        return published.rows(str(path))


class BundledSource(Source):
    """Reads a data set that comes with the package or with scikit-learn, by its name."""

    kind = ".arrow"

    def __init__(self, name: Path) -> None:
        self.name, self._table = str(name), bundled_sets.bundled(str(name))
        self.schema, self.rows = self._table.schema, self._table.num_rows

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(list(names)).to_batches(max_chunksize=BATCH)


class NpySink(Sink):
    """Writes the numbers alone. The header is written again at the end, when the number of rows is known."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        numbers(schema.empty_table())  # says at once if a column is not made of numbers
        single = all(field.type == pa.float32() for field in schema)
        self._dtype = np.dtype(np.float32 if single else np.float64)
        self._file, self._rows, self._columns = file, 0, len(schema)
        self._header()

    def write(self, table: pa.Table) -> None:
        self._file.write(numbers(table).astype(self._dtype).tobytes())
        self._rows += table.num_rows

    def close(self) -> None:
        end = self._file.tell()
        self._file.seek(0)
        self._header()  # as long as the first one: numpy leaves room for rows to be appended
        self._file.seek(end)

    def _header(self) -> None:
        shape = (self._rows, self._columns)
        descr = np.lib.format.dtype_to_descr(self._dtype)
        np.lib.format.write_array_header_1_0(self._file, {"descr": descr, "fortran_order": False, "shape": shape})


class NpzSink(Sink):
    """Writes an array a column. The format wants each one whole, so they wait until the end."""

    def __init__(self, file: Any, schema: pa.Schema) -> None:
        numbers(schema.empty_table())
        self._file, self._parts = file, [schema.empty_table()]

    def write(self, table: pa.Table) -> None:
        self._parts.append(table)

    def close(self) -> None:
        table = pa.concat_tables(self._parts)
        arrays: dict[str, Any] = {name: numbers(table.select([name]))[:, 0] for name in table.column_names}
        np.savez(self._file, **arrays)  # numbers(...) leaves nothing to pickle


NPY = Format(ArraySource, NpySink)
NPZ = Format(ArraySource, NpzSink)
