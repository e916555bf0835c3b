"""The bounds of what networks add to their backgrounds."""

import numpy as np

from centrality.fuse.background import bounds_of


def test_bounds_lie_beyond_the_quantiles_by_their_distance():
    """Of 0 to 100 the 1% and 99% quantiles are 1 and 99, 98 apart; a row that does not count changes nothing."""
    added = np.concatenate([np.arange(101.0), [1e9]])[None, :, None]
    counts = (np.arange(102) < 101)[None]
    np.testing.assert_allclose(bounds_of(added, counts), [[[1 - 98, 99 + 98]]])
    np.testing.assert_allclose(bounds_of(-added, counts), [[[-99 - 98, -1 + 98]]])


def test_each_member_and_each_potential_has_bounds_of_its_rows():
    added = np.random.default_rng(0).normal(size=(2, 50, 3)) * [1.0, 10.0, 100.0]
    counts = np.arange(50) % 2 == np.arange(2)[:, None]
    bounds = bounds_of(added, counts)
    assert bounds.shape == (2, 3, 2)
    for member in range(2):
        for potential in range(3):
            alone = bounds_of(added[member, member::2, potential][None, :, None], np.ones((1, 25), dtype=bool))
            np.testing.assert_allclose(bounds[member, potential], alone[0, 0])
