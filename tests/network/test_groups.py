"""K-means as the fits use it."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.cluster import kmeans_plusplus

from centrality.network.groups import far_apart, k_means


def test_groups_that_lie_apart_are_found_with_their_means():
    rng = np.random.default_rng(0)
    own = rng.integers(3, size=300)
    rows = np.array([[0.0, 0], [20, 0], [0, 20]])[own] + rng.normal(size=(300, 2))
    centres, group = k_means(rows, 3, 0, rounds=20)
    for k in range(3):
        assert len(set(own[group == k])) == 1
        np.testing.assert_allclose(centres[k], rows[group == k].mean(0))


@pytest.mark.parametrize("trials", [1, 4])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_rows_far_apart_are_those_that_scikit_learn_picks(kind, trials):
    rows = np.random.default_rng(0).normal(size=(700, 5)).astype(kind)
    picked = kmeans_plusplus(rows, 40, random_state=3, n_local_trials=trials)[1]
    assert far_apart(rows, 40, 3, trials=trials).tolist() == picked.tolist()


def test_copies_make_fewer_groups_without_a_warning():
    _, group = k_means(np.repeat([[0.0, 1.0], [2.0, 3.0]], 50, axis=0), 10, 0, rounds=5)
    assert len(set(group[:50]) & set(group[50:])) == 0


@pytest.mark.slow
def test_a_forked_child_finds_groups_as_well():
    script = (
        "import os, numpy as np\n"
        "from centrality.network.groups import k_means\n"
        "rows = np.random.default_rng(0).normal(size=(3000, 8))\n"
        "k_means(rows, 50, 0, rounds=5)\n"
        "if os.fork() == 0:\n"
        "    k_means(rows, 50, 0, rounds=5); os._exit(0)\n"
        "print(os.wait()[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == "0"
