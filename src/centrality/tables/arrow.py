"""Read and write Arrow's own format: an IPC file (also called Feather), or an IPC stream.

Files are read, not mapped into memory: if a mapped file were truncated meanwhile, the process would crash.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from centrality.tables.columns import DAMAGED, reading, repeated, require_distinct
from centrality.tables.source import BATCH, Format, Sink, Source, Types

FILE_BEGINS = b"ARROW1"
STREAM_BEGINS = b"\xff\xff\xff\xff"  # as every message of an IPC stream does


class ArrowSource(Source):
    """Reads an Arrow IPC file or stream."""

    kind = ".arrow"

    def __init__(self, name: str, file: Any) -> None:
        self.name = name
        with reading(name, "an Arrow file or stream", (*DAMAGED, SystemError)):  # names may be invalid
            self._open(file)
            self.schema = self._reader.schema.remove_metadata()
            self._require_rows()

    def _open(self, file: Any) -> None:
        if isinstance(file, pa.OSFile) and file.read(len(FILE_BEGINS)) == FILE_BEGINS:
            self._reader = pa.ipc.open_file(file)
            require_distinct(repeated(self._reader.schema.names), self.name)
            from pyarrow import dataset  # imports pandas, which most commands do not need

            self.rows = dataset.dataset(self.name, format="ipc").count_rows()  # which reads no values
            return
        if isinstance(file, pa.OSFile):
            file.seek(0)
        self._reader = pa.ipc.open_stream(file)

    def close(self) -> None:
        self._reader = None

    def _stored(self) -> Iterator[pa.RecordBatch]:
        return (self._reader.get_batch(i) for i in range(self._reader.num_record_batches))

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for stored in self._reader if self.rows is None else self._stored():
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


def _open(path: Path) -> ArrowSource:
    return ArrowSource(str(path), pa.OSFile(str(path)))


ARROW = Format(_open, ArrowSink, partial(ArrowSink, stream=True))
