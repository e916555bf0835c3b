"""Read and write SQLite by the module that comes with Python.

A column of SQLite may hold values of several types. Each is read in the one that all of its values fit: so many drivers
settle on that of the first rows, and fail at a later one.
"""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from centrality.tables.columns import BATCH, TableError, is_number
from centrality.tables.database import DatabaseError, FileSession, Session, TableName, quoted

ASKED_TOGETHER = 200  # columns whose types are chosen for in one statement
STATES = {"SQLITE_BUSY": "Somebody else writes to it: try again later", "SQLITE_READONLY": "It may only be read here"}


class SQLite(FileSession):
    """A connection to a file of SQLite."""

    def __init__(self, name: str, path: Path, *, writes: bool, shares: Session | None = None) -> None:
        super().__init__(name, path, writes=writes, shares=shares)
        self.execute(f"PRAGMA query_only = {'OFF' if writes else 'ON'}")
        if not self.connection.in_transaction:
            self.execute("BEGIN")

    def _open(self) -> sqlite3.Connection:
        mode = "rwc" if self._writes else "rw"  # a file that was not closed in order is mended when it is opened
        return sqlite3.connect(
            f"file:{quote(str(self._path))}?mode={mode}",
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=30,
        )

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            advice = STATES.get(getattr(error, "sqlite_errorname", ""), "")
            text = f"{self._name}: {str(error).rstrip('.')}."
            raise DatabaseError(f"{text} {advice}." if advice else text) from None

    def tables(self) -> list[str]:
        listed = (
            "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        )
        return [name for (name,) in self.values(f"{listed} ORDER BY name")]

    def find_table(self, name: str) -> TableName | None:
        return next((TableName(one) for one in self.tables() if one.lower() == name.lower()), None)

    def columns(self, rows: str) -> tuple[pa.Schema, dict[str, str]]:
        with self._in_words():
            described = self.connection.execute(f"SELECT * FROM {rows} LIMIT 0").description
        names = [column[0] for column in described or ()]
        schema = []
        select = {}
        for start in range(0, len(names), ASKED_TOGETHER):
            chosen = names[start : start + ASKED_TOGETHER]
            listed = ", ".join(
                f"max(typeof({quoted(name)}) = '{kind}')"
                for name in chosen
                for kind in ("integer", "real", "text", "blob")
            )
            kinds = self.values(f"SELECT {listed} FROM {rows}")[0]
            for place, name in enumerate(chosen):
                kind, sql = _type_of(*kinds[4 * place : 4 * place + 4])
                schema.append((name, kind))
                select[name] = sql.format(quoted(name))
        return pa.schema(schema), select

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._in_words():
            cursor = self.connection.execute(sql)
            while rows := cursor.fetchmany(BATCH):
                columns = zip(*rows, strict=True)
                arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def create(self, target: TableName, table: pa.Table) -> None:
        columns = []
        for field in table.schema:
            affinity = "TEXT"
            if pa.types.is_integer(field.type) or pa.types.is_boolean(field.type):
                affinity = "INTEGER"
            elif is_number(field.type) or pa.types.is_decimal(field.type):
                affinity = "REAL"
            elif pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
                affinity = "BLOB"
            columns.append(f"{quoted(field.name)} {affinity}")
        self.execute(f"CREATE TABLE {target.sql} ({', '.join(columns)})")
        self.append(target, table)

    def append(self, target: TableName, table: pa.Table) -> None:
        names = ", ".join(map(quoted, table.column_names))
        marks = ", ".join("?" * table.num_columns)
        columns = []
        for column in table.itercolumns():
            kind = column.type
            if kind == pa.uint64() and (pc.max(column).as_py() or 0) >= 1 << 63:
                raise TableError(
                    "Whole numbers below 2**63 were wanted, as SQLite keeps them: leave the column out with --only."
                )
            values = (column.cast(pa.float64()) if pa.types.is_decimal(kind) else column).to_pylist()
            if pa.types.is_nested(kind):
                values = [None if value is None else json.dumps(value, default=str) for value in values]
            elif pa.types.is_temporal(kind):
                values = [None if value is None else str(value) for value in values]
            columns.append(values)
        rows = zip(*columns, strict=True)
        with self._in_words():
            self.connection.executemany(f"INSERT INTO {target.sql} ({names}) VALUES ({marks})", rows)

    def commit(self) -> None:
        self.execute("COMMIT")
        self._writes = self._owner.is_new = False
        self.is_new = False

    def close(self) -> None:
        if self._owner is not self:
            if self._writes and self.connection.in_transaction:
                self.connection.rollback()
            return
        self.connection.close()
        if self.is_new and self._path.is_file() and self._path.stat().st_size == 0:
            self._path.unlink()


def _type_of(integer: int | None, real: int | None, text: int | None, blob: int | None) -> tuple[pa.DataType, str]:
    """Return the type that all values of a column fit, and how it is selected."""
    if blob:
        return (pa.binary(), "{}") if not (integer or real or text) else (pa.string(), "hex({})")
    if text:
        return pa.string(), "CAST({} AS TEXT)"
    if real:
        return pa.float64(), "CAST({} AS REAL)"
    return (pa.int64(), "{}") if integer else (pa.null(), "{}")


connect = SQLite.connect
