"""Score all rows of a source for a command that needs only their heads: 16 bytes a row are kept."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality.model.interface import CentralityModel
from centrality.scores.mixing import one_t
from centrality.scoring.adapter import Adapter
from centrality.scoring.stream import read_ahead
from centrality.tables.unreadable import ENOUGH_ROWS, Unreadable


def dial(model: CentralityModel, t: float | None) -> float:
    """Return the t that was asked for, checked, or the model's own."""
    return one_t(model.t if t is None else t)


def mixed(model: CentralityModel, heads: NDArray[np.float64], t: float) -> NDArray[np.float64]:  # (n,)
    """Return the centrality at t of rows with these heads, as the model mixes them."""
    return model.mixing_(heads, t)


def heads_of(
    model: CentralityModel, source: tables.Source, *, progress: bool = False, comparable: bool = False
) -> tuple[NDArray[np.float64], Unreadable]:  # (rows, 2)
    """Return the heads of all rows, and which cells could not be read; the rows themselves are not kept.

    Rows that cannot be represented have NaN. `comparable` heads are judged as those of the training rows were, to be
    compared with them.
    """
    from tqdm import tqdm

    adapter = Adapter(model, source.schema.names)
    judged = adapter.comparable_heads if comparable else adapter.heads
    batches: Iterable[pa.Table] = (pa.Table.from_batches([batch]) for batch in source.batches(types=adapter.types))
    if adapter.one_series:
        batches = [pa.concat_tables(batches)]
    parts = []
    with tqdm(total=source.rows, unit=" rows", unit_scale=True, disable=not progress, desc="Scoring") as bar:
        for table in read_ahead(batches):
            parts.append(judged(adapter.vectors(table), table.num_rows))
            adapter.require_readable(after=ENOUGH_ROWS)
            bar.update(table.num_rows)
    if not parts:
        raise tables.TableError(f"{source.name} is empty: it has 0 rows and {len(source.schema)} columns.")
    return np.concatenate(parts), adapter.report()
