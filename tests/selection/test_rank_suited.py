"""The model that suits rows as they are."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from centrality import FUSE, Chain
from centrality.selection.rank import (
    FEW_TEXTS,
    are_finite_numbers,
    are_texts,
    choose_model,
    fit_default_model,
    how_read,
)
from tests.conftest import quick


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((3, 2)),
        [[1, 2], [3, 4]],
        pd.DataFrame({"a": [1, 2], "b": [True, False]}),
        pl.DataFrame({"a": [1.0, 2.0]}),
        pa.table({"a": [1, 2]}),
        sparse.csr_array(np.eye(3)),
    ],
)
def test_finite_numbers_are_vectors(rows):
    assert are_finite_numbers(rows)
    assert isinstance(choose_model(rows), FUSE)


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[1.0, np.nan]]),
        np.array([["1", "x"]]),
        pd.DataFrame({"a": ["x", "y"]}),
        pd.DataFrame({"a": [1.0, None]}),
        pl.DataFrame({"a": [1.0, float("inf")]}),
        pa.table({"a": pa.array([1, 2], pa.timestamp("s"))}),
        sparse.csr_array(np.diag([1.0, np.nan])),
    ],
)
def test_anything_else_is_a_table(rows):
    assert not are_finite_numbers(rows)
    assert isinstance(choose_model(rows), Chain)


def test_how_rows_were_read_is_said_in_one_line():
    rng = np.random.default_rng(0)
    vectors = fit_default_model(rng.normal(size=(60, 3)), max_steps=20, hidden=(8, 8))
    assert how_read(vectors) == "as vectors: 3 columns of numbers"
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(["x", "y"], 60)})
    table = fit_default_model(frame, max_steps=20, hidden=(8, 8))
    assert how_read(table) == "as a table: 1 number, 1 category"


TITLES = [f"{size} {thing} number {k}" for k, (size, thing) in enumerate([("large", "cup"), ("small", "desk")] * 40)]


@pytest.mark.slow
def test_one_column_of_texts_is_read_as_text_and_a_text_like_no_other_is_odd():
    frame = pd.DataFrame({"title": [*TITLES, "Wasserdichter Rucksack aus Baumwolle"]})
    model = fit_default_model(frame)
    assert how_read(model).startswith("as text: title")
    assert model.score_samples(frame).argmin() == len(TITLES)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"title": TITLES, "price": range(len(TITLES))}),  # a table
        pd.DataFrame({"title": TITLES[: FEW_TEXTS - 1]}),
        pd.DataFrame({"colour": ["light red", "dark blue"] * 40}),  # categories
        pd.DataFrame({"code": [f"A{k}" for k in range(80)]}),  # no words
        pd.DataFrame({"day": pd.date_range("2024-01-01", periods=80)}),
        pd.DataFrame({"title": [None] * 80}, dtype=object),
    ],
)
def test_other_columns_are_no_texts(frame):
    assert not are_texts(frame)


def test_a_running_number_among_numbers_is_left_out_as_in_any_table():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"order": np.arange(100_001, 100_401), "price": rng.normal(size=400)})
    model = choose_model(rows, quick()).fit(rows)
    assert isinstance(model, Chain)
    assert how_read(model) == "as a table: 1 number; left out: order"
    later = rows.assign(order=rows["order"] + 1000)
    np.testing.assert_array_equal(model.centrality(later), model.centrality(rows))


@pytest.mark.parametrize("numbers", [np.arange(400) % 300, np.arange(400) / 2, np.arange(1800, 2200)])
def test_counts_fractions_and_years_are_no_running_numbers(numbers):
    assert isinstance(choose_model(pd.DataFrame({"n": numbers, "x": np.arange(400) % 7})), FUSE)
