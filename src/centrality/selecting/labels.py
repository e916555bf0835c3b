"""Find labels that are likely wrong: rows that are typical of another class and odd in their own.

Each class has a model of its own. Its p-values say how typical a row is of that class: those of its own rows come from
networks that have not seen them, so that a row does not vouch for itself. They mean the same in every class.
"""

from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from centrality import tables
from centrality._checks import InputError, whole_number
from centrality._estimator import ModelRows
from centrality.fuse import FUSE
from centrality.representations import Table
from centrality.representations._base import as_arrow
from centrality.selecting.grouping import Labels, codes_of, values_of
from centrality.selecting.rank import as_frame
from centrality.selecting.suited import are_finite_numbers
from centrality.tables.columns import numbers

FEWEST = 10  # rows of a class: fewer cannot say what is typical of it


def wrong_labels(
    rows: ModelRows,
    labels: Labels,
    *,
    model: FUSE | None = None,
    top: int | None = None,
    t: float | None = None,
    random_state: int | None = 0,
) -> Any:
    """Return the rows that are more typical of another class than of their own, the most doubtful first.

    The frame is of the kind that came in: pandas (with its index), polars or Arrow; an array gives an Arrow table. Its
    last columns are row, the row's number; suggested, the other class; p_label and p_suggested, the shares of the rows
    of its own class and of the other one that are as odd or odder than it.

    Parameters
    ----------
    rows : a frame or an array. Finite numbers are read as vectors, anything else as a table with text, dates,
        categories and gaps.
    labels : the column with the classes, which are not learned from; or one label for each row. Rows without a label,
        and those of classes of fewer than ten rows, are not judged.
    model : the FUSE whose clones learn one class each; None is one with the default settings.
    top : how many rows to return at most; None returns all of them.
    t : from 0, global, to 1, local; None is the models' own.
    random_state : the seed of the fits, if no model is given.

    Examples
    --------
    >>> import numpy as np
    >>> from centrality import wrong_labels
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)), rng.normal(size=(50, 2)) + 9])
    >>> labels = ["left"] * 50 + ["right"] * 50
    >>> labels[7] = "right"
    >>> doubtful = wrong_labels(X, labels, top=1)
    >>> doubtful["row"].to_pylist(), doubtful["suggested"].to_pylist()
    ([7], ['left'])
    """
    frame = as_frame(rows)
    native = nw.from_native(frame, eager_only=True)
    codes, classes = codes_of(frame, labels, len(native)), values_of(frame, labels)
    Z = _vectors(native.drop(labels).to_native() if isinstance(labels, str) else frame)
    p = _p_values(Z, codes, classes, FUSE(random_state=random_state) if model is None else model, t)
    order, suggested = _doubtful(p, codes)
    order = order if top is None else order[: whole_number("top", top)]
    names = np.array([None if name is None else str(name) for name in classes], dtype=object)
    return tables.with_columns(
        native[order].to_native(),
        {
            "row": order,
            "suggested": names[suggested[order]],
            "p_label": p[order, codes[order]],
            "p_suggested": p[order, suggested[order]],
        },
    )


def _vectors(frame: Any) -> NDArray[Any]:
    """Return the rows as vectors: by all of them, whatever their class."""
    table = as_arrow(frame)
    return numbers(table) if are_finite_numbers(table) else np.asarray(Table().fit_transform(table))


def _p_values(
    Z: NDArray[Any], codes: NDArray[np.intp], classes: list[object], model: FUSE, t: float | None
) -> NDArray[np.float64]:  # (n, classes)
    """Return how typical each row is of each class, as a p-value; NaN for classes that cannot be judged."""
    sizes = np.bincount(codes, minlength=len(classes))
    judged = [c for c in range(len(classes)) if sizes[c] >= FEWEST and classes[c] is not None]
    if len(judged) < 2:
        raise InputError(f"At least two classes of {FEWEST} rows each were wanted, got {len(judged)} of them.")
    p = np.full((len(Z), len(classes)), np.nan)
    for c in judged:
        p[:, c] = clone(model).fit(Z[codes == c]).p_values(Z, t=t)
    return p


def _doubtful(p: NDArray[np.float64], codes: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows of which another class is more typical, by how many times, and the best other class of each row.

    >>> p = np.array([[0.5, 0.1], [0.1, 0.2], [0.1, 0.9], [np.nan, np.nan]])
    >>> order, suggested = _doubtful(p, np.array([0, 0, 0, 0]))
    >>> order.tolist(), suggested[order].tolist()
    ([2, 1], [1, 1])
    """
    own = p[np.arange(len(p)), codes]
    others = np.where(np.isnan(p), -np.inf, p)
    others[np.arange(len(p)), codes] = -np.inf
    suggested = others.argmax(1)
    with np.errstate(invalid="ignore"):
        times = others.max(1) / own  # no p-value is 0
    order = np.argsort(-times, kind="stable")
    return order[times[order] > 1], suggested
