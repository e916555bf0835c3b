"""Scores of the batches of a partition, as Spark runs them in its workers."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import Chain
from centrality.bulk.score import ScoringJob, score_batches
from centrality.representations import Table
from centrality.tables.columns import DataNote, TableError
from tests.conftest import quick


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return pa.table({"a": rng.normal(size=1000), "kind": rng.choice(["ash", "birch"], 1000)})


@pytest.fixture(scope="module")
def job(rows):
    return ScoringJob(Chain(Table(), quick()).fit(rows), [0.5])


def with_new_kinds(rows: pa.Table, count: int) -> pa.Table:
    kinds = ["oak"] * count + rows["kind"].to_pylist()[count:]
    return rows.set_column(1, "kind", pa.array(kinds))


def test_a_batch_full_of_new_categories_is_judged_by_its_partition(rows, job):
    """Ten of the first 100 rows, one per cent of all: Spark cuts batches as it likes."""
    with pytest.warns(DataNote, match="10 of 1,000"):
        scored = list(score_batches(job, with_new_kinds(rows, 10).to_batches(max_chunksize=100)))
    assert sum(len(batch) for batch in scored) == 1000
    assert scored[0].schema.names == ["a", "kind", "centrality"]


def test_a_partition_with_too_many_of_them_stops_the_job(rows, job):
    with pytest.raises(TableError, match="kind"):
        list(score_batches(job, with_new_kinds(rows, 100).to_batches(max_chunksize=100)))


def test_a_partition_without_rows_has_no_scores(job):
    assert list(score_batches(job, [])) == []
