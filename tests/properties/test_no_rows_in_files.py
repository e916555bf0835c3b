"""A model file holds no training row: neither a row of numbers, in any units, nor a record of a table."""

import json
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest
from scipy.spatial import cKDTree

from centrality import FUSE, Chain
from centrality._internal import model_file
from centrality.representations import Table
from tests.conftest import quick

N, P = 300, 7
X = np.random.default_rng(0).normal(size=(N, P)) * [1, 10, 0.1, 5, 1, 1, 100] + 3
KINDS = {
    "defaults": {},
    "one network": {"ensemble": 1},
    "clean": {"novelty": True},
    "held aside": {"holdout": 0.2},
    "as given": {"scaling": "none"},
    "clean, as given": {"novelty": True, "scaling": "none"},
}


def numbers_in(value: object) -> Iterator[float]:
    """All numbers of a JSON value, in order."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from numbers_in(each)
    else:
        yield float(value)


def stretches(path, p: int) -> Iterator[tuple[str, np.ndarray]]:
    """All p numbers that follow one another in the file: along a row or down a column of an array, or in the header."""
    header, arrays = model_file.read(path)
    held = {"the header": np.array(list(numbers_in(header)))} | arrays
    for name, array in held.items():
        for how, flat in ((name, array.ravel()), (f"{name}, transposed", array.T.ravel())):
            flat = flat.astype(np.float64)
            if len(flat) >= p:
                yield how, np.lib.stride_tricks.sliding_window_view(flat, p)


def found_rows(path, rows: np.ndarray) -> list[str]:
    """Where in the file one of these rows stands, each column within a thousandth of its deviation."""
    spread = rows.std(0)
    spread[spread == 0] = 1.0
    known = cKDTree(rows / spread)
    close = 1e-3 * np.sqrt(rows.shape[1])
    return [name for name, held in stretches(path, rows.shape[1]) if known.query(held / spread)[0].min() < close]


def ways_to_write(model: FUSE, rows: np.ndarray) -> dict[str, np.ndarray]:
    scaled = model.fitted_.scaling.scaled(rows)
    return {"in the user's units": rows, "scaled": scaled}


def test_the_search_would_find_a_row(tmp_path):
    path = tmp_path / "m.safetensors"
    for held in ({"a": np.concatenate([np.zeros(3), X[7]])}, {"a": X[5:9].T.astype(np.float32).copy()}):
        model_file.write(path, {}, held)
        assert found_rows(path, X)
    model_file.write(path, {"rows": X[:1].tolist()}, {"a": np.zeros(3)})
    assert found_rows(path, X) == ["the header", "the header, transposed"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_training_row_of_numbers_stands_in_the_file(tmp_path, kind):
    model = quick(max_steps=20, **KINDS[kind]).fit(X)
    model.save(tmp_path / "m.safetensors")
    for way, rows in ways_to_write(model, X).items():
        assert found_rows(tmp_path / "m.safetensors", rows) == [], way


@pytest.mark.slow
@pytest.mark.parametrize("novelty", [False, True])
def test_no_record_of_a_table_of_categories_stands_in_the_file(tmp_path, novelty):
    """Records that fewer than five rows share: what is the same for five or more is no single row's."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"c{j}": rng.choice(list("abcdef"), N) for j in range(P)})
    assert table.value_counts().max() < 5
    chain = Chain(Table(), quick(max_steps=20, novelty=novelty)).fit(table)
    chain.save(tmp_path / "m.safetensors")
    for way, rows in ways_to_write(chain.model_, chain.representation_.transform(table)).items():
        assert found_rows(tmp_path / "m.safetensors", rows) == [], way
    text = json.dumps(model_file.read(tmp_path / "m.safetensors")[0])
    for record in table.to_numpy():
        assert json.dumps(record.tolist())[1:-1] not in text


@pytest.mark.parametrize(("n", "p"), [(300, 7), (90, 30), (60, 2), (11, 3)])
def test_typical_points_and_means_of_the_background_are_no_rows(n, p):
    """Each is a mean of five rows or more, where there are as many."""
    rows = np.random.default_rng(1).normal(size=(n, p))
    model = quick(max_steps=5, novelty=True).fit(rows)
    scaled, background = model.fitted_.scaling.scaled(rows), model.fitted_.network.background
    for points, among in ((background["mean"].reshape(-1, p), scaled), (model.fitted_.typical, rows)):
        assert (cKDTree(among).query(points)[0] > 1e-3).all()
