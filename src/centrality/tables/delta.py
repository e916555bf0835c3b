"""Read and write Delta tables by `deltalake`, whose SQL reads them in a stream."""

import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import pyarrow as pa

from centrality._internal.checks import InputError, optional
from centrality.tables import files
from centrality.tables.columns import BATCH, TableError
from centrality.tables.database import Access, DatabaseError, Session, TableName, quoted
from centrality.tables.lakes import place_and_time

MODES = {"fail": "error", "replace": "overwrite", "append": "append"}
# Read by several threads, rows would come in another order each time, and a row's number would say nothing.
IN_ORDER = {"datafusion.execution.target_partitions": "1", "datafusion.execution.batch_size": str(BATCH)}


def connect(name: str, address: str, access: Access, *, writes: bool, shared: dict[str, Session] | None) -> Session:
    """Open a table; sessions that only read and are shared see one version of it."""
    if writes:
        return Delta(name, address, if_exists=access.if_exists)
    if shared is None:
        return Delta(name, address)
    if address not in shared:
        shared[address] = Delta(name, address)
    return shared[address]


class Delta(Session):
    """One version of a Delta table, or a new version that is written."""

    def __init__(self, name: str, address: str, *, if_exists: str | None = None) -> None:
        self._delta = optional("deltalake", "delta")
        self._name = name
        self._path, as_of = place_and_time(address)
        self._if_exists = if_exists
        self._rows: Any = None  # an unnamed file of the rows to write
        self._writer: Any = None
        with self._in_words():
            self._exists = self._delta.DeltaTable.is_deltatable(self._path)
        self.only_table = PurePosixPath(self._path if files.is_remote(self._path) else Path(self._path).resolve()).name
        if if_exists is not None:
            self._require_place(is_old=as_of is not None)
        elif not self._exists:
            raise DatabaseError(f"{name}: there is no Delta table, which is a folder with one called _delta_log.")
        else:
            self._open(as_of)

    def _require_place(self, *, is_old: bool) -> None:
        """Raise if no new version of a table can be written there."""
        if is_old:
            raise InputError(f"{self._name}: an older version cannot be written to: leave out what follows @.")
        if files.is_remote(self._path):
            return
        folder = Path(self._path)
        if not folder.absolute().parent.is_dir():
            raise FileNotFoundError(f"Cannot write {self._name}: the folder {folder.parent} does not exist.")
        if not self._exists and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise DatabaseError(
                f"Cannot write {self._name}: what is there is no Delta table. Name a folder that is empty or new."
            )

    def _open(self, as_of: int | datetime | None) -> None:
        with self._in_words():
            table = self._delta.DeltaTable(self._path)
            if as_of is not None:
                self._go_back(table, as_of)
            self._query = self._delta.QueryBuilder(IN_ORDER)
            called = self.only_table or ""
            for name in {called, called.lower()}:  # as SQL reads it without quotation marks
                self._query.register(quoted(name), table)

    def _go_back(self, table: Any, as_of: int | datetime) -> None:
        """Make the table that of a version or a time; raise if there was none yet."""
        newest = table.version()
        if isinstance(as_of, int):
            if as_of > newest:
                raise DatabaseError(f"{self._name}: there is no version {as_of}, the newest is {newest}.")
            table.load_as_version(as_of)
            return
        table.load_as_version(as_of)  # which is the first version for all times before it, too
        since = datetime.fromtimestamp(table.history(1)[0]["timestamp"] / 1000, UTC)
        if since > as_of:
            raise DatabaseError(f"{self._name}: there is no version of that time, the first is of {since:%F %T} UTC.")

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except TableError:
            raise
        except Exception as error:  # noqa: BLE001  (some of its errors have no class of their own)
            lines = re.sub("\x1b\\[\\d*m", "", str(error)).strip().splitlines() or [type(error).__name__]
            causes = [line.strip(" ↳") for line in lines[1:] if line.lstrip().startswith("↳")]
            text = ": ".join([lines[0], *causes]).rstrip(".")
            gone = "not found" in text.lower() and ".parquet" in text
            advice = " A vacuum removes files of older versions: read a newer one." if gone else ""
            raise DatabaseError(f"{self._name}: {text}.{advice}") from None

    def values(self, sql: str) -> list[tuple[Any, ...]]:
        with self._in_words():
            columns = pa.RecordBatchReader.from_stream(self._query.execute(sql)).read_all().columns
        return list(zip(*(column.to_pylist() for column in columns), strict=True))

    def tables(self) -> list[str]:
        return [self.only_table] if self._exists and self.only_table else []

    def find_table(self, name: str) -> TableName | None:
        return TableName(name) if name in self.tables() else None

    def columns(self, rows: str) -> tuple[pa.Schema, dict[str, str]]:
        with self._in_words():
            schema = pa.RecordBatchReader.from_stream(self._query.execute(f"SELECT * FROM {rows} LIMIT 0")).schema
        return pa.schema([(field.name, without_views(field.type)) for field in schema]), self.by_name(schema.names)

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._in_words():
            for batch in pa.RecordBatchReader.from_stream(self._query.execute(sql)):
                yield batch.cast(schema)

    def create(self, target: TableName, table: pa.Table) -> None:
        """Begin the rows to write. They wait in a file, as a version is written by one call."""
        self._rows = tempfile.TemporaryFile(prefix="centrality-")  # noqa: SIM115  (closed by `close`)
        self._schema = pa.schema([(field.name, as_delta(field.type)) for field in table.schema])
        self._writer = pa.ipc.new_stream(self._rows, self._schema)
        self.append(target, table)

    def append(self, target: TableName, table: pa.Table) -> None:
        if self._writer is None:
            self.create(target, table)
            return
        with self._in_words():
            columns = [
                column.cast(field.type, safe=not pa.types.is_timestamp(field.type))  # nanoseconds are cut
                for column, field in zip(table.columns, self._schema, strict=True)
            ]
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def put_in_place(self, new: TableName, old: TableName) -> None:
        """Do nothing: the new version takes the place of the old one by itself."""

    def commit(self) -> None:
        if self._writer is None:
            return
        self._writer.close()
        self._rows.seek(0)
        mode = MODES[self._if_exists or "fail"]
        schema_mode = "overwrite" if mode == "overwrite" else None
        with self._in_words():
            rows = pa.ipc.open_stream(self._rows)
            self._delta.write_deltalake(self._path, rows, mode=mode, schema_mode=schema_mode)

    def close(self) -> None:
        if self._rows is not None:
            self._rows.close()


def without_views(kind: pa.DataType) -> pa.DataType:
    """Return a type as files have it, for one of DataFusion."""
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind):
        return pa.list_(without_views(kind.value_type))
    return kind


def as_delta(kind: pa.DataType) -> pa.DataType:
    """Return the type that Delta has for values of this one."""
    if pa.types.is_dictionary(kind):
        return as_delta(kind.value_type)
    if pa.types.is_null(kind) or pa.types.is_time(kind):
        return pa.string()
    if pa.types.is_unsigned_integer(kind):
        return pa.int64()
    if pa.types.is_float16(kind):
        return pa.float32()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return kind
