"""Choose the format of a file by its ending, and open or write it.

A new format is a file beside this one that makes a `Format` (reading: a `Source`; writing: a `Sink`), a line in
`FORMATS`, and a test.
"""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from centrality import datasets
from centrality._internal.checks import warn_caller
from centrality.datasets import published
from centrality.tables import files
from centrality.tables.beside import VectorsBeside
from centrality.tables.binary import (
    ARROW,
    IMAGE_SUFFIXES,
    NPY,
    NPZ,
    PARQUET,
    STREAM_BEGINS,
    ArrowSource,
    BundledSource,
    ImageFolder,
    PublishedSource,
    open_files,
)
from centrality.tables.columns import DataNote, FileState, Format, Sink, Source, TableError, first_few
from centrality.tables.csv import CSV, EXCEL, TSV, CsvDialect, CsvSink
from centrality.tables.database import DatabasePlace, DatabaseSource, is_database, open_sink
from centrality.tables.files import PACKINGS, encoding_of, head_in_utf8, name_in_zip, packing_of
from centrality.tables.huggingface import SavedDataset, is_saved_dataset
from centrality.tables.json import JSON, JSONL, JsonDialect
from centrality.tables.lakes import lake_of_folder
from centrality.tables.text import BYTE_ORDER_MARK, TextSource

FORMATS: dict[str, Format] = {
    ".csv": CSV,
    ".tsv": TSV,
    ".jsonl": JSONL,
    ".json": JSON,
    ".xlsx": EXCEL,
    ".parquet": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".npy": NPY,
    ".npz": NPZ,
}
SUFFIXES = tuple(FORMATS)
ROWS_BESIDE: ContextVar[tuple[str, str] | None] = ContextVar("ROWS_BESIDE", default=None)  # vectors, and their rows


def kind_of(path: str | os.PathLike[str]) -> str:
    """Return the ending that says how a file is read and written, without .gz and the like.

    >>> from centrality.tables import kind_of
    >>> kind_of("rows.csv.gz")
    '.csv'
    """
    path = files.name_of(path)
    is_packed = path.suffix.lower() in PACKINGS
    suffix = Path(path.stem).suffix.lower() if is_packed else path.suffix.lower()
    if is_packed and path.suffix.lower() == ".zip" and suffix not in FORMATS and path.is_file():
        suffix = name_in_zip(path).suffix.lower()
    if suffix not in FORMATS or (is_packed and not FORMATS[suffix].is_text):
        endings = f"{', '.join(SUFFIXES)} (text also with {', '.join(PACKINGS)})"
        raise TableError(f"{path}: a file ending in {endings} was wanted, got {suffix or 'no ending'}.")
    return suffix


def kind_to_write(path: str | os.PathLike[str]) -> str:
    """Return the ending that says how a file is written; raise if such files can only be read.

    >>> from centrality.tables import kind_to_write
    >>> kind_to_write("scores.csv.gz")
    '.csv'
    """
    if is_database(path):
        return DatabaseSource.kind
    packing = PACKINGS.get(ending := files.name_of(path).suffix.lower())
    if packing is not None and packing.write is None:
        raise TableError(f"{path}: files that end in {ending} are only read: write .csv.gz, say.")
    if FORMATS[kind := kind_of(path)].write is None:
        raise TableError(f"{path}: files that end in {kind} are only read: write .csv or .parquet, say.")
    return kind


def is_text_file(place: str | os.PathLike[str]) -> bool:
    """Say whether this is a text file on this machine, whose number of rows is not known before its end."""
    if is_database(place) or files.is_remote(place):
        return False
    path = Path(files.filesystem_and_path(place)[1])
    return path.is_file() and FORMATS[kind_of(path)].is_text


def open_location(place: str | os.PathLike[str]) -> Source:
    """Open the rows of a file or folder, here or on a store, of a table, or of a data set by its name.

    If there is a file of `ROWS_BESIDE`, the place holds the vectors of its rows.
    """
    if (beside := ROWS_BESIDE.get()) is not None and str(place) == beside[0]:
        with ExitStack() as if_it_fails:
            vectors = if_it_fails.enter_context(_opened(place))
            rows = if_it_fails.enter_context(_opened(beside[1]))
            source = VectorsBeside(vectors, rows)
            if_it_fails.pop_all()
        return source
    return _opened(place)


def _opened(place: str | os.PathLike[str]) -> Source:
    if is_database(place):
        return DatabaseSource(DatabasePlace.of(place))
    if files.is_folder(place):
        return _open_folder(place)
    if files.is_remote(place):
        if (kind := kind_of(place)) != ".parquet":
            raise TableError(f"{place}: from a store, .parquet files were wanted, got {kind}. Copy it here first.")
        return open_files(str(place), [str(place)])
    path = Path(files.filesystem_and_path(place)[1])
    if path.exists():
        before = FileState.of(path)
        source = FORMATS[kind_of(path)].read(path)
        source.states = [before]
        return source
    if str(path) in published.SETS:
        return PublishedSource(path)
    if str(path) in datasets.BUNDLED:
        return BundledSource(path)
    kind_of(path)  # an error about a wrong ending comes first
    raise FileNotFoundError(f"There is no file at {path}.")


