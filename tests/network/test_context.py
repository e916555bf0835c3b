"""Rows relative to their kinds: what is usual given a context, and in which units."""

import numpy as np
import pytest

from centrality.network.context import Context, ContextCalibration
from centrality.network.scaling import Scaling


def rows(n: int = 1500, seed: int = 0) -> np.ndarray:
    """Return a behaviour of 10 times its group, spread by its group, beside one that is no matter of it; the group."""
    rng = np.random.default_rng(seed)
    group = rng.integers(4, size=n)
    return np.column_stack([10 * group + (1 + group) * rng.normal(size=n), rng.normal(size=n), group]).astype(float)


@pytest.fixture(scope="module")
def fitted():
    X = rows()
    return Context.fit(X, Scaling.fit(X, "auto"), np.array([2]), np.array([0]), seed=0)


def test_relative_behaviours_have_the_middle_and_the_spread_of_their_kind(fitted):
    """In each group of about 375, the median is within 3 · 1.25/√375 = 0.2 of 0, and the deviation near 1."""
    context, made = fitted
    new = rows(seed=1)
    for found, group in ((made, rows()[:, 2]), (context.relative(new), new[:, 2])):
        for each in range(4):
            own = found[group == each, :2]
            assert np.abs(np.median(own, axis=0)).max() < 0.2
            assert np.abs(own.std(0) - 1).max() < 0.25


def test_relative_rows_come_back_to_what_they_were(fitted):
    new = rows(seed=2)
    new[0, 0] = 1e4  # bent, and unbent again
    np.testing.assert_allclose(fitted[0].absolute(fitted[0].relative(new)), new, rtol=1e-6, atol=1e-9)


def test_new_levels_and_far_contexts_are_known_to_be_new(fitted):
    new = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.5], [0.0, 0.0, 9.0]])
    np.testing.assert_array_equal(fitted[0].unseen(new), [False, True, True])


def test_an_outlier_does_not_hide_itself(fitted):
    """A training row with the behaviour of another group is as far off as a new one, within a half."""
    X = rows()
    X[7, :] = [30.0, 0.0, 0.0]  # 30 deviations of its kind from its middle
    context, made = Context.fit(X, Scaling.fit(X, "auto"), np.array([2]), np.array([0]), seed=0)
    assert made[7, 0] > 5
    assert context.relative(X[7:8])[0, 0] > 5


def test_a_column_without_deviations_is_fitted_as_zero():
    """The year of dates that are all of one year."""
    X = np.insert(rows(), 2, 7.0, axis=1)
    _, residuals = Context.fit(X, Scaling.fit(X, "auto"), np.array([3]), np.array([0]), seed=0)
    np.testing.assert_array_equal(residuals[:, 2], 0)
    assert np.isfinite(residuals).all()
    assert np.abs(np.median(residuals[:, :2], axis=0)).max() < 0.2


def test_small_levels_are_drawn_toward_the_rest_and_large_ones_are_not():
    """Of a level with 3 rows, little is believed; of one with 600, nearly all."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(9), [600, 600, 600, 3, 3, 3, 300, 300, 300])
    X = np.column_stack([rng.normal(size=len(group)) + 0.2 * (group == 1) + 3.0 * (group == 3), group]).astype(float)
    context, _ = Context.fit(X, Scaling.fit(X, "none"), np.array([1]), np.array([0]), seed=0)
    if context.center_effects:  # the effect of a level is at most what its rows differ by
        assert np.abs(context.center_effects[0].effects).max() < 3.0
    middle = context.absolute(np.array([[0.0, 3 * 0.125]]))[0, 0]
    assert middle < 2.5


def test_no_kind_has_its_middle_beyond_all_that_was_seen():
    """A price grows with the square of the weight: a line through it is below 0 for the light ones."""
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.2, 3, 800)
    X = np.column_stack([1000 * weight**2 * np.exp(0.1 * rng.normal(size=800)), weight])
    context, _ = Context.fit(X, Scaling.fit(X, "auto"), np.array([1]), np.array([0]), seed=0)
    asked = context.relative(np.column_stack([np.zeros(20), np.linspace(0.2, 3, 20)]))
    middle = asked.copy()
    middle[:, 0] = 0.0
    assert context.absolute(middle)[:, 0].min() >= X[:, 0].min() - 1e-6
    low, high = (context.absolute(end)[:, 0] for end in context.usual_range(asked))
    assert (low >= X[:, 0].min() - 1e-6).all()
    assert (high > low).all()


def test_a_head_that_scores_all_rows_alike_is_shifted_for_no_kind():
    """As of windows of a state that hardly ever changes: shares below the knots then do not rise."""
    rng = np.random.default_rng(0)
    context, units = rng.integers(2, size=(500, 1)).astype(float), np.zeros((500, 2))
    units[:, 1] = rng.normal(size=500)
    calibration, shifted = ContextCalibration.fit(context, units, np.array([0]), [np.array([0])], seed=0)
    assert np.isfinite(shifted).all()
    assert np.abs(calibration(units, context)[:, 0]).max() < 0.01
