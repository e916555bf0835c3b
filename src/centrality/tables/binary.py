"""Read and write binary formats: Parquet, Arrow, NumPy arrays, folders of images.

Files are read, not mapped into memory: if a mapped file were truncated meanwhile, the process would crash.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import datasets
from centrality.datasets import published
from centrality.tables import files
from centrality.tables.columns import (
    BATCH,
    DAMAGED,
    FileState,
    Format,
    Sink,
    Source,
    TableError,
    Types,
    first_few,
    numbers,
    reading,
    repeated,
    require_distinct,
)

FETCHED_TOGETHER = 16  # footers: from a store, each is a wait
DESCRIBED = 1_000_000  # pieces of columns whose places in their files stay in memory; of others, they are read again
ROW_GROUP = 131_072  # rows gathered before they are written as a row group
NOTE = "centrality"  # the name under which our note stands at the end of a file


@dataclass(frozen=True)
class Footer:
    """The contents of a Parquet file's footer."""

    file: str  # a path or an address
    schema: pa.Schema
    groups: tuple[int, ...]  # the rows of each row group
    note: str | None = None  # what centrality wrote there
    places: Any = field(default=None, compare=False, repr=False)  # as Arrow takes it, not to be read again
    state: FileState | None = field(default=None, compare=False, repr=False)  # None: on a store, whose files are whole

    @property
    def rows(self) -> int:
        return sum(self.groups)

    def open(self, groups: tuple[int, int] | None = None) -> "ParquetSource":
        """Open the file's rows, or those of the row groups from the first number up to the second."""
        return ParquetSource(self.file, [self], groups)


class ParquetSource(Source):
    """Reads Parquet files of one schema; of a single file, possibly only some row groups."""

    kind = ".parquet"

    def __init__(self, name: str, files: Sequence[Footer], groups: tuple[int, int] | None = None) -> None:
        self.name = name
        self.files = files
        self.in_part = groups is not None
        self.schema = files[0].schema
        self.states = [part.state for part in files]
        for other in files:
            if not other.schema.equals(self.schema):
                raise TableError(
                    f"{name}: one schema was wanted, but {Path(other.file).name} differs from "
                    f"{Path(files[0].file).name}: {_difference(self.schema, other.schema)}. "
                    "Score them one by one, or make them agree."
                )
        self._groups = slice(None) if groups is None else slice(groups[0], groups[1])
        self.rows = sum(sum(part.groups[self._groups]) for part in files)
        self._require_rows()

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for part in self.files:
            groups = list(range(len(part.groups)))[self._groups]
            with open_file(part.file, part.places) as file:
                for batch in file.iter_batches(
                    batch_size=BATCH, row_groups=groups, columns=list(names), use_threads=False
                ):
                    batch.validate(full=True)  # a damaged file may hold invalid texts
                    yield batch.select(list(names)).replace_schema_metadata(None)


class ParquetSink(Sink):
    """Writes row groups of bounded size."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        from pyarrow import parquet

        # Dictionaries of measured numbers only cost time: nearly every one is different.
        repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
        self._writer = parquet.ParquetWriter(file, schema, use_dictionary=repeated, write_statistics=repeated)
        self._waiting: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        self._waiting.append(table)
        if sum(part.num_rows for part in self._waiting) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=2 * ROW_GROUP)
            self._waiting = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


def open_files(name: str, files: Sequence[str]) -> ParquetSource:
    """Open files, by their paths or addresses, as one table; each footer is read once, now."""
    described = 0
    footers = []
    with ThreadPoolExecutor(FETCHED_TOGETHER) as pool:
        for footer in pool.map(read_footer, files):
            described += len(footer.groups) * len(footer.schema)
            footers.append(footer if described <= DESCRIBED else replace(footer, places=None))
    return ParquetSource(name, footers)


def open_file(file: str, places: Any = None) -> Any:
    """Open the Parquet file at a path or address, to be read piece by piece."""
    from pyarrow import parquet

    filesystem, path = files.filesystem_and_path(file)
    return parquet.ParquetFile(path, metadata=places, pre_buffer=False, buffer_size=1 << 20, filesystem=filesystem)


def read_footer(file: str) -> Footer:
    """Read a Parquet file's footer."""
    state = None if files.is_remote(file) else FileState.of(files.filesystem_and_path(file)[1])
    with reading(file, ".parquet"), open_file(file) as parquet:
        schema = parquet.schema_arrow  # whose names may not be valid text
        places = parquet.metadata
        groups = tuple(places.row_group(i).num_rows for i in range(places.num_row_groups))
    stored = (schema.metadata or {}).get(NOTE.encode())
    note = None if stored is None else stored.decode(errors="replace")
    return Footer(file, schema.remove_metadata(), groups, note, places, state)