def open_stream(file: BufferedReader, name: str = "stdin") -> Source:
    """Open the rows of a stream: an Arrow IPC stream, JSON lines or CSV, as its first bytes show."""
    head = file.peek()
    if head.startswith(STREAM_BEGINS):
        return ArrowSource(name, file)
    if packing := packing_of(head):
        raise TableError(f"{name} is packed as {packing} files are: unpack it first, or name the file.")
    encoding = encoding_of(name, head)
    head = head_in_utf8(head, encoding)
    is_json = head.removeprefix(BYTE_ORDER_MARK).lstrip()[:1] == b"{"
    return TextSource(JsonDialect(name) if is_json else CsvDialect(name, head), file, live=True, encoding=encoding)


def kind_on_stdout(kind: str) -> str:
    """Return the format for rows of this format on stdout: the same, if it can be read while it is written."""
    return kind if kind in FORMATS and FORMATS[kind].write_stream is not None else ".csv"


def keeps_note(kind: str) -> bool:
    """Say whether a note in the schema of such files can be found again without reading the rows."""
    return kind in FORMATS and FORMATS[kind].keeps_note


def make_sink(
    kind: str, file: BinaryIO | Sink, schema: pa.Schema, *, stream: bool = False, separator: bytes | None = None
) -> Sink:
    """Return a sink of this format into an open binary file; for a stream, one that can be read while it is written.

    `separator` is that of fields in .csv, if it is no comma.
    """
    if isinstance(file, Sink):
        return file
    if kind == ".csv" and separator is not None:
        return CsvSink(file, schema, separator.decode())
    write = (FORMATS[kind].write_stream if stream else None) or FORMATS[kind].write
    assert write is not None  # else `kind_to_write` has refused it
    return write(file, schema)


@contextmanager
def open_output(path: str | Path) -> Iterator[Any]:
    """Open a binary file that replaces `path` only if the block succeeds; "-" is stdout. Of a table, open its sink."""
    if is_database(path):
        with open_sink(path) as sink:
            yield sink
        return
    if str(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    kind_to_write(path)
    packing = PACKINGS.get(files.name_of(path).suffix.lower())
    with files.write_atomically(path) as beside, beside.open("wb") as file:
        if packing is None or packing.write is None:
            yield file
        else:
            with packing.write(file) as packed:
                yield packed


def separator_of(place: str | os.PathLike[str]) -> bytes | None:
    """Return what separates the fields of a .csv file; None if it is no such file on this machine."""
    if str(place) == "-" or not is_text_file(place) or kind_of(place) != ".csv":
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)  # whoever has read it has been told
        with open_location(place) as source:
            return source.dialect.separator if isinstance(source, TextSource) else None


def write(table: pa.Table, path: str | Path, *, like: str | os.PathLike[str] | None = None) -> None:
    """Write a table in the format its ending names: for .npy the numbers alone, for .npz an array a column.

    `like` names the rows' own file: fields of .csv are then separated as there.

    >>> import pyarrow as pa
    >>> from pathlib import Path
    >>> from centrality.tables import write
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(pa.table({"a": [1, 2]}), Path(folder) / "rows.csv")
    ...     (Path(folder) / "rows.csv").read_text()
    'a\\n1\\n2\\n'
    """
    kind = kind_to_write(path)
    with open_output(path) as file:
        separator = None if like is None or kind != ".csv" else separator_of(like)
        sink = make_sink(kind, file, table.schema, separator=separator)
        sink.write(table)
        sink.close()


def _open_folder(folder: str | os.PathLike[str]) -> Source:
    if not files.is_remote(folder):
        here = Path(files.filesystem_and_path(folder)[1])
        if is_saved_dataset(here):
            return SavedDataset(here)
        if here.suffix == ".lance":
            raise TableError(
                f"{folder}: folders of Lance are read by its own package alone. In Python, give its rows: "
                f"centrality.rank(lance.dataset({str(folder)!r}).to_table()); or write them to a .parquet file."
            )
    if lake := lake_of_folder(folder):
        return DatabaseSource(DatabasePlace(lake))
    if names := files.files_below(folder, (".parquet",)):
        if not files.is_remote(folder):
            others = files.files_below(folder, (*(set(SUFFIXES) - {".parquet"}), *PACKINGS))
            if others := [*others, *files.broken_links(folder)]:
                note = f"{folder}: only its .parquet files are read, not {first_few(others, 3)}."
                warn_caller(note, DataNote)
        return open_files(str(folder), [files.join(folder, name) for name in names])
    images = files.files_below(folder, IMAGE_SUFFIXES)
    if not images or files.is_remote(folder):
        raise TableError(f"{folder}: a folder of .parquet files or of images was wanted, but it holds neither.")
    here = Path(files.filesystem_and_path(folder)[1])
    return ImageFolder(here, [here / name for name in images])
