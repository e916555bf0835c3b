"""Define what every format has: a `Source` of rows, a `Sink` for them, and a `Format` that names both by an ending."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from centrality.tables.columns import TableError, reading, repeated, require, require_distinct
from centrality.tables.file_state import FileState, require_unchanged

if TYPE_CHECKING:
    from centrality.tables.parquet import Footer

BATCH = 32_768  # rows read together, where the format lets us choose

Types = dict[str, pa.DataType]


class Source:
    """Gives rows: `schema` is known first; `rows` is their number or an estimate of it, None if it is not known.

    >>> from centrality import tables
    >>> with tables.open_rows("wine") as source:
    ...     print(len(source.schema), sum(batch.num_rows for batch in source.batches()))
    13 178
    """

    name: str
    kind: str  # the ending of such files
    schema: pa.Schema
    rows: int | None = None
    live = False  # rows come while somebody makes them: each is to be handed on as soon as it is there
    in_part = False  # these are only some of a file's rows
    files: "Sequence[Footer]" = ()  # empty where rows are not counted file by file
    states: Sequence[FileState | None] = ()  # of the files, before they were read

    def batches(self, columns: Sequence[str] | None = None, types: Types | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in order, a bounded number at a time: these columns, text formats read in these types."""
        names = self.schema.names if columns is None else list(columns)
        require(self.schema.names, names)
        with reading(self.name, self.kind):
            yield from (batch for batch in self._batches(names, types) if batch.num_rows)
            require_unchanged(self.states)

    def table(self) -> pa.Table:
        """Read all rows at once; text formats choose types by all rows."""
        with self:
            return pa.Table.from_batches(list(self.batches()), self.schema)

    def close(self) -> None:
        """Close the file."""

    def __enter__(self) -> "Source":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError

    def _require_rows(self) -> None:
        require_distinct(repeated(self.schema.names), self.name)
        if self.rows == 0 or len(self.schema) == 0:
            raise TableError(f"{self.name} is empty: it has {self.rows or 0} rows and {len(self.schema)} columns.")


class Sink:
    """Takes tables in order; `close` ends the file."""

    def write(self, table: pa.Table) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Write what is known only at the end, such as a footer."""


MakeSink = Callable[[BinaryIO, pa.Schema], Sink]  # for an open binary file and the schema of the tables to come


@dataclass(frozen=True)
class Format:
    """Define how files of one ending are read and written."""

    read: Callable[[Path], Source]
    write: MakeSink | None = None  # None: they are only read
    write_stream: MakeSink | None = None  # onto stdout, as the rows come; None: nobody could read that as it comes
    is_text: bool = False  # such files may also be packed, and then end in .gz, .bz2, .zst or .zip
    keeps_note: bool = False  # whether the schema's metadata can be found again without reading the rows
