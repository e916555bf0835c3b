"""Rows on their way through the service: a matrix, an Arrow table, or a list of items such as texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

Rows = Any  # (n, p) array, pa.Table or list


def count(rows: Rows) -> int:
    return int(rows.num_rows) if isinstance(rows, pa.Table) else len(rows)


def cut(rows: Rows, start: int, stop: int) -> Rows:
    return rows.slice(start, stop - start) if isinstance(rows, pa.Table) else rows[start:stop]


def joined(parts: Sequence[Rows]) -> Rows:
    """The rows of several requests, one behind another."""
    if len(parts) == 1:
        return parts[0]
    if isinstance(parts[0], pa.Table):
        return pa.concat_tables(parts, promote_options="permissive")
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else [item for part in parts for item in part]
