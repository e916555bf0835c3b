"""Read and write Parquet: a file, a folder of files, or some row groups of one; here, or on a store such as s3://."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from centrality.tables import locations
from centrality.tables.columns import TableError, reading
from centrality.tables.file_state import FileState
from centrality.tables.source import BATCH, Format, Sink, Source, Types

FETCHED_TOGETHER = 16  # footers: from a store, each is a wait
DESCRIBED = 1_000_000  # pieces of columns whose places in their files stay in memory; of others, they are read again
ROW_GROUP = 131_072  # rows gathered before they are written as a row group
NOTE = "centrality"  # the name under which our note stands at the end of a file


@dataclass(frozen=True)
class Footer:
    """Hold the contents of a Parquet file's footer."""

    file: str  # a path or an address
    schema: pa.Schema
    groups: tuple[int, ...]  # the rows of each row group
    note: str | None = None  # what centrality wrote there
    places: Any = field(default=None, compare=False, repr=False)  # as Arrow takes it, not to be read again
    state: FileState | None = field(default=None, compare=False, repr=False)  # None: on a store, whose files are whole

    @property
    def rows(self) -> int:
        return sum(self.groups)

    def open(self, groups: tuple[int, int] | None = None) -> "ParquetSource":
        """Open the file's rows, or those of the row groups from the first number up to the second."""
        return ParquetSource(self.file, [self], groups)


class ParquetSource(Source):
    """Reads Parquet files of one schema; of a single file, possibly only some row groups."""

    kind = ".parquet"

    def __init__(self, name: str, files: Sequence[Footer], groups: tuple[int, int] | None = None) -> None:
        self.name, self.files, self._footers = name, files, files
        self._groups, self.in_part = groups, groups is not None
        self.schema, self.states = files[0].schema, [part.state for part in files]
        for other in files:
            if not other.schema.equals(self.schema):
                first, second = (Path(part.file).name for part in (files[0], other))
                raise TableError(
                    f"{name}: one schema was wanted, but {second} differs from {first}: "
                    f"{_difference(self.schema, other.schema)}. Score them one by one, or make them agree."
                )
        self.rows = sum(sum(part.groups[slice(*groups) if groups else slice(None)]) for part in files)
        self._require_rows()

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for part in self._footers:
            groups = range(*self._groups) if self._groups else range(len(part.groups))
            with open_file(part.file, part.places) as file:
                for batch in file.iter_batches(
                    batch_size=BATCH, row_groups=list(groups), columns=list(names), use_threads=False
                ):
                    batch.validate(full=True)  # a damaged file may hold invalid texts
                    yield batch.select(list(names)).replace_schema_metadata(None)


class ParquetSink(Sink):
    """Writes row groups of bounded size."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        from pyarrow import parquet

        # Dictionaries of measured numbers only cost time: nearly every one is different.
        repeated = [field.name for field in schema if not pa.types.is_floating(field.type)]
        self._writer = parquet.ParquetWriter(file, schema, use_dictionary=repeated, write_statistics=repeated)
        self._waiting: list[pa.Table] = []

    def write(self, table: pa.Table) -> None:
        self._waiting.append(table)
        if sum(part.num_rows for part in self._waiting) >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.concat_tables(self._waiting), row_group_size=2 * ROW_GROUP)
            self._waiting = []

    def close(self) -> None:
        self._flush()
        self._writer.close()


def open_files(name: str, files: Sequence[str]) -> ParquetSource:
    """Open files, by their paths or addresses, as one table; each footer is read once, now."""
    described, footers = 0, []
    with ThreadPoolExecutor(FETCHED_TOGETHER) as pool:
        for read in pool.map(read_footer, files):
            described += len(read.groups) * len(read.schema)
            footers.append(read if described <= DESCRIBED else replace(read, places=None))
    return ParquetSource(name, footers)


def open_file(file: str, places: Any = None) -> Any:
    """Open the Parquet file at a path or address, to be read piece by piece."""
    from pyarrow import parquet

    filesystem, path = locations.filesystem_and_path(file)
    return parquet.ParquetFile(path, metadata=places, pre_buffer=False, buffer_size=1 << 20, filesystem=filesystem)


def read_footer(file: str) -> Footer:
    """Read a Parquet file's footer."""
    state = None if locations.is_remote(file) else FileState.of(locations.filesystem_and_path(file)[1])
    with reading(file, ".parquet"), open_file(file) as there:
        schema, places = there.schema_arrow, there.metadata  # whose names may not be valid text
        groups = tuple(places.row_group(i).num_rows for i in range(places.num_row_groups))
    found = (schema.metadata or {}).get(NOTE.encode())
    note = None if found is None else found.decode(errors="replace")
    return Footer(file, schema.remove_metadata(), groups, note, places, state)


def _difference(first: pa.Schema, second: pa.Schema) -> str:
    for column in first:
        if column.name not in second.names:
            return f"it has no column {column.name!r}"
        if second.field(column.name).type != column.type:
            return f"column {column.name!r} is {second.field(column.name).type}, not {column.type}"
    extra = [name for name in second.names if name not in first.names]
    return f"it has a column {extra[0]!r} more" if extra else "its columns come in another order"


PARQUET = Format(lambda path: open_files(str(path), [str(path)]), ParquetSink, keeps_note=True)
