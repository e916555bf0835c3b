"""Read tables from text: blocks, records, messages.

The first block is parsed as Arrow guesses its types, and what comes of it is kept: it says what the columns are, and
it is the first of the rows. Records are kept as they were written, so that columns that are not used are copied to the
output byte for byte.

A record is a line, except in CSV and TSV: there a line break inside quotation marks ends no record. As in Arrow, only
a quotation mark at the beginning of a field opens one; the one in `5" pipe` is a character like any other. Nearly
always marks open and close in turn, which is quickly checked for all of them; only otherwise is each looked at.
"""

import re
import select
import stat
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality.tables.columns import BATCH, Source, TableError, Types, reading, require, require_unchanged
from centrality.tables.files import NAME_IT, ToUtf8, encoding_of, head_in_utf8, open_unpacked


def explained(message: str, names: Sequence[str], rows_before: int) -> str:
    """Return the message with columns by their names and rows by their number in the file, counted from 1.

    Arrow counts from the beginning of the block it was given, whose header line was taken off: its CSV reader counts
    rows from 1 and columns from 0, its JSON reader counts rows from 0.
    """
    if "UTF8" in message or "UTF-8" in message:
        return f"not UTF-8 throughout: {message}. {NAME_IT}"
    if "straddl" in message:  # what Arrow says if the text ends inside a quoted field
        return f"a quotation mark opens a field that never ends, somewhere after row {rows_before}"
    message = re.sub(r"Row #(\d+)", lambda row: f"row {int(row[1]) + rows_before}", message)
    message = re.sub(r"In CSV column #(\d+)", lambda column: f"column {names[int(column[1])]!r}", message)
    message = re.sub(r"Column\(/(.*?)\)", r"column '\1'", message)
    return re.sub(r"in row (\d+)", lambda row: f"in row {int(row[1]) + rows_before + 1}", message)


def is_about_a_value(message: str) -> bool:
    """Say whether the message is about a value of the wrong type, rather than about text that is no table."""
    return "conversion error" in message


# What is done with records that cannot be read: "stop" raises, and "keep" makes them rows of nothing.
FAULTY_RECORDS: ContextVar[str] = ContextVar("FAULTY_RECORDS", default="stop")
GAP_WORDS: ContextVar[bool] = ContextVar("GAP_WORDS", default=False)  # whether N/A and the like stay texts
ENOUGH_RECORDS = 1_000  # show the types of columns where the first rows cannot be read together
LARGE_BLOCK = 64 << 20  # bytes parsed together where all rows are wanted at once: work for many threads


class Dialect:
    """Parses and extends one kind of text table; `name` is used in messages only."""

    kind: str
    separator: bytes | None = None  # of fields, where they may be quoted

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: list[str] = []  # in the header; empty if there is none
        self.rows = 0  # parsed so far, for the row number in a message
        self.rows_above: int | None = None  # lines of the file, or rows of the sheet, above the first row

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
            raise TableError(f"{self.name}: the names are not UTF-8: {error}. {NAME_IT}") from None
        self.rows += table.num_rows
        return table

    def parse(self, block: bytes, schema: pa.Schema, *, strict: bool) -> pa.Table:
        """Parse these columns in these types. With `strict`, raise if the block has names that the schema lacks."""
        try:
            table = self._parse(block, schema, strict=strict)
        except pa.ArrowInvalid as error:
            table = None
            with suppress(pa.ArrowInvalid):  # true and false in a column of numbers are 1 and 0, as in fitting
                guessed = {field.name: field.type for field in self._infer(block).schema}
                numbers = [field.name for field in schema if pa.types.is_floating(field.type)]
                truths = [name for name in numbers if guessed.get(name) == pa.bool_()]
                if truths:
                    types = dict.fromkeys(truths, pa.bool_())
                    table = self._parse(block, with_types(schema, types), strict=strict).cast(schema)
            if table is None:
                raise TableError(self._complaint(error)) from None
        self.rows += table.num_rows
        return table

    def split(self, block: bytes) -> list[bytes]:
        """Return the block's records."""
        raise NotImplementedError

    def repaired(self, record: bytes) -> bytes:
        """Return the record if new values can stand at its end, else one of nothing."""
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
        message = explained(str(error), self.names, self.rows)
        if message.startswith("not UTF-8"):
            return f"{self.name} is {message}"
        if is_about_a_value(message):
            message += ". Earlier rows, or the rows the model was fitted on, held something else there"
        return f"{self.name} cannot be read as {self.kind}: {message}"


