"""Levels of the potentials are set by rows that were not learned from, region by region."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal, spearmanr

from centrality.model.scorers import scorer_for
from centrality.network.levels import _medians, _regions, _smallest_change, _wanted, closed, density
from centrality.network.network import Layout, build

pytestmark = pytest.mark.numbers
SCALES = np.array([0.3, 1.0])


def two_groups(n: int, seed: int = 0) -> np.ndarray:
    """Of two round groups far apart, one has nine times as many rows as the other."""
    rng = np.random.default_rng(seed)
    right = rng.random(n) < 0.1
    return (rng.normal(size=(n, 2)) + 20 * right[:, None]).astype(np.float32)


def test_the_density_is_that_of_rows_blurred_by_the_noise_up_to_a_constant():
    seen, rows = two_groups(50), two_groups(20, seed=1)
    found = density(seen, rows, SCALES)
    for column, eta in zip(found.T, SCALES, strict=True):
        expected = np.log(np.mean([multivariate_normal(row, eta**2).pdf(rows) for row in seen], axis=0))
        rounding = 2.0**-21 * np.abs(expected).max()  # squares and their sum are float32
        np.testing.assert_allclose(np.diff(column), np.diff(expected), atol=rounding)


def test_regions_are_those_of_the_groups_and_none_is_empty():
    rows = two_groups(300)
    region = _regions(two_groups(500, seed=1), rows, 2, np.random.default_rng(0))
    assert set(region) == {0, 1}
    for k in (0, 1):
        assert len(set(rows[region == k, 0] > 10)) == 1


def test_medians_by_one_sort_are_those_of_each_region():
    rng = np.random.default_rng(0)
    region, values = rng.permutation(np.repeat([0, 1, 2], [1, 8, 5])), rng.normal(size=(14, 3))  # odd and even numbers
    expected = [np.median(values[region == r], axis=0) for r in range(3)]
    np.testing.assert_array_equal(_medians(values, region, np.bincount(region)), expected)


def test_a_head_that_can_tell_regions_apart_is_moved_by_what_each_is_off():
    """Features say in which of three regions a row lies; off are 0, 1 and 5 there, and 1 is the median of all."""
    region = np.repeat([0, 1, 2], [30, 50, 40])
    features, off = np.eye(3)[region], np.array([0.0, 1.0, 5.0])[region][:, None]
    change, shift = _smallest_change(features, _wanted(off, region))
    moved = features @ change.T + shift
    np.testing.assert_allclose(moved[:, 0], (off - 1)[:, 0], atol=0.02)  # the ridge is a thousandth


def test_an_untrained_networks_levels_follow_the_density_of_rows_it_has_not_seen():
    z, layout = two_groups(2000), Layout(width=2, hidden=(32, 32), potentials=2, members=2)
    network = build(layout, np.random.default_rng(0))
    learned = [np.arange(1000), np.arange(1000, 2000)]
    found = closed(network, z, SCALES, learned, np.random.default_rng(0))
    other = two_groups(500, seed=3)
    wanted = density(z, other, SCALES)
    large = other[:, 0] < 10
    for member in range(2):
        local = scorer_for(found)(other)[member, :, 1:]
        gap = np.median(local[large], axis=0) - np.median(local[~large], axis=0)
        expected = np.median(wanted[large], axis=0) - np.median(wanted[~large], axis=0)
        # Most of the way to log 9, which is 2.2: an untrained network is rugged within regions, and chance is left out.
        assert (gap > 0.5 * expected).all()
        assert (gap < 1.2 * expected).all()
    np.testing.assert_array_equal(scorer_for(found)(other)[:, :, 0], scorer_for(network)(other)[:, :, 0])


def test_where_too_few_rows_were_left_out_nothing_changes():
    z = two_groups(100)
    network = build(Layout(width=2, hidden=(8,), potentials=2), np.random.default_rng(0))
    assert closed(network, z, SCALES, [np.arange(50)], np.random.default_rng(0)) is network  # 50: one region of 30


@pytest.mark.slow
@pytest.mark.slow  # a whole fit by the defaults
def test_which_of_two_separate_groups_is_denser_is_known_at_t_1():
    from centrality import FUSE

    rng = np.random.default_rng(0)
    wide, narrow = rng.normal(size=(1000, 2)), 30 + 0.3 * rng.normal(size=(1000, 2))
    model = FUSE(random_state=0).fit(np.concatenate([wide, narrow]))
    q = np.concatenate([rng.normal(size=(300, 2)), 30 + 0.3 * rng.normal(size=(300, 2))])
    true = np.logaddexp(multivariate_normal([0, 0], 1.0).logpdf(q), multivariate_normal([30, 30], 0.09).logpdf(q))
    assert spearmanr(model.centrality(q, 1.0), true)[0] > 0.8
