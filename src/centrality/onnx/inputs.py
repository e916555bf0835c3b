"""Turn the columns of a table into the arrays that an ONNX file takes, by numpy alone."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from numbers import Number
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError

Column: TypeAlias = dict[str, Any]  # name, input, type, shape, reads, and for dates zone, as the file says of a column
TableLike: TypeAlias = Any  # a frame of pandas, polars or Arrow, or a dict of columns
GAP = "(missing)"  # the text that stands for a missing value: ONNX's texts are never missing themselves


def require_columns(present: list[str], wanted: list[str]) -> None:
    """Raise if one of these columns is missing."""
    missing = [name for name in wanted if name not in present]
    if missing:
        raise InputError(f"Missing column: {', '.join(map(repr, missing))}. There are: {present}.")


def inputs_of(table: TableLike, columns: Sequence[Column]) -> dict[str, NDArray[Any]]:
    """Return an array for each of the file's inputs; raise if a column does not hold what the model was fitted on.

    >>> from centrality.onnx.inputs import inputs_of
    >>> columns = [
    ...     {"name": "kind", "input": "kind", "type": "text", "reads": "category, 2 levels"},
    ...     {"name": "price", "input": "price", "type": "float64", "reads": "number"},
    ... ]
    >>> inputs_of({"kind": ["a", None], "price": [1, None]}, columns)["kind"].tolist()
    ['a', '(missing)']
    """
    names = getattr(table, "column_names", getattr(table, "columns", table if isinstance(table, dict) else None))
    if names is None:
        raise InputError(
            f"A table was wanted, a frame or a dict of columns, got {type(table).__name__}: the file reads columns by "
            "their names."
        )
    by_text = {str(name): name for name in names}  # pandas has numbers, too
    require_columns(list(by_text), [column["name"] for column in columns])
    arrays = {column["input"]: _array(table[by_text[column["name"]]], column) for column in columns}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        raise InputError(f"Columns of one length were wanted, got lengths {sorted(lengths)}.")
    if 0 in lengths:
        raise InputError("Rows were wanted, got none.")
    return arrays


def _array(values: Any, column: Column) -> NDArray[Any]:
    """Return a column as the file takes it."""
    if column["type"] == "text":
        return np.array([_text(value, column) for value in _list(values)], dtype=object)
    if column["type"] == "int64":
        return _moments(values, column)
    numbers = _numbers(values, column)
    if np.isinf(numbers).any():
        raise _unlike(column, f"finite numbers were wanted, got infinity in {int(np.isinf(numbers).sum())} rows")
    return numbers.astype(np.dtype(column["type"]))


def _list(values: Any) -> list[Any]:
    for name in ("to_pylist", "to_list", "tolist"):  # Arrow's; polars' and pandas'; numpy's
        if hasattr(values, name):
            return list(getattr(values, name)())
    return list(values)


def _unlike(column: Column, why: str) -> InputError:
    return InputError(f"Column {column['name']!r} ({column['reads']}): {why}.")


def _text(value: Any, column: Column) -> str:
    if isinstance(value, str):
        return str(value)
    if _is_missing(value):
        return GAP
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    raise _unlike(column, f"texts were wanted, got {value!r}: write it as a text, as in fitting")


def _is_missing(value: Any) -> bool:
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")  # pandas' own


def _numbers(values: Any, column: Column) -> NDArray[np.float64]:  # (n,) or (n, d)
    cells = _list(values)
    if len(column.get("shape", ())) == 2:
        width = column["shape"][1]
        lists = [[np.nan] * width if _is_missing(value) else list(value) for value in cells]
        if wrong := [len(values_of_row) for values_of_row in lists if len(values_of_row) != width]:
            raise _unlike(column, f"lists of {width} numbers were wanted, got one of {wrong[0]}")
        return np.array(lists, dtype=np.float64)
    text = next((value for value in cells if isinstance(value, str)), None)
    if text is not None:
        raise _unlike(column, f"numbers were wanted, got the text {text!r}: convert the column, as in fitting")
    kinds = (Number, np.generic, time)
    if other := [value for value in cells if not isinstance(value, kinds) and not _is_missing(value)]:
        raise _unlike(column, f"numbers were wanted, got {other[0]!r}: convert the column, as in fitting")
    return np.array([np.nan if _is_missing(value) else _number(value) for value in cells], dtype=np.float64)


def _number(value: Any) -> float:
    """Return a number as a float; a time of day as the seconds since midnight, as a `Table` reads it."""
    if isinstance(value, time):
        return value.hour * 3600 + value.minute * 60 + value.second + value.microsecond / 1e6
    return float(value)


def _moments(values: Any, column: Column) -> NDArray[np.int64]:
    """Return dates as microseconds since 1970: in UTC if the column has a zone, else as clocks show them."""
    kind = getattr(values, "type", getattr(values, "dtype", None))  # Arrow's; the others'
    zone = getattr(kind, "tz", None) or getattr(kind, "time_zone", None)
    array = values.to_numpy() if hasattr(values, "to_numpy") else np.array(_list(values), dtype=object)
    if array.dtype.kind == "O":
        cells = array.tolist()
        if other := [value for value in cells if not isinstance(value, date) and not _is_missing(value)]:
            raise _unlike(column, f"dates were wanted, got {other[0]!r}: convert the column, as in fitting")
        zone = zone or next((value.tzinfo for value in cells if getattr(value, "tzinfo", None)), None)
        array = np.array([None if _is_missing(value) else _naive(value) for value in cells], dtype="M8[us]")
    if array.dtype.kind not in "Mi":
        raise _unlike(column, f"dates were wanted, got {array.dtype}: convert the column, as in fitting")
    if array.dtype.kind == "M" and (zone is None) != (column.get("zone") is None):
        wanted, came = ("with", "without") if column.get("zone") else ("without", "with")
        raise _unlike(column, f"dates {wanted} a time zone were wanted, got dates {came} one: convert them")
    return array.astype(np.int64) if array.dtype.kind == "i" else array.astype("M8[us]").astype(np.int64)


def _naive(value: date) -> date:
    """Return a moment in UTC without its zone; what has none stays."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value
