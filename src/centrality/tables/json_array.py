"""Read and write JSON files of one list of objects, one for each row; read files with an object per line too."""

import io
import json
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from centrality._checks import distinct_keys
from centrality.tables.columns import TableError, reading
from centrality.tables.jsonl import JsonDialect, JsonSink
from centrality.tables.packing import open_unpacked
from centrality.tables.records import BYTE_ORDER_MARK
from centrality.tables.source import Format
from centrality.tables.text import TextSource


def open_json(path: Path) -> TextSource:
    """Open a list of objects, or objects line by line, as many programs write them under this name."""
    dialect = JsonDialect(str(path), kind=".json")
    file, _ = open_unpacked(path)
    head = file.peek().removeprefix(BYTE_ORDER_MARK).lstrip()
    if not head.startswith(b"["):
        return TextSource(dialect, file, keeps_records=False)
    with file:
        rows = _rows(str(path), file.read())
    lines = "".join(json.dumps(row) + "\n" for row in rows).encode()
    return TextSource(dialect, io.BytesIO(lines), size=len(lines), keeps_records=False)


def _rows(name: str, content: bytes) -> list[dict[str, object]]:
    with reading(name, ".json", (ValueError, RecursionError)):
        rows = json.loads(content.removeprefix(BYTE_ORDER_MARK), object_pairs_hook=distinct_keys)
    wrong = next((row for row in rows if not isinstance(row, dict)), None)
    if wrong is not None:
        raise TableError(
            f'{name}: a list of objects was wanted, as in [{{"a": 1}}, {{"a": 2}}], got {wrong!r:.40} in it.'
        )
    return list(rows)


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
