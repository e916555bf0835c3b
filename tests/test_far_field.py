"""The Gaussian that potentials start from, and what it is for."""

import numpy as np
import pytest
import torch
from scipy.stats import multivariate_normal

from centrality import FUSE, load
from centrality._far_field import FarField

SCALES = [0.2, 1.0]


def correlated(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=p)


def field(z, scales=SCALES):
    return FarField.fitted(z.astype(np.float32), scales, np.random.default_rng(0)).double()


def test_it_is_the_log_density_of_the_blurred_gaussian_up_to_a_constant():
    z, q = correlated(500, 4), correlated(50, 4, seed=1)
    found = field(z)(torch.from_numpy(q)).numpy()
    for column, eta in enumerate(SCALES):
        blurred = multivariate_normal(z.mean(0), np.cov(z.T) + eta**2 * np.eye(4))
        np.testing.assert_allclose(found[:, column], blurred.logpdf(q) - blurred.logpdf(z.mean(0)), rtol=1e-3)


@pytest.mark.parametrize(("n", "p"), [(500, 4), (5, 8), (300, 150)])
def test_its_gradient_is_what_autograd_finds(n, p):
    far = field(correlated(n, p))
    q = torch.from_numpy(correlated(6, p, seed=1)).requires_grad_()
    by = torch.from_numpy(np.random.default_rng(2).normal(size=(6, 2)))
    (expected,) = torch.autograd.grad((far(q) * by).sum(), q)
    torch.testing.assert_close(far.gradient(q.detach(), by), expected, rtol=1e-5, atol=1e-5)  # axes are rounded


def test_across_its_axes_fewer_rows_than_columns_leave_only_the_noise():
    z = np.zeros((4, 6))
    z[:, 0] = [-1, 0, 1, 2]
    beside = torch.zeros(1, 6, dtype=torch.float64)
    beside[0, 0], beside[0, 5] = 0.5, 3.0  # on the line's middle, 3 away from it
    np.testing.assert_allclose(field(z)(beside).numpy(), [[-4.5 / 0.2**2, -4.5]], rtol=1e-5)


def test_novelty_ranks_far_points_by_their_distance_in_every_direction():
    """Without a far field, a network's slope beyond its rows is left to chance."""
    rng = np.random.default_rng(0)
    model = FUSE(novelty=True, random_state=0, max_steps=200).fit(rng.normal(size=(400, 5)))
    directions = rng.normal(size=(200, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    scores = np.stack([model.raw(radius * directions)[:, 1] for radius in (4, 8, 16, 32)])
    assert (np.diff(scores, axis=0) < 0).all()


def test_only_clean_rows_are_trusted_with_one():
    X = correlated(100, 3)
    short = {"random_state": 0, "max_steps": 5}
    assert FUSE(**short).fit(X).network_.far_field is None
    assert FUSE(novelty=True, **short).fit(X).network_.far_field is not None
    assert FUSE.as_in_paper("outlier", novelty=True, **short).fit(X).network_.far_field is None


def test_a_saved_model_keeps_it(tmp_path):
    X = correlated(100, 3)
    model = FUSE(novelty=True, random_state=0, max_steps=20).fit(X)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").raw(X), model.raw(X))


@pytest.mark.parametrize("encoder", [None, torch.nn.Linear(3, 4)])
def test_scoring_adds_what_the_network_says_it_does(encoder):
    X = correlated(60, 3)
    model = FUSE(novelty=True, encoder=encoder, ensemble=2, random_state=0, max_steps=5).fit(X)
    z = torch.from_numpy(model._scaling.apply(X))
    torch.testing.assert_close(model._scorer(z), model.network_(z).detach(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("encoder", [None, torch.nn.Linear(3, 4)])
def test_explanations_account_for_it(encoder):
    X = correlated(200, 3)
    model = FUSE(novelty=True, encoder=encoder, ensemble=2, random_state=0, max_steps=20).fit(X)
    far = X[:20] * 3
    change = model.centrality(far) - model.centrality(model.center_[None])
    np.testing.assert_allclose(model.explain(far).sum(1), change, atol=1e-3)
