"""Mahalanobis depth: by hand and by its formula; robust or not."""

import numpy as np

from centrality.depths import (
    Mahalanobis,
)
from tests.depths.samples import cloud


def test_mahalanobis_depth_is_one_at_the_mean_and_half_one_deviation_away():
    depth = Mahalanobis(ridge=0).fit([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    # each column has variance 2/3, so (1, 0) lies at squared distance 3/2
    np.testing.assert_allclose(depth.score_samples([[0, 0], [1, 0], [1, 1]]), [1, 1 / 2.5, 1 / 4], rtol=1e-12)


def test_mahalanobis_depth_is_by_the_inverse_covariance():
    rows, queries = cloud(50, 4), cloud(10, 4, seed=1)
    away = queries - rows.mean(0)
    squared = np.diag(away @ np.linalg.inv(np.cov(rows.T)) @ away.T)
    np.testing.assert_allclose(Mahalanobis(ridge=0).fit(rows).score_samples(queries), 1 / (1 + squared), atol=1e-10)


def test_the_mahalanobis_ridge_is_added_to_the_variance():
    depth = Mahalanobis(ridge=0.5).fit([[0.0], [1.0]])  # variance 1/2, with the ridge 1
    np.testing.assert_allclose(depth.score_samples([[1.5]]), [0.5], rtol=1e-12)


def test_robust_mahalanobis_depth_is_not_moved_by_outliers():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(180, 2)), rng.normal([30, 30], 0.1, size=(20, 2))])
    planted = [[30.0, 30.0]]
    assert Mahalanobis(robust=True, random_state=0).fit(rows).score_samples(planted) < 0.002
    assert Mahalanobis().fit(rows).score_samples(planted) > 0.05
