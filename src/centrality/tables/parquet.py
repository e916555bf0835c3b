"""Parquet: a file, a folder of them, or some row groups of one; here, or on a store such as s3:// (see `_places`)."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from centrality.tables import locations
from centrality.tables.columns import TableError
from centrality.tables.source import BATCH, Source, Types

AT_ONCE = 16  # footers fetched together: from a store, each is a wait


@dataclass(frozen=True)
class Footer:
    """What the end of a file says about it."""

    file: str  # a path or an address
    schema: pa.Schema
    groups: tuple[int, ...]  # the rows of each row group
    note: str | None = None  # what centrality wrote there

    @property
    def rows(self) -> int:
        return sum(self.groups)


class ParquetSource(Source):
    """Parquet files that agree in their schema; of a single one, perhaps only the row groups `first` to `end`."""

    kind = ".parquet"

    def __init__(self, name: str, files: Sequence[str], groups: tuple[int, int] | None = None) -> None:
        self.name, self._groups, self.in_part = name, groups, groups is not None
        with ThreadPoolExecutor(AT_ONCE) as pool:
            self.footers = list(pool.map(footer, files))
        self.schema = self.footers[0].schema
        for other in self.footers:
            if not other.schema.equals(self.schema):
                first, second = (Path(part.file).name for part in (self.footers[0], other))
                raise TableError(
                    f"{name}: one schema was wanted, but {second} differs from {first}: "
                    f"{_difference(self.schema, other.schema)}. Score them one by one, or make them agree."
                )
        self.rows = sum(sum(part.groups[slice(*groups) if groups else slice(None)]) for part in self.footers)
        self._require_rows()

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        for part in self.footers:
            groups = range(*self._groups) if self._groups else range(len(part.groups))
            with opened(part.file) as file:
                for batch in file.iter_batches(
                    batch_size=BATCH, row_groups=list(groups), columns=list(names), use_threads=False
                ):
                    yield batch.select(list(names)).replace_schema_metadata(None)


def opened(file: str) -> Any:
    """The Parquet file at a path or address, read piece by piece."""
    from pyarrow import parquet

    filesystem, path = locations.found(file)
    return parquet.ParquetFile(path, pre_buffer=False, buffer_size=1 << 20, filesystem=filesystem)


def footer(file: str) -> Footer:
    try:
        with opened(file) as there:
            schema, seen = there.schema_arrow, there.metadata
            groups = tuple(seen.row_group(i).num_rows for i in range(seen.num_row_groups))
    except (pa.ArrowException, OSError) as error:
        raise TableError(f"{file} cannot be read as .parquet: {error}") from None
    note = (schema.metadata or {}).get(b"centrality")
    return Footer(file, schema.remove_metadata(), groups, None if note is None else note.decode())


def _difference(first: pa.Schema, second: pa.Schema) -> str:
    for field in first:
        if field.name not in second.names:
            return f"it has no column {field.name!r}"
        if second.field(field.name).type != field.type:
            return f"column {field.name!r} is {second.field(field.name).type}, not {field.type}"
    extra = [name for name in second.names if name not in first.names]
    return f"it has a column {extra[0]!r} more" if extra else "its columns come in another order"
