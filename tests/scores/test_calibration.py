import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centrality.scores.calibration import Calibration, Rescaling, average, bend_top, soft_clip, soft_sigmoid
from centrality.scores.mixing import LINEAR, SOFT, SOFT_IF_CLEAN

finite = st.floats(-1e9, 1e9)


pytestmark = pytest.mark.numbers


def outputs_of(*potentials: np.ndarray) -> np.ndarray:
    """What one member's network gives: a flat logit, and these potentials."""
    return np.column_stack([np.zeros(len(potentials[0])), *potentials])[None]


def test_the_local_score_is_0_at_the_first_percentile_and_1_at_the_99th_when_clipped():
    potential = np.linspace(-7, 3, 1001)  # its percentiles 1 and 99 are -6.9 and 2.9
    calibration = Calibration.fit("clip", outputs_of(potential))
    raw = np.column_stack([np.zeros(5), [-100.0, -6.9, -2.0, 2.9, 50.0]])
    np.testing.assert_allclose(calibration.heads(raw)[:, 1], [0, 0, 0.5, 1, 1], atol=1e-12)


def test_the_global_score_is_the_sigmoid_of_the_logit():
    calibration = Calibration.fit("clip", outputs_of(np.arange(10.0)))
    raw = np.column_stack([[-np.log(3), 0, np.log(3)], np.zeros(3)])
    np.testing.assert_allclose(calibration.heads(raw)[:, 0], [0.25, 0.5, 0.75])


def test_soft_calibration_agrees_with_clipping_between_the_second_and_the_98th_hundredth_of_the_scale():
    u = np.linspace(0.02, 0.98, 97)
    np.testing.assert_allclose(soft_clip(u), u, rtol=1e-14)
    g = np.linspace(-6, 6, 97)
    np.testing.assert_allclose(soft_sigmoid(g), 1 / (1 + np.exp(-g)), rtol=1e-12)


@given(finite, finite)
def test_soft_calibration_keeps_order_and_stays_strictly_inside_0_and_1(a, b):
    for soft in (soft_clip, soft_sigmoid):
        low, high = soft(np.array([min(a, b), max(a, b)]))
        assert 0 < low <= high < 1


@pytest.mark.parametrize("soft", [soft_clip, soft_sigmoid])
def test_two_far_outliers_never_tie(soft):
    far = -np.geomspace(1e-3, 1e12, 2000)
    assert (np.diff(soft(far)) < 0).all()


@pytest.mark.parametrize(("soft", "bends"), [(soft_clip, (0.02, 0.98)), (soft_sigmoid, (-6.0, 6.0))])
def test_soft_calibration_has_no_kink(soft, bends):
    step = 1e-6
    for bend in bends:
        left, at, right = soft(np.array([bend - step, bend, bend + step]))
        assert (at - left) / step == pytest.approx((right - at) / step, rel=1e-3)


def test_several_potentials_are_each_rescaled_by_their_own_percentiles_and_averaged():
    ramp = np.linspace(0, 1, 1001)
    calibration = Calibration.fit("clip", outputs_of(100 * ramp, 7 - ramp))  # rescaled they cancel out
    raw = calibration.raw(outputs_of(100 * ramp, 7 - ramp))[:, 1]
    np.testing.assert_allclose(raw[30:-30], 0.5, atol=1e-12)  # where neither is capped


@given(st.lists(st.floats(-5, 5), min_size=3, max_size=6))
def test_of_three_or_more_potentials_the_lowest_and_the_highest_have_no_say(values):
    unit = Rescaling(np.zeros((1, len(values), 1)), np.ones((1, len(values), 1)))
    outputs = outputs_of(*(np.array([value]) for value in values))
    middle = bend_top(np.array(sorted(values)[1:-1]))
    assert average(outputs, unit)[0, 1] == pytest.approx(middle.mean(), abs=1e-12)


def test_no_potential_of_several_can_outvote_the_others_by_being_far_too_high():
    ramp = np.linspace(0, 1, 1001)
    calibration = Calibration.fit("soft", outputs_of(ramp, ramp))
    blown_up = outputs_of(np.array([1e6, 0.5]), np.array([-3.0, 0.5]))
    odd, typical = calibration.raw(blown_up)[:, 1]
    assert odd < typical  # a plain average would put the odd one far above


def test_soft_heads_are_one_half_at_the_median_and_their_unit_is_the_upper_half():
    logit, potential = np.linspace(-4, 4, 1001), np.linspace(0, 10, 1001)
    calibration = Calibration.fit("soft", np.column_stack([logit, potential])[None])
    unit = 0.45 * 8, 0.45 * 10  # from the median to the 95th percentile
    raw = np.array([[0.0, 5.0], [-2 * unit[0], 5 - 4 * unit[1]]])
    np.testing.assert_allclose(calibration.units(raw), [[0, 0], [-2, -4]], atol=1e-12)
    np.testing.assert_allclose(calibration.heads(raw), [[0.5, 0.5], [1 / 6, 1 / 10]])


def test_clean_rows_weigh_the_local_head_more_and_do_not_veto_it():
    outputs = np.random.default_rng(0).normal(size=(1, 100, 2))
    assert Calibration.fit("soft", outputs).mixing == SOFT
    assert Calibration.fit("soft", outputs, clean=True).mixing == SOFT_IF_CLEAN
    assert Calibration.fit("clip", outputs).mixing == LINEAR


@pytest.mark.parametrize("kind", ["soft", "clip"])
def test_scores_and_centrality_rank_rows_alike(kind):
    rng = np.random.default_rng(0)
    calibration = Calibration.fit(kind, rng.normal(size=(1, 500, 2)))
    raw = rng.standard_cauchy(size=(500, 2))
    for t in (0.0, 0.2, 0.5, 1.0):
        f, score = calibration.centrality(raw, t), calibration.scores(raw, t)
        assert (np.diff(f[np.argsort(score)]) >= 0).all()
        assert kind == "clip" or len(np.unique(f)) == len(np.unique(score))


def test_clipped_scores_stay_clipped():
    calibration = Calibration.fit("clip", outputs_of(np.arange(100.0)))
    raw = np.array([[0.0, -50.0], [0.0, -60.0]])
    np.testing.assert_array_equal(calibration.scores(raw, 0.5), calibration.centrality(raw, 0.5))


def test_each_member_speaks_for_itself_and_together_they_are_the_mean():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(3, 500, 2))
    calibration = Calibration.fit("soft", outputs)
    each = calibration.heads_of_each(outputs)
    assert each.shape == (3, 500, 2)
    np.testing.assert_allclose(calibration.raw(outputs)[:, 0], outputs[:, :, 0].mean(0))
    assert np.abs(np.corrcoef(each[:, :, 1])[0, 1]) < 0.2  # independent ones do not agree


def test_a_single_potential_is_given_back_as_it_is():
    potential = np.array([3.0, -1.0, 4.0])
    calibration = Calibration.fit("soft", outputs_of(potential))
    np.testing.assert_array_equal(calibration.raw(outputs_of(potential))[:, 1], potential)


def test_a_flat_potential_gives_flat_finite_scores():
    outputs = outputs_of(np.full(20, 2.5))
    for kind in ("soft", "clip"):
        calibration = Calibration.fit(kind, outputs)
        local = calibration.heads(calibration.raw(outputs))[:, 1]
        assert np.isfinite(local).all()
        assert np.ptp(local) == 0


def test_an_unknown_calibration_is_refused():
    with pytest.raises(ValueError, match="calibration must be one of soft, clip, got 'hard'"):
        Calibration.fit("hard", np.zeros((3, 2)))
