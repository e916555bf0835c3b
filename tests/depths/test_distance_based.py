"""Depths by distances, spatial, L2, potential, and kernel densities: by hand and by their formulas."""

import numpy as np
from scipy import stats
from sklearn.neighbors import KernelDensity as SklearnKernelDensity

from centrality.depths import (
    L2,
    KernelDensity,
    Potential,
    Spatial,
)
from tests.depths.samples import cloud


def test_spatial_depth_without_whitening_is_the_formula_in_the_columns_as_they_are():
    X, Q = cloud(60, 3) * [1, 10, 0.1], cloud(5, 3, seed=1)
    away = Q[:, None] - X
    expected = 1 - np.linalg.norm((away / np.linalg.norm(away, axis=2, keepdims=True)).mean(1), axis=1)
    np.testing.assert_allclose(Spatial(whiten=False).fit(X).score_samples(Q), expected, atol=1e-12)
    assert np.abs(Spatial().fit(X).score_samples(Q) - expected).max() > 0.01


def test_spatial_depth_by_hand_in_the_plane():
    # Whitening turns these four rows into (±1, 0), (0, ±1) times a constant c. Seen from (c, 0) the row itself gives
    # no unit vector, (-c, 0) gives (1, 0), the other two (1, ±1)/√2: their sum is 1 + √2.
    depth = Spatial().fit([[-3.0, 0.0], [3.0, 0.0], [0.0, -5.0], [0.0, 5.0]])
    np.testing.assert_allclose(depth.score_samples([[0, 0], [3, 0]]), [1, 1 - (1 + np.sqrt(2)) / 4], atol=1e-9)


def test_rows_that_nearly_coincide_lose_no_digits():
    rows = np.repeat(cloud(10, 2), 5, axis=0)
    rows += np.random.default_rng(1).normal(scale=1e-9, size=rows.shape)  # pairs whose squared distance is rounding
    root = np.linalg.cholesky(np.linalg.inv(np.cov(rows.T)))
    apart = (rows[:, None] - rows) @ root  # (n, n, 2) whitened
    length = np.linalg.norm(apart, axis=2, keepdims=True)
    towards = np.divide(apart, length, out=np.zeros_like(apart), where=length > 0)
    expected = 1 - np.linalg.norm(towards.mean(1), axis=1)
    np.testing.assert_allclose(Spatial().fit(rows).score_samples(rows), expected, atol=1e-6)
    sharp = Potential(beta=1e18).fit(rows).score_samples(rows)
    distance = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.testing.assert_allclose(sharp, np.exp(-1e18 * distance**2).mean(1), atol=1e-6)


def test_l2_depth_is_one_over_one_plus_the_mean_whitened_distance():
    depth = L2().fit([[-2.0], [0.0], [2.0]])  # standard deviation 2
    np.testing.assert_allclose(depth.score_samples([[0], [4]]), [1 / (1 + 2 / 3), 1 / (1 + 2)], rtol=1e-9)


def test_potential_depth_takes_scotts_bandwidth_and_raw_distances():
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    beta = 2 ** (-2 / 6)
    np.testing.assert_allclose(
        Potential().fit(rows).score_samples(rows), np.full(2, (1 + np.exp(-25 * beta)) / 2), rtol=1e-12
    )


def test_kernel_density_is_scipys_with_scotts_rule_and_scikit_learns_with_a_number():
    rows, queries = cloud(80, 3), cloud(20, 3, seed=1)
    np.testing.assert_allclose(
        KernelDensity().fit(rows).score_samples(queries), stats.gaussian_kde(rows.T).logpdf(queries.T), atol=1e-8
    )
    np.testing.assert_allclose(
        KernelDensity(bandwidth=0.7).fit(rows).score_samples(queries),
        SklearnKernelDensity(bandwidth=0.7).fit(rows).score_samples(queries),
        atol=1e-8,
    )
