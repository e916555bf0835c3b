"""Columns of tables: chosen by name, read as numbers, added to frames."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError
from centrality.tables.columns import DataNote

TABLE = pa.table({"a": [1.5, 2.5, 3.5], "b": [1, 2, 3]})


def test_float32_stays_float32_and_missing_values_become_nan():
    assert tables.numbers(pa.table({"a": pa.array([1, 2], pa.float32())})).dtype == np.float32
    np.testing.assert_array_equal(tables.numbers(pa.table({"a": [1, None], "b": [True, False]})), [[1, 1], [np.nan, 0]])


def test_a_missing_column_suggests_the_nearest():
    table = pa.table({"sepal_length": [1.0], "petal_width": [2.0]})
    with pytest.raises(TableError, match=r"Missing column: 'sepal_lenght'. Did you mean 'sepal_length'\?"):
        tables.select(table, ["petal_width", "sepal_lenght"])


def test_text_among_numbers_names_the_columns_on_both_sides():
    with pytest.raises(TableError, match=r"hold something else: 'name'. Columns of numbers here: a. Do this\."):
        tables.numbers(pa.table({"a": [1.0], "name": ["x"]}), "Do this.")


def test_new_columns_replace_old_ones_of_the_same_name_and_a_note_says_so():
    with pytest.warns(DataNote, match="New columns replace those of the data called 'b': rename these"):
        table = tables.with_columns(TABLE, {"b": np.array([9, 9, 9]), "c": np.array([0.0, 0, 0])})
    assert table.column_names == ["a", "b", "c"]
    assert table["b"].to_pylist() == [9, 9, 9]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_keep_their_kind_when_columns_are_added(kind):
    import pandas as pd
    import polars as pl

    frame = {
        "pandas": pd.DataFrame({"a": [1, 2]}, index=[7, 9]),
        "polars": pl.DataFrame({"a": [1, 2]}),
        "pyarrow": pa.table({"a": [1, 2]}),
    }[kind]
    more = tables.with_columns(frame, {"score": np.array([0.5, 1.0])})
    assert type(more) is type(frame)
    assert list(np.asarray(more["score"])) == [0.5, 1.0]


def test_a_missing_column_among_very_many_is_found():
    names = [f"c{i}" for i in range(50_000)]
    tables.require(names, names)  # in no more time than it takes to look each one up
    with pytest.raises(TableError, match=r"Missing column: 'x'\. There are: 'c0', .* and 49992 more"):
        tables.require(names, [*names, "x"])
