"""The nearest rows of every row: among all of them, or within cells."""

import numpy as np

from centrality.selection.duplicates import ONE_CELL, nearest


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
