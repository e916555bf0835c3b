"""Keys of rows: they stay when rows move, and differ where rows do."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality._internal.checks import InputError
from centrality.apps.explorer.content import fingerprints, row_keys
from centrality.apps.explorer.view import view_of
from tests.conftest import quick

TABLE = pa.table(
    {
        "id": [4111111111111111, 4111111111111112, 4111111111111113],
        "when": pa.array([datetime.datetime(2020, 1, 1, 12, 30, second) for second in range(3)], pa.timestamp("s")),
        "size": [1.5, None, 3.0],
        "kind": pa.array(["a", "b", None]).dictionary_encode(),
        "list": [[1], [2, 3], None],
    }
)


def test_rows_keep_their_keys_when_rows_and_columns_are_moved_or_taken_away():
    keys = row_keys(TABLE)
    assert len(set(keys)) == 3
    assert row_keys(TABLE.take([2, 0]).select(["kind", "list", "size", "when", "id"])) == (keys[2], keys[0])


def test_one_changed_cell_gives_another_key():
    for name, other in [("id", 1), ("size", 2.0), ("kind", "b")]:
        place = TABLE.column_names.index(name)
        changed = TABLE.set_column(place, name, pa.array([other, *TABLE[name].to_pylist()[1:]]))
        keys, before = row_keys(changed), row_keys(TABLE)
        assert keys[0] != before[0], name
        assert keys[1:] == before[1:], name


def test_a_cell_cannot_flow_into_the_next_one():
    keys = row_keys(pa.table({"a": ["x", "xy", "", None], "b": ["yz", "z", "xyz", "xyz"]}))
    assert len(set(keys)) == 4


def test_equal_rows_are_told_apart_by_their_order():
    first, other, second, third = row_keys(pa.table({"a": [1, 2, 1, 1]}))
    assert (second, third) == (f"{first}-2", f"{first}-3")
    assert other != first


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".feather"])
def test_keys_do_not_depend_on_the_format_of_the_file(tmp_path, suffix):
    table = TABLE.drop_columns(["list"])
    tables.write(table, tmp_path / f"t{suffix}")
    assert row_keys(tables.read(tmp_path / f"t{suffix}")) == row_keys(table)


def test_a_column_that_tells_rows_apart_is_the_key():
    assert row_keys(TABLE, "id") == ("4111111111111111", "4111111111111112", "4111111111111113")
    assert row_keys(TABLE, "when")[1] == "2020-01-01 12:30:01"


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("size", "'size' has none in row 1"),
        ("twice", "'twice' has 'a' in rows 0 and 2. Name another column, or none"),
        ("nothing", "nothing"),
    ],
)
def test_a_column_that_cannot_be_a_key_is_refused_in_a_sentence(column, problem):
    with pytest.raises(InputError, match=problem):
        row_keys(TABLE.append_column("twice", pa.array(["a", "b", "a"])), column)


def test_bytes_that_differ_have_fingerprints_that_differ():
    keys = fingerprints(i.to_bytes(3, "big") for i in range(20_000))
    assert len(set(keys)) == 20_000
    assert {len(key) for key in keys} == {12}


def test_rows_of_a_view_have_keys_whatever_they_came_as():
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = quick(max_steps=20).fit(X)
    keys = view_of(model, X, on="pca").keys
    assert len(set(keys)) == 40
    assert view_of(model, X[::-1], on="pca").keys == keys[::-1]
    named = pa.table({"x": X[:, 0], "y": X[:, 1], "id": [f"n{k}" for k in range(40)]})
    model = quick(max_steps=20).fit(named.drop_columns(["id"]))
    assert view_of(model, named, on="pca", key="id").keys[:2] == ("n0", "n1")
    with pytest.raises(InputError, match="nosuch"):
        view_of(model, named, on="pca", key="nosuch")
