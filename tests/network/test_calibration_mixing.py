"""The dial: how two heads become one centrality."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centrality import blend
from centrality.network.calibration import (
    LINEAR,
    SOFT,
    SOFT_IF_CLEAN,
    checked_t,
    chord,
    one_t,
    squeezed,
    stretched,
)

pytestmark = pytest.mark.numbers
dial, inside = st.floats(0, 1), st.floats(1e-6, 1 - 1e-6)
pairs = st.lists(st.tuples(inside, inside), min_size=1, max_size=5)
KINDS = [LINEAR, SOFT, SOFT_IF_CLEAN]


@given(dial, pairs)
def test_the_papers_mixture_is_linear_between_the_heads(t, heads):
    heads = np.array(heads)
    np.testing.assert_allclose(blend(heads, t, LINEAR), heads[:, 0] + t * (heads[:, 1] - heads[:, 0]), atol=1e-12)


@pytest.mark.parametrize("mixing", KINDS)
@given(t=dial, heads=pairs)
def test_a_mixture_is_the_global_head_at_0_the_local_one_at_1_and_never_outside_both(mixing, t, heads):
    heads = np.array(heads)
    ends = blend(heads, [0, t, 1], mixing)
    np.testing.assert_allclose(ends[:, [0, 2]], heads, rtol=1e-9)
    assert (ends[:, 1] >= heads.min(1) * (1 - 1e-9)).all()
    assert (ends[:, 1] <= heads.max(1) * (1 + 1e-9)).all()


@pytest.mark.parametrize("mixing", KINDS)
@given(t=dial, heads=pairs, up=st.floats(0, 0.5))
def test_a_row_that_both_heads_find_at_least_as_central_is_so(mixing, t, heads, up):
    heads = np.array(heads)
    higher = heads + up * (1 - heads)
    assert (blend(higher, t, mixing) >= blend(heads, t, mixing) * (1 - 1e-9)).all()


@pytest.mark.parametrize("mixing", [SOFT, SOFT_IF_CLEAN])
def test_soft_heads_are_mixed_in_units_of_the_upper_half_where_the_local_one_counts_nine_times(mixing):
    # Units -1 and -3 squeeze to 1/4 and 1/8; at t = 1/2 their mixture is (-1 - 9 * 3) / 10 = -2.8.
    np.testing.assert_allclose(blend(np.array([[1 / 4, 1 / 8]]), 0.5, mixing), [0.5 / 3.8])


@given(t=dial)
def test_the_mixture_is_the_papers_of_head_scores_in_its_own_unit(t):
    units = np.array([[-2.0, -1.5], [0.5, 0.25], [0.0, 1.0]])
    global_score, local_score = units[:, 0], 9 * units[:, 1]
    expected = ((1 - t) * global_score + t * local_score) / ((1 - t) * 1 + t * 9)
    np.testing.assert_allclose(SOFT_IF_CLEAN.mixed(units, t), expected, atol=1e-12)


def test_units_are_mixed_as_they_are_where_nothing_is_vetoed():
    units = np.array([[-9.0, -8.5], [2.0, -3.0]])
    # At t = 1/2 the local unit counts nine times: (-9 - 9 * 8.5) / 10 and (2 - 9 * 3) / 10.
    np.testing.assert_allclose(SOFT.mixed(units, 0.5), [-8.55, -2.5])
    np.testing.assert_allclose(SOFT.mixed(units, [0, 0.5, 1]), [[-9, -8.55, -8.5], [2, -2.5, -3]])
    np.testing.assert_allclose(SOFT.centrality(units, 0.5), [0.5 / 9.55, 0.5 / 3.5])


def test_the_global_head_vetoes_a_far_group_however_dense_unless_the_local_one_is_asked_alone():
    far_but_dense = np.array([[-9.0, 1.0]])
    # At t = 1/2 at most one unit above -9: (-9 - 9 * 8) / 10 = -8.1. At t = 3/4 two: (-9 - 27 * 7) / 28.
    np.testing.assert_allclose(SOFT.mixed(far_but_dense, [0.0, 0.5, 0.75, 1.0]), [[-9, -8.1, -198 / 28, 1.0]])
    assert SOFT.mixed(far_but_dense, 0.5) == SOFT.mixed(far_but_dense, [0.5])[:, 0]
    assert SOFT_IF_CLEAN.mixed(far_but_dense, 0.5) == pytest.approx(0)  # (-9 + 9 * 1) / 10
    np.testing.assert_allclose(blend(squeezed(far_but_dense), 0.5), [0.5 / 9.1])


@pytest.mark.parametrize("mixing", KINDS)
@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 1.0])
def test_the_weights_of_units_are_derivatives_of_the_mixture(mixing, t):
    units, step = np.random.default_rng(0).uniform(0, 1, size=(200, 2)) * (1 if mixing is LINEAR else 6), 1e-7
    numeric = [(mixing.mixed(units + step * unit, t) - mixing.mixed(units, t)) / step for unit in np.eye(2)]
    np.testing.assert_allclose(mixing.weights(units, t), np.stack(numeric, axis=1), atol=1e-6)


@pytest.mark.parametrize("mixing", KINDS)
@pytest.mark.parametrize("t", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_contributions_to_units_become_contributions_to_the_centrality_that_add_up(mixing, t):
    rng = np.random.default_rng(0)
    low, high = (0, 1) if mixing is LINEAR else (-4, 2)
    units, origin = rng.uniform(low, high, size=(2, 50, 2))
    parts = rng.dirichlet(np.ones(7), size=(50, 2)) * (units - origin)[:, :, None]
    found = mixing.contributions(parts, units, origin, t)
    np.testing.assert_allclose(found.sum(1), mixing.centrality(units, t) - mixing.centrality(origin, t), atol=1e-12)
    # Each row's are its mixed parts times one factor.
    weights = mixing.weights(units, t)
    factors = found / (weights[:, :1] * parts[:, 0] + weights[:, 1:] * parts[:, 1])
    np.testing.assert_allclose(factors, factors[:, :1].repeat(7, 1), rtol=1e-6)


def test_where_a_row_is_as_central_as_its_origin_contributions_have_the_slope_for_a_factor():
    """Column one raises the mixture by 1, column two lowers it by as much: at m = -1 squeezing has the slope 1/8."""
    parts, units = np.array([[[1.0, -1.0], [1.0, -1.0]]]), np.array([[-1.0, -1.0]])
    np.testing.assert_allclose(SOFT.contributions(parts, units, units, 0.5), [[0.125, -0.125]], rtol=1e-5)


def test_a_chord_is_the_difference_over_the_difference():
    np.testing.assert_allclose(chord(np.square, np.array([1.0, 2.0]), np.array([3.0, 2.0])), [4, 4], rtol=1e-9)


@given(st.floats(-1e12, 50))
def test_squeezing_keeps_everything_inside_0_and_1_and_can_be_undone(units):
    head = squeezed(np.array(units))
    assert 0 < head < 1
    np.testing.assert_allclose(stretched(head), units, rtol=1e-6, atol=1e-12)


def test_two_far_outliers_never_tie():
    assert (np.diff(squeezed(-np.geomspace(1e-3, 1e12, 2000))) < 0).all()


def test_squeezing_has_no_kink_at_the_median_row():
    below, at, above = squeezed(np.array([-1e-6, 0, 1e-6]))
    assert at == 0.5
    assert above - at == pytest.approx(at - below, rel=1e-4)


@pytest.mark.parametrize("t", [-0.1, 1.5, np.nan, "half", "0.5", True, [], [0.5, 2], None, [[0.5]]])
def test_a_t_outside_0_and_1_is_refused_with_what_came(t):
    with pytest.raises(ValueError, match=r"t must lie between 0 \(global\) and 1 \(local\).* got "):
        blend(np.full((1, 2), 0.5), t)


def test_t_as_an_array_of_its_own_dimension():
    for t in (0.25, 0, 1):
        assert checked_t(t).shape == ()
        assert checked_t(t) == one_t(t) == t
    assert checked_t([0.25, 1]).tolist() == [0.25, 1]
    with pytest.raises(ValueError, match="one number"):
        one_t([0.25, 1])
