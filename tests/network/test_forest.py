"""A forest held as plain arrays says what its leaves hold."""

import numpy as np

from centrality.network.forest import Forest, medians


def test_the_median_of_a_leaf_is_numpys():
    rng = np.random.default_rng(0)
    values, leaf = rng.normal(size=(40, 2)), rng.integers(5, size=40)
    found, _ = medians(values, leaf, 6)
    for number in range(5):
        np.testing.assert_allclose(found[number], np.median(values[leaf == number], axis=0))
    np.testing.assert_array_equal(found[5], 0)


def test_the_median_of_the_others_is_numpys_without_the_row():
    rng = np.random.default_rng(0)
    values, leaf = rng.normal(size=(60, 2)), rng.integers(7, size=60)
    values[::3] = values[0]  # ties
    leaf[5] = 9  # alone
    _, found = medians(values, leaf, 10)
    for row in range(60):
        others = (leaf == leaf[row]) & ((np.arange(60) != row) | (row == 5))
        np.testing.assert_allclose(found[row], np.median(values[others], axis=0))


def test_a_forest_finds_a_step_and_leaves_out_what_a_row_says_of_itself():
    """The step is from 0 to 1; an outlier of 100 in it moves no median, and is told 1 as its neighbours are."""
    c = np.linspace(0, 1, 200)[:, None]
    wanted = (c > 0.5).astype(float)
    wanted[150] = 100.0
    forest, unseen = Forest.fit(c, wanted, trees=20, leaf=5, seed=0)
    np.testing.assert_allclose(forest(np.array([[0.1], [0.9]])), [[0.0], [1.0]], atol=1e-6)
    np.testing.assert_allclose(unseen[150], 1.0, atol=1e-6)


def test_leaves_hold_means_where_asked():
    c = np.repeat([0.0, 1.0], 50)[:, None]
    wanted = np.where(c > 0, np.arange(100)[:, None] % 2, 3.0)  # half zeros, half ones: their median is no matter
    forest, _ = Forest.fit(c, wanted, trees=10, leaf=20, seed=0, means=True)
    np.testing.assert_allclose(forest(np.array([[0.0], [1.0]])), [[3.0], [0.5]], atol=1e-6)


def test_a_forest_times_a_factor_says_so_many_times_as_much():
    c = np.linspace(0, 1, 100)[:, None]
    forest, _ = Forest.fit(c, np.column_stack([c, -c]), trees=5, leaf=5, seed=0)
    np.testing.assert_allclose(forest.times(np.array([2.0, 0.0]))(c), forest(c) * [2.0, 0.0], rtol=1e-6)
