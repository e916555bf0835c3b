"""Read and write tables of databases: PostgreSQL, files of SQLite and DuckDB, lakes.

A place is an address and, after #, a table or a query: `postgresql://host/shop#orders`, `sqlite:shop.db#sales.orders`,
`duckdb:shop.duckdb#query=SELECT ...`. `env:NAME` is the address in an environment variable.

What a database cannot do like the others is in a file of its own beside this one, which makes a `Session`.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from secrets import token_hex
from typing import Any, Self, TypeAlias
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np
import pyarrow as pa

from centrality._internal.checks import InputError
from centrality._internal.files import require_place
from centrality.tables.columns import BATCH, Sink, Source, TableError, Types, first_few, require

Place: TypeAlias = str | os.PathLike[str]
SESSIONS = {  # which module opens which addresses
    "postgresql:": "centrality.tables.postgresql",
    "postgres:": "centrality.tables.postgresql",
    "sqlite:": "centrality.tables.sqlite",
    "duckdb:": "centrality.tables.duckdb",
    "delta:": "centrality.tables.delta",
    "iceberg:": "centrality.tables.iceberg",
}
FROM_ENVIRONMENT = "env:"
BEGINNINGS = (*SESSIONS, FROM_ENVIRONMENT)
QUERY = "query="
TABLE = "table="
IF_EXISTS = ("fail", "replace", "append")
MARGIN = 5.0  # standard deviations by which more rows are drawn than wanted, so that there are enough


class DatabaseError(TableError):
    """Says in a database's own words what went wrong, and what to do.

    >>> from centrality import tables
    >>> try:
    ...     tables.read("sqlite:nowhere.db#orders")
    ... except tables.TableError as error:
    ...     print(error)
    sqlite:nowhere.db: there is no such file.
    """


@dataclass(frozen=True)
class Access:
    """How databases are used: for how long a statement may run, and how a table is written."""

    timeout: float = 3600.0  # seconds of a statement, of PostgreSQL
    if_exists: str = "fail"
    only: tuple[str, ...] = ()  # the columns that are written; empty: all


@dataclass(frozen=True)
class DatabasePlace:
    """A database's address, and the table or the query that is meant there."""

    address: str  # as it was given: without a password
    table: str | None = None
    query: str | None = None

    @classmethod
    def of(cls, place: Place) -> "DatabasePlace":
        """Read a place; raise if it holds a password, without repeating it."""
        address, _, rest = str(place).partition("#")
        if has_password(str(place)):
            raise InputError(
                "A password in an address stays in the shell's history and is shown to who lists processes. Leave it "
                "out, and set PGPASSWORD, or write it to ~/.pgpass or a service file (?service=NAME); or put the whole "
                "address into a variable and say env:VARIABLE."
            )
        if rest.startswith(QUERY):
            return cls(address, query=rest.removeprefix(QUERY))
        return cls(address, table=rest.removeprefix(TABLE) or None)

    @property
    def resolved(self) -> str:
        """Return the address to connect to; it may hold a password."""
        if not self.address.startswith(FROM_ENVIRONMENT):
            return self.address
        name, at, as_of = self.address.removeprefix(FROM_ENVIRONMENT).partition("@")
        address = os.environ.get(name, "").partition("#")[0] + at + as_of
        if not address.startswith(tuple(SESSIONS)):
            wanted = ", ".join(SESSIONS)
            raise InputError(f"{self.address}: the variable {name} must hold an address that begins with {wanted}.")
        return address

    @property
    def name(self) -> str:
        """Return what messages call it."""
        return f"{self.address}#{self.table}" if self.table else self.address


def is_database(place: object) -> bool:
    """Say whether this is the place of a table in a database.

    >>> from centrality.tables.database import is_database
    >>> is_database("sqlite:shop.db#orders"), is_database("orders.csv")
    (True, False)
    """
    return isinstance(place, str) and place.startswith(BEGINNINGS)


def has_password(address: str) -> bool:
    """Say whether an address holds a password."""
    if not address.startswith(("postgresql:", "postgres:")):
        return False
    if not re.match(r"postgres(ql)?://", address):
        raise InputError("An address such as postgresql://host/database was wanted, with // after the colon.")
    in_login = re.match(r"postgres(ql)?://[^/@]*:[^/]*@", address)  # which may hold a # that nobody has escaped
    return bool(in_login or passwords_in(address.partition("#")[0]))


