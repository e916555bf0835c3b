"""Read text tables in blocks, each parsed once, from a file, packed or not, or from stdin.

The first block is parsed as Arrow guesses its types, and what comes of it is kept: it says what the columns are, and
it is the first of the rows. Records are kept as they were written, so that columns that are not used are copied to the
output byte for byte.
"""

import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from centrality.tables import arrow_messages
from centrality.tables.columns import TableError, reading, require
from centrality.tables.file_state import require_unchanged
from centrality.tables.packing import open_unpacked
from centrality.tables.records import Blocks
from centrality.tables.source import BATCH, Source, Types

LARGE_BLOCK = 64 << 20  # bytes parsed together where all rows are wanted at once: work for many threads


class Dialect:
    """Parses and extends one kind of text table; `name` is used in messages only."""

    kind: str
    separator: bytes | None = None  # of fields, where they may be quoted

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: list[str] = []  # in the header; empty if there is none
        self.rows = 0  # parsed so far, for the row number in a message

    def without_header(self, block: bytes) -> bytes:
        """Return a file's first block without its header, and remember the header."""
        return block

    def infer(self, block: bytes) -> pa.Table:
        """Parse the block in the types that its values suggest."""
        try:
            table = self._infer(block)
            table.schema.names  # noqa: B018  (Arrow decodes them now: they may be no text)
        except pa.ArrowInvalid as error:
            raise TableError(self._complaint(error)) from None
        except UnicodeDecodeError as error:
            raise TableError(
                f"{self.name}: the names are not UTF-8: {error}. {arrow_messages.HOW_TO_CONVERT}"
            ) from None
        self.rows += table.num_rows
        return table

    def parse(self, block: bytes, schema: pa.Schema, *, strict: bool) -> pa.Table:
        """Parse these columns in these types. With `strict`, raise if the block has names that the schema lacks."""
        try:
            table = self._parse(block, schema, strict=strict)
        except pa.ArrowInvalid as error:
            table = self._with_truth_values(block, schema, strict=strict)
            if table is None:
                raise TableError(self._complaint(error)) from None
        self.rows += table.num_rows
        return table

    def _with_truth_values(self, block: bytes, schema: pa.Schema, *, strict: bool) -> pa.Table | None:
        """Parse columns of true and false as the numbers 1 and 0, as `fit` does; None if that does not help."""
        try:
            guessed = self._infer(block).schema
            truths = [
                field.name
                for field in schema
                if pa.types.is_floating(field.type)
                and field.name in guessed.names
                and pa.types.is_boolean(guessed.field(field.name).type)
            ]
            loose = with_types(schema, dict.fromkeys(truths, pa.bool_()))
            return self._parse(block, loose, strict=strict).cast(schema) if truths else None
        except pa.ArrowInvalid:
            return None

    def split(self, block: bytes) -> list[bytes]:
        """Return the block's records."""
        raise NotImplementedError

    def extended_header(self, names: Sequence[str]) -> bytes:
        """Return the header with these new columns at its end."""
        return b""

    def extended_records(self, records: Sequence[bytes], values: dict[str, Any]) -> list[bytes]:
        """Return the records with a new value for each new column at their end."""
        raise NotImplementedError

    def _infer(self, block: bytes) -> pa.Table:
        raise NotImplementedError

    def _parse(self, block: bytes, schema: pa.Schema, *, strict: bool) -> pa.Table:
        raise NotImplementedError

    def _complaint(self, error: Exception) -> str:
        message = arrow_messages.explained(str(error), self.names, self.rows)
        if message.startswith("not UTF-8"):
            return f"{self.name} is {message}"
        if arrow_messages.is_about_a_value(message):
            message += ". Earlier rows, or the rows the model was fitted on, held something else there"
        return f"{self.name} cannot be read as {self.kind}: {message}"


