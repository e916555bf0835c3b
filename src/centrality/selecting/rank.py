"""Rank the rows of a frame, the oddest first, with scores, p-values and reasons in words."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._checks import InputError, whole_number
from centrality._estimator import ModelRows, in_memory
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.representations._base import as_arrow, is_frame
from centrality.scores.mixing import one_t
from centrality.selecting.grouping import codes_of
from centrality.selecting.suited import fitted_on


def rank(
    rows: ModelRows,
    *,
    model: CentralityModel | None = None,
    by: str | None = None,
    top: int | None = None,
    t: float | None = None,
    given: Sequence[str] | Sequence[int] | str | int | None = None,
    random_state: int | None = 0,
) -> Any:
    """Return the rows as a frame, the oddest first: row, centrality, p_value and reasons, then the columns of the rows.

    The frame is of the kind that came in: pandas (with its index), polars or Arrow; an array gives an Arrow table.

    Parameters
    ----------
    rows : a frame or an array. Finite numbers are read as vectors, anything else as a table with text, dates,
        categories and gaps.
    model : a fitted model; None fits one on these rows, by the default settings.
    by : a column whose values are groups: the oddest of each group then come together, group after group. A model
        fitted here does not learn from that column, unless it is `given`.
    top : how many rows to return (of each group); None returns all of them.
    t : from 0, global, to 1, local; None is the model's own.
    given : the columns that are the context, of a model fitted here: rows are then odd for their kind.
    random_state : the seed of the fit.

    Examples
    --------
    >>> import centrality
    >>> from centrality.datasets import houses
    >>> odd = centrality.rank(houses(), top=3)  # the data set's last rows are odd on purpose
    >>> sorted(odd["row"].to_pylist())
    [1194, 1195, 1197]
    >>> odd.column_names[:4]
    ['row', 'centrality', 'p_value', 'reasons']
    """
    frame = as_frame(rows)
    native = nw.from_native(frame, eager_only=True)
    groups = codes_of(frame, by, len(native))
    context = [given] if isinstance(given, str | int) else given or ()
    learned = frame if by is None or by in context else native.drop(by).to_native()
    if model is not None and given is not None:
        raise InputError("given is for rows without a model: this one knows its context. Leave out one of the two.")
    model = fitted_on(learned, random_state, given=given) if model is None else model
    reader_of(model).require_rows_apart()
    t = one_t(model.t if t is None else t)
    new_names = ["row", "centrality", "p_value", *(["reasons"] if reader_of(model).features() is not None else [])]
    read = reader_of(model).reading().columns
    tables.require_replaceable(new_names, native.columns if read is None else read)
    scores = np.asarray(model.centrality(frame, t=t))
    order = _order(np.asarray(scores, dtype=np.float64), groups, top)
    chosen = native[order].to_native()
    values: list[NDArray[Any]] = [order, scores[order]]
    with reader_of(model).reading_again():
        values.append(model.p_values(chosen, t=t))
        if "reasons" in new_names:
            reasons = model.reasons(chosen, t)
            values.append(np.array(["; ".join(map(str, row)) for row in reasons], dtype=object))
    new = dict(zip(new_names, values, strict=True))
    with_scores = nw.from_native(tables.with_columns(chosen, new), eager_only=True)
    return with_scores.select([*new, *(name for name in with_scores.columns if name not in new)]).to_native()


def as_frame(rows: ModelRows) -> Any:
    """Return rows as a frame of their own library, or as an Arrow table."""
    rows = in_memory(rows)
    return rows if is_frame(rows) and not isinstance(rows, pa.RecordBatch) else as_arrow(rows)


def _order(scores: NDArray[np.float64], groups: NDArray[np.intp], top: int | None) -> NDArray[np.intp]:
    """Return the rows' numbers group by group, the lowest score of a group first; rows without a score come last.

    >>> _order(np.array([0.5, 0.1, 0.9, 0.2]), np.array([1, 1, 0, 0]), top=1)
    array([3, 1])
    """
    order = np.lexsort([scores, groups])
    if top is None:
        return order
    sizes = np.bincount(groups)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its group
    return np.asarray(order[place < whole_number("top", top)])
