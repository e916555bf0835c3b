"""What a model says of each row, as a function over columns: DuckDB, Spark and PL/Python call it in batches."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError
from centrality.bulk.adapter import Adapter
from centrality.model.interface import CentralityModel, with_fitted
from centrality.model.reader import reader_of
from centrality.network.calibration import one_t
from centrality.tables.columns import CellIssues, first_few

TYPES = {
    "centrality": pa.float64(),
    "p_value": pa.float64(),
    "severity": pa.float64(),
    "reason": pa.string(),
}  # of each function's values
Arrays = Sequence[pa.Array | pa.ChunkedArray]


class RowFunctions:
    """The functions of a model; `issues` counts the cells, so far, that could not be read.

    A row that cannot be scored has NULL. `names` are the functions that the model has: one without calibration rows has
    no p-values and no severity, one of texts or pictures no reasons.
    """

    def __init__(self, model: CentralityModel, t: float | None = None) -> None:
        self.issues = CellIssues()
        self.model = with_fitted(model, model.fitted_.on("cpu"))  # another machine may lack this one's GPU
        self.t = one_t(model.t if t is None else t)
        reading = reader_of(model).input_spec()
        if reading.one_series:
            raise InputError("A model of rows was wanted, got one of a series: SQL gives rows a few at a time.")
        columns = [f"x{j}" for j in range(model.fitted_.width)] if reading.columns is None else list(reading.columns)
        adapter = Adapter(self.model, columns)
        self.columns = adapter.columns
        self._of_numbers = adapter.of_numbers
        has_rows = model.fitted_.inliers is not None
        has = {"centrality": True, "p_value": has_rows, "severity": has_rows, "reason": adapter.explains}
        self.names = [name for name in TYPES if has[name]]

    def values(self, name: str, rows: pa.Table) -> pa.Array:
        """Return what the function of this name says of each row; other columns than the model's are ignored.

        >>> from centrality import FUSE
        >>> from centrality.bulk.functions import RowFunctions
        >>> model = FUSE(random_state=0).fit(pa.table({"a": [float(i % 7) for i in range(100)]}))
        >>> functions = RowFunctions(model)
        >>> functions.values("severity", pa.table({"id": ["x", "y"], "a": [None, 3.0]})).is_null().to_pylist()
        [True, False]
        """
        tables.require(rows.column_names, self.columns)
        rows = rows.select(self.columns)
        if self._of_numbers:  # what SQL writes as 1.5 is a decimal number, and a column of NULL alone has no type
            schema = pa.schema(
                [
                    field.with_type(pa.float64())
                    if pa.types.is_decimal(field.type) or pa.types.is_null(field.type)
                    else field
                    for field in rows.schema
                ]
            )
            rows = rows.cast(schema)
        adapter = Adapter(self.model, self.columns)
        scorable = adapter.can_be_scored(rows)
        is_null = ~scorable
        values: NDArray[np.float64] | NDArray[np.object_]
        values = np.empty(rows.num_rows, dtype=object if name == "reason" else np.float64)
        if scorable.any():
            with adapter.reader.suppress_issues():
                scorable_rows = rows if scorable.all() else rows.filter(pa.array(scorable))
                values[scorable] = self._of_rows(name, adapter, scorable_rows)
            self.issues += adapter.unreadable
        if name != "reason":
            is_null |= np.isnan(values.astype(np.float64, copy=False))
        return pa.array(values, TYPES[name], mask=is_null)

    def _of_rows(self, name: str, adapter: Adapter, rows: pa.Table) -> NDArray[np.float64] | NDArray[np.object_]:
        """Return what the function says of rows that can all be scored."""
        vectors = adapter.vectors(rows)
        units = adapter.units(vectors, rows.num_rows)
        fitted = adapter.fitted
        if name == "reason":
            return np.array(adapter.reasons(rows, vectors, units, [self.t])[0].short(), dtype=object)
        if name == "centrality":
            return fitted.mixing.centrality(units, self.t)
        scores = fitted.mixing.mixed(units, self.t)
        calibration = fitted.calibration_rows()
        if name == "p_value":
            return calibration.p_values(fitted.mixing, self.t, scores)
        return calibration.severity(fitted.mixing, self.t, scores)

    def table(self, arguments: Arrays) -> pa.Table:
        """Return the arguments of a call as a table: a row as a whole by its names, or the columns in their order."""
        arrays = [one.combine_chunks() if isinstance(one, pa.ChunkedArray) else one for one in arguments]
        if len(arrays) == 1 and pa.types.is_struct(arrays[0].type):
            row = arrays[0]
            names = [field.name for field in row.type]
            tables.require(names, self.columns)
            return pa.Table.from_arrays([row.field(name) for name in self.columns], names=self.columns)
        if len(arrays) != len(self.columns):
            raise InputError(
                f"{len(self.columns)} columns were wanted, in this order: {first_few(self.columns)}, "
                f"got {len(arrays)}. Or give the whole row: in DuckDB by the name of its table, "
                "centrality(orders) ... FROM orders; in Spark by centrality(struct(*))."
            )
        return pa.Table.from_arrays(arrays, names=self.columns)

    def of_arguments(self, name: str) -> Callable[..., pa.Array]:
        """Return a function of columns, or of one row as a whole, as SQL calls it."""

        def function(*arguments: pa.Array) -> pa.Array:
            return self.values(name, self.table(arguments))

        return function
