"""Thresholds, calibration and p-values hold on rows that the networks have not seen."""

import numpy as np
import pytest

from centrality import FUSE, load
from centrality.scores.folds import hashes
from tests.conftest import quick

WIDE = np.random.default_rng(0).normal(size=(150, 20))  # so few for their width that a network knows them by heart


@pytest.fixture(scope="module")
def model():
    return FUSE(random_state=0, hidden=(64, 64), max_steps=300).fit(WIDE)


@pytest.mark.slow
def test_over_20_fits_a_tenth_of_fresh_rows_is_called_outliers():
    """One fit's threshold is a quantile of 150 rows, off by .024; the mean over 20 fits by .0055: three of these."""
    called = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        fitted = FUSE(random_state=seed, hidden=(64, 64), max_steps=300).fit(rng.normal(size=(150, 20)))
        called.append(np.mean(fitted.predict(rng.normal(size=(2000, 20))) == -1))
    assert np.mean(called) == pytest.approx(0.1, abs=3 * np.sqrt(0.09 / 150 / 20))


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


def test_a_training_row_is_recognised_and_judged_by_the_network_that_has_not_seen_it(model, tmp_path):
    fitted = model.fitted_
    assert len(fitted.folds.recognised(hashes(fitted.scaling.scaled(WIDE), fitted.folds.grain))[0]) == len(WIDE)
    # Beside each row lies one that no network has seen: all of them judge it, and most know its neighbour by heart.
    beside = WIDE + 1e-3
    assert np.median(model.centrality(beside, 1) - model.centrality(WIDE, 1)) > 0.02
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").centrality(WIDE), model.centrality(WIDE))
    np.testing.assert_array_equal(model.centrality(WIDE[::-1])[::-1].argsort(), model.centrality(WIDE).argsort())


def test_one_network_for_many_rows_leaves_a_tenth_of_them_out():
    X = np.random.default_rng(0).normal(size=(4000, 2))
    model = quick().fit(X)
    assert model.network_.members == 1
    assert len(model.calibration_heads()) == pytest.approx(400, abs=6 * np.sqrt(360))
    assert quick().fit(X[:2000]).network_.members == 5


def test_clean_rows_set_their_threshold_on_a_tenth_that_neither_network_nor_prior_has_seen():
    X = np.random.default_rng(0).normal(size=(1500, 4))
    model = quick(novelty=True, contamination=0.1).fit(X)
    fresh = np.random.default_rng(1).normal(size=(4000, 4))
    assert np.mean(model.predict(fresh) == -1) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 / 150))


def test_the_papers_schedule_learns_from_all_rows_and_says_that_it_has_none_left_for_p_values():
    model = quick(epochs=1).fit(WIDE)
    assert model.fitted_.folds is None
    with pytest.raises(ValueError, match="p-values need calibration rows"):
        model.p_values(WIDE)