def passwords_in(address: str) -> list[str]:
    """Return the passwords that an address holds."""
    try:
        parts = urlsplit(address)
    except ValueError as error:
        raise InputError(f"An address such as postgresql://host/database was wanted: {error}.") from None
    _, _, login = parts.netloc.rpartition("@")[0].partition(":")
    options = [value for name, value in parse_qsl(parts.query) if "password" in name.lower()]
    return [text for text in (login, unquote(login), *options) if text]


def with_table(place: str, *, table: str | None = None, query: str | None = None) -> str:
    """Return a place for this table or this query of the database at `place`.

    >>> from centrality.tables.database import with_table
    >>> with_table("sqlite:shop.db", table="orders")
    'sqlite:shop.db#table=orders'
    """
    address, _, rest = place.partition("#")
    if rest:
        raise InputError(f"{address} already names a table after #: leave that out, or --table and --query.")
    if table is not None and query is not None:
        raise InputError("Either a table or a query was wanted, got both: leave out --table or --query.")
    return f"{address}#{TABLE}{table}" if query is None else f"{address}#{QUERY}{query}"


def quoted(name: str) -> str:
    """Return an identifier in quotation marks, whatever is in it.

    >>> from centrality.tables.database import quoted
    >>> quoted('"; drop table x')
    '\"\"\"; drop table x"'
    """
    if "\0" in name:
        raise TableError(f"A name without a zero byte was wanted, got {name!r}.")
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class TableName:
    """The name of a table, and of its schema if that is not the usual one."""

    name: str
    schema: str | None = None

    @property
    def sql(self) -> str:
        """Return the name as SQL writes it."""
        return quoted(self.name) if self.schema is None else f"{quoted(self.schema)}.{quoted(self.name)}"


