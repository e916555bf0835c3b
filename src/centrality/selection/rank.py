"""Rank the rows of a table by a model that suits it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from centrality import tables
from centrality._internal.checks import InputError, whole_number
from centrality._internal.input import ModelRows, in_memory
from centrality.chain import Chain
from centrality.fuse import FUSE
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.calibration import one_t
from centrality.representations import Table, Text
from centrality.representations.base import as_arrow, is_frame
from centrality.representations.identifiers import LOOKED_AT, NEARLY_ALL, is_unique_by_design
from centrality.selection.pick import codes_of
from centrality.tables.columns import is_number, is_text, numbers

FEW_TEXTS = 50  # fewer are read as a table, as are categories
PLURALS = {
    "number": "numbers",
    "category": "categories",
    "date": "dates",
    "text": "texts",
    "vector": "vectors",
    "picture": "columns of pictures",
    "long text": "columns of long texts",
}


def choose_model(X: ModelRows, fuse: FUSE | None = None, folder: str | None = None) -> FUSE | Chain:
    """Return the model to fit on these rows: this FUSE if they are finite numbers, else a chain that reads them.

    `folder` is where paths of pictures in the rows begin.

    >>> import pyarrow as pa
    >>> from centrality.selection.rank import choose_model
    >>> type(choose_model([[1.0, 2.0], [3.0, 4.0]])).__name__
    'FUSE'
    >>> type(choose_model(pa.table({"a": [1.0, None]}))).__name__
    'Chain'
    """
    fuse = FUSE() if fuse is None else fuse
    if are_finite_numbers(X) and not has_running_number(X):
        return fuse
    return Chain(Text() if are_texts(X) else Table(folder=folder), fuse)


def are_finite_numbers(X: ModelRows) -> bool:
    """Say whether every cell is a number, and none of them is missing or infinite."""
    X = in_memory(X)
    if sparse.issparse(X):
        return bool(np.isfinite(X.data).all())
    if not is_frame(X):
        array = np.asarray(X)
        return array.dtype.kind in "biuf" and bool(np.isfinite(array).all())
    table = as_arrow(X)
    return all(is_number(field.type) for field in table.schema) and bool(np.isfinite(numbers(table)).all())


def has_running_number(X: ModelRows) -> bool:
    """Say whether a frame has a column of whole numbers that surely names its rows, as a `Table` would leave it out.

    >>> has_running_number(pa.table({"order": range(100001, 100101), "price": [1.5, 2.0] * 50}))
    True
    """
    X = in_memory(X)
    if not is_frame(X):
        return False
    table = as_arrow(X)
    whole = [field.name for field in table.schema if pa.types.is_integer(field.type)]
    if table.num_columns == 1:
        return False
    for name in whole:
        x = numbers(table.select([name]))[:, 0]
        first = x[:LOOKED_AT]
        if len(np.unique(first)) >= NEARLY_ALL * len(first) and is_unique_by_design(x):
            return True
    return False


def are_texts(X: ModelRows) -> bool:
    """Say whether the rows are one column of texts: of several words, hardly any of them twice.

    Beside other columns, a text is encoded by the words it shares with other texts: one that shares none lies in the
    middle. A single column of texts is better compared by their whole contents.
    """
    if not is_frame(X) or len((table := as_arrow(X)).schema) != 1 or not is_text(table.schema[0].type):
        return False
    texts = table[0].cast(pa.string()).drop_null()
    words = pc.mean(pc.match_substring_regex(texts, r"\pL\S*\s+\S*\pL")).as_py() or 0.0
    return len(texts) >= FEW_TEXTS and words > 0.5 and len(texts.unique()) > 0.5 * len(texts)


def how_read(model: CentralityModel) -> str:
    """Say in one line how a fitted model reads its columns.

    >>> from centrality.selection.rank import summary_of
    >>> summary_of({"area": "number, scaled", "sold": "date: year", "id": "left out: an identifier"})
    'as a table: 1 number, 1 date; left out: id'
    """
    facts = reader_of(model).about()
    kind = reader_of(model).input_spec().kind
    if kind == "numbers":
        return f"as vectors: {model.fitted_.width:,} columns of numbers"
    if kind == "table":
        return summary_of(facts["reads"])
    return f"as {kind}: " + "; ".join(f"{name}, {how}" for name, how in facts["reads"].items())


def summary_of(reads: Mapping[str, str]) -> str:
    """Count the kinds of columns of a table, and name those that are left out."""
    kinds = {name: next((kind for kind in PLURALS if how.startswith(kind)), "left out") for name, how in reads.items()}
    counts = Counter(kind for kind in kinds.values() if kind != "left out")
    read = ", ".join(f"{n:,} {kind if n == 1 else PLURALS[kind]}" for kind, n in counts.items())
    left_out = [name for name, kind in kinds.items() if kind == "left out"]
    return f"as a table: {read}" + (f"; left out: {', '.join(left_out[:5])}" if left_out else "")


def fit_default_model(
    X: ModelRows, random_state: int | None = 0, *, folder: str | None = None, **settings: Any
) -> FUSE | Chain:
    """Return the model that suits these rows, fitted on them with the default settings or with these."""
    return choose_model(X, FUSE(random_state=random_state, **settings), folder).fit(X)


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
    """Return the rows as a frame, the oddest first: row, centrality, p_value, severity, reasons, then their columns.

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
    >>> odd.column_names[:5]
    ['row', 'centrality', 'p_value', 'severity', 'reasons']
    """
    frame = as_frame(rows)
    native = nw.from_native(frame, eager_only=True)
    groups = codes_of(frame, by, len(native))
    context = [given] if isinstance(given, str | int) else given or ()
    learned = frame if by is None or by in context else native.drop(by).to_native()
    if model is not None and given is not None:
        raise InputError("given is for rows without a model: this one knows its context. Leave out one of the two.")
    model = fit_default_model(learned, random_state, given=given) if model is None else model
    reader_of(model).require_rows_apart()
    t = one_t(model.t if t is None else t)
    has_reasons = reader_of(model).features() is not None
    new_names = ["row", "centrality", "p_value", "severity", *(["reasons"] if has_reasons else [])]
    read = reader_of(model).input_spec().columns
    tables.require_replaceable(new_names, native.columns if read is None else read)
    scores = np.asarray(model.centrality(frame, t=t))
    order = _order(np.asarray(scores, dtype=np.float64), groups, top)
    chosen = native[order].to_native()
    values: list[NDArray[Any]] = [order, scores[order]]
    with reader_of(model).suppress_issues():
        values += [model.p_values(chosen, t=t), model.severity(chosen, t=t)]
        if has_reasons:
            values.append(np.array(model.reasons(chosen, t).short(), dtype=object))
    new = dict(zip(new_names, values, strict=True))
    with_scores = nw.from_native(tables.with_columns(chosen, new), eager_only=True)
    return with_scores.select([*new, *(name for name in with_scores.columns if name not in new)]).to_native()


def as_frame(rows: ModelRows) -> Any:
    """Return rows as a frame of their own library, or as an Arrow table."""
    rows = in_memory(rows)
    return rows if is_frame(rows) and not isinstance(rows, pa.RecordBatch) else as_arrow(rows)


def _order(scores: NDArray[np.float64], groups: NDArray[np.intp], top: int | None) -> NDArray[np.intp]:
    """Return the rows' numbers, group by group, the lowest score of each group first; rows without a score come last.

    >>> _order(np.array([0.5, 0.1, 0.9, 0.2]), np.array([1, 1, 0, 0]), top=1)
    array([3, 1])
    """
    order = np.lexsort([scores, groups])
    if top is None:
        return order
    sizes = np.bincount(groups)
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)  # within its group
    return np.asarray(order[place < whole_number("top", top)])
