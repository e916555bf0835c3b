"""Text tables, .csv .tsv and .jsonl, cut into blocks of whole records: from a file, from gzip, or as stdin brings them.

A block is parsed by Arrow, and its records are kept as they were written, so that columns nobody asked about
travel on to the output byte for byte.
"""

import re
import select
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import pyarrow as pa

from centrality.tables.columns import TableError

BLOCK = 4 << 20  # bytes parsed together: some ten thousand rows
PIECES = 16  # of a pipe's 64 kB, at most so many together: a busy stream is parsed in blocks of 1 MB
SEPARATORS = {".csv": ",", ".tsv": "\t"}
BOM = b"\xef\xbb\xbf"


def blocks(file: BufferedReader, *, quoted: bool, live: bool, size: int = BLOCK) -> Iterator[bytes]:
    """Whole records, about `size` bytes at a time (-1 means all); a live stream gives what has come as soon as it has.

    With `quoted`, a line break inside quotation marks ends no record.
    """
    rest = b""
    while piece := _waiting(file) if live else file.read(size):
        rest = rest + piece if rest else piece.removeprefix(BOM)
        end = rest.rfind(b"\n") + 1
        if quoted and rest.count(b'"', 0, end) % 2:
            end = 0  # the last line break may lie inside quotation marks: wait for more
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest.strip():
        yield rest


def _waiting(file: BufferedReader) -> bytes:
    """What has come on a stream; waits only if that is nothing."""
    pieces = [file.read1(1 << 16)]
    while pieces[-1] and len(pieces) < PIECES and select.select([file], [], [], 0)[0]:
        pieces.append(file.read1(1 << 16))
    return b"".join(pieces)


def records(block: bytes, *, quoted: bool) -> list[bytes]:
    """The block's records, without line ends and without empty ones."""
    lines = block.splitlines()
    if quoted and b'"' in block:
        lines = list(_rejoined(block.splitlines(keepends=True)))
    return [line for line in lines if line.strip()]


def _rejoined(lines: list[bytes]) -> Iterator[bytes]:
    """Lines put together again where a quoted value spans several."""
    record = b""
    for line in lines:
        record += line
        if record.count(b'"') % 2 == 0:
            yield record.rstrip(b"\r\n")
            record = b""
    if record:
        yield record


class TextFormat:
    """How one kind of text table is parsed; `name` is only for messages."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name
        self.quoted = kind in SEPARATORS
        self.header: list[str] | None = None
        self.rows = 0  # parsed so far, for the row number in a message

    def begin(self, block: bytes) -> tuple[bytes, pa.Schema]:
        """The first block without its header line, and the schema its rows suggest."""
        if not self.quoted:
            return block, self._parsed(block, None, True).schema
        lines = records(block, quoted=True)
        if not lines:
            raise TableError(f"{self.name} is empty: it has 0 rows and 0 columns.")
        self.header = _fields(lines[0], SEPARATORS[self.kind])
        twice = sorted({name for name in self.header if self.header.count(name) > 1})
        if twice:
            raise TableError(f"{self.name}: column names must differ, but {twice[0]!r} comes twice.")
        body = b"\n".join(lines[1:]) + b"\n"
        if len(lines) == 1:
            return b"", pa.schema([(name, pa.string()) for name in self.header])
        guess, text = self._parsed(body, None, True), self._parsed(body, {n: pa.string() for n in self.header}, True)
        return body, pa.schema([(f.name, _kept(f.type, text[f.name])) for f in guess.schema])

    def parse(self, block: bytes, schema: pa.Schema, strict: bool) -> pa.Table:
        """The columns of `schema`, in its types. `strict` refuses JSON keys that it does not name."""
        table = self._parsed(block, {field.name: field.type for field in schema}, not strict)
        self.rows += int(table.num_rows)
        return table

    def _parsed(self, block: bytes, types: dict[str, Any] | None, lenient: bool) -> pa.Table:
        try:
            return self._csv(block, types, True) if self.quoted else _json(block, types, lenient)
        except pa.ArrowInvalid as error:
            raise TableError(self._explained(error, block, types)) from None

    def _csv(self, block: bytes, types: dict[str, Any] | None, threads: bool) -> pa.Table:
        from pyarrow import csv

        return csv.read_csv(
            _in_arrows_memory(block),
            read_options=csv.ReadOptions(column_names=self.header, use_threads=threads),
            parse_options=csv.ParseOptions(delimiter=SEPARATORS[self.kind], newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                column_types=types, include_columns=list(types) if types else None, strings_can_be_null=True
            ),
        )

    def _explained(self, error: Exception, block: bytes, types: dict[str, Any] | None) -> str:
        text = str(error)
        if self.quoted:
            try:
                self._csv(block, types, False)  # one thread knows the row's number
            except pa.ArrowInvalid as same:
                text = str(same)
        if "UTF8" in text or "UTF-8" in text:
            return (
                f"{self.name} is not UTF-8 throughout: {text}. Convert it first, "
                "for example: iconv -f latin1 -t utf-8 old > new"
            )
        # Blocks are parsed without the header line, so that Arrow's row 1 is the first row of values.
        text = re.sub(r"Row #(\d+)", lambda found: f"row {int(found[1]) + self.rows}", text)
        if header := self.header or []:
            text = re.sub(r"In CSV column #(\d+)", lambda found: f"column {header[int(found[1])]!r}", text)
        text = re.sub(r"Column\(/(.*?)\)", r"column '\1'", text)  # as Arrow's JSON reader has it, rows from 0
        text = re.sub(r"in row (\d+)", lambda found: f"in row {int(found[1]) + self.rows + 1}", text)
        if types and "conversion error" in text:
            text += ". Earlier rows, or the rows the model was fitted on, held something else there"
        return f"{self.name} cannot be read as {self.kind}: {text}"


def _json(block: bytes, types: dict[str, Any] | None, lenient: bool) -> pa.Table:
    from pyarrow import json

    schema = None if types is None else pa.schema(list(types.items()))
    unexpected = "infer" if types is None else "ignore" if lenient else "error"
    return json.read_json(
        _in_arrows_memory(block),
        read_options=json.ReadOptions(block_size=len(block) + 1),
        parse_options=json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
    )


def _in_arrows_memory(block: bytes) -> pa.BufferReader:
    """The block copied to where Arrow's threads can free it without the interpreter.

    One of them may be the last to let go of what it has read, after the rows are back with us. If that were a Python
    object while the program ends, the thread would be stopped inside a destructor, and the whole process aborted.
    """
    sink = pa.BufferOutputStream()
    sink.write(block)
    return pa.BufferReader(sink.getvalue())


def _fields(line: bytes, separator: str) -> list[str]:
    import csv

    try:
        return next(csv.reader([line.decode("utf-8")], delimiter=separator))
    except UnicodeDecodeError as error:
        raise TableError(
            f"The column names are not UTF-8: {error}. Convert the file first, "
            "for example: iconv -f latin1 -t utf-8 old > new"
        ) from None


def _kept(kind: pa.DataType, text: Any) -> pa.DataType:
    """The type a column is read in: text where a number would lose its leading zeros, or where nothing is known."""
    from pyarrow import compute

    if pa.types.is_null(kind):
        return pa.string()
    padded = pa.types.is_integer(kind) and compute.any(compute.match_substring_regex(text, r"^[+-]?0\d")).as_py()
    return pa.string() if padded else kind


def wanted(schema: pa.Schema, types: dict[str, Any] | None) -> pa.Schema:
    """`schema` with these columns in these types."""
    types = types or {}
    return pa.schema([(f.name, types.get(f.name, f.type)) for f in schema])
