"""Read and write JSON: lines and arrays."""

import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa

from centrality._internal.checks import distinct_keys
from centrality.tables.columns import Format, Sink, TableError, Types, is_number, reading
from centrality.tables.files import ToUtf8, encoding_of, head_in_utf8, open_unpacked
from centrality.tables.text import (
    BYTE_ORDER_MARK,
    Dialect,
    TextSource,
    cast_or_none,
    in_arrows_memory,
    open_text,
    split_lines,
    with_types,
)

DEEPEST = 200  # lists and objects inside each other: Arrow's parser calls itself for each, until the stack ends


class JsonDialect(Dialect):
    """Parses JSON lines."""

    def __init__(self, name: str, kind: str = ".jsonl") -> None:
        super().__init__(name)
        self.kind = kind

    def split(self, block: bytes) -> list[bytes]:
        return split_lines(block)

    def repaired(self, record: bytes) -> bytes:
        try:
            return record if isinstance(json.loads(record), dict) else b"{}"
        except ValueError:
            return b"{}"

    def extended_records(self, records: Sequence[bytes], values: dict[str, Any]) -> list[bytes]:
        columns = (
            # JSON knows no NaN: such a number is missing.
            [json.dumps(v) if isinstance(v, str) else "null" if v != v else repr(v) for v in column.tolist()]
            for column in values.values()
        )
        shape = ", ".join(f"{json.dumps(name).replace('%', '%%')}: %s" for name in values) + "}\n"
        extended = []
        for record, row in zip(records, zip(*columns, strict=True), strict=True):
            unclosed = record.rstrip()[:-1]
            comma = b"" if unclosed.strip() == b"{" else b", "
            extended.append(unclosed + comma + (shape % row).encode())
        return extended

    def _infer(self, block: bytes) -> pa.Table:
        return self._read(block, None, "infer")

    def _parse(self, block: bytes, schema: pa.Schema, *, strict: bool) -> pa.Table:
        unexpected = "error" if strict else "ignore"
        try:
            return self._read(block, schema, unexpected)
        except pa.ArrowInvalid:
            # JSON says itself what is a number: it stays one where text would do, such as $1,234.50 in other rows.
            guessed = self._infer(block).schema
            numbers = {
                field.name: guessed.field(field.name).type
                for field in schema
                if pa.types.is_string(field.type)
                and field.name in guessed.names
                and is_number(guessed.field(field.name).type)
            }
            if not numbers:
                raise
            return self._read(block, with_types(schema, numbers), unexpected)

    def _read(self, block: bytes, schema: pa.Schema | None, unexpected: str) -> pa.Table:
        from pyarrow import json as arrow_json

        brackets = block.count(b"[") + block.count(b"{")
        if brackets - block.count(b"\n") > DEEPEST:  # more than in flat records, which have one a line
            for row, line in enumerate(block.split(b"\n"), self.rows + 1):
                if line.count(b"[") + line.count(b"{") > DEEPEST and depth(line) > DEEPEST:
                    raise TableError(
                        f"{self.name} cannot be read as {self.kind}: row {row}: at most {DEEPEST} lists and objects "
                        "inside each other were wanted, but there are more."
                    )
        return arrow_json.read_json(
            in_arrows_memory(block),
            read_options=arrow_json.ReadOptions(block_size=len(block) + 1),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=unexpected),
        )


def parse_rows(lines: bytes, columns: Sequence[str], types: Types, name: str) -> pa.Table:
    """Parse these columns of JSON lines as a file of such lines is read, in these types where they are given."""
    dialect = JsonDialect(name)
    guessed = dialect.infer(lines)
    schema = with_types(pa.schema([guessed.schema.field(column) for column in columns]), types)
    dialect.rows = 0
    table = cast_or_none(guessed, schema)
    return dialect.parse(lines, schema, strict=False) if table is None else table


def depth(line: bytes) -> int:
    """Return the greatest depth of nested lists and objects."""
    brackets = np.frombuffer(re.sub(rb'"(?:[^"\\]|\\.)*"|[^\[\]{}"]+', b"", line), np.uint8)
    opens = (brackets == ord("[")) | (brackets == ord("{"))
    return int(np.cumsum(np.where(opens, 1, -1)).max(initial=0))


class JsonSink(Sink):
    """Writes one object for each row, on a line of its own."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._file = file

    def write(self, table: pa.Table) -> None:
        self._file.write(("\n".join(self.lines(table)) + "\n").encode())

    def lines(self, table: pa.Table) -> Iterator[str]:
        """Yield the object of each row."""
        for row in table.to_pylist():
            finite = {k: None if isinstance(v, float) and not np.isfinite(v) else v for k, v in row.items()}
            yield json.dumps(finite, ensure_ascii=False, default=str)


JSONL = Format(lambda path: open_text(path, lambda name, _: JsonDialect(name)), JsonSink, JsonSink, is_text=True)


def open_json(path: Path) -> TextSource:
    """Open a list of objects, or objects line by line, as many programs write them under this name."""
    dialect = JsonDialect(str(path), kind=".json")
    file, _ = open_unpacked(path)
    encoding = encoding_of(str(path), file.peek())
    if not head_in_utf8(file.peek(), encoding).removeprefix(BYTE_ORDER_MARK).lstrip().startswith(b"["):
        return TextSource(dialect, file, keeps_records=False, encoding=encoding)
    with file:
        content = ToUtf8(str(path), encoding)(file.read(), last=True)
    with reading(path, ".json", (ValueError, RecursionError)):
        rows = json.loads(content.removeprefix(BYTE_ORDER_MARK), object_pairs_hook=distinct_keys)
    for row in rows:
        if not isinstance(row, dict):
            raise TableError(
                f'{path}: a list of objects was wanted, as in [{{"a": 1}}, {{"a": 2}}], got {row!r:.40} in it.'
            )
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return TextSource(dialect, io.BytesIO(lines), size=len(lines), keeps_records=False)


class JsonArraySink(JsonSink):
    """Writes one object for each row, all in one list."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        super().__init__(file, schema)
        self._between = b"[\n"

    def write(self, table: pa.Table) -> None:
        for line in self.lines(table):
            self._file.write(self._between + line.encode())
            self._between = b",\n"

    def close(self) -> None:
        self._file.write(b"\n]\n")


JSON = Format(open_json, JsonArraySink, JsonSink, is_text=True)  # on a stream: line by line
