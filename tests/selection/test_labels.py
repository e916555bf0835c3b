"""`centrality.wrong_labels`: rows that, by all other rows, rather belong to another class."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from centrality import wrong_labels
from centrality._internal.checks import InputError

WRONG = [3, 50, 130]


@pytest.fixture(scope="module")
def frame():
    """Three classes of 60 rows, ten standard deviations apart; three rows have the label of another class."""
    rng = np.random.default_rng(0)
    kinds = np.repeat(["ash", "birch", "cedar"], 60)
    X = rng.normal(size=(180, 2)) + 10 * np.repeat([[0, 0], [1, 0], [0, 1]], 60, axis=0)
    kinds[WRONG] = ["birch", "cedar", "ash"]
    return pd.DataFrame({"x": X[:, 0], "y": X[:, 1], "kind": kinds}, index=[f"tree {i}" for i in range(180)])


@pytest.fixture(scope="module")
def found(frame):
    return wrong_labels(frame, "kind")


def test_planted_wrong_labels_come_first_with_the_true_class(frame, found):
    first = found.iloc[:3]
    assert sorted(first["row"]) == WRONG
    assert dict(zip(first["row"], first["suggested"], strict=True)) == {3: "ash", 50: "ash", 130: "cedar"}
    assert (first["p_label"] < 0.2).all()
    assert (found["p_suggested"] > found["p_label"]).all()
    assert len(found) <= 3 + 0.05 * len(frame)


def test_as_many_rows_as_are_asked_for_come_by_how_probable_their_labels_are(frame, found):
    all_rows = wrong_labels(frame, "kind", top=180)
    assert sorted(all_rows["row"]) == list(range(180))
    assert all_rows["p_label"].is_monotonic_increasing
    assert all_rows["row"].tolist()[: len(found)] == found["row"].tolist()


def test_where_classes_overlap_a_wrong_label_is_found_by_what_decides():
    """One column tells the class, nine do not: what is typical of a class is nearly the same for both."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 10))
    y = (X[:, 0] > 0).astype(int)
    wrong = np.argsort(-np.abs(X[:, 0]))[:40:4]  # of those that are clearly of one class
    y[wrong] = 1 - y[wrong]
    assert np.isin(wrong, wrong_labels(X, y, top=30)["row"].to_numpy()).mean() >= 0.9


def test_the_frame_is_of_the_kind_that_came_with_its_index_and_columns(frame, found):
    assert list(found.columns) == ["x", "y", "kind", "row", "suggested", "p_label", "p_suggested"]
    assert list(found.index) == [f"tree {row}" for row in found["row"]]
    by_polars = wrong_labels(pl.from_pandas(frame), "kind", top=2)
    assert isinstance(by_polars, pl.DataFrame)
    assert by_polars["row"].to_list() == found["row"].tolist()[:2]


def test_labels_may_stand_beside_an_array(frame, found):
    X, labels = frame[["x", "y"]].to_numpy(), frame["kind"].to_numpy()
    assert wrong_labels(X, labels, top=3)["row"].to_pylist() == found["row"].tolist()[:3]


def test_tables_with_gaps_and_categories_are_read():
    rng = np.random.default_rng(0)
    kind = np.repeat(["cat", "dog"], 80)
    frame = pd.DataFrame({"weight": np.where(kind == "cat", 4, 30) * np.exp(0.1 * rng.normal(size=160))})
    frame["voice"], frame["kind"] = np.where(kind == "cat", "meow", "woof"), kind
    frame.loc[::10, "weight"] = np.nan
    frame.loc[5, "kind"] = "dog"
    first = wrong_labels(frame, "kind", top=1)
    assert (first["row"].item(), first["suggested"].item()) == (5, "cat")


def test_rows_without_a_label_and_of_very_small_classes_are_not_judged(frame):
    changed = frame.assign(kind=frame["kind"].where(np.arange(180) != 3, None))
    changed.loc[changed.index[:2], "kind"] = "fir"
    rows = wrong_labels(changed, "kind")["row"].tolist()
    assert not {0, 1, 3} & set(rows)
    assert {50, 130} <= set(rows)


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (["a"] * 180, "At least two classes of 10 rows each were wanted, got 1"),
        (["a"] * 175 + ["b"] * 5, "got 1 of them"),
        (["a", "b"], "one value for each of the 180 rows, got 2"),
        ("colour", "'colour'"),
    ],
)
def test_labels_that_are_no_classes_are_told(frame, labels, said):
    with pytest.raises(InputError, match=said):
        wrong_labels(frame, labels)
