"""The centres that clean rows start from: each stands for a group of at least five rows."""

import numpy as np
import pytest

from centrality.network.gaussians import FEWEST_OWNED, _groups, _merged, fit_mixture

pytestmark = pytest.mark.numbers


def rows_of(n: int, p: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, p)).astype(np.float32)


@pytest.mark.parametrize(("n", "p"), [(5, 3), (50, 2), (300, 5), (300, 100), (2000, 8)])
def test_every_centre_is_the_mean_of_at_least_five_rows(n, p):
    z = rows_of(n, p)
    centres, owner = _groups(z, np.random.default_rng(0))
    counts = np.bincount(owner)
    assert len(counts) == len(centres)
    assert counts.min() >= FEWEST_OWNED
    for k, centre in enumerate(centres):
        np.testing.assert_allclose(centre, z[owner == k].mean(0, dtype=np.float64), atol=1e-6)


def test_fewer_rows_than_that_have_one_centre_their_mean():
    z = rows_of(4, 3)
    centres, owner = _groups(z, np.random.default_rng(0))
    assert owner.tolist() == [0] * 4
    np.testing.assert_allclose(centres[0], z.mean(0), atol=1e-6)


def test_the_smallest_group_is_merged_first_into_the_one_next_to_it():
    """On a line: six rows at 0, one at 4, two at 5, seven at 20. The one joins the two, these three join the six."""
    places, counts = np.array([0.0, 4.0, 5.0, 20.0]), [6, 1, 2, 7]
    owner = np.repeat(np.arange(4), counts)
    centres, found = _merged((places * counts)[:, None], owner)
    np.testing.assert_allclose(centres[:, 0], [14 / 9, 20])
    assert found.tolist() == [0] * 9 + [1] * 7


def test_groups_that_are_large_enough_stay_as_they_are():
    owner = np.repeat([0, 1], 5)
    centres, found = _merged(np.array([[5.0], [10.0]]), owner)
    assert centres.tolist() == [[1.0], [2.0]]
    assert found.tolist() == owner.tolist()


def test_five_rows_far_from_all_others_have_a_centre():
    z = np.concatenate([rows_of(6000, 2), 50 + rows_of(5, 2, seed=1)])
    prior = fit_mixture(z, [0.2], np.random.default_rng(0))
    assert np.linalg.norm(prior["centres"] + prior["mean"] - 50, axis=1).min() < 2


def test_wider_rows_get_fewer_centres(monkeypatch):
    monkeypatch.setattr("centrality.network.gaussians.VALUES", 4000)
    z = rows_of(600, 100)
    found = [
        len(fit_mixture(np.ascontiguousarray(z[:, :p]), [0.2], np.random.default_rng(0))["centres"])
        for p in (100, 50, 1)
    ]
    assert found[0] <= 40
    assert found[0] < found[1] <= 80
    assert found[1] < found[2] <= 120
