"""The bounds of what networks add to their backgrounds."""

import numpy as np
import pytest

from centrality.fuse.background import bounds_of, fit_background


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


def mixture(places: list[float], sizes: list[int]) -> np.ndarray:
    """Round groups of deviation 1 in four columns, at these places of the first."""
    rows = np.random.default_rng(0).normal(size=(sum(sizes), 4))
    rows[:, 0] += np.repeat(places, sizes)
    return rows.astype(np.float32)


def fitted(rows: np.ndarray, *, clean: bool = False) -> dict[str, np.ndarray]:
    return dict(fit_background(rows, [0.5], np.random.default_rng(0), clean=clean))


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_a_background_has_as_many_groups_as_the_rows(groups, clean):
    rows = mixture([10.0 * k for k in range(groups)], [400] * groups)
    means = np.sort(fitted(rows, clean=clean)["mean"][:, 0])
    assert means == pytest.approx(10.0 * np.arange(groups), abs=0.3)  # the error of a mean of 400 is .05


def test_a_small_group_far_away_has_no_component_unless_rows_are_clean():
    rows = mixture([0.0, 30.0], [970, 30])  # 3%: fewer than a twentieth, more than a hundredth
    assert fitted(rows)["mean"][:, 0].max() < 1
    assert fitted(rows, clean=True)["mean"][:, 0].max() == pytest.approx(30, abs=1)


def test_far_rows_hardly_move_and_hardly_widen_a_t_distribution():
    alone, among = fitted(mixture([0.0], [970])), fitted(mixture([0.0, 30.0], [970, 30]))
    assert np.abs(among["mean"] - alone["mean"]).max() < 0.1
    widths = [(1 / fit["precision"][-1]).max() for fit in (alone, among)]  # the sharp level's largest variance
    assert widths[1] < 3 * widths[0]  # the sample's own is 1 + .03 * 30² = 28 times as large
