"""Score rows in DuckDB's SQL: functions that take columns and give centrality, p-values and reasons."""

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError, optional
from centrality.analysis.conformal import p_values
from centrality.bulk.adapter import Adapter
from centrality.model.interface import CentralityModel
from centrality.network.calibration import one_t
from centrality.tables.columns import CellIssues, first_few

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAMES = ("centrality", "p_value", "reason")


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

    def __init__(self, model: CentralityModel, t: float) -> None:
        self.issues = CellIssues()
        self._model = model
        self._t = t
        adapter = Adapter(model, columns_of(model))
        self._columns = adapter.columns
        self._of_numbers = adapter.of_numbers
        self._one_at_a_time = threading.Lock()  # DuckDB may call from several threads

    def _scored(
        self, arguments: tuple[Any, ...], of_rows: Callable[[Adapter, pa.Table], list[str] | NDArray[np.float64]]
    ) -> NDArray[np.object_]:
        """Return what `of_rows` says of the rows that can be scored, and NULL for the others.

        The arguments of a call are a row as a whole, read by its names, or the columns in their order.
        """
        arrays = [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in arguments]
        if len(arrays) == 1 and pa.types.is_struct(arrays[0].type):
            row = arrays[0]
            tables.require([field.name for field in row.type], self._columns)
            arrays = [row.field(name) for name in self._columns]
        elif len(arrays) != len(self._columns):
            raise InputError(
                f"{len(self._columns)} columns were wanted, in this order: {first_few(self._columns)}, "
                f"got {len(arrays)}. "
                "Or give the whole row, by the name of its table: centrality(orders) ... FROM orders."
            )
        if self._of_numbers:  # a model of numbers takes what SQL writes as 1.5, a decimal number, too
            arrays = [
                one.cast(pa.float64()) if pa.types.is_decimal(one.type) or pa.types.is_null(one.type) else one
                for one in arrays
            ]
        rows = pa.Table.from_arrays(arrays, names=self._columns)
        adapter = Adapter(self._model, rows.column_names)
        can_be = adapter.can_be_scored(rows)
        scored = np.full(rows.num_rows, None, dtype=object)
        if can_be.any():
            with self._one_at_a_time, adapter.reader.suppress_issues():
                scored[can_be] = of_rows(adapter, rows if can_be.all() else rows.filter(pa.array(can_be)))
            self.issues += adapter.unreadable
        return scored

    def centrality(self, *columns: Any) -> pa.Array:
        """Return the centrality of each row."""

        def of_rows(adapter: Adapter, rows: pa.Table) -> NDArray[np.float64]:
            mixing = adapter.fitted.mixing
            return mixing.centrality(adapter.units(adapter.vectors(rows), rows.num_rows), self._t)

        return pa.array(self._scored(columns, of_rows), pa.float64(), from_pandas=True)

    def p_value(self, *columns: Any) -> pa.Array:
        """Return the share of typical rows that look as odd as each row."""

        def of_rows(adapter: Adapter, rows: pa.Table) -> NDArray[np.float64]:
            units = adapter.units(adapter.vectors(rows), rows.num_rows)
            return p_values(adapter.fitted.inlier_scores(self._t), adapter.fitted.mixing.mixed(units, self._t))

        return pa.array(self._scored(columns, of_rows), pa.float64(), from_pandas=True)

    def reason(self, *columns: Any) -> pa.Array:
        """Return which columns make each row odd, in words."""

        def of_rows(adapter: Adapter, rows: pa.Table) -> list[str]:
            vectors = adapter.vectors(rows)
            units = adapter.units(vectors, rows.num_rows)
            return adapter.reasons(rows, vectors, units, [self._t])[0].short()

        return pa.array(self._scored(columns, of_rows), pa.string())


def columns_of(model: CentralityModel) -> list[str]:
    """Return the names of the columns that a model reads; x0, x1, ... if it was fitted on an array."""
    from centrality.model.reader import reader_of

    reading = reader_of(model).input_spec()
    if reading.one_series:
        raise InputError("A model of rows was wanted, got one of a series: SQL gives rows a few at a time.")
    if reading.columns is not None:
        return list(reading.columns)
    return [f"x{j}" for j in range(model.fitted_.width)]


def register(
    con: "DuckDBPyConnection", model: CentralityModel, *, t: float | None = None, prefix: str = ""
) -> Functions:
    """Make `centrality(...)`, `p_value(...)` and `reason(...)` functions of a connection to DuckDB.

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
    functions = Functions(model, one_t(model.t if t is None else t))
    returns = {"centrality": "DOUBLE", "p_value": "DOUBLE", "reason": "VARCHAR"}
    explains = Adapter(model, columns_of(model)).explains
    has_p_values = model.fitted_.inliers is not None
    for name in NAMES:
        if (name == "reason" and not explains) or (name == "p_value" and not has_p_values):
            continue
        con.create_function(
            f"{prefix}{name}",
            getattr(functions, name),
            None,
            returns[name],
            type=types.PythonUDFType.ARROW,
            null_handling=types.FunctionNullHandling.SPECIAL,
        )
    return functions
