"""Compare rows with a model's training rows where they lie: all rows of a chunk, or a sample of all."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from centrality._internal.checks import InputError
from centrality.analysis.drift import FEWEST, Drift
from centrality.bulk.adapter import Adapter
from centrality.bulk.chunks import Chunk
from centrality.model.interface import CentralityModel
from centrality.network.scaling import dense
from centrality.tables.columns import CellIssues


class Comparison(NamedTuple):
    """How some rows compare with the training rows; `drift` is None where too few of them have a score."""

    drift: Drift | None
    threshold: str  # whether the model's threshold still holds, in words
    unreadable: CellIssues


def compare_rows(model: CentralityModel, rows: pa.Table) -> Comparison:
    """Compare these rows, by their heads and their columns, with the model's training rows.

    >>> from centrality import FUSE
    >>> rows = pa.table({"a": np.random.default_rng(0).normal(size=400)})
    >>> comparison = compare_rows(FUSE(random_state=0, max_steps=20).fit(rows), rows)
    >>> comparison.drift.detected(), comparison.threshold.partition(":")[0]
    (False, 'it still holds')
    """
    adapter = Adapter(model, rows.column_names)
    reader = adapter.reader
    if adapter.one_series:
        raise InputError("A model of rows was wanted, got one of a series, which is compared on one machine.")
    with reader.suppress_issues():
        vectors = adapter.vectors(rows)
    heads = model.fitted_.mixing.squeeze(adapter.units(vectors, rows.num_rows))
    threshold = reader.about_threshold(heads, float(model.t))
    if (~np.isnan(heads).any(1)).sum() < FEWEST:
        return Comparison(None, threshold, adapter.unreadable)
    drift = model.fitted_.training_scores.compare(
        heads,
        np.asarray(dense(vectors), dtype=np.float64),
        reader.names_of_vectors(),
        reader.constants(rows) if reader.has_constants() else [],
    )
    return Comparison(drift, threshold, adapter.unreadable)


def compare_chunk(model: CentralityModel, chunk: Chunk) -> Comparison:
    """Compare all rows of a chunk, which are in memory at once."""
    return compare_rows(model, chunk.open().table())
