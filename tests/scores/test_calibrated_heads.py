"""Calibrated heads and their slopes, worked out by hand on spans from 0 to 1."""

import numpy as np
import pytest

from centrality.scores.calibration import Calibration, soft_clip, soft_sigmoid
from centrality.scores.mixing import LINEAR, Mixing

UNIT = np.array([[0.0, 1.0], [0.0, 1.0]])


def on_units(potentials: int, kind: str = "clip") -> Calibration:
    """One member whose potentials, and their mean, already lie between 0 and 1."""
    return Calibration(kind, np.tile([0.0, 1.0], (1, potentials, 1)), UNIT, UNIT, LINEAR)


def test_soft_scores_at_the_ends_of_the_scale():
    # From 0.02 down the curve is 0.02² / (0.04 - u): 0.01 at u = 0, 0.005 at u = -0.04; from 0.98 up, its mirror image.
    np.testing.assert_allclose(soft_clip(np.array([-0.04, 0.0, 1.0, 1.04])), [0.005, 0.01, 0.99, 0.995], rtol=1e-12)


def test_beyond_six_the_soft_sigmoid_falls_like_one_over_the_distance():
    edge = 1 / (1 + np.exp(6))  # where the sigmoid has the slope edge * (1 - edge)
    low = edge / (1 + (1 - edge) * np.array([2.0, 6.0]))
    np.testing.assert_allclose(soft_sigmoid(np.array([-8.0, -12.0])), low, rtol=1e-12)
    np.testing.assert_allclose(soft_sigmoid(np.array([8.0, 12.0])), 1 - low, rtol=1e-12)


def test_members_whose_potentials_differ_only_in_scale_say_the_same():
    ramp = np.linspace(0, 1, 101)
    one, other = (np.column_stack([np.zeros(101), potential]) for potential in (ramp, 100 * ramp + 5))
    outputs = np.stack([one, other])
    first, second = Calibration.fit("soft", outputs).heads_of_each(outputs)
    np.testing.assert_allclose(first, second, rtol=1e-12)


@pytest.mark.parametrize("potentials", [1, 2])
def test_raw_scores_of_single_precision_outputs_are_double(potentials):
    assert on_units(potentials).raw(np.zeros((1, 4, 1 + potentials), dtype=np.float32)).dtype == np.float64


def test_a_potential_has_half_the_weight_of_either_end_and_what_is_missing_goes_to_those_that_changed():
    """The middle one of three counts: first the second potential, at 0.5; then the third, which falls from .9 to .2.

    Half of it each would make a change of -.7 / 2. The score falls by .3: the third, which alone changed, has .3 / .7.
    """
    before, after = np.array([[[0, 0, 0.5, 0.9]]]), np.array([[[0, 0, 0.5, 0.2]]])
    slopes = on_units(3).slopes(before, after, 0.5)[0, 0]  # at t = 1/2 each head has half a say
    np.testing.assert_allclose(slopes, [0.125, 0, 0.25, 0.15 / 0.7], rtol=1e-6)


def test_a_vetoed_local_head_passes_its_say_on_to_the_global_one():
    """At t = 1/2 a local weight of 1 gives both half a say, and the local head may be one unit higher than the other.

    First it is 4 higher and has no say; then it falls to -2, lower than the limit of 1: it alone moves, from 1 to -2.
    """
    soft = Calibration("soft", np.tile([0.0, 1.0], (1, 1, 1)), UNIT, UNIT, Mixing(1.0, veto=True))
    before, after = np.array([[[0, 4.0]]]), np.array([[[0, -2.0]]])
    mixed = [soft.scores(soft.raw(outputs), 0.5)[0] for outputs in (before, after)]
    assert mixed == [0.5, -1.0]
    slopes = soft.slopes(before, after, 0.5)[0, 0]
    assert slopes[1] * -6 == pytest.approx(-1.5)
    stays = soft.slopes(before, before, 0.5)[0, 0]
    np.testing.assert_allclose(stays, [1, 0], atol=1e-6)


def test_where_nothing_changes_slopes_exist_at_zero_and_at_any_size():
    potential = 1e12 * np.linspace(0, 1, 101)
    outputs = np.column_stack([np.zeros(101), potential])[None]
    slopes = [Calibration.fit("clip", outputs).slopes(outputs, outputs, t)[0] for t in (0.0, 1.0)]
    np.testing.assert_allclose(slopes[0][:, 0], 0.25, rtol=1e-6)  # the sigmoid's at 0
    np.testing.assert_allclose(slopes[1][5:-5, 1], 1 / 0.98e12, rtol=1e-3)  # between the 1st and the 99th percentile
