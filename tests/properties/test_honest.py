"""Thresholds, calibration and p-values hold on rows that the networks have not seen."""

import numpy as np
import pytest

from centrality import FUSE
from tests.conftest import quick
from tests.promise import assert_same_scores

WIDE = np.random.default_rng(0).normal(size=(150, 20))  # so few for their width that a network knows them by heart


@pytest.fixture(scope="module")
def model():
    return FUSE(random_state=0, hidden=(64, 64), max_steps=300).fit(WIDE)


def test_a_tenth_of_fresh_rows_is_called_by_default(model):
    fresh = np.random.default_rng(1).normal(size=(2000, 20))
    # The threshold is a quantile of 150 rows: four of its deviations. In-sample it would be .5 and more.
    assert np.mean(model.predict(fresh) == -1) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 150))


@pytest.mark.parametrize("share", [0.05, 0.1, 0.3])
def test_a_share_that_was_asked_for_is_that_of_the_training_rows(share):
    called = quick(contamination=share).fit(WIDE).predict(WIDE) == -1
    assert np.mean(called) == pytest.approx(share, abs=1 / 150)


@pytest.mark.slow
def test_over_10_fits_a_tenth_of_fresh_rows_is_called_outliers():
    """One fit's threshold is a quantile of 150 rows, off by .024; the mean over 10 fits by .0077: three of these."""
    called = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        fitted = FUSE(random_state=seed, hidden=(64, 64), max_steps=300).fit(rng.normal(size=(150, 20)))
        called.append(np.mean(fitted.predict(rng.normal(size=(2000, 20))) == -1))
    assert np.mean(called) == pytest.approx(0.1, abs=3 * np.sqrt(0.09 / 150 / 10))


def test_a_tenth_of_fresh_rows_is_called_outliers_and_not_half_as_in_sample(model):
    fresh = np.random.default_rng(1).normal(size=(2000, 20))
    assert 0.1 / 2 < np.mean(model.predict(fresh) == -1) < 0.1 * 2


def test_right_after_a_fit_p_values_of_fresh_rows_are_close_to_uniform(model):
    p = model.p_values(np.random.default_rng(2).normal(size=(2000, 20)))
    for level in (0.05, 0.1, 0.2, 0.5):
        assert np.mean(p <= level) == pytest.approx(level, abs=4 * np.sqrt(level * (1 - level) / 150))


def test_fresh_rows_of_the_same_kind_do_not_drift(model):
    rng = np.random.default_rng(3)
    alarms = [model.drift(rng.normal(size=(150, 20))).p_value <= 0.01 for _ in range(20)]
    assert sum(alarms) <= 3  # .2 are expected; more than 3 have a chance of 1e-5
    assert model.drift(rng.normal(size=(2000, 20)) + 0.5).detected()


def test_a_training_row_is_judged_as_the_rows_beside_it(model):
    """Nobody recognises it: what lies a millionth of a deviation off has the same score to a hundred-thousandth."""
    assert_same_scores(model.heads(WIDE + 1e-6), model.heads(WIDE))


def test_what_networks_know_by_heart_counts_less_in_the_score_of_a_training_row(model):
    """The half of the networks that learned a row finds it far more typical than the half that did not."""
    fitted = model.fitted_
    calibration, fresh = fitted.calibration, np.random.default_rng(4).normal(size=(2000, 20))

    def by_mean(rows: np.ndarray) -> float:
        outputs = fitted.scorer.of_rows(rows, fitted.scaling)
        return float(np.median(calibration.units(calibration.of_members(outputs).mean(0))[:, 1]))

    by_lowest = np.median(fitted.units(WIDE)[:, 1]) - np.median(fitted.units(fresh)[:, 1])
    assert by_mean(WIDE) - by_mean(fresh) > 0.3  # of the distance from the median row to the most central ones
    assert by_lowest < 0.6 * (by_mean(WIDE) - by_mean(fresh))


def test_one_network_for_many_rows_leaves_a_tenth_of_them_out():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    model = quick().fit(X)
    assert model.fitted_.network.members == 1
    assert len(model.fitted_.calibration_rows().units) == 400
    assert quick().fit(X[:2000]).fitted_.network.members == 4


def test_clean_rows_set_their_threshold_on_a_tenth_that_neither_network_nor_prior_has_seen():
    X = np.random.default_rng(0).normal(size=(1500, 4))
    model = quick(novelty=True, contamination=0.1).fit(X)
    fresh = np.random.default_rng(1).normal(size=(4000, 4))
    assert np.mean(model.predict(fresh) == -1) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 150))


def test_the_papers_schedule_learns_from_all_rows_and_says_that_it_has_none_left_for_p_values():
    model = quick(epochs=1).fit(WIDE)
    assert model.fitted_.inliers is None
    assert not model.fitted_.members_differ
    with pytest.raises(ValueError, match="p-values need calibration rows"):
        model.p_values(WIDE)
