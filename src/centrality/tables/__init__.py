"""Read tables of rows, whole or as a stream of Arrow batches, and write them completely or not at all.

Files end in .csv, .tsv, .jsonl, .json (each also .gz, .bz2, .zst or .zip), .xlsx, .parquet, .arrow, .feather, .npy or
.npz; a folder holds Parquet files, a data set that Hugging Face's `datasets` saved to disk, or images, whose paths are
then the rows; "-" is stdin, with CSV, JSON lines or an
Arrow IPC stream. Parquet may also lie on a store: s3://bucket/folder, gs://, abfs://, hdfs://. A name such as breastw
is a published data set (see `datasets.fetch`).
"""

import os
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import narwhals.stable.v2 as nw
import pyarrow as pa
from numpy.typing import NDArray

from centrality.tables.columns import Source, TableError, note_replaced, numbers, require, require_replaceable, select
from centrality.tables.files import NAMED_ENCODING
from centrality.tables.formats import ROWS_BESIDE, SUFFIXES, kind_of, kind_to_write, open_location, open_stream, write
from centrality.tables.text import FAULTY_RECORDS, GAP_WORDS

__all__ = [
    "SUFFIXES",
    "Source",
    "TableError",
    "faulty_records_kept",
    "gap_words_kept",
    "kind_of",
    "kind_to_write",
    "named_encoding",
    "note_replaced",
    "numbers",
    "open_rows",
    "read",
    "require",
    "require_replaceable",
    "rows_beside",
    "select",
    "with_columns",
    "write",
]


Setting = TypeVar("Setting")


def open_rows(
    path: str | os.PathLike[str], *, encoding: str | None = None, rows: str | os.PathLike[str] | None = None
) -> Source:
    """Open the rows of a file, a folder or "-" (stdin): `schema` first, then `batches()`.

    Text is UTF-8, UTF-16 or cp1252, as its bytes show; `encoding` names another one. If the file holds vectors
    alone (.npy, .npz), `rows` may name the file of their rows: each then has its vector in a last column, `vectors`.

    >>> from centrality.tables import open_rows
    >>> with open_rows("iris") as source:
    ...     source.schema.names[:2], sum(batch.num_rows for batch in source.batches())
    (['sepal_length', 'sepal_width'], 150)
    """
    if encoding is not None:
        with named_encoding(encoding):
            return open_rows(path, rows=rows)
    if rows is not None:
        with rows_beside(path, rows):
            return open_rows(path)
    if str(path) != "-":
        return open_location(path)
    if sys.stdin is None:
        raise TableError("stdin is closed: there are no rows to read from it.")
    return open_stream(sys.stdin.buffer)  # type: ignore[arg-type]


@contextmanager
def _in_block(variable: ContextVar[Setting], value: Setting) -> Iterator[None]:
    before = variable.set(value)
    try:
        yield
    finally:
        variable.reset(before)


def named_encoding(encoding: str | None) -> AbstractContextManager[None]:
    """Read the text files that are opened in the block in this encoding; None: in what their bytes show."""
    return _in_block(NAMED_ENCODING, encoding)


def rows_beside(vectors: str | os.PathLike[str], rows: str | os.PathLike[str] | None) -> AbstractContextManager[None]:
    """Read the rows of one file with the vectors of another, where the latter is opened in the block."""
    return _in_block(ROWS_BESIDE, None if rows is None else (str(vectors), str(rows)))


def faulty_records_kept() -> AbstractContextManager[None]:
    """Read records of text that cannot be read as rows that hold nothing, in the files that are opened in the block.

    `faulty` of the source says what was wrong with each.
    """
    return _in_block(FAULTY_RECORDS, "keep")


def gap_words_kept() -> AbstractContextManager[None]:
    """Read words such as N/A as texts, not as gaps, in the CSV files and sheets that are opened in the block."""
    return _in_block(GAP_WORDS, True)  # noqa: FBT003


def read(
    path: str | os.PathLike[str], *, encoding: str | None = None, rows: str | os.PathLike[str] | None = None
) -> pa.Table:
    """Read all rows as one Arrow table. Columns of arrays without names are called x0, x1, ...

    `rows` names the file of the rows, if this one holds their vectors: read("vectors.npy", rows="meta.csv").

    >>> from centrality.tables import read
    >>> read("wine").num_rows
    178
    """
    return open_rows(path, encoding=encoding, rows=rows).table()


def with_columns(table: Any, new: dict[str, NDArray[Any]]) -> Any:
    """Return the pandas, polars or Arrow table with these columns at its end; a note says which ones they replace.

    >>> from centrality.tables import read, with_columns
    >>> import numpy as np
    >>> with_columns(read("iris"), {"score": np.zeros(150)}).column_names[-1]
    'score'
    """
    frame = nw.from_native(table, eager_only=True)
    note_replaced(new, frame.columns)
    others = frame.drop([name for name in new if name in frame.columns])
    added = [nw.new_series(name, values, backend=frame.implementation) for name, values in new.items()]
    if frame.implementation.is_pandas():  # columns are matched by the rows' labels: give the new ones the same
        import pandas as pd

        index = table.index
        added = [nw.from_native(pd.Series(v, index=index, name=n), series_only=True) for n, v in new.items()]
    return others.with_columns(added).to_native()
