"""Calibration rows that hold outliers: a stated bound on their share keeps the power to find others."""

import warnings

import numpy as np
import pytest

from centrality import load
from centrality.scores.conformal import Inliers
from centrality.scores.mixing import LINEAR
from tests.conftest import quick

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3))
DIRTY = np.concatenate([RNG.normal(size=(475, 3)), RNG.normal(size=(25, 3)) + 7])
ODD = RNG.normal(size=(40, 3)) + 7


@pytest.fixture(scope="module")
def model():
    return quick(max_steps=200).fit(X)


def test_so_many_of_the_least_central_ones_are_left_out_at_each_t():
    heads = np.column_stack([np.arange(10.0), np.arange(10.0)[::-1]]) / 10
    inliers = Inliers.of(heads, contamination=0.25)
    np.testing.assert_allclose(inliers.scores(LINEAR, 0.0), np.arange(2, 10) / 10)  # two of ten, rounded down
    np.testing.assert_allclose(inliers.scores(LINEAR, 1.0), np.arange(2, 10) / 10)  # others of them
    assert len(Inliers.of(heads).scores(LINEAR, 0.5)) == 10


def test_a_stated_bound_gives_back_the_power_that_outliers_among_the_calibration_rows_take(model, tmp_path):
    fresh = RNG.normal(size=(2000, 3))
    tested = np.concatenate([fresh[:95], ODD[:5] - 2.5])  # less odd than those among the calibration rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert not model.calibrate(DIRTY).detect(tested, fdr=0.1).any()  # p must be .005, and 5% of the rows are odd
    model.calibrate(DIRTY, contamination=0.05)
    assert model.detect(tested, fdr=0.1)[95:].all()
    # 5% were left out, and were the outliers: P(p <= .1) is .1, give or take four of its deviations on both sides.
    assert np.mean(model.p_values(fresh) <= 0.1) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 * (1 / 475 + 1 / 2000)))
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").p_values(ODD), model.p_values(ODD))


def test_without_rows_the_bound_is_on_those_that_fit_left_out():
    dirty = quick(max_steps=200).fit(np.concatenate([X, ODD]))
    before = dirty.p_values(ODD + 0.01)
    after = dirty.calibrate(contamination=0.05).p_values(ODD + 0.01)
    # About half of 40 odd rows are odder than the median one, of 1040; once 5% are left out, none is: 1/20, or so.
    assert np.median(after) < 0.2 * np.median(before)


def test_calibration_rows_odder_than_the_training_rows_are_warned_of(model):
    with pytest.warns(UserWarning, match=r"of the calibration rows have a .* are there outliers among them"):
        model.calibrate(DIRTY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.calibrate(RNG.normal(size=(500, 3)))


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, "a tenth"])
def test_a_bound_that_is_no_share_is_refused(model, share):
    with pytest.raises(ValueError, match="contamination must be a share above 0 and below 1"):
        model.calibrate(DIRTY, contamination=share)
