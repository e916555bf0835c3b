"""Count, cut and join the rows of requests: a matrix, an Arrow table, or a list such as of texts."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

Rows: TypeAlias = Any  # (n, p) array, pa.Table or list
JsonRows: TypeAlias = list[Any]  # as JSON has them: each a list of values, an object of named values, or a text


def count(rows: Rows) -> int:
    """Return how many rows there are."""
    return int(rows.num_rows) if isinstance(rows, pa.Table) else len(rows)


def cut(rows: Rows, start: int, stop: int) -> Rows:
    """Return the rows from `start` up to, but without, `stop`."""
    return rows.slice(start, stop - start) if isinstance(rows, pa.Table) else rows[start:stop]


def joined(parts: Sequence[Rows]) -> Rows:
    """Return the rows of several requests, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], pa.Table):
        return pa.concat_tables(parts, promote_options="permissive")
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [item for part in parts for item in part]
