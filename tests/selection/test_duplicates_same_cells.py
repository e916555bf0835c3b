"""Rows that agree in every cell, or in all but those of one column."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.selection.duplicates import CellHashes, groups_alike


def but_one(table: pa.Table) -> dict[int, list[list[int]]]:
    rows = np.arange(table.num_rows)
    return {column: [group.tolist() for group in groups] for column, groups in CellHashes(table).but_one(rows)}


def test_the_first_of_equal_rows_stands_for_all():
    table = pa.table({"a": [1, 2, 1, 1, 2], "b": ["x", "y", "x", "z", "y"]})
    assert CellHashes(table).exact().tolist() == [0, 1, 0, 3, 1]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1.5, 2.5, 1.5]),
        pa.array([0.0, 1.0, -0.0]),
        pa.array([1, 2, 1], pa.int8()),
        pa.array(["x", None, "x"]),
        pa.array([None, 1.0, None]),
        pa.array([True, False, True]),
        pa.array(["x", "y", "x"]).dictionary_encode(),
        pa.array([None, "y", None]).dictionary_encode(),
        pa.array([1, 2, 1], pa.timestamp("s")),
        pa.array([b"x", b"y", b"x"]),
    ],
    ids=lambda column: f"{column.type}, {column.null_count} gaps",
)
def test_cells_of_every_kind_are_compared_and_gaps_are_alike(column):
    assert CellHashes(pa.table({"a": column})).exact().tolist() == [0, 1, 0]


def test_the_same_value_in_another_column_is_another_cell():
    assert CellHashes(pa.table({"a": [1.0, 2.0], "b": [2.0, 1.0]})).exact().tolist() == [0, 1]


def test_rows_that_differ_in_one_column_are_grouped_by_it():
    X = np.random.default_rng(0).normal(size=(50, 3))
    X[10, [0, 1]], X[20, [1, 2]], X[30, [1, 2]] = X[5, [0, 1]], X[6, [1, 2]], X[6, [1, 2]]
    assert but_one(pa.table(dict(zip("abc", X.T, strict=True)))) == {0: [[6, 20, 30]], 2: [[5, 10]]}


@pytest.mark.parametrize("decimals", [0, 1, 2])
def test_numbers_of_few_digits_agree_by_chance(decimals):
    """Of 2,000 rows with three such columns, 1 to 2,000 pairs agree in two of them."""
    X = np.round(np.random.default_rng(0).normal(size=(2000, 3)), decimals)
    X = np.unique(X, axis=0)
    assert but_one(pa.table(dict(zip("abc", X.T, strict=True)))) == {}


def test_every_row_of_a_lattice_has_neighbours_in_every_column_and_none_is_a_copy():
    lattice = np.stack(np.meshgrid(*[np.arange(6.0)] * 3), -1).reshape(-1, 3)
    assert but_one(pa.table(dict(zip("abc", lattice.T, strict=True)))) == {}


def test_an_identifier_beside_columns_that_say_nothing_makes_no_copies():
    assert but_one(pa.table({"id": np.arange(100), "same": ["x"] * 100, "gap": pa.nulls(100, pa.string())})) == {}


def test_an_identifier_does_not_hide_that_the_rest_agrees():
    X = np.random.default_rng(0).normal(size=(100, 2))
    X[50:60] = X[:10]
    found = but_one(pa.table({"id": np.arange(100), "a": X[:, 0], "b": X[:, 1]}))
    assert found == {0: [[row, row + 50] for row in range(10)]}


def test_the_same_text_with_another_label_is_found_beside_one_column_alone():
    texts = [f"a sentence about the matter of {number}" for number in range(40)]
    table = pa.table({"text": [*texts, texts[3]], "label": ["good", "bad"] * 20 + ["good"]})
    assert but_one(table) == {1: [[3, 40]]}


def test_groups_hold_the_places_of_equal_values_in_order():
    assert [group.tolist() for group in groups_alike(np.array([7, 3, 7, 5, 3, 7]))] == [[0, 2, 5], [1, 4]]


def test_a_column_that_another_tells_is_no_second_witness():
    """A price and the same with tax: rows of one price by chance differ in the weight alone."""
    rng = np.random.default_rng(0)
    price = rng.normal(100, 15, 1000).round(2)
    table = pa.table({"price": price, "with tax": (1.19 * price).round(2), "weight": rng.normal(size=1000)})
    assert but_one(table) == {}


def test_rows_of_the_same_second_that_agree_but_for_one_column_are_found():
    rng = np.random.default_rng(0)
    seconds = rng.integers(0, 30 * 86_400, 500)
    seconds[490:] = seconds[:10]
    kind = rng.choice(["ash", "oak"], 500)
    kind[490:] = kind[:10]
    table = pa.table({"when": pa.array(seconds, pa.timestamp("s")), "kind": kind, "x": rng.normal(size=500).round(2)})
    assert [tuple(group) for group in but_one(table)[2]] == [(row, 490 + row) for row in range(10)]
