"""Where rows come from: files, folders and stdin, each with its schema known first, then read in Arrow batches."""

import gzip
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from io import BufferedReader
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality.datasets import published
from centrality.tables import locations, text
from centrality.tables.columns import TableError, require, some
from centrality.tables.parquet import ParquetSource
from centrality.tables.source import BATCH, Source, Types
from centrality.tables.text import TextFormat, wanted

TEXT = (".csv", ".tsv", ".jsonl")
SUFFIXES = (*TEXT, ".parquet", ".arrow", ".feather", ".npy", ".npz")
IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm")
ARROW_FILE = b"ARROW1"
ARROW_STREAM = b"\xff\xff\xff\xff"  # how every message of an Arrow IPC stream begins


class TextSource(Source):
    """CSV, TSV or JSON lines, of a file or a stream."""

    def __init__(
        self, name: str, kind: str, file: BufferedReader, *, size: int | None = None, live: bool = False
    ) -> None:
        self.name, self.kind, self.live = name, kind, live
        self._format, self._file = TextFormat(kind, name), file
        self._blocks = text.blocks(file, quoted=self._format.quoted, live=live, size=size or text.BLOCK)
        try:
            self._begin()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> None:
        try:
            first = next(self._blocks, b"")
        except (EOFError, OSError) as error:
            raise TableError(f"{self.name} cannot be read as {self.kind}: {error}") from None
        if not first.strip():
            raise TableError(f"{self.name} is empty: it has 0 rows and 0 columns.")
        self._first, self.schema = self._format.begin(first)
        if not self._first:
            raise TableError(f"{self.name} is empty: it has 0 rows and {len(self.schema)} columns.")
        self._first_bytes = len(first)

    def close(self) -> None:
        if self._file is not sys.stdin.buffer:
            self._file.close()

    def expect(self, total: int) -> None:
        """Guess the number of rows of a file this long from its first block."""
        here = len(text.records(self._first, quoted=self._format.quoted))
        self.rows = here if total <= self._first_bytes else int(here * total / self._first_bytes)

    @property
    def header(self) -> list[str] | None:
        return self._format.header

    def lines(self, columns: Sequence[str], types: Types | None = None) -> Iterator[tuple[pa.Table, list[bytes]]]:
        """These columns of the rows, and the rows as they were written."""
        require(self.schema.names, columns)
        schema = wanted(pa.schema([self.schema.field(name) for name in columns]), types)
        for block in self._all_blocks():
            table = self._format.parse(block, schema, strict=False)
            records = text.records(block, quoted=self._format.quoted)
            if len(records) != table.num_rows:
                raise TableError(
                    f"{self.name} cannot be read as {self.kind}: {len(records)} lines hold {table.num_rows} rows, "
                    "one line for each was wanted."
                )
            yield table, records

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        strict = len(names) == len(self.schema)
        schema = wanted(pa.schema([self.schema.field(name) for name in names]), types)
        for block in self._all_blocks():
            yield from self._format.parse(block, schema, strict).to_batches(max_chunksize=BATCH)

    def _all_blocks(self) -> Iterator[bytes]:
        yield self._first
        try:
            yield from self._blocks
        except (EOFError, OSError) as error:  # gzip cut short
            raise TableError(f"{self.name} cannot be read as {self.kind}: {error}") from None


class ArrowSource(Source):
    """An Arrow IPC file (also called Feather), memory-mapped, or an IPC stream."""

    kind = ".arrow"

    def __init__(self, name: str, file: Any) -> None:
        self.name = name
        try:
            self._open(file)
        except (pa.ArrowException, OSError) as error:
            raise TableError(f"{name} cannot be read as an Arrow file or stream: {error}") from None
        self.schema = self._reader.schema.remove_metadata()
        self._require_rows()

    def _open(self, file: Any) -> None:
        if isinstance(file, pa.MemoryMappedFile) and file.read(6) == ARROW_FILE:
            self._reader = pa.ipc.open_file(file)
            self.rows = sum(batch.num_rows for batch in self._stored())
            return
        if isinstance(file, pa.MemoryMappedFile):
            file.seek(0)
        self._reader = pa.ipc.open_stream(file)

    def close(self) -> None:
        self._reader = None

    def _stored(self) -> Iterator[pa.RecordBatch]:
        return (self._reader.get_batch(i) for i in range(self._reader.num_record_batches))

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for whole in self._reader if self.rows is None else self._stored():
            for start in range(0, whole.num_rows, BATCH):
                yield whole.slice(start, BATCH).select(list(names)).replace_schema_metadata(None)


