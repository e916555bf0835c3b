"""Each depth by hand on tiny sets, against brute force, against `data-depth`, and under scikit-learn's checks."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.neighbors import KernelDensity as SklearnKernelDensity
from sklearn.utils.estimator_checks import parametrize_with_checks

from centrality import depths
from centrality.depths import (
    BY_NAME,
    L2,
    Halfspace,
    KernelDensity,
    Mahalanobis,
    Potential,
    Projection,
    Simplicial,
    Spatial,
    Zonoid,
)

EVERY_DEPTH = [
    *(depth() for depth in BY_NAME.values()),
    Mahalanobis(robust=True, random_state=0),
    Potential(whiten=True),
    KernelDensity(bandwidth=0.5),
    Projection(directions="paper", random_state=0),
    Projection(directions=50, random_state=0),
    Halfspace(directions="paper", random_state=0),
    Halfspace(directions=50, random_state=0),
]
SQUARE = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])


def cloud(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


@pytest.fixture(scope="module")
def package():
    """The multivariate depths of the `data-depth` package."""
    depth = pytest.importorskip("depth", reason="the extra `peers` brings data-depth")
    return depth.multivariate if hasattr(depth, "multivariate") else depth.model.multivariate


@parametrize_with_checks([type(depth)(**depth.get_params()) for depth in EVERY_DEPTH])
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)