def _difference(first: pa.Schema, second: pa.Schema) -> str:
    for column in first:
        if column.name not in second.names:
            return f"it has no column {column.name!r}"
        if second.field(column.name).type != column.type:
            return f"column {column.name!r} is {second.field(column.name).type}, not {column.type}"
    extra = [name for name in second.names if name not in first.names]
    return f"it has a column {extra[0]!r} more" if extra else "its columns come in another order"


PARQUET = Format(lambda path: open_files(str(path), [str(path)]), ParquetSink, keeps_note=True)

FILE_BEGINS = b"ARROW1"
STREAM_BEGINS = b"\xff\xff\xff\xff"  # as every message of an IPC stream does


class ArrowSource(Source):
    """Reads an Arrow IPC file or stream."""

    kind = ".arrow"

    def __init__(self, name: str, file: Any) -> None:
        self.name = name
        with reading(name, "an Arrow file or stream", (*DAMAGED, SystemError)):  # names may be invalid
            if isinstance(file, pa.OSFile) and file.read(len(FILE_BEGINS)) == FILE_BEGINS:
                self._reader = pa.ipc.open_file(file)
                require_distinct(repeated(self._reader.schema.names), name)
                from pyarrow import dataset  # imports pandas, which most commands do not need

                self.rows = dataset.dataset(name, format="ipc").count_rows()  # which reads no values
            else:
                if isinstance(file, pa.OSFile):
                    file.seek(0)
                self._reader = pa.ipc.open_stream(file)
            self.schema = self._reader.schema.remove_metadata()
            self._require_rows()

    def close(self) -> None:
        self._reader = None

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        reader = self._reader
        for stored in reader if self.rows is None else map(reader.get_batch, range(reader.num_record_batches)):
            stored.validate(full=True)  # else offsets that point outside a buffer would be followed
            for start in range(0, stored.num_rows, BATCH):
                yield stored.slice(start, BATCH).select(list(names)).replace_schema_metadata(None)


class ArrowSink(Sink):
    """Writes an IPC file, or a stream that can be read while it is written."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, *, stream: bool = False) -> None:
        self._writer = (pa.ipc.new_stream if stream else pa.ipc.new_file)(file, schema)

    def write(self, table: pa.Table) -> None:
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()


ARROW = Format(lambda path: ArrowSource(str(path), pa.OSFile(str(path))), ArrowSink, partial(ArrowSink, stream=True))

UNPACKED = 256 << 20  # bytes always allowed
MOST_PACKED = 64  # of more bytes, at most so many for each packed byte


class ArraySource(Source):
    """Reads the rows of a .npy or .npz file; columns are called x0, x1, ..."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self.kind = path.suffix.lower()
        with reading(path, self.kind, (Exception,)):  # numpy evaluates what stands in a header, which may do anything
            self._rows = self._array(path)
        shape = self._rows.shape
        dtype = self._rows.dtype
        if len(shape) not in (1, 2) or dtype.kind not in "biuf" or shape[-1] == 0:
            raise TableError(f"{path}: a two-dimensional array of numbers was wanted, got {dtype} {shape}.")
        self.rows = shape[0]
        width = shape[1] if len(shape) == 2 else 1
        with reading(path, self.kind):  # which fails for numbers of 128 bits
            self.schema = pa.schema([(f"x{j}", pa.from_numpy_dtype(dtype.newbyteorder("="))) for j in range(width)])
        self._require_rows()

    def _array(self, path: Path) -> "NDArray[Any] | StoredArray":
        if self.kind == ".npy":
            return StoredArray.open(path)
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:  # never: a pickle can run code
            for entry in archive.zip.infolist():
                if entry.file_size > max(UNPACKED, MOST_PACKED * entry.compress_size):  # it would fill the memory
                    raise TableError(
                        f"{path}: {entry.filename} would be {entry.file_size:,} bytes, {entry.compress_size:,} packed: "
                        f"at most {MOST_PACKED} times as many were wanted. Save it unpacked, as .npy."
                    )
            if "X" in archive.files:
                return np.asarray(archive["X"])
            matrices = [name for name in archive.files if archive[name].ndim == 2]
            if len(matrices) != 1:
                names = first_few(archive.files) or "an empty archive"
                raise TableError(f"{path}: an array named X was wanted, got {names}.")
            return np.asarray(archive[matrices[0]])

    def matrix(self, start: int, stop: int) -> NDArray[Any]:  # (stop - start, columns)
        """Return some rows, in the byte order of this machine."""
        block = np.asarray(self._rows[start:stop])
        return block.astype(block.dtype.newbyteorder("="), copy=False).reshape(len(block), -1)

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        places = [int(name[1:]) for name in names]
        for start in range(0, len(self._rows), BATCH):
            block = self.matrix(start, start + BATCH)
            yield pa.RecordBatch.from_arrays(
                [pa.array(np.ascontiguousarray(block[:, j])) for j in places], names=list(names)
            )


