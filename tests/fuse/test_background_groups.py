"""K-means as the fits use it."""

import numpy as np
import pytest
from sklearn.cluster import KMeans, kmeans_plusplus

from centrality.fuse.background import far_apart, k_means


def test_groups_that_lie_apart_are_found_with_their_means():
    rng = np.random.default_rng(0)
    own = rng.integers(3, size=300)
    rows = (np.array([[0.0, 0], [20, 0], [0, 20]])[own] + rng.normal(size=(300, 2))).astype(np.float32)
    centres, group = k_means(rows, 3, 0, rounds=20)
    for k in range(3):
        assert len(set(own[group == k])) == 1
        np.testing.assert_allclose(centres[k], rows[group == k].mean(0, dtype=np.float64))


@pytest.mark.parametrize("trials", [1, 4])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_far_apart_are_those_that_scikit_learn_picks(kind, trials):
    rows = np.random.default_rng(0).normal(size=(700, 5)).astype(kind)
    picked = kmeans_plusplus(rows, 40, random_state=3, n_local_trials=trials)[1]
    assert far_apart(rows, 40, 3, trials=trials).tolist() == picked.tolist()


def test_copies_make_fewer_groups_without_a_warning():
    _, group = k_means(np.repeat([[0.0, 1.0], [2.0, 3.0]], 50, axis=0), 10, 0, rounds=5)
    assert len(set(group[:50]) & set(group[50:])) == 0


def test_a_row_between_two_centres_belongs_to_the_first():
    _, group = k_means(np.array([[-1.0], [1.0], [0.0]]), 2, 0, rounds=0, start=np.array([0, 1]))
    assert group.tolist() == [0, 1, 0]


def test_a_centre_without_rows_stays_where_it_is():
    rows = np.array([[0.0], [0.0], [4.0]])
    centres, group = k_means(rows, 3, 0, rounds=5, start=np.array([0, 1, 2]))
    assert centres.ravel().tolist() == [0.0, 0.0, 4.0]
    assert group.tolist() == [0, 0, 2]


def test_groups_lower_the_squared_distances_as_far_as_scikit_learns_do():
    rows = np.random.default_rng(1).normal(size=(2000, 6)).astype(np.float32)
    start = far_apart(rows, 50, 0, trials=1)
    centres, group = k_means(rows, 50, 0, rounds=100, start=start)
    theirs = KMeans(50, init=rows[start], n_init=1, max_iter=100).fit(rows)
    assert np.square(rows - centres[group]).sum() == pytest.approx(theirs.inertia_, rel=0.01)