class TextSource(Source):
    """Reads a text table; `size` is that of the file, if it is known, and `encoding` that of its text if not UTF-8.

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
        encoding: str | None = None,
    ) -> None:
        self.name = dialect.name
        self.kind = dialect.kind
        self.live = live
        self.keeps_records = keeps_records
        self.dialect = dialect
        self._file = file
        self._to_utf8 = ToUtf8(dialect.name, encoding)
        self._reader = Blocks(file, dialect.separator, self._to_utf8, live=live)
        self._blocks = self._guarded(iter(self._reader))
        self.keeps_faulty = keeps_records and FAULTY_RECORDS.get() == "keep"
        self.faulty: list[str] = []  # what was wrong with each record that could not be read
        self._rows_before = 0  # the block that is read, if faulty records are kept
        if self.keeps_faulty and live:  # a mark that nobody closes would withhold all that comes after it
            self._reader.separator = None
        try:
            block = next(self._blocks, b"")
            if not block.strip():
                raise TableError(f"{self.name} is empty: it has 0 rows and 0 columns.")
            self._first = self.dialect.without_header(block)
            while not self._first.strip(b"\r\n"):  # on a stream, rows may come later than the line above them
                self._first = next(self._blocks, b"")
                if not self._first:
                    raise TableError(f"{self.name} is empty: it has 0 rows and {len(self.dialect.names)} columns.")
            try:
                self._first_table = self.dialect.infer(self._first)
                self.schema = self._first_table.schema
            except TableError:
                if not (self.keeps_faulty or live) or not (schema := self._schema_of_records()):
                    raise
                self.schema = schema
                self._first_table = None
                self.dialect.rows = 0
        except BaseException:
            self.close()
            raise
        self.rows_above = None if live else self.dialect.rows_above
        if size is not None and self._to_utf8.encoding is None:
            rows = len(self._split(self._first)) if self._first_table is None else self._first_table.num_rows
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
            first = self.dialect.infer(self._first) if self._first_table is None else self._first_table  # raises
            blocks = [self._first]
            parts = [first]
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
        if self.keeps_faulty:
            schema = with_types(pa.schema([self.schema.field(name) for name in columns]), types)
            for block, _ in self._all_blocks():
                yield self._with_faulty(schema, block)
            return
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
        for block, table in self._all_blocks():
            if self.keeps_faulty:
                yield self._with_faulty(schema, block)[0], block
                continue
            try:
                if table is None:
                    table = self.dialect.parse(block, schema, strict=strict)
                else:
                    table = self._in_types(schema, table, block, strict=strict)
            except TableError:
                if self.live:  # what came before the record is scored, before the error ends the stream
                    for records, rows, _ in self._parsed(schema, self._split(block), self.dialect.rows):
                        if rows is None:
                            break
                        yield rows, b"".join(record + b"\n" for record in records)
                raise
            yield table, block

    def _all_blocks(self) -> Iterator[tuple[bytes, pa.Table | None]]:
        """Yield each block, the first with its table."""
        table = self._first_table
        self._first_table = None  # so that its memory is freed
        yield self._first, table
        for block in self._blocks:
            yield block, None

    def _schema_of_records(self) -> pa.Schema | None:
        """Return the type that most of the first records have in each column; None if none of them can be read."""
        kinds: dict[str, Counter[pa.DataType]] = {}
        for record in self._split(self._first)[:ENOUGH_RECORDS]:
            with suppress(TableError):
                for field in self.dialect.infer(record + b"\n").schema:
                    kinds.setdefault(field.name, Counter())[field.type] += 1
        chosen = {name: count.most_common(1)[0][0] for name, count in kinds.items()}
        are_mixed = {name for name, count in kinds.items() if {pa.int64(), pa.float64()} <= set(count)}
        return pa.schema([(name, pa.float64() if name in are_mixed else kind) for name, kind in chosen.items()])

    def _split(self, block: bytes) -> list[bytes]:
        return split_lines(block) if self.live and self.keeps_faulty else self.dialect.split(block)

    def _with_faulty(self, schema: pa.Schema, block: bytes) -> tuple[pa.Table, list[bytes]]:
        """Return a block's rows, of which those that cannot be read hold nothing, and its records, these repaired."""
        nothing = pa.table([pa.nulls(1, field.type) for field in schema], schema=schema)
        tables = []
        readable: list[bytes] = []
        for records, table, fault in self._parsed(schema, self._split(block), self._rows_before):
            tables.append(nothing if table is None else table)
            readable += records if table is not None else [self.dialect.repaired(records[0])]
            self.faulty += [fault] if table is None else []
        self._rows_before += len(readable)
        return pa.concat_tables(tables), readable

    def _parsed(
        self, schema: pa.Schema, records: list[bytes], before: int
    ) -> Iterator[tuple[list[bytes], pa.Table | None, str]]:
        """Yield records that follow one another, and their rows; a record that cannot be read with its fault.

        Halves of halves are parsed until those are found: few records need few attempts. If one has several lines, a
        quotation mark that nobody closes may have joined them: then they are tried one by one.
        """
        self.dialect.rows = before
        fault = f"{self.name}: row {before + 1:,} is no single row"
        try:
            table = self.dialect.parse(b"".join(record + b"\n" for record in records), schema, strict=False)
            if table.num_rows == len(records):
                yield records, table, ""
                return
        except TableError as error:
            fault = str(error)
        if len(records) == 1 and len(records := split_lines(records[0])) == 1:
            yield records, None, fault
            return
        half = len(records) // 2
        yield from self._parsed(schema, records[:half], before)
        yield from self._parsed(schema, records[half:], before + half)

    def _in_types(self, schema: pa.Schema, table: pa.Table, block: bytes, *, strict: bool = False) -> pa.Table:
        """Return a block's rows in these types: by casting the parsed table, or by parsing the text again if needed."""
        fitting = cast_or_none(table, schema)
        if fitting is None:
            self.dialect.rows -= table.num_rows
            return self.dialect.parse(block, schema, strict=strict)
        return fitting