@dataclass(frozen=True)
class StoredArray:
    """Reads rows of a .npy file without mapping it into memory, where a truncated file would crash the process."""

    path: Path
    begins: int  # the place of the first number in the file
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def open(cls, path: Path) -> "StoredArray | NDArray[Any]":
        """Read the header; an array in Fortran order, column after column, is read whole."""
        with path.open("rb") as file:
            mapped = np.lib.format.open_memmap(path, mode="r")  # checks header and length; no value is touched
            if not mapped.flags.c_contiguous:
                return np.asarray(np.load(file, allow_pickle=False))
            return cls(path, int(mapped.offset), mapped.shape, mapped.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(len(self))
        a_row = int(np.prod(self.shape[1:], dtype=np.int64))
        begins = self.begins + start * a_row * self.dtype.itemsize
        values = np.fromfile(self.path, self.dtype, (stop - start) * a_row, offset=begins)
        if len(values) != (stop - start) * a_row:
            raise EOFError(f"it was cut to {values.nbytes:,} bytes from row {start:,} on while it was read")
        return values.reshape(stop - start, *self.shape[1:])


class PublishedSource(ArraySource):
    """Reads a published data set by its name."""

    def _array(self, path: Path) -> NDArray[Any]:
        return published.rows(str(path))


class BundledSource(Source):
    """Reads a data set that comes with the package or with scikit-learn, by its name."""

    kind = ".arrow"

    def __init__(self, name: Path) -> None:
        self.name = str(name)
        self._table = datasets.bundled(self.name)
        self.schema = self._table.schema
        self.rows = self._table.num_rows

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        yield from self._table.select(list(names)).to_batches(max_chunksize=BATCH)


class NpySink(Sink):
    """Writes columns of numbers as one array. The header is rewritten at the end, when the number of rows is known."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        numbers(schema.empty_table())  # raises at once if a column does not hold numbers
        single = all(field.type == pa.float32() for field in schema)
        self._dtype = np.dtype(np.float32 if single else np.float64)
        self._file = file
        self._rows = 0
        self._columns = len(schema)
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
        self._file = file
        self._parts = [schema.empty_table()]

    def write(self, table: pa.Table) -> None:
        self._parts.append(table)

    def close(self) -> None:
        table = pa.concat_tables(self._parts)
        arrays: dict[str, Any] = {name: numbers(table.select([name]))[:, 0] for name in table.column_names}
        np.savez(self._file, **arrays)  # numbers(...) returns no objects that would be pickled


NPY = Format(ArraySource, NpySink)
NPZ = Format(ArraySource, NpzSink)

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")


class ImageFolder(Source):
    """Reads the paths of the images below a folder, one for each row."""

    kind = "images"
    schema = pa.schema([("path", pa.string())])

    def __init__(self, folder: Path, images: list[Path]) -> None:
        self.name = str(folder)
        self.rows = len(images)
        self._images = images

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self._images), BATCH):
            yield pa.RecordBatch.from_pydict({"path": [str(file) for file in self._images[start : start + BATCH]]})
