"""Rows that agree in every cell, or in all but those of one column."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.selection.duplicates import ONE_CELL, CellHashes, groups_alike, groups_of, near_copies, nearest


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


def found(Z: np.ndarray) -> list[list[int]]:
    return [group.tolist() for group in near_copies(Z.astype(np.float32), np.random.default_rng(0))]


def spacing(Z: np.ndarray) -> float:
    """Return the median distance of a row to the nearest other one."""
    between = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.fill_diagonal(between, np.inf)
    return float(np.median(between.min(1)))


@pytest.mark.slow
@pytest.mark.parametrize("p", [8, 32])
@pytest.mark.parametrize("part", [1e-3, 1e-1])
def test_copies_with_noise_of_a_tenth_of_the_spacing_or_less_are_found_and_nothing_else(p, part):
    rng = np.random.default_rng(p)
    Z = rng.normal(size=(800, p))
    noise = rng.normal(size=(40, p))
    noise *= part * spacing(Z) / np.linalg.norm(noise, axis=1, keepdims=True)
    called = found(np.vstack([Z, Z[:40] + noise]))
    true = [group for group in called if len(group) == 2 and group[1] == group[0] + 800]
    assert len(true) >= 0.98 * 40
    assert len(called) - len(true) <= 0.02 * 40


@pytest.mark.parametrize("p", [1, 2, 5, 30])
def test_rows_drawn_at_random_hold_hardly_a_copy(p):
    """In a hundred such sets there should be one false call, if the rate of false discoveries is 1%: here are ten."""
    called = [found(np.random.default_rng(seed).normal(size=(500, p))) for seed in range(10)]
    assert sum(map(len, called)) <= 1


@pytest.mark.parametrize("kind", ["lattice", "few values", "rounded", "walk", "tight cluster"])
def test_rows_that_lie_as_close_as_their_other_neighbours_are_no_copies(kind):
    rng = np.random.default_rng(0)
    made = {
        "lattice": lambda: np.stack(np.meshgrid(*[np.arange(9.0)] * 3), -1).reshape(-1, 3),
        "few values": lambda: np.unique(rng.integers(0, 3, (400, 6)), axis=0),
        "rounded": lambda: np.unique(np.round(rng.normal(size=(600, 3)), 1), axis=0),
        "walk": lambda: np.column_stack([np.sin(np.linspace(0, 50, 600)), np.cos(np.linspace(0, 65, 600))]),
        "tight cluster": lambda: np.vstack([rng.normal(size=(500, 4)), 5 + 0.01 * rng.normal(size=(100, 4))]),
    }
    assert found(made[kind]().astype(float)) == []


def test_a_row_that_was_copied_nine_times_is_one_group():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 8))
    Z[100:109] = Z[3] + 1e-3 * rng.normal(size=(9, 8))
    assert found(Z) == [[3, *range(100, 109)]]


def test_rows_that_are_all_in_one_place_are_not_called():
    assert found(np.ones((50, 3))) == []


def test_pairs_are_joined_to_groups():
    groups = groups_of(np.array([1, 5, 2]), np.array([2, 6, 4]), 8)
    assert [group.tolist() for group in groups] == [[1, 2, 4], [5, 6]]
    assert groups_of(np.array([], dtype=int), np.array([], dtype=int), 3) == []


def by_hand(Z: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    between = np.linalg.norm(Z[:, None].astype(float) - Z, axis=2)
    np.fill_diagonal(between, np.inf)
    order = np.argsort(between, axis=1)[:, :k]
    return np.take_along_axis(between, order, 1), order


def test_of_few_rows_the_nearest_are_exact():
    Z = np.random.default_rng(0).normal(size=(300, 5)).astype(np.float32)
    apart, which = nearest(Z, 4, np.random.default_rng(0))
    expected, order = by_hand(Z, 4)
    np.testing.assert_allclose(apart, expected, rtol=1e-4)
    np.testing.assert_array_equal(which, order)


def test_distances_between_rows_that_nearly_agree_are_not_lost_in_rounding():
    """Rows at 10,000 that are 0.01 apart: squares of float32 numbers of that size are known to 8 only."""
    Z = np.array([[10_000.0, 0], [10_000.01, 0], [10_000, 5], [0, 0]], dtype=np.float32)
    apart, _ = nearest(Z, 1, np.random.default_rng(0))
    np.testing.assert_allclose(apart[:2, 0], float(Z[1, 0]) - float(Z[0, 0]), rtol=1e-6)


def test_where_rows_are_fewer_than_asked_the_rest_is_infinitely_far():
    apart, which = nearest(np.array([[0.0], [1.0]], dtype=np.float32), 3, np.random.default_rng(0))
    assert apart.tolist() == [[1.0, np.inf, np.inf]] * 2
    assert which.tolist() == [[1, -1, -1], [0, -1, -1]]


def test_among_very_many_rows_copies_find_each_other():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(2 * ONE_CELL, 6)).astype(np.float32)
    Z[-100:] = Z[:100] + 1e-4 * rng.normal(size=(100, 6)).astype(np.float32)
    _, which = nearest(Z, 1, rng)
    found = which[:100, 0] == np.arange(len(Z) - 100, len(Z))
    assert found.mean() >= 0.98