def open_text(path: Path, dialect: Callable[[str, bytes], Dialect]) -> TextSource:
    """Open a text file, packed or not, or a named pipe; `dialect` returns its dialect from its name and first bytes."""
    is_pipe = stat.S_ISFIFO(path.stat().st_mode)
    file, is_plain = open_unpacked(path)
    try:
        head = file.peek()
        encoding = encoding_of(str(path), head)
        chosen = dialect(str(path), head_in_utf8(head, encoding))
    except BaseException:
        file.close()
        raise
    size = path.stat().st_size if is_plain and not is_pipe else None
    return TextSource(chosen, file, live=is_pipe and is_plain, size=size, encoding=encoding)


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


def cast_or_none(table: pa.Table, schema: pa.Schema) -> pa.Table | None:
    """Cast the columns to the types of `schema` as if text had been parsed so; None if the text must be parsed."""
    columns = []
    for target in schema:
        column = table[target.name]
        if column.type != target.type:
            if column.null_count == len(column):
                column = pa.chunked_array([pa.nulls(len(column), target.type)])
            elif pa.types.is_float64(target.type) and (
                pa.types.is_boolean(column.type) or pa.types.is_integer(column.type)
            ):
                column = column.cast(target.type, safe=False)  # which rounds to the nearest number, as parsing does
            else:
                return None
        columns.append(column)
    return pa.table(columns, schema=schema)


def common_schema(parts: Sequence[pa.Table]) -> pa.Schema | None:
    """Return the types that Arrow would guess for all tables together; None if the text must be parsed."""
    names = parts[0].column_names
    if any(set(part.column_names) != set(names) for part in parts):
        return None
    fields = []
    for name in names:
        kinds = {part[name].type for part in parts if part[name].null_count < len(part)} or {parts[0][name].type}
        if pa.string() in kinds:
            fields.append((name, pa.string()))
        elif kinds == {pa.int64(), pa.float64()}:
            fields.append((name, pa.float64()))
        elif len(kinds) == 1:
            fields.append((name, kinds.pop()))
        else:
            return None
    return pa.schema(fields)


BLOCK = 4 << 20  # bytes parsed together: some ten thousand rows
PIECES = 16  # of a pipe's 64 kB, at most so many together: a busy stream is parsed in blocks of 1 MB
VERY_LONG = 16 * BLOCK  # bytes without a record's end: then it is looked for again only when there are twice as many
LONGEST = 256 << 20  # bytes of a record; more are a quotation mark that nobody closed, or no text
UNCLOSED = "; a quotation mark at the beginning of a field may lack its other one"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class Blocks:
    """Yields whole records, about `size` bytes at a time; from a live stream, as soon as they have come.

    With a `separator` of fields, a line break inside quotation marks ends no record.
    """

    file: BinaryIO
    separator: bytes | None
    to_utf8: ToUtf8 = field(default_factory=lambda: ToUtf8("The text"))
    live: bool = False
    size: int = BLOCK

    def __iter__(self) -> Iterator[bytes]:
        waiting: list[bytes] = []  # what came after the last record's end
        looked_from = 0  # bytes waiting, from which on a record's end is looked for
        is_first = True
        while piece := self._what_has_come() if self.live else self.file.read(self.size):
            is_last = not self.live and len(piece) < self.size
            piece = self.to_utf8(piece)
            waiting.append(piece.removeprefix(BYTE_ORDER_MARK) if is_first else piece)
            is_first = False
            if is_last or sum(map(len, waiting)) < looked_from:
                continue
            together = b"".join(waiting)
            end = last_record_end(together, self.separator)
            if end:
                yield together[:end]
            waiting = [together[end:]]
            looked_from = 0 if end or len(together) < VERY_LONG else 2 * len(together)
            if not end and len(together) > LONGEST:
                raise ValueError(
                    f"no record ends within {LONGEST >> 20} MB" + (UNCLOSED if b'"' in together else "; is it text?")
                )
        rest = b"".join(waiting) + self.to_utf8(b"", last=True)
        if self.separator is not None and is_open(rest, self.separator) and FAULTY_RECORDS.get() == "stop":
            raise ValueError("a quotation mark opens a field that never ends")
        if rest.strip(b"\r\n" if self.separator is not None else None):
            yield rest

    def _what_has_come(self) -> bytes:
        """Return the bytes that a stream has ready; wait only if there are none."""
        file: Any = self.file
        pieces = [file.read1(1 << 16)]
        while pieces[-1] and len(pieces) < PIECES and select.select([file], [], [], 0)[0]:
            pieces.append(file.read1(1 << 16))
        return b"".join(pieces)


