"""What a model wants of a table, and its heads for such a table."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._estimator import require_finite
from centrality.chain import Chain
from centrality.scores.reasons import Reasons

Heads = NDArray[np.float64]


@dataclass(frozen=True)
class Reader:
    """What a model wants of a table, and its heads for such a table, calibrated and raw."""

    columns: list[str]
    types: dict[str, pa.DataType]
    heads: Callable[[pa.Table], Heads]
    raw: Callable[[pa.Table], Heads]
    windowed: bool  # all rows are one series, scored by its windows
    reasons: Callable[[pa.Table, float], Reasons] | None  # None: what the model reads has no features with names


def reader_of(model: Any, schema: pa.Schema) -> Reader:
    """How `model` reads tables of this schema; an error names what is missing."""
    if isinstance(model, Chain):
        representation = model.representation_
        columns = representation.columns_ if representation.columns_ is not None else schema.names
        windowed = getattr(representation, "window", None) is not None
        named = not windowed and representation.origins() is not None and hasattr(model.model_, "center_")
        heads, raw = (_moments(model, of) if windowed else of for of in (model.heads, model.raw))
        reader = Reader(columns, representation.types(), heads, raw, windowed, model.reasons if named else None)
    else:
        names = getattr(model, "feature_names_in_", None)
        columns = schema.names if names is None else list(names)
        types = {name: pa.float64() for name in columns}
        plain = without_names(model)
        reasons = _reasons_of_numbers(plain, columns) if hasattr(model, "center_") else None
        reader = Reader(columns, types, _of_numbers(plain.heads), _of_numbers(plain.raw), False, reasons)
    tables.require(schema.names, reader.columns)
    return reader


def without_names(model: Any) -> Any:
    """The same model for bare arrays: a table has already put the columns in order by their names."""
    plain = copy(model)
    vars(plain).pop("feature_names_in_", None)
    return plain


def _of_numbers(score: Callable[[NDArray[Any]], Heads]) -> Callable[[pa.Table], Heads]:
    def heads(table: pa.Table) -> Heads:
        matrix = tables.numbers(table)
        try:
            return np.asarray(score(matrix))
        except ValueError:
            require_finite(matrix, table.column_names)  # the same complaint, with the column's name
            raise

    return heads


def _reasons_of_numbers(plain: Any, columns: list[str]) -> Callable[[pa.Table, float], Reasons]:
    return lambda table, t: plain.reasons(tables.numbers(table), t, names=columns)


def _moments(model: Chain, score: Callable[[pa.Table], Heads]) -> Callable[[pa.Table], Heads]:
    return lambda table: model.representation_.spread(score(table), table.num_rows)
