"""The mixture that potentials start from, and what it is for."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from centrality import FUSE, load
from centrality.network.gaussians import FEWEST_OWNED, _centres, _groups, fit_mixture
from centrality.torch.networks import to_train
from tests.conftest import quick
from tests.torch.examples import prior_of

SCALES = [0.2, 1.0]


pytestmark = pytest.mark.numbers


def correlated(n, p, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) + rng.normal(size=p)


def fitted(z, scales=SCALES):
    return prior_of(fit_mixture(z.astype(np.float32), scales, np.random.default_rng(0)))


def test_around_one_centre_it_is_the_log_density_of_the_blurred_round_gaussian(monkeypatch):
    monkeypatch.setattr("centrality.network.gaussians.CENTRES", 1)
    z, q = correlated(500, 4), correlated(50, 4, seed=1)
    found = fitted(z)(torch.from_numpy(q)).numpy()
    variance = np.trace(np.cov(z.T)) / 4
    for column, eta in enumerate(SCALES):
        blurred = multivariate_normal(z.mean(0), (variance + eta**2) * np.eye(4))
        np.testing.assert_allclose(found[:, column], blurred.logpdf(q) - blurred.logpdf(z.mean(0)), rtol=1e-4)


def test_each_group_of_rows_has_its_share_and_its_own_width():
    """Twelve rows far from sixty others, five times as wide, six centres a group at least."""
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=(60, 2)), 1000 + 5 * rng.normal(size=(12, 2))])
    prior = fitted(z, [100.0])  # so blurred, the groups are two round Gaussians
    at = torch.tensor([[0.0, 0.0], [1000.0, 1000.0]])
    near, far = prior(at.double())[:, 0]
    assert near - far == pytest.approx(np.log(60 / 12), abs=0.05)
    sharp = fitted(z, [1e-3])
    right = sharp.centres[:, 0] > 0
    assert 1 / sharp.precision[0, right].mean() > 3 / sharp.precision[0, ~right].mean()


def test_a_few_rows_far_from_all_others_have_a_centre():
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=(6000, 2)), 50 + rng.normal(size=(5, 2))])
    prior = fitted(z)
    assert len(prior.centres) < 600
    nearest = (prior.centres + prior.mean - 50).square().sum(1).min()
    assert nearest < 2


def test_it_adds_up_its_gaussians_however_many_rows_are_asked_for():
    z = correlated(900, 3)
    prior = fitted(z)
    assert len(prior.centres) == 300
    q = correlated(257, 3, seed=1)
    apart = np.square(q[:, None] - prior.mean.numpy() - prior.centres.numpy()).sum(2)
    for column in range(2):
        expected = logsumexp(prior.level[column].numpy() - 0.5 * prior.precision[column].numpy() * apart, axis=1)
        np.testing.assert_allclose(prior(torch.from_numpy(q)).numpy()[:, column], expected, atol=1e-9)


def test_it_spreads_as_the_rows_do():
    z = correlated(900, 3)
    prior = fitted(z, [1e-4])
    weight = (prior.level[0] - 1.5 * prior.precision[0].log()).exp()  # the heights, less what narrowness adds to them
    weight /= weight.sum()
    spread = (weight * (prior.centres.square().sum(1) + 3 / prior.precision[0])).sum()
    assert float(spread) == pytest.approx(z.var(0).sum(), rel=0.1)


@pytest.mark.parametrize(
    "z",
    [
        np.repeat([[0.0, 1.0], [2.0, 3.0]], 50, axis=0),  # fewer distinct rows than centres
        np.ones((2, 3)) * [[0.0], [1.0]],  # fewer rows than one centre asks for
        np.array([[1e6, 0.0]]) + np.random.default_rng(0).normal(size=(300, 2)),  # far from the origin
    ],
    ids=["duplicates", "two rows", "an offset"],
)
def test_odd_rows_get_one_that_falls_with_the_distance_and_stays_finite(z):
    prior = fitted(z).float()
    here, near, far = (prior(torch.from_numpy(z + by).float()) for by in (0.0, 100.0, 1e15))
    assert (here.min(0).values > near.max(0).values).all()
    assert (near.min(0).values > far.max(0).values).all()
    assert far.isfinite().all()


def test_wide_rows_get_fewer_centres(monkeypatch):
    monkeypatch.setattr("centrality.network.gaussians.VALUES", 4000)
    z = np.random.default_rng(0).normal(size=(600, 100))
    assert [len(fitted(z[:, :p]).centres) for p in (100, 50, 1)] == [40, 80, 200]


def test_float32_finds_the_potentials_of_a_far_group_to_a_tenth():
    """Squared distances are differences of large squares there: no Gaussian may be narrower than their rounding."""
    rng = np.random.default_rng(0)
    z = np.concatenate([rng.normal(size=(300, 3)), 1000 + 1e-3 * rng.normal(size=(300, 3))])
    prior, q = fitted(z, [1e-4]), torch.from_numpy(z[300:])
    assert (prior(q) - prior.float()(q.float())).abs().max() < 0.1


def test_novelty_ranks_far_points_by_their_distance_in_every_direction():
    """Without a prior, a network's slope beyond its rows is left to chance."""
    rng = np.random.default_rng(0)
    model = FUSE(novelty=True, random_state=0, hidden=(32, 32), max_steps=200).fit(rng.normal(size=(400, 5)))
    directions = rng.normal(size=(200, 5))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    scores = np.stack([model.raw(radius * directions)[:, 1] for radius in (4, 8, 16, 32)])
    assert (np.diff(scores, axis=0) < 0).all()


def test_only_clean_rows_are_trusted_with_one():
    X = correlated(100, 3)
    short = {"random_state": 0, "max_steps": 5, "hidden": (16,)}
    assert not FUSE(**short).fit(X).fitted_.network.prior
    assert FUSE(novelty=True, **short).fit(X).fitted_.network.prior
    assert not FUSE.as_in_paper("outlier", novelty=True, **short).fit(X).fitted_.network.prior


def test_a_saved_model_keeps_it(tmp_path):
    X = correlated(100, 3)
    model = FUSE(novelty=True, random_state=0, max_steps=20).fit(X)
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").raw(X), model.raw(X))


@pytest.mark.parametrize("encoder", [None, torch.nn.Linear(3, 4)])
def test_scoring_adds_what_the_network_says_it_does(encoder):
    X = correlated(60, 3)
    model = FUSE(novelty=True, encoder=encoder, ensemble=2, random_state=0, max_steps=5).fit(X)
    z = model.fitted_.scaling.apply(X)
    expected = to_train(model.fitted_.network, "cpu").eval()(torch.from_numpy(z)).detach()
    np.testing.assert_allclose(model.fitted_.scorer(z), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("encoder", [None, torch.nn.Linear(3, 4)])
def test_explanations_account_for_it(encoder):
    X = correlated(200, 3)
    model = quick(novelty=True, encoder=encoder, ensemble=2, max_steps=20).fit(X)
    far = X[:20] * 3
    change = model.centrality(far) - model.centrality(model.center_[None])
    np.testing.assert_allclose(model.explain(far).sum(1), change, atol=1e-3)


# The centres that clean rows start from: each stands for a group of at least five rows.


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
