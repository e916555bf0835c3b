"""Explanations start from the typical region next to a row."""

import numpy as np
import pytest

from centrality import load
from centrality.model.explain import nearest
from tests.conftest import quick

RNG = np.random.default_rng(0)
LARGE, SMALL = RNG.normal(size=(700, 6)), RNG.normal(size=(300, 6)) + 6


@pytest.fixture(scope="module")
def two():
    return quick(max_steps=300, hidden=(64, 64)).fit(np.concatenate([LARGE, SMALL]))


def test_each_of_two_clusters_has_a_typical_point_and_one_cloud_has_one(two):
    points = two.fitted_.typical
    assert len(points) == 2
    np.testing.assert_array_equal(points[0], two.center_)
    middles = sorted(points.mean(1))
    assert abs(middles[0]) < 1
    assert abs(middles[1] - 6) < 1
    assert len(quick(max_steps=300).fit(LARGE).fitted_.typical) == 1


def test_a_row_belongs_to_the_point_next_to_it():
    assert nearest(np.array([[0.0, 0], [10, 0]]), np.array([[1.0, 5], [9, -5]])).tolist() == [0, 1]


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.5, 1.0])
def test_a_shifted_column_in_the_smaller_cluster_is_blamed_first(two, t):
    odd, guilty = RNG.normal(size=(200, 6)) + 6, RNG.integers(6, size=200)
    odd[np.arange(200), guilty] += 5 * RNG.choice([-1, 1], size=200)
    blamed = two.explain(odd, t).argmin(1) == guilty
    assert blamed.mean() > 0.9
    assert blamed.mean() > (two.explain(odd, t, baseline=two.center_).argmin(1) == guilty).mean() + 0.1
    reason = two.reasons(odd[blamed][:1], t)[0][0]
    assert abs(reason.typical - 6) < 2  # what is typical of its own cluster


def test_contributions_add_up_to_the_difference_from_the_point_next_to_the_row(two):
    Q = np.concatenate([LARGE[:20], SMALL[:20]]) + 0.1
    points = two.fitted_.typical[two.fitted_.nearest_typical(Q)]
    drop = two.centrality(Q, 1) - two.centrality(points, 1)
    np.testing.assert_allclose(two.explain(Q, 1).sum(1), drop, atol=1e-3)


def test_typical_points_go_into_the_file(two, tmp_path):
    two.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").fitted_.typical, two.fitted_.typical)


@pytest.mark.slow
def test_a_far_dense_group_of_few_rows_is_explained_by_what_sets_it_apart():
    """Against a point of its own, which is as odd as they are, nothing would explain its rows."""
    group = 0.2 * RNG.normal(size=(50, 6)) + np.array([20.0, 0, 0, 0, 0, 0])
    model = quick(max_steps=300).fit(np.concatenate([LARGE, group]))
    assert len(model.fitted_.typical) == 1
    contributions = model.explain(group, 0.5)
    assert (contributions.argmin(1) == 0).all()
    assert (contributions[:, 0] < -0.3).all()  # from above a half to below a fifth