class Session:
    """A connection to a database. What it reads is of one moment, and it writes all or nothing."""

    longest_name: int | None = None  # bytes of an identifier
    only_table: str | None = None  # the one that the address means, where it can have no other

    def execute(self, sql: str) -> None:
        raise NotImplementedError

    def values(self, sql: str) -> list[tuple[Any, ...]]:
        """Return all rows of a small result."""
        raise NotImplementedError

    def tables(self) -> list[str]:
        """Return the names of the tables that can be read."""
        raise NotImplementedError

    def find_table(self, name: str) -> TableName | None:
        """Return the table of this name; None if there is none."""
        raise NotImplementedError

    def new_table(self, name: str) -> TableName:
        """Return a table of this name that is to be made."""
        return TableName(name)

    def columns(self, rows: str) -> tuple[pa.Schema, dict[str, str]]:
        """Return the columns of these rows, which stand as SQL after FROM, and how each is selected."""
        raise NotImplementedError

    def stream(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError

    def count(self, rows: str) -> int:
        return int(self.values(f"SELECT count(*) FROM {rows}")[0][0])

    def by_name(self, names: Sequence[str]) -> dict[str, str]:
        """Return how columns are selected that come as they are."""
        return {name: quoted(name) for name in names}

    def read(
        self, rows: str, select: Mapping[str, str], schema: pa.Schema, condition: str = ""
    ) -> Iterator[pa.RecordBatch]:
        """Yield the columns of a schema; `select` says how each is selected."""
        columns = ", ".join(f"{select[name]} AS {quoted(name)}" for name in schema.names)
        return self.stream(f"SELECT {columns} FROM {rows}{condition}", schema)

    def seed(self, seed: int) -> str | None:
        """Begin random numbers anew, and return the SQL of one in [0, 1); None: rows are drawn when they are here."""
        return None

    def create(self, target: TableName, table: pa.Table) -> None:
        """Make a table of these rows."""
        raise NotImplementedError

    def append(self, target: TableName, table: pa.Table) -> None:
        raise NotImplementedError

    def put_in_place(self, new: TableName, old: TableName) -> None:
        """Let a new table take the place of an old one."""
        self.execute(f"DROP TABLE {old.sql}")
        self.execute(f"ALTER TABLE {new.sql} RENAME TO {quoted(old.name)}")

    def commit(self) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """Close the connection; what was not committed is undone."""
        raise NotImplementedError


class FileSession(Session):
    """A connection to a database that is a file, which only reads unless it is to write."""

    needs_cursors = False  # whether sessions of the same connection each need a cursor of it

    def __init__(self, name: str, path: Path, *, writes: bool, shares: Session | None = None) -> None:
        self._name = name
        self._path = path
        self._writes = writes
        self.is_new = writes and not path.exists()
        self._owner = shares if isinstance(shares, type(self)) else self
        self.connection: Any
        if self._owner is not self:
            connection = self._owner.connection
            self.connection = connection.cursor() if self.needs_cursors else connection
            return
        if not writes and not path.is_file():
            raise DatabaseError(f"{name}: there is no such file.")
        require_place(path)
        with self._in_words():
            self.connection = self._open()

    @classmethod
    def connect(
        cls, name: str, address: str, access: Access, *, writes: bool, shared: dict[str, Session] | None
    ) -> Self:
        """Connect; the shared sessions of one file have one connection, as a process may open it in one way only."""
        kind, _, place = address.partition(":")
        path = Path(place.removeprefix("//"))
        if shared is None:
            return cls(name, path, writes=writes)
        key = f"{kind}:{path.absolute()}"
        if key not in shared:
            shared[key] = cls(name, path, writes=writes)
        return cls(name, path, writes=writes, shares=shared[key])

    def _open(self) -> Any:
        """Return a connection to the file."""
        raise NotImplementedError

    def _in_words(self) -> AbstractContextManager[None]:
        """Raise an error of the database as one of ours."""
        raise NotImplementedError

    def execute(self, sql: str) -> None:
        with self._in_words():
            self.connection.execute(sql)

    def values(self, sql: str) -> list[tuple[Any, ...]]:
        with self._in_words():
            return list(self.connection.execute(sql).fetchall())


ACCESS: ContextVar[Access] = ContextVar("ACCESS", default=Access())  # noqa: B039  (it is frozen)
SHARED: ContextVar[dict[str, Session] | None] = ContextVar("SHARED", default=None)


@contextmanager
def database_access(timeout: float = 3600.0, if_exists: str = "fail", only: Sequence[str] = ()) -> Iterator[None]:
    """Use databases so in the block, where everything that is read of one database is of one moment.

    >>> from centrality.tables.database import database_access
    >>> with database_access(timeout=60, if_exists="replace"):
    ...     pass
    """
    if if_exists not in IF_EXISTS:
        raise InputError(f"if_exists must be one of {', '.join(IF_EXISTS)}, got {if_exists!r}.")
    if not 0 < timeout <= 2_000_000:
        raise InputError(f"A timeout in seconds from above 0 to 2,000,000 was wanted, got {timeout:g}.")
    shared: dict[str, Session] = {}
    access_before = ACCESS.set(Access(timeout, if_exists, tuple(only)))
    shared_before = SHARED.set(shared)
    try:
        yield
    finally:
        ACCESS.reset(access_before)
        SHARED.reset(shared_before)
        for session in shared.values():
            session.close()


def connect(place: DatabasePlace, *, writes: bool = False) -> Session:
    """Return a session of the database at a place, that of the block of `database_access` if there is one."""
    address = place.resolved
    module = import_module(next(module for begins, module in SESSIONS.items() if address.startswith(begins)))
    session: Session = module.connect(place.address, address, ACCESS.get(), writes=writes, shared=SHARED.get())
    return session


class DatabaseSource(Source):
    """Reads a table or the rows of a query."""

    kind = "database"

    def __init__(self, place: DatabasePlace) -> None:
        self.name = place.name
        self._session = connect(place)
        try:
            self._rows_of = _rows_of(self._session, place)
            self.schema, self._select = self._session.columns(self._rows_of)
            self.rows = self._session.count(self._rows_of)
            self._require_rows()
        except BaseException:
            self.close()
            raise

    def _batches(self, names: Sequence[str], types: Types | None) -> Iterator[pa.RecordBatch]:
        wanted = types or {}
        decimals = [name for name in names if pa.types.is_decimal(self.schema.field(name).type)]
        floats = {name: pa.float64() for name in decimals if wanted.get(name) == pa.float64()}
        schema = pa.schema([(name, floats.get(name, self.schema.field(name).type)) for name in names])
        for batch in self._read(names):
            yield batch.cast(schema) if floats else batch  # a model of numbers takes no decimals

    def draw(self, size: int, rng: np.random.Generator, names: Sequence[str]) -> Iterator[pa.RecordBatch] | None:
        """Let the database draw somewhat more than `size` random rows; None if it cannot repeat that."""
        require(self.schema.names, names)
        rows = self.rows or 0
        share = float(size + MARGIN * np.sqrt(size) + MARGIN) / max(rows, 1)
        number = self._session.seed(int(rng.integers(1 << 30))) if share < 1 else None
        return None if number is None else self._read(names, f" WHERE {number} < {share:.12f}")

    def _read(self, names: Sequence[str], condition: str = "") -> Iterator[pa.RecordBatch]:
        schema = pa.schema([self.schema.field(name) for name in names])
        for batch in self._session.read(self._rows_of, self._select, schema, condition):
            for start in range(0, batch.num_rows, BATCH):
                yield batch.slice(start, BATCH)

    def close(self) -> None:
        self._session.close()


def _rows_of(session: Session, place: DatabasePlace) -> str:
    """Return the SQL of a table or a query as it stands after FROM."""
    if place.query is not None:
        query = place.query.strip().rstrip(";").rstrip()
        if not re.match(r"\(*\s*(select|with|values|table|from)\b", query, re.IGNORECASE):
            raise InputError(f"A query that begins with SELECT or WITH was wanted, got {query[:40]!r}.")
        return f"({query}\n) AS centrality_rows"  # the line break ends a comment
    existing = first_few(session.tables()) or "none"
    name = place.table or session.only_table
    if name is None:
        raise InputError(
            f"{place.address}: say which rows: --table NAME or --query 'SELECT ...' (in Python: {place.address}#NAME). "
            f"Tables: {existing}."
        )
    table = session.find_table(name)
    if table is None:
        raise DatabaseError(f"{place.address}: there is no table {name!r}. Tables: {existing}.")
    return table.sql


def require_writable(place: Place) -> None:
    """Raise if a table cannot be written there, since it exists. It is called before the work begins."""
    wanted = DatabasePlace.of(place)
    session = connect(wanted, writes=True)
    try:
        _target(session, wanted)
    finally:
        session.close()


def _target(session: Session, place: DatabasePlace) -> TableName:
    """Return the table to write; raise if it exists and is not to be replaced."""
    name = place.table or session.only_table
    if name is None:
        raise InputError(f"{place.address}: say which table to write: --into NAME (in Python: {place.address}#NAME).")
    existing = session.find_table(name)
    if existing is not None and ACCESS.get().if_exists == "fail":
        raise DatabaseError(
            f"{place.address} has a table {name!r} already: name another one, or say --if-exists replace or append."
        )
    return existing or session.new_table(name)


class TableSink(Sink):
    """Writes a table of a database, which nobody sees before `commit`."""

    def __init__(self, place: DatabasePlace, access: Access) -> None:
        self._place = place
        self._only = access.only
        self._session = connect(place, writes=True)
        try:
            self._target = _target(self._session, place)
            exists = self._session.find_table(place.table or self._session.only_table or "") is not None
            self._replaces = exists and access.if_exists == "replace"
            self._exists = exists and access.if_exists == "append"
        except BaseException:
            self._session.close()
            raise
        # A new table takes the place of an old one at the end: until then the old one can be read.
        self._writes_to = replace(self._target, name=f"centrality_{token_hex(8)}") if self._replaces else self._target

    def write(self, table: pa.Table) -> None:
        if self._only:
            require(table.column_names, self._only)
            table = table.select(list(self._only))
        longest = self._session.longest_name
        if longest and (cut := [name for name in table.column_names if len(name.encode()) > longest]):
            raise DatabaseError(
                f"{self._place.name}: names of at most {longest} bytes were wanted, got {cut[0]!r}, which the database "
                "would cut: rename the column, or leave it out with --only."
            )
        if self._exists:
            self._session.append(self._writes_to, table)
        else:
            self._session.create(self._writes_to, table)
            self._exists = True

    def flush(self) -> None:
        """Do nothing: rows of a stream are seen with all others, when it ends."""

    def commit(self) -> None:
        """Let everybody see the rows."""
        if self._replaces:
            self._session.put_in_place(self._writes_to, self._target)
        self._session.commit()


@contextmanager
def open_sink(place: Place) -> Iterator[TableSink]:
    """Open a table to be written if the block succeeds; else nothing of it is left."""
    sink = TableSink(DatabasePlace.of(place), ACCESS.get())
    try:
        yield sink
        sink.commit()
    finally:
        sink._session.close()  # noqa: SLF001
