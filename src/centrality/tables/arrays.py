"""Read and write arrays of numpy, .npy and .npz, and read the published data sets, which are such arrays."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality.datasets import bundled_sets, published
from centrality.tables.columns import TableError, first_few, numbers, reading
from centrality.tables.source import BATCH, Format, Sink, Source, Types

UNPACKED, MOST_PACKED = 256 << 20, 64  # bytes always allowed; of more, at most so many for each packed byte


class ArraySource(Source):
    """Reads the rows of a .npy or .npz file; columns are called x0, x1, ..."""

    def __init__(self, path: Path) -> None:
        self.name, self.kind = str(path), path.suffix.lower()
        with reading(path, self.kind, (Exception,)):  # numpy evaluates what stands in a header, which may do anything
            self._rows = self._array(path)
        shape, dtype = self._rows.shape, self._rows.dtype
        if len(shape) not in (1, 2) or dtype.kind not in "biuf" or shape[-1] == 0:
            raise TableError(f"{path}: a two-dimensional array of numbers was wanted, got {dtype} {shape}.")
        self.rows, width = shape[0], shape[1] if len(shape) == 2 else 1
        with reading(path, self.kind):  # which fails for numbers of 128 bits
            kind = pa.from_numpy_dtype(dtype.newbyteorder("="))
        self.schema = pa.schema([(f"x{j}", kind) for j in range(width)])
        self._require_rows()

    def _array(self, path: Path) -> "NDArray[Any] | StoredArray":
        if self.kind == ".npy":
            return StoredArray.open(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:  # never: a pickle can run code
            _require_honest(archive.zip, path)
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
            block = np.asarray(self._rows[start : start + BATCH])
            block = block.astype(block.dtype.newbyteorder("="), copy=False).reshape(len(block), -1)
            yield pa.RecordBatch.from_arrays(
                [pa.array(np.ascontiguousarray(block[:, j])) for j in places], names=list(names)
            )


class StoredArray:
    """Reads rows of a .npy file without mapping it into memory, where a truncated file would crash the process."""

    def __init__(self, path: Path, begins: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype, self._path, self._begins = shape, dtype, path, begins

    @classmethod
    def open(cls, path: Path) -> "StoredArray | NDArray[Any]":
        """Read the header; an array in Fortran order, column after column, is read whole."""
        with path.open("rb") as file:
            mapped = np.lib.format.open_memmap(path, mode="r")  # checks header and length; no value is touched
            shape, dtype, begins = mapped.shape, mapped.dtype, int(mapped.offset)
            is_by_rows = mapped.flags.c_contiguous
            del mapped
            return cls(path, begins, shape, dtype) if is_by_rows else np.load(file, allow_pickle=False)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(len(self))
        a_row = int(np.prod(self.shape[1:], dtype=np.int64))
        begins = self._begins + start * a_row * self.dtype.itemsize
        values = np.fromfile(self._path, self.dtype, (stop - start) * a_row, offset=begins)
        if len(values) != (stop - start) * a_row:
            raise EOFError(f"it was cut to {values.nbytes:,} bytes from row {start:,} on while it was read")
        return values.reshape(stop - start, *self.shape[1:])


def _require_honest(archive: ZipFile, path: Path) -> None:
    """Raise if a small packed file would unpack to so much that it fills the memory."""
    for entry in archive.infolist():
        if entry.file_size > max(UNPACKED, MOST_PACKED * entry.compress_size):
            raise TableError(
                f"{path}: {entry.filename} would be {entry.file_size:,} bytes, {entry.compress_size:,} packed: at most "
                f"{MOST_PACKED} times as many were wanted. Save it unpacked, as .npy."
            )


class PublishedSource(ArraySource):
    """Reads a published data set by its name."""

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
    """Writes columns of numbers as one array. The header is rewritten at the end, when the number of rows is known."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        numbers(schema.empty_table())  # raises at once if a column does not hold numbers
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
    """Writes one array for each column. The format needs each whole, so all are kept until the end."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        numbers(schema.empty_table())
        self._file, self._parts = file, [schema.empty_table()]

    def write(self, table: pa.Table) -> None:
        self._parts.append(table)

    def close(self) -> None:
        table = pa.concat_tables(self._parts)
        arrays: dict[str, Any] = {name: numbers(table.select([name]))[:, 0] for name in table.column_names}
        np.savez(self._file, **arrays)  # numbers(...) returns no objects that would be pickled


NPY = Format(ArraySource, NpySink)
NPZ = Format(ArraySource, NpzSink)