class TextSource(Source):
    """Reads a text table; `size` is that of the file, if it is known.

    `keeps_records` says whether its records can be copied to an output of the same kind.
    """

    def __init__(
        self,
        dialect: Dialect,
        file: BinaryIO,
        *,
        live: bool = False,
        size: int | None = None,
        keeps_records: bool = True,
    ) -> None:
        self.name, self.kind, self.live, self.keeps_records = dialect.name, dialect.kind, live, keeps_records
        self.dialect, self._file = dialect, file
        self._reader = Blocks(file, dialect.separator, live=live)
        self._blocks = self._guarded(iter(self._reader))
        try:
            self._begin(size)
        except BaseException:
            self.close()
            raise

    def _begin(self, size: int | None) -> None:
        block = next(self._blocks, b"")
        if not block.strip():
            raise TableError(f"{self.name} is empty: it has 0 rows and 0 columns.")
        self._first = self.dialect.without_header(block)
        while not self._first.strip(b"\r\n"):  # on a stream, rows may come later than the line above them
            self._first = next(self._blocks, b"")
            if not self._first:
                raise TableError(f"{self.name} is empty: it has 0 rows and {len(self.dialect.names)} columns.")
        self._first_table = self.dialect.infer(self._first)
        self.schema = self._first_table.schema
        if size is not None:
            rows = self._first_table.num_rows
            self.rows = rows if size <= len(block) else int(rows * size / len(block))

    def _guarded(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        with reading(self.name, self.kind):
            yield from blocks
            require_unchanged(self.states)

    def close(self) -> None:
        if self._file is not getattr(sys.stdin, "buffer", None):  # there may be no stdin
            self._file.close()

    def table(self) -> pa.Table:
        """Read all rows at once, in types that fit all blocks: a later block may need another type than the first."""
        with self:
            self._reader.size = LARGE_BLOCK
            blocks, parts = [self._first], [self._first_table]
            for block in self._blocks:
                blocks.append(block)
                parts.append(self.dialect.infer(block))
            schema = common_schema(parts)
            if schema is None:
                self.dialect.rows = 0
                return self.dialect.infer(b"".join(blocks))
            return pa.concat_tables(map(partial(self._in_types, schema), parts, blocks))

    def records(self, columns: Sequence[str], types: Types | None = None) -> Iterator[tuple[pa.Table, list[bytes]]]:
        """Yield these columns of some rows, and the same rows byte for byte as they were written."""
        require(self.schema.names, columns)
        for table, block in self._tables(columns, types, strict=False):
            records = self.dialect.split(block)
            if len(records) != table.num_rows:
                raise TableError(
                    f"{self.name} cannot be read as {self.kind}: {len(records)} lines hold {table.num_rows} rows, "
                    "one line for each was wanted."
                )
            yield table, records

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for table, _ in self._tables(names, types, strict=len(names) == len(self.schema)):
            yield from table.to_batches(max_chunksize=BATCH)

    def _tables(self, names: Sequence[str], types: Types | None, *, strict: bool) -> Iterator[tuple[pa.Table, bytes]]:
        """Yield each block's table, and the block."""
        schema = with_types(pa.schema([self.schema.field(name) for name in names]), types)
        yield self._in_types(schema, self._first_table, self._first, strict=strict), self._first
        self._first_table = None  # so that its memory is freed
        for block in self._blocks:
            yield self.dialect.parse(block, schema, strict=strict), block

    def _in_types(self, schema: pa.Schema, table: pa.Table, block: bytes, *, strict: bool = False) -> pa.Table:
        """Return a block's rows in these types: by casting the parsed table, or by parsing the text again if needed."""
        fitting = as_if_parsed(table, schema)
        if fitting is None:
            self.dialect.rows -= table.num_rows
            return self.dialect.parse(block, schema, strict=strict)
        return fitting


def open_text(path: Path, dialect: Callable[[str, bytes], Dialect]) -> TextSource:
    """Open a text file, packed or not, or a named pipe; `dialect` returns its dialect from its name and first bytes."""
    is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    file, is_plain = open_unpacked(path)
    try:
        chosen = dialect(str(path), file.peek())
    except BaseException:
        file.close()
        raise
    size = path.stat().st_size if is_plain and not is_pipe else None
    return TextSource(chosen, file, live=is_pipe and is_plain, size=size)


def in_arrows_memory(block: bytes) -> pa.BufferReader:
    """Copy the block to memory that Arrow's threads can free without the interpreter.

    One of them may be the last to release what it has read, after it has returned the rows. If that were a Python
    object while the program ends, the thread would be stopped inside a destructor, and the whole process aborted.
    """
    sink = pa.BufferOutputStream()
    sink.write(block)
    return pa.BufferReader(sink.getvalue())


def with_types(schema: pa.Schema, types: Types | None) -> pa.Schema:
    """Return the schema with these columns in these types."""
    types = types or {}
    return pa.schema([(field.name, types.get(field.name, field.type)) for field in schema])


def as_if_parsed(table: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """Cast the columns to the types of `schema` as if text had been parsed so; None if the text must be parsed."""
    columns = [_as_if_parsed(table[field.name], field.type) for field in schema]
    return None if any(column is None for column in columns) else pa.table(columns, schema=schema)


def _as_if_parsed(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray | None:
    if column.type == kind:
        return column
    if column.null_count == len(column):
        return pa.chunked_array([pa.nulls(len(column), kind)])
    if pa.types.is_boolean(column.type) and pa.types.is_float64(kind):
        return column.cast(kind)
    if pa.types.is_integer(column.type) and pa.types.is_float64(kind):
        return column.cast(kind, safe=False)  # both round to the nearest number
    return None


def common_schema(parts: Sequence[pa.Table]) -> pa.Schema | None:
    """Return the types that Arrow would guess for all tables together; None if the text must be parsed."""
    names = parts[0].column_names
    if any(set(part.column_names) != set(names) for part in parts):
        return None
    kinds = [_common_type([part[name] for part in parts]) for name in names]
    return None if any(kind is None for kind in kinds) else pa.schema(list(zip(names, kinds, strict=True)))


def _common_type(columns: Sequence[pa.ChunkedArray]) -> pa.DataType | None:
    """Return a type for all columns that are not empty: float if integers and floats mix, text if some are text."""
    kinds = {column.type for column in columns if column.null_count < len(column)} or {columns[0].type}
    if pa.string() in kinds:
        return pa.string()
    if kinds == {pa.int64(), pa.float64()}:
        return pa.float64()
    return kinds.pop() if len(kinds) == 1 else None
