"""Score rows in DuckDB's SQL: functions that take columns and give centrality, p-values, severity and reasons."""

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from centrality._internal.checks import optional
from centrality.bulk.functions import TYPES, RowFunctions
from centrality.model.interface import CentralityModel
from centrality.tables.columns import CellIssues

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

SQL_TYPES = {pa.float64(): "DOUBLE", pa.string(): "VARCHAR"}


class Functions:
    """The functions of a model in a connection; `issues` counts the cells of all queries that could not be read.

    Examples
    --------
    >>> import duckdb
    >>> from centrality.duckdb import register
    >>> from centrality import FUSE
    >>> model = FUSE(random_state=0).fit([[float(i % 7), float(i % 5)] for i in range(100)])
    >>> con = duckdb.connect()
    >>> functions = register(con, model)
    >>> rows = con.sql("SELECT centrality(1, 2) > 0, centrality(NULL, 2)").fetchall()
    >>> rows, functions.issues.count()
    ([(True, None)], 0)
    """

    def __init__(self, model: CentralityModel, t: float | None) -> None:
        self._functions = RowFunctions(model, t)
        self._one_at_a_time = threading.Lock()  # DuckDB may call from several threads
        self.names = self._functions.names

    @property
    def issues(self) -> CellIssues:
        return self._functions.issues

    def _values(self, name: str, columns: tuple[Any, ...]) -> pa.Array:
        with self._one_at_a_time:
            return self._functions.values(name, self._functions.table(columns))

    def centrality(self, *columns: Any) -> pa.Array:
        """Return the centrality of each row."""
        return self._values("centrality", columns)

    def p_value(self, *columns: Any) -> pa.Array:
        """Return the share of typical rows that look as odd as each row."""
        return self._values("p_value", columns)

    def severity(self, *columns: Any) -> pa.Array:
        """Return one in how many ordinary rows is as odd as each row."""
        return self._values("severity", columns)

    def reason(self, *columns: Any) -> pa.Array:
        """Return which columns make each row odd, in words."""
        return self._values("reason", columns)


def register(
    con: "DuckDBPyConnection", model: CentralityModel, *, t: float | None = None, prefix: str = ""
) -> Functions:
    """Make `centrality(...)`, `p_value(...)`, `severity(...)` and `reason(...)` functions of a connection to DuckDB.

    They take the whole row, by the name of its table, or the columns of the model in its order, and are called with
    two thousand rows at once. A row that cannot be scored has NULL.

    Parameters
    ----------
    con : a connection, or the module `duckdb` for the one that it keeps itself.
    model : a fitted model of rows.
    t : from 0, global, to 1, local; None is the model's own.
    prefix : what the functions' names begin with, for several models in one connection.

    Examples
    --------
    >>> import duckdb
    >>> from centrality.duckdb import register
    >>> from centrality import FUSE
    >>> from centrality.datasets import houses
    >>> con = duckdb.connect()
    >>> _ = con.register("houses", houses())
    >>> model = FUSE(random_state=0).fit(con.sql("SELECT area, rooms, price FROM houses WHERE area > 0"))
    >>> _ = register(con, model)
    >>> con.sql("SELECT house FROM houses ORDER BY centrality(houses) LIMIT 1").fetchall()
    [('H1195',)]
    """
    types = optional("duckdb.func", "databases")
    functions = Functions(model, t)
    for name in functions.names:
        con.create_function(
            f"{prefix}{name}",
            getattr(functions, name),
            None,
            SQL_TYPES[TYPES[name]],
            type=types.PythonUDFType.ARROW,
            null_handling=types.FunctionNullHandling.SPECIAL,
        )
    return functions