def split_lines(block: bytes) -> list[bytes]:
    """Return a block's lines without those that hold nothing but white space."""
    return [line for line in block.splitlines() if line.strip()]


def split_records(block: bytes, separator: bytes) -> list[bytes]:
    """Return a block's records without line ends and without empty ones."""
    if b'"' not in block:
        return [line for line in block.splitlines() if line]
    if _open_and_close_in_turn(block, _marks(block), separator):
        parts = _joined_where_odd(block.splitlines(keepends=True))
    else:
        ends = [*record_ends(block, separator), len(block)]
        parts = (block[start:end] for start, end in zip([0, *ends], ends, strict=False))
    records = (part.rstrip(b"\r\n") for part in parts)
    return [record for record in records if record]


def last_record_end(text: bytes, separator: bytes | None) -> int:
    """Return the position after the last line break that ends a record, 0 if none does; text begins with a record."""
    end = text.rfind(b"\n") + 1
    if separator is None or b'"' not in text:
        return end
    marks = _marks(text)
    if not _open_and_close_in_turn(text, marks, separator):
        return max(record_ends(text, separator), default=0)
    while end and (before := int(np.searchsorted(marks, end))) % 2:
        end = text.rfind(b"\n", 0, int(marks[before - 1])) + 1  # before the mark that opens this field
    return end


def record_ends(text: bytes, separator: bytes) -> Iterator[int]:
    """Yield the position after each line break outside quoted fields; the text begins with a record."""
    for match in _quoted_field_or_line_break(separator).finditer(text):
        if text[match.start()] in b"\r\n":
            yield match.end()


@cache
def _quoted_field_or_line_break(separator: bytes) -> re.Pattern[bytes]:
    begins = rb"(?:(?<=[\r\n" + re.escape(separator) + rb"])|\A)"
    return re.compile(begins + rb'"[^"]*(?:""[^"]*)*("|\Z)|\r\n?|\n')


def is_open(text: bytes, separator: bytes) -> bool:
    """Say whether the text ends inside a quoted field; it begins with a record."""
    if b'"' not in text or (len(marks := _marks(text)) % 2 == 0 and _open_and_close_in_turn(text, marks, separator)):
        return False
    *_, last = _quoted_field_or_line_break(separator).finditer(text)
    return last.end() == len(text) and text[last.start()] == ord('"') and last[1] == b""


def _marks(text: bytes) -> NDArray[np.intp]:
    return np.flatnonzero(np.frombuffer(text, np.uint8) == ord('"'))


def _open_and_close_in_turn(text: bytes, marks: NDArray[np.intp], separator: bytes) -> bool:
    """Say whether every other quotation mark begins a field, or is the second of a doubled one."""
    before = np.frombuffer(text, np.uint8)[np.maximum(marks[::2] - 1, 0)]
    return bool((np.isin(before, np.frombuffer(b'\r\n"' + separator, np.uint8)) | (marks[::2] == 0)).all())


def _joined_where_odd(lines: list[bytes]) -> Iterator[bytes]:
    """Yield lines, joined until their number of quotation marks is even."""
    together: list[bytes] = []
    for line in lines:
        is_odd = line.count(b'"') % 2 == 1
        if not together and not is_odd:
            yield line
            continue
        together.append(line)
        if is_odd and len(together) > 1:
            yield b"".join(together)
            together = []
    if together:
        yield b"".join(together)
