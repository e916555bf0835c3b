"""Read or score all rows of a source or a table, with a bar that shows the time left."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._estimator import CheckedRows
from centrality.model.interface import CentralityModel
from centrality.network.scaling import dense
from centrality.scores.mixing import one_t
from centrality.scoring.adapter import Adapter
from centrality.tables.unreadable import Unreadable

KEPT_VALUES = 1 << 27  # of all vectors, 1 GB: of more rows only the units are kept
BLOCK = 10_000  # rows that are read between two steps of the bar


def dial(model: CentralityModel, t: float | None) -> float:
    """Return the given t, checked, or the model's own if none is given."""
    return one_t(model.t if t is None else t)


def units_of(
    model: CentralityModel, source: tables.Source, *, progress: bool = False
) -> tuple[NDArray[np.float64], Unreadable]:  # (rows, 2)
    """Return the units of all rows, and which cells could not be read; the rows themselves are not kept.

    Rows that cannot be represented have NaN.
    """
    units, _, unreadable = units_and_rows(model, source, progress=progress, most=0)
    return units, unreadable


def units_and_rows(
    model: CentralityModel, source: tables.Source, *, progress: bool = False, most: int = KEPT_VALUES
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None, Unreadable]:  # (rows, 2), (rows, p)
    """Return the units of all rows, and the rows as vectors, or None if these have more than so many values."""
    adapter = Adapter(model, source.schema.names)
    parts: list[NDArray[np.float64]] = []
    kept: list[NDArray[np.float64]] = []
    values_left = 0 if adapter.one_series else most  # the units of a series are by moment, its vectors by window
    for table in adapter.read(source, progress=progress, title="Scoring"):
        vectors = adapter.vectors(table)
        parts.append(adapter.units(vectors, table.num_rows))
        values_left -= vectors.shape[0] * vectors.shape[1]
        kept = [*kept, np.asarray(dense(vectors), dtype=np.float64)] if values_left >= 0 else []
    return np.concatenate(parts), np.concatenate(kept) if kept else None, adapter.report()


def vectors_of(adapter: Adapter, table: pa.Table, *, progress: bool = False) -> CheckedRows:  # (n, p)
    """Return the vectors of a table's rows. Encoders of texts and images show bars of their own."""
    if not progress or table.num_rows <= BLOCK or adapter.reader.reading().kind not in ("numbers", "table"):
        return adapter.vectors(table)
    from tqdm import tqdm

    parts = []
    with tqdm(total=table.num_rows, unit=" rows", unit_scale=True, desc="Reading", leave=False) as bar:
        for start in range(0, table.num_rows, BLOCK):
            block = table.slice(start, BLOCK)
            parts.append(dense(adapter.vectors(block)))
            bar.update(block.num_rows)
    return np.concatenate(parts)