class ArraySource(Source):
    """The rows of a .npy or .npz file; columns are called x0, x1, ..."""

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
                names = some(archive.files) or "an empty archive"
                raise TableError(f"{path}: an array named X was wanted, got {names}.")
            return np.asarray(archive[matrices[0]])

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        wanted_columns = [int(name[1:]) for name in names]
        for start in range(0, len(self._rows), BATCH):
            block = self._rows[start : start + BATCH]
            yield pa.RecordBatch.from_arrays(
                [pa.array(np.ascontiguousarray(block[:, j])) for j in wanted_columns], names=list(names)
            )


class PublishedSource(ArraySource):
    """A published data set by its name, wherever it is found."""

    def _array(self, path: Path) -> NDArray[Any]:
        return published.rows(str(path))


class ImageFolder(Source):
    """The paths of the images below a folder, one a row."""

    kind = "images"
    schema = pa.schema([("path", pa.string())])

    def __init__(self, path: Path, files: list[Path]) -> None:
        self.name, self.files, self.rows = str(path), files, len(files)

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for start in range(0, len(self.files), BATCH):
            yield pa.RecordBatch.from_pydict({"path": [str(file) for file in self.files[start : start + BATCH]]})


def of_place(place: str | os.PathLike[str], *, whole: bool = False) -> Source:
    """The rows of a file or folder; with `whole`, text formats look at all rows before they decide on types."""
    if not locations.is_remote(place):
        return of_file(Path(locations.found(place)[1]), whole=whole)
    if locations.is_folder(place):
        return _of_folder(place)
    if kind_of(place) != ".parquet":
        raise TableError(
            f"{place}: from a store, .parquet files were wanted, got {kind_of(place)}. Copy it here first."
        )
    return ParquetSource(str(place), [str(place)])


def of_file(path: Path, *, whole: bool = False) -> Source:
    if path.is_dir():
        return _of_folder(path)
    if not path.exists():
        if str(path) in published.SETS:
            return PublishedSource(path)
        kind_of(path)
        raise FileNotFoundError(f"There is no file at {path}.")
    kind = kind_of(path)
    if kind in (".npy", ".npz"):
        return ArraySource(path)
    if kind == ".parquet":
        return ParquetSource(str(path), [str(path)])
    if kind in (".arrow", ".feather"):
        return ArrowSource(str(path), pa.memory_map(str(path)))
    packed = path.suffix.lower() == ".gz"
    live = stat.S_ISFIFO(path.stat().st_mode)
    file: Any = gzip.open(path) if packed else path.open("rb")  # noqa: SIM115 (closed when all is read)
    source = TextSource(str(path), kind, file, size=-1 if whole else None, live=live)
    if not packed and not live:
        source.expect(path.stat().st_size)
    return source


def of_stream(file: BufferedReader, name: str = "stdin") -> Source:
    """The rows on a stream: an Arrow IPC stream, JSON lines or CSV, told apart by the first bytes."""
    first = file.peek(4)
    if first.startswith(ARROW_STREAM):
        return ArrowSource(name, file)
    kind = ".jsonl" if first.removeprefix(text.BOM).lstrip()[:1] == b"{" else ".csv"
    return TextSource(name, kind, file, live=True)


def kind_of(path: str | os.PathLike[str]) -> str:
    """The ending that says how a file is read and written, without .gz."""
    path = locations.name_of(path)
    packed = path.suffix.lower() == ".gz"
    suffix = Path(path.stem).suffix.lower() if packed else path.suffix.lower()
    if suffix not in (TEXT if packed else SUFFIXES):
        endings = f"{', '.join(SUFFIXES)} (text also with .gz)"
        raise TableError(f"{path}: a file ending in {endings} was wanted, got {suffix or 'no ending'}.")
    return suffix


def _of_folder(folder: str | os.PathLike[str]) -> Source:
    if names := locations.below(folder, (".parquet",)):
        return ParquetSource(str(folder), [locations.joined(folder, name) for name in names])
    images = locations.below(folder, IMAGES)
    if not images or locations.is_remote(folder):
        raise TableError(f"{folder}: a folder of .parquet files or of images was wanted, but it holds neither.")
    return ImageFolder(Path(folder), [Path(folder) / name for name in images])
