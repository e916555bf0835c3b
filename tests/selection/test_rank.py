"""`centrality.rank`: a frame comes back, the oddest row first, with scores, p-values and reasons in words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

import centrality
from centrality import FUSE, Chain
from centrality._internal.checks import InputError
from centrality.representations import Table
from centrality.selection.rank import (
    FEW_TEXTS,
    are_finite_numbers,
    are_texts,
    choose_model,
    fit_default_model,
    how_read,
)
from centrality.tables.columns import DataNote
from tests.conftest import quick


@pytest.fixture(scope="module")
def frame():
    """300 flats of two towns; the last costs ten times what it should."""
    rng = np.random.default_rng(0)
    size = rng.uniform(40, 120, 300)
    frame = pd.DataFrame({"size": size, "price": 3000 * size * np.exp(0.1 * rng.normal(size=300))})
    frame["town"] = rng.choice(["Aix", "Bonn"], 300)
    frame.loc[299, "price"] *= 10
    return frame.set_index(pd.Index([f"flat {i}" for i in range(300)]))


@pytest.fixture(scope="module")
def model(frame):
    return Chain(Table(), quick()).fit(frame)


@pytest.mark.slow
def test_the_oddest_row_comes_first_and_its_reason_names_the_cell(frame, model):
    ranked = centrality.rank(frame, model=model)
    assert list(ranked.columns) == ["row", "centrality", "p_value", "severity", "reasons", *frame.columns]
    assert len(ranked) == 300
    assert ranked.index[0] == "flat 299"
    assert ranked["reasons"].iloc[0].startswith("price")
    assert ranked["centrality"].is_monotonic_increasing
    assert ranked["p_value"].iloc[0] == ranked["p_value"].min()


@pytest.mark.parametrize(
    ("kind", "is_kind"), [(pl.from_pandas, pl.DataFrame), (pa.Table.from_pandas, pa.Table)], ids=["polars", "Arrow"]
)
def test_the_frame_is_of_the_kind_that_came(frame, model, kind, is_kind):
    ranked = centrality.rank(kind(frame), model=model, top=3)
    assert isinstance(ranked, is_kind)
    expected = centrality.rank(frame, model=model, top=3)["row"].tolist()
    assert list(np.asarray(ranked["row"])) == expected


def test_each_group_has_its_own_oddest_rows(frame, model):
    ranked = centrality.rank(frame, model=model, by="town", top=4)
    assert ranked["town"].tolist() == ["Aix"] * 4 + ["Bonn"] * 4
    scores = pd.Series(np.asarray(model.centrality(frame)), frame.index)
    for town in ("Aix", "Bonn"):
        own = scores[(frame["town"] == town).to_numpy()].sort_values()
        assert ranked.index[ranked["town"] == town].tolist() == own.index[:4].tolist()


@pytest.mark.slow
def test_without_a_model_one_is_fitted_on_the_rows_as_they_are():
    X = np.random.default_rng(0).normal(size=(200, 2))
    X[17] = 40
    ranked = centrality.rank(X, top=1)
    assert ranked["row"].to_pylist() == [17]
    words = pa.table({"x": X[:, 0], "word": ["usual"] * 199 + ["odd"]})
    assert set(centrality.rank(words, top=2)["row"].to_pylist()) == {17, 199}


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"top": 0}, "top must be a whole number of at least 1"), ({"by": "x"}, "'x'"), ({"t": -1}, "t must lie between")],
)
def test_wrong_wishes_are_answered_in_a_sentence(frame, model, changes, said):
    with pytest.raises(InputError, match=said):
        centrality.rank(frame, model=model, **changes)


def test_a_column_that_the_model_learned_from_is_not_replaced_by_a_new_one(frame):
    with pytest.raises(InputError, match="learned from a column 'centrality', which a new one would replace"):
        centrality.rank(frame.rename(columns={"size": "centrality"})[["centrality", "price"]])


def test_another_column_of_a_new_ones_name_is_replaced_and_a_note_says_so(frame, model):
    with pytest.warns(
        DataNote, match=r"New columns replace those of the data called 'row': rename these to keep both\."
    ):
        ranked = centrality.rank(frame.assign(row="own"), model=model, top=3)
    assert list(ranked.columns) == ["row", "centrality", "p_value", "severity", "reasons", *frame.columns]
    assert (ranked["row"] != "own").all()


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
