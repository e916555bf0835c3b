"""Read and write files of DuckDB, which gives and takes Arrow batches itself."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from centrality._internal.checks import optional
from centrality.tables.columns import BATCH
from centrality.tables.database import DatabaseError, FileSession, Session, TableName, quoted

AS_TEXT = ("STRUCT", "MAP", "UNION", "JSON", "UUID", "BIT", "TIME WITH TIME ZONE", "TIME_NS")
AS_NUMBER = ("HUGEINT", "UHUGEINT", "BIGNUM", "VARINT")
MEANWHILE = "centrality_rows_to_write"  # the name of the rows that are being written


class DuckDB(FileSession):
    """A connection to a file of DuckDB."""

    needs_cursors = True

    def __init__(self, name: str, path: Path, *, writes: bool, shares: Session | None = None) -> None:
        self._duckdb = optional("duckdb", "databases")
        super().__init__(name, path, writes=writes, shares=shares)
        self.execute("BEGIN TRANSACTION")

    def _open(self) -> Any:
        connection = self._duckdb.connect(str(self._path), read_only=not self._writes)
        # What a query names are tables of this file: no other file is read or written.
        connection.execute("SET enable_external_access = false")
        return connection

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except self._duckdb.Error as error:
            text = str(error).split("\n", maxsplit=1)[0].rstrip(".")
            advice = " Somebody else has it open: close it there, or wait." if "lock" in text.lower() else ""
            raise DatabaseError(f"{self._name}: {text}.{advice}") from None

    def tables(self) -> list[str]:
        return [
            name if schema == "main" else f"{schema}.{name}"
            for schema, name in self.values(
                "SELECT table_schema, table_name FROM information_schema.tables "
                "WHERE table_schema <> 'information_schema' ORDER BY 1, 2"
            )
        ]

    def find_table(self, name: str) -> TableName | None:
        if name not in self.tables():
            return None
        schema, dot, rest = name.partition(".")
        pairs = self.values("SELECT table_schema, table_name FROM information_schema.tables")
        return TableName(rest, schema) if dot and (schema, rest) in pairs else TableName(name)

    def columns(self, rows: str) -> tuple[pa.Schema, dict[str, str]]:
        select = {}
        for name, kind_name, *_ in self.values(f"DESCRIBE SELECT * FROM {rows}"):
            column = quoted(name)
            kind = str(kind_name)
            if kind.startswith(AS_TEXT) and not kind.endswith("]"):
                select[name] = f"CAST({column} AS VARCHAR)"
            elif kind in AS_NUMBER:
                select[name] = f"CAST({column} AS DOUBLE)"
            elif kind == "INTERVAL":
                select[name] = f"epoch({column})"
            else:
                select[name] = column
        listed = ", ".join(f"{sql} AS {quoted(name)}" for name, sql in select.items())
        with self._in_words():
            return self.connection.sql(f"SELECT {listed} FROM {rows} LIMIT 0").to_arrow_reader(BATCH).schema, select

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._in_words():
            for batch in self.connection.sql(sql).to_arrow_reader(BATCH):
                yield batch.cast(schema) if batch.schema != schema else batch

    def create(self, target: TableName, table: pa.Table) -> None:
        self._insert(f"CREATE TABLE {target.sql} AS FROM {MEANWHILE}", table)

    def append(self, target: TableName, table: pa.Table) -> None:
        self._insert(f"INSERT INTO {target.sql} BY NAME FROM {MEANWHILE}", table)

    def _insert(self, sql: str, table: pa.Table) -> None:
        self.connection.register(MEANWHILE, table)
        try:
            self.execute(sql)
        finally:
            self.connection.unregister(MEANWHILE)

    def commit(self) -> None:
        self.execute("COMMIT")
        self._owner.is_new = False

    def close(self) -> None:
        self.connection.close()
        if self._owner is self and self.is_new:
            self._path.unlink(missing_ok=True)


connect = DuckDB.connect
