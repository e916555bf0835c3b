"""The centres that clean rows start from: each stands for a group of at least five rows."""

import numpy as np
import pytest

from centrality.network.gaussians import FEWEST_OWNED, _centres, _groups, fit_mixture

pytestmark = pytest.mark.numbers


def rows_of(n: int, p: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, p)).astype(np.float32)


@pytest.mark.parametrize(("n", "p"), [(50, 2), (300, 5), (300, 100), (2000, 8)])
def test_a_centre_is_the_mean_of_its_rows_or_of_five_that_lie_together(n, p):
    z = rows_of(n, p)
    centres, owner = _groups(z, np.random.default_rng(0))
    counts = np.bincount(owner)
    assert len(counts) == len(centres) <= n // 3
    for k, centre in enumerate(centres):
        own = z[owner == k].astype(np.float64)
        if len(own) >= FEWEST_OWNED:
            np.testing.assert_allclose(centre, own.mean(0), atol=1e-6)
        else:  # of five, which with its own leave some others, whose mean follows
            others = (FEWEST_OWNED * centre - own.sum(0)) / (FEWEST_OWNED - len(own))
            assert np.isfinite(others).all()
            assert np.abs(z - centre).max(1).min() > 1e-4  # and it is no row


def test_a_group_of_few_rows_takes_in_those_next_to_it():
    """On a line: six rows at 0, two at 10, and others at 11, 13 and 19. The two and 11, 13, 19 are five."""
    z = np.array([0.0] * 6 + [10, 10, 11, 13, 19])[:, None]
    owner = np.array([0] * 6 + [1, 1, 2, 2, 2])
    centres = _centres(z, owner)
    np.testing.assert_allclose(centres[:, 0], [0, (10 + 10 + 11 + 13 + 19) / 5, (11 + 13 + 19 + 10 + 10) / 5])


def test_fewer_rows_than_five_have_their_mean_for_all_centres():
    z = rows_of(4, 3)
    centres, _ = _groups(z, np.random.default_rng(0))
    np.testing.assert_allclose(centres, np.broadcast_to(z.mean(0), centres.shape), atol=1e-6)


def test_five_rows_far_from_all_others_have_a_centre():
    z = np.concatenate([rows_of(6000, 2), 50 + rows_of(5, 2, seed=1)])
    prior = fit_mixture(z, [0.2], np.random.default_rng(0))
    assert np.linalg.norm(prior["centres"] + prior["mean"] - 50, axis=1).min() < 2


def test_wider_rows_get_fewer_centres(monkeypatch):
    monkeypatch.setattr("centrality.network.gaussians.VALUES", 4000)
    z, found = rows_of(600, 100), []
    for p in (100, 50, 1):
        prior = fit_mixture(np.ascontiguousarray(z[:, :p]), [0.2], np.random.default_rng(0))
        found.append(len(prior["centres"]))
    assert found == [40, 80, 200]  # 4000 values of them, or a third of the rows
