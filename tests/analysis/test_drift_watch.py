"""Drift is looked for while rows are scored, window by window."""

import json

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from tests.conftest import quick


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    return pa.table({"id": [f"{i:05d}" for i in range(2000)], "a": X[:, 0], "b": X[:, 1]})


@pytest.fixture(scope="module")
def model(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    quick(t=0.5).fit(rows.select(["b", "a"])).save(path)
    return path


def test_drift_on_a_stream_is_said_when_it_begins_and_kept_for_each_window_of_rows(rows, model, tmp_path, capsys):
    calm, moved = rows, rows.set_column(1, "a", pa.array(rows["a"].to_numpy() + 3))
    tables.write(pa.concat_tables([calm, moved]), tmp_path / "t.parquet")
    arguments = ["score", str(model), str(tmp_path / "t.parquet"), "-o", str(tmp_path / "s.parquet"), "--json"]
    assert main([*arguments, "--watch-drift", "--drift-window", "1000"]) == 0
    shown = capsys.readouterr()
    assert [line.split(":")[1] for line in shown.err.splitlines()] == [
        " drift from row 2,001 on (rows 2,001 to 3,000 against all training rows)",
    ]
    drift = json.loads(shown.out)["drift"]
    assert len(drift) == 2
    assert drift[0]["effect"] < -0.5
    assert main([*arguments, "--watch-drift", "--drift-window", "2500"]) == 0  # the rest of a stream counts as well
    assert [line.split(":")[1] for line in capsys.readouterr().err.splitlines()] == [
        " drift from row 1 on (rows 1 to 2,500 against all training rows)",
    ]
    tables.write(pa.concat_tables([moved, calm]), tmp_path / "t.parquet")
    assert main([*arguments, "--watch-drift", "--drift-window", "1000"]) == 0
    assert capsys.readouterr().err.endswith("centrality: no drift any more from row 2,001 on.\n")
