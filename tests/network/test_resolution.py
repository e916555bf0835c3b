"""With few columns a network starts from steep features that bend among the rows, so that it sees small groups."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, spearmanr

from centrality import FUSE
from centrality.network.network import Layout, build
from centrality.network.resolution import ROWS_EACH, STEEPEST, refined, steepness


def test_many_rows_of_two_columns_have_features_four_times_as_steep_and_few_rows_or_many_columns_none():
    assert steepness(10**6, 2) == 4.0
    assert steepness(STEEPEST * ROWS_EACH, 2) == 4.0
    assert steepness(8 * ROWS_EACH, 2) == 2.0
    assert steepness(2 * ROWS_EACH, 2) == 1.0
    assert steepness(10**6, STEEPEST) == steepness(10**6, 500) == 1.0


@pytest.mark.parametrize("shared", [True, False])
def test_each_first_feature_of_the_local_trunk_bends_near_the_rows_and_all_else_stays(shared):
    z = np.random.default_rng(0).normal(5.0, 0.5, size=(2000, 2)).astype(np.float32)
    plain = build(Layout(width=2, hidden=(64, 64), shared=shared, members=2), np.random.default_rng(0))
    steep = refined(plain, z, np.random.default_rng(1))
    first = "trunks.0.0" if shared else "trunks.1.0"
    weight, bias = (steep.weights[f"{first}.{part}"] for part in ("weight", "bias"))
    np.testing.assert_allclose(weight, 4 * plain.weights[f"{first}.weight"], rtol=1e-6)
    # From the rows' middle it is |w.x + b| / |w| to where a feature bends: within four deviations of it.
    assert (np.abs((weight * 5.0).sum(2) + bias) / np.linalg.norm(weight, axis=2)).max() < 4 * 0.5 + 1e-3
    for name in set(plain.weights) - {f"{first}.weight", f"{first}.bias"}:
        np.testing.assert_array_equal(steep.weights[name], plain.weights[name])


@pytest.mark.parametrize(("width", "middle"), [(STEEPEST, 0.0), (2, 20.0)], ids=["wide", "far from 0"])
def test_wide_rows_and_rows_far_from_zero_start_as_ever(width, middle):
    z = np.full((5000, width), middle, dtype=np.float32)
    network = build(Layout(width=width, hidden=(8,)), np.random.default_rng(0))
    assert refined(network, z, np.random.default_rng(0)) is network


@pytest.mark.slow
def test_a_ring_of_eight_groups_is_seen_as_eight_groups():
    """By distance from the ring alone, as before, the correlation with the density is .6."""
    rng = np.random.default_rng(0)
    angle = np.arange(8) * np.pi / 4
    centres = 6 * np.column_stack([np.cos(angle), np.sin(angle)])
    drawn = centres[rng.integers(8, size=5000)] + 0.7 * rng.normal(size=(5000, 2))
    train, fresh = drawn[:4000], drawn[4000:]
    true = np.logaddexp.reduce([multivariate_normal(centre, 0.49).logpdf(fresh) for centre in centres])
    assert spearmanr(FUSE(random_state=0).fit(train).centrality(fresh, 1.0), true)[0] > 0.9
