"""Bars tell how long reading takes, and change nothing about what is read."""

import numpy as np
import pyarrow as pa

from centrality import Chain
from centrality.bulk import score
from centrality.bulk.adapter import Adapter
from centrality.representations import Table
from tests.conftest import quick


def test_a_table_read_with_a_bar_gives_the_same_vectors(monkeypatch, capfd):
    rng = np.random.default_rng(0)
    rows = pa.table({"size": rng.normal(size=90), "kind": rng.choice(["a", "b"], 90)})
    model = Chain(Table(), quick(max_steps=5)).fit(rows)
    adapter = Adapter(model, rows.column_names)
    silent = score.vectors_of(adapter, rows)
    assert capfd.readouterr().err == ""
    monkeypatch.setattr(score, "BLOCK", 40)  # 40 + 40 + 10 rows
    np.testing.assert_allclose(score.vectors_of(adapter, rows, progress=True), silent, atol=1e-12)
    assert "Reading:" in capfd.readouterr().err
