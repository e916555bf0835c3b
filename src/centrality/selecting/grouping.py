"""Group rows by the values of a column or by given labels, and divide a number of rows among the groups."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._checks import InputError
from centrality._estimator import in_memory
from centrality.representations._base import is_frame

Labels = str | Sequence[object] | NDArray[Any]


def codes_of(X: Any, by: Labels | None, n: int) -> NDArray[np.intp]:  # (n,)
    """Return the number of each row's group; groups are numbered in the sorted order of their values, 0 without groups.

    `by` names a column of a frame, or holds one value for each of the n rows.

    >>> codes_of(None, ["b", "a", None, "b"], 4)
    array([1, 0, 2, 1])
    """
    if by is None:
        return np.zeros(n, dtype=np.intp)
    values = _labels(X, by)
    if len(values) != n:
        raise InputError(f"by must hold one value for each of the {n:,} rows, got {len(values):,}.")
    in_order = values_of(X, by)
    if len(in_order) == n > 1:
        raise InputError("by must tell groups of rows, but its values differ in every row.")
    places = {value: place for place, value in enumerate(in_order)}
    return np.array([places[value] for value in values], dtype=np.intp)


def values_of(X: Any, by: Labels) -> list[object]:
    """Return the distinct values by which rows are grouped: numbers by size, others as text, a missing value last.

    >>> values_of(None, [10, 9, None, 10])
    [9, 10, None]
    """
    distinct = set(_labels(X, by))
    known: list[Any] = [value for value in distinct if value is not None]
    are_numbers = all(isinstance(value, Real) for value in known)
    return sorted(known, key=None if are_numbers else str) + [None] * (None in distinct)


def _labels(X: Any, by: Labels) -> list[object]:
    """Return each row's value, None where it is missing."""
    values = _column(X, by) if isinstance(by, str) else by
    return [None if value != value else value for value in values]  # what is not a number is missing


def _column(X: Any, name: str) -> list[object]:
    X = in_memory(X)
    if isinstance(X, pa.RecordBatch) or not is_frame(X):
        raise InputError(f"by={name!r} names a column, but the rows are no frame: give one value for each row instead.")
    frame = nw.from_native(X, eager_only=True)
    tables.require(frame.columns, [name])
    found: list[object] = frame[name].to_list()
    return found


def shares_of(k: int, sizes: NDArray[np.intp]) -> NDArray[np.intp]:
    """Divide k among groups of these sizes as evenly as possible; no group gets more than its size.

    >>> shares_of(7, np.array([100, 2, 100])).tolist()
    [3, 2, 2]
    """
    shares = np.zeros(len(sizes), dtype=np.intp)
    for _ in range(len(sizes) + 1):
        room = np.flatnonzero(shares < sizes)
        left = k - int(shares.sum())
        if left <= 0 or not len(room):
            break
        each, rest = divmod(left, len(room))
        shares[room] += each + (np.arange(len(room)) < rest)
        shares = np.minimum(shares, sizes)
    return shares


def interleaved(parts: Sequence[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Interleave the rows of all groups: the first of each group, then the second of each, and so on.

    >>> interleaved([np.array([5, 6, 7]), np.array([1])]).tolist()
    [5, 1, 6, 7]
    """
    place = np.concatenate([np.arange(len(part)) for part in parts])
    return np.asarray(np.concatenate(parts)[np.argsort(place, kind="stable")])
