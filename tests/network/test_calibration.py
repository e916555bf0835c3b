"""From the networks' outputs to raw scores, units and heads; every expectation is worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from centrality.network.calibration import LINEAR, SOFT, SOFT_IF_CLEAN, Calibration, sigmoid, squeezed

pytestmark = pytest.mark.numbers
UNIT = np.array([[0.0, 1.0], [0.0, 1.0]])


def outputs_of(*potentials: np.ndarray) -> np.ndarray:
    """What one member's network gives: a flat logit, and these potentials."""
    return np.column_stack([np.zeros(len(potentials[0])), *potentials])[None]


ALONE = {"members_differ": False, "has_context": False}


def calibrated(kind: str, outputs: np.ndarray, *, clean: bool = False, center_logit: bool = False) -> Calibration:
    """The calibration of members that have seen none of the rows."""
    unseen = np.ones(outputs.shape[:2], dtype=bool)
    return Calibration.fit(kind, outputs, unseen, clean=clean, center_logit=center_logit, **ALONE)[0]


def halved(outputs: np.ndarray, unseen: np.ndarray) -> tuple[Calibration, np.ndarray]:
    return Calibration.fit(
        "soft", outputs, unseen, clean=False, members_differ=True, center_logit=True, has_context=False
    )


def on_units(potentials: int, kind: str = "soft", members: int = 1) -> Calibration:
    """Members whose potentials, and all that is made of them, already lie between 0 and 1."""
    return Calibration(
        kind,
        potentials=np.tile([0.0, 1.0], (members, potentials, 1)),
        members=np.tile(UNIT, (members, 1, 1)),
        ends=UNIT,
        halves=UNIT,
        mixing=SOFT if kind == "soft" else LINEAR,
    )


# The paper's is compared with tests/reference.


def test_the_sigmoid_does_not_overflow():
    np.testing.assert_array_equal(sigmoid(np.array([-1e300, 1e300])), [0, 1])


# One member.


def test_several_potentials_are_each_rescaled_by_their_own_percentiles_and_averaged():
    ramp = np.linspace(0, 1, 1001)
    outputs = outputs_of(100 * ramp, 7 - ramp)  # rescaled they cancel out
    raw = calibrated("clip", outputs).raw(outputs)[:, 1]
    np.testing.assert_allclose(raw, 0.5, atol=1e-12)


def test_a_single_potential_is_given_back_as_it_is():
    potential = np.array([3.0, -1.0, 4.0])
    np.testing.assert_array_equal(calibrated("soft", outputs_of(potential)).raw(outputs_of(potential))[:, 1], potential)


def test_the_level_of_the_logit_is_0_at_the_median_row_only_where_training_leaves_it_open():
    outputs = np.column_stack([np.arange(101.0), np.arange(101.0)])[None]
    np.testing.assert_array_equal(
        calibrated("clip", outputs, center_logit=True).raw(outputs)[:, 0], outputs[0, :, 0] - 50
    )
    np.testing.assert_array_equal(calibrated("clip", outputs).raw(outputs)[:, 0], outputs[0, :, 0])


@pytest.mark.parametrize("potentials", [1, 2])
def test_raw_scores_of_single_precision_outputs_are_double(potentials):
    assert on_units(potentials).raw(np.zeros((1, 4, 1 + potentials), dtype=np.float32)).dtype == np.float64


# Members that were each trained on another half.


def test_members_whose_outputs_differ_only_in_scale_say_the_same():
    ramp = np.linspace(0, 1, 101)
    outputs = np.stack([np.column_stack([ramp, ramp]), np.column_stack([3 * ramp - 1, 100 * ramp + 5])])
    calibration, _ = halved(outputs, np.ones((2, 101), dtype=bool))
    first, second = calibration.of_members(outputs)
    np.testing.assert_allclose(first, second, atol=1e-12)
    np.testing.assert_allclose(first[[50, 95]], UNIT.T, atol=1e-12)  # 0 at the median, 1 at the 95th percentile


def test_a_member_is_measured_only_by_rows_that_it_has_not_seen():
    """Of the rows it has seen, the first member says 1000: its median and 95th percentile are those of the others."""
    ramp = np.linspace(0, 1, 101)
    rows = np.concatenate([ramp, ramp])
    unseen = np.arange(202) < 101
    unseen = np.stack([unseen, ~unseen])
    outputs = np.stack([np.where(seen, 1000.0, rows)[:, None].repeat(2, 1) for seen in ~unseen])
    calibration, _ = halved(outputs, unseen)
    np.testing.assert_allclose(calibration.of_members(outputs)[0, [50, 95]], UNIT.T, atol=1e-12)


def test_of_each_head_the_lowest_member_decides():
    outputs = np.array([[[1.0, 0.5]], [[0.7, 0.9]]])
    np.testing.assert_array_equal(on_units(1, members=2).raw(outputs), [[0.7, 0.5]])


