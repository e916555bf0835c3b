"""Read and write PostgreSQL by ADBC: rows come by COPY, a bounded number at a time."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa

from centrality._internal.checks import optional
from centrality.tables.database import Access, DatabaseError, Session, TableName, passwords_in, quoted

BATCH_BYTES = 4 << 20
MOST_DIGITS = 38  # of a decimal number of Arrow
NUMERIC_HEADER = 4  # what PostgreSQL adds to the precision and scale that it packs into one number
# Types that Arrow takes as they are, and those that are cast; any other becomes text.
PLAIN = {"int2", "int4", "int8", "float4", "float8", "bool", "text", "varchar", "bpchar", "name", "time", "bytea"}
PLAIN |= {"_int2", "_int4", "_int8", "_float4", "_float8"}
CASTS = {
    "numeric": "{}::float8",  # without a precision of its own
    "money": "{}::numeric::float8",
    "interval": "extract(epoch FROM {})::float8",
    "_numeric": "{}::float8[]",
    "vector": "{}::float4[]",
} | dict.fromkeys(("date", "timestamp", "timestamptz"), "CASE WHEN isfinite({0}) THEN {0} END")
FIND_TABLE = """
SELECT n.nspname, c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND {}
"""
TABLES = """
SELECT CASE WHEN pg_table_is_visible(c.oid) THEN '' ELSE n.nspname || '.' END || c.relname
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema'
AND has_table_privilege(c.oid, 'SELECT') ORDER BY 1
"""
TOO_WIDE = "Write fewer columns: --only KEY,centrality"
NO_ANSWER = "Look whether the server runs and can be reached, and try again: nothing was written"
ADVICE = {  # by the beginning of the SQLSTATE
    "28": "Set PGUSER and PGPASSWORD, or write them to ~/.pgpass or a service file",
    "3D000": "Name the database after the host: postgresql://host/database",
    "42501": "Ask who owns it for the right",
    "42703": "Look whether the column was renamed or dropped",
    "57014": "Allow more time with --timeout SECONDS, or read less with --query",
    "55P03": "Somebody else holds the table: try again later",
    "42P07": "Somebody made the table meanwhile: say --if-exists replace or append",
    "54": TOO_WIDE,
    "08": NO_ANSWER,
    "57P": NO_ANSWER,
    "25006": "The connection only reads unless -o names a table",
}


def connect(
    name: str, address: str, access: Access, *, writes: bool, shared: dict[str, Session] | None
) -> "PostgreSQL":
    """Connect; a session that reads sees what the first of the shared ones saw."""
    if writes or shared is None:
        return PostgreSQL(name, address, access, writes=writes)
    if address not in shared:
        shared[address] = PostgreSQL(name, address, access)
    snapshot = shared[address].values("SELECT pg_export_snapshot()")[0][0]
    return PostgreSQL(name, address, access, snapshot=snapshot)


class PostgreSQL(Session):
    """A connection, which only reads unless it is to write."""

    longest_name = 63

    def __init__(
        self, name: str, address: str, access: Access, *, writes: bool = False, snapshot: str | None = None
    ) -> None:
        driver = optional("adbc_driver_postgresql.dbapi", "databases")
        self._name = name
        self._secrets = passwords_in(address)
        if "connect_timeout" not in address and "PGCONNECT_TIMEOUT" not in os.environ:
            address += ("&" if "?" in address else "?") + "connect_timeout=10"
        with self._in_words():
            self._connection = driver.connect(address, autocommit=True)
        try:
            for setting in (
                f"statement_timeout = {round(access.timeout * 1000)}",
                "idle_in_transaction_session_timeout = 0",
                "lock_timeout = '30s'",
                "synchronize_seqscans = off",  # rows come in the same order each time
                "max_parallel_workers_per_gather = 0",
                "application_name = 'centrality'",
                "client_min_messages = 'error'",
            ):
                self.execute(f"SET {setting}")
            if not writes:
                self.execute("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._connection.adbc_connection.set_autocommit(False)
            if snapshot is not None:
                self.execute(f"SET TRANSACTION SNAPSHOT '{snapshot}'")
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _in_words(self) -> Iterator[None]:
        """Raise errors of the database in its own words, with what to do, and without a password."""
        driver = optional("adbc_driver_manager", "databases")
        try:
            yield
        except (driver.Error, pa.ArrowException, OSError) as error:
            details = {
                key: text.decode(errors="replace") if isinstance(text, bytes) else str(text)
                for key, text in getattr(error, "details", ())
            }
            line = str(error).split("\n", maxsplit=1)[0]
            text = details.get("PG_DIAG_MESSAGE_PRIMARY") or line.rpartition("ERROR: ")[2].strip() or line
            if hint := details.get("PG_DIAG_MESSAGE_HINT"):
                text += f" ({hint})"
            for secret in self._secrets:
                text = text.replace(secret, "***")
            text = text.rstrip(".")
            state = getattr(error, "sqlstate", None) or ""
            advice = next((advice for begins, advice in ADVICE.items() if state.startswith(begins)), "")
            if not state:  # the server did not answer, or the driver left its code out
                advice = TOO_WIDE if "at most 1600 columns" in text else NO_ANSWER
            raise DatabaseError(f"{self._name}: {text}." + f" {advice}." * bool(advice)) from None

    def execute(self, sql: str) -> None:
        with self._in_words(), self._connection.cursor() as cursor:
            cursor.execute(sql)

    def values(self, sql: str) -> list[tuple[Any, ...]]:
        with self._in_words(), self._connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def tables(self) -> list[str]:
        return [name for (name,) in self.values(TABLES)]

    def find_table(self, name: str) -> TableName | None:
        """Return the table that the search path finds under this name, or, with a dot in it, that of the schema."""
        visible = self.values(FIND_TABLE.format(f"c.relname = {_text(name)} AND pg_table_is_visible(c.oid)"))
        if visible:
            return TableName(visible[0][1], visible[0][0])
        schema, dot, rest = name.partition(".")
        if not dot:
            return None
        in_schema = self.values(FIND_TABLE.format(f"n.nspname = {_text(schema)} AND c.relname = {_text(rest)}"))
        return TableName(rest, schema) if in_schema else None

    def new_table(self, name: str) -> TableName:
        schema, dot, rest = name.partition(".")
        if dot and self.values(f"SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = {_text(schema)}"):
            return TableName(rest, schema)
        return TableName(name)

    def columns(self, rows: str) -> tuple[pa.Schema, dict[str, str]]:
        stored = self._schema(f"SELECT * FROM {rows}")
        oids = self._types(stored.names, rows)
        select = {}
        decimals = {}
        enums = set()
        for field, (base, kind) in zip(stored, oids, strict=True):
            column = quoted(field.name)
            packed = int((field.metadata or {}).get(b"POSTGRESQL:typmod") or -1) - NUMERIC_HEADER
            precision = packed >> 16
            scale = packed & 0x7FF
            if base == "numeric" and packed >= 0 and scale <= precision <= MOST_DIGITS:
                decimals[field.name] = pa.decimal128(precision, scale)
                select[field.name] = f"NULLIF({column}, 'NaN')::text"
            elif kind == "e":
                enums.add(field.name)
                select[field.name] = f"{column}::text"
            else:
                select[field.name] = column if base in PLAIN else CASTS.get(base, "{}::text").format(column)
        listed = ", ".join(f"{select[name]} AS {quoted(name)}" for name in stored.names)
        selected = self._schema(f"SELECT {listed} FROM {rows}") if stored.names else stored
        kinds = {field.name: field.type for field in selected} | decimals
        kinds |= dict.fromkeys(enums, pa.dictionary(pa.int32(), pa.string()))
        return pa.schema([(name, kinds[name]) for name in stored.names]), select

    def _schema(self, sql: str) -> pa.Schema:
        with self._in_words(), self._connection.cursor() as cursor:
            cursor.execute(f"{sql} LIMIT 0")
            return cursor.fetch_record_batch().schema

    def _types(self, names: list[str], rows: str) -> list[tuple[str, str]]:
        """Return the name and the kind of each column's type, that of a domain's base; no row is read for it."""
        if not names:
            return []
        types = ", ".join(f"pg_typeof(q.{quoted(name)})::oid::int8" for name in names)
        oids = self.values(f"SELECT {types} FROM (SELECT 1) one LEFT JOIN (SELECT * FROM {rows} LIMIT 0) q ON true")[0]
        every = {
            oid: (name, kind, base)
            for oid, name, kind, base in self.values(
                "SELECT oid::int8, typname::text, typtype::text, typbasetype::int8 FROM pg_catalog.pg_type"
            )
        }

        def base_of(oid: int) -> tuple[str, str]:
            name, kind, base = every[oid]
            return base_of(base) if kind == "d" else (name, kind)

        return [base_of(oid) for oid in oids]

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        with self._in_words(), self._connection.cursor() as cursor:
            cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": str(BATCH_BYTES)})
            cursor.execute(sql)
            for batch in cursor.fetch_record_batch():
                columns = []
                for column, field in zip(batch.columns, schema, strict=True):
                    column = column.storage if isinstance(column, pa.ExtensionArray) else column
                    if pa.types.is_dictionary(field.type):
                        column = column.cast(field.type.value_type).dictionary_encode()
                    columns.append(column.cast(field.type))
                yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def seed(self, seed: int) -> str | None:
        self.values(f"SELECT setseed({seed % (1 << 30) / (1 << 30)!r})::text")
        return "random()"

    def create(self, target: TableName, table: pa.Table) -> None:
        self._ingest(target, table, "create")

    def append(self, target: TableName, table: pa.Table) -> None:
        self._ingest(target, table, "append")

    def _ingest(self, target: TableName, table: pa.Table, mode: str) -> None:
        fields = []  # in types that PostgreSQL has
        for field in table.schema:
            kind = field.type
            if pa.types.is_null(kind):
                kind = pa.string()
            elif pa.types.is_dictionary(kind):
                kind = kind.value_type
            elif pa.types.is_unsigned_integer(kind):
                kind = pa.decimal128(20, 0) if kind == pa.uint64() else pa.int64()
            elif pa.types.is_float16(kind):
                kind = pa.float32()
            fields.append(pa.field(field.name, kind))
        rows = table.cast(pa.schema(fields))
        with self._in_words(), self._connection.cursor() as cursor:
            cursor.adbc_ingest(target.name, rows, mode=mode, db_schema_name=target.schema)

    def commit(self) -> None:
        with self._in_words():
            self._connection.adbc_connection.commit()

    def close(self) -> None:
        with suppress(Exception):  # a connection that is lost cannot be closed in order
            self._connection.close()


def _text(value: str) -> str:
    """Return a text as SQL writes it."""
    return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