def test_a_row_that_all_members_have_left_unseen_is_scored_as_any_other():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(4, 300, 2))
    calibration, as_new = halved(outputs, np.ones((4, 300), dtype=bool))
    np.testing.assert_array_equal(as_new, calibration.raw(outputs))


def test_what_seeing_members_say_of_a_row_does_not_count_for_how_new_rows_would_score():
    rng = np.random.default_rng(0)
    outputs = rng.normal(size=(2, 300, 2))
    unseen = np.stack([np.arange(300) < 150, np.arange(300) >= 150])
    loud = np.where(unseen[:, :, None], outputs, 50.0)
    np.testing.assert_array_equal(halved(outputs, unseen)[1], halved(loud, unseen)[1])


def test_raw_scores_as_if_new_are_distributed_as_those_of_rows_that_nobody_has_seen():
    """Six members with noise of their own: rows that three have seen (and know by heart) against rows that none has.

    Both the row's own part and the members' noise are normal; what is drawn in place of those that have seen a row must
    have the same law. Quantiles of 20,000 rows: five of their deviations, √(q (1 - q) / n) over a normal's density.
    """
    rng, n = np.random.default_rng(0), 20_000
    own = rng.normal(size=(1, n, 1)) * np.ones((6, 1, 2))
    fresh = own + 0.4 * rng.normal(size=(6, n, 2))
    unseen = np.stack([np.isin(np.arange(n) % 4, pair) for pair in ((0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2))])
    outputs = np.where(unseen[:, :, None], fresh, fresh + 3)
    calibration, as_new = halved(outputs, unseen)
    expected = calibration.raw(fresh)
    for level in (0.05, 0.1, 0.5, 0.9):
        found = (expected < np.quantile(as_new, level, axis=0)).mean(0)
        np.testing.assert_allclose(found, level, atol=5 * np.sqrt(2 * level * (1 - level) / n) + 0.004)


# Units, and how they slope.


def test_soft_units_are_0_at_the_median_and_1_at_the_95th_percentile():
    logit, potential = np.linspace(-4, 4, 1001), np.linspace(0, 10, 1001)
    calibration = calibrated("soft", np.column_stack([logit, potential])[None])
    unit = 0.45 * 8, 0.45 * 10
    raw = np.array([[0.0, 5.0], [-2 * unit[0], 5 - 4 * unit[1]]])
    np.testing.assert_allclose(calibration.units(raw), [[0, 0], [-2, -4]], atol=1e-12)
    np.testing.assert_allclose(calibration.mixing.squeeze(calibration.units(raw)), [[0.5, 0.5], [1 / 6, 1 / 10]])


@pytest.mark.parametrize("kind", ["soft", "clip"])
def test_slopes_of_units_are_those_of_finite_differences(kind):
    rng = np.random.default_rng(0)
    calibration, raw = calibrated(kind, rng.normal(size=(1, 500, 2))), 2 * rng.normal(size=(400, 2))
    slopes = calibration.unit_slopes(raw)
    for score in (0, 1):
        step = 1e-6 * np.eye(2)[score]
        numeric = (calibration.units(raw + step) - calibration.units(raw - step)) / 2e-6
        np.testing.assert_allclose(numeric[:, score], slopes[:, score], atol=1e-8)
        np.testing.assert_array_equal(numeric[:, 1 - score], 0)  # each unit follows from its own raw score


def test_only_for_rows_that_may_hold_outliers_does_the_global_head_veto():
    outputs = np.random.default_rng(0).normal(size=(1, 100, 2))
    assert calibrated("soft", outputs).mixing == SOFT
    assert calibrated("soft", outputs, clean=True).mixing == SOFT_IF_CLEAN
    assert calibrated("clip", outputs).mixing == LINEAR


def test_what_clip_cuts_off_the_softened_calibration_tells_apart():
    clip = calibrated("clip", outputs_of(np.arange(100.0)))
    raw = np.array([[0.0, -50.0], [0.0, -60.0]])
    assert np.ptp(clip.units(raw)[:, 1]) == 0
    high, low = clip.as_soft().units(raw)[:, 1]
    assert high > low
    assert clip.as_soft().as_soft() == clip.as_soft()


def test_a_flat_potential_gives_flat_finite_scores():
    outputs = outputs_of(np.full(20, 2.5))
    for kind in ("soft", "clip"):
        calibration = calibrated(kind, outputs)
        local = calibration.units(calibration.raw(outputs))[:, 1]
        assert np.isfinite(squeezed(local)).all()
        assert np.ptp(local) == 0


# A value.


def test_an_unknown_calibration_is_refused():
    with pytest.raises(ValueError, match="calibration must be one of soft, clip, got 'hard'"):
        calibrated("hard", np.zeros((1, 3, 2)))


@pytest.mark.parametrize("name", ["potentials", "members", "ends", "halves"])
def test_quantiles_out_of_order_are_refused_by_name(name):
    good = on_units(1)
    with pytest.raises(ValueError, match=f"calibration.{name} must hold a low and a high value"):
        replace(good, **{name: getattr(good, name)[..., ::-1]})
