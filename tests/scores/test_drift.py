"""New scores against training scores: chance does not alarm, change does, and its size is told."""

import numpy as np
import pytest
from scipy.stats import ks_2samp, mannwhitneyu

from centrality import load
from centrality.scores.drift import TrainingScores
from tests.conftest import quick


def test_statistic_and_effect_are_those_of_the_two_samples_themselves():
    rng = np.random.default_rng(0)
    train, new = rng.normal(size=(800, 2)), rng.normal(0.3, 1, size=(300, 2))
    found = TrainingScores.of(train).compare(new)
    for j, head in enumerate((found.global_head, found.local_head)):
        assert head.statistic == pytest.approx(ks_2samp(train[:, j], new[:, j]).statistic, abs=2 / 800)
        above = mannwhitneyu(new[:, j], train[:, j]).statistic / (800 * 300)
        assert head.effect == pytest.approx(2 * above - 1, abs=2 / 800)


def test_ties_are_one_step():
    train = np.repeat([[0.0, 0.0], [1.0, 1.0]], [300, 100], axis=0)
    same = TrainingScores.of(train).compare(np.repeat([[0.0, 0.0], [1.0, 1.0]], [75, 25], axis=0))
    assert same.global_head.statistic == pytest.approx(0, abs=0.01)
    assert same.effect == pytest.approx(0, abs=0.01)
    all_ones = TrainingScores.of(train).compare(np.ones((50, 2)))
    assert all_ones.global_head.statistic == pytest.approx(0.75, abs=0.01)
    assert all_ones.effect == pytest.approx(0.75, abs=0.01)  # above the three quarters of zeros, level with the rest


@pytest.mark.slow
def test_p_values_of_the_same_distribution_are_rarely_small():
    rng = np.random.default_rng(1)
    small = 0
    for _ in range(200):
        training = TrainingScores.of(rng.uniform(size=(2000, 2)))
        small += training.compare(rng.uniform(size=(500, 2))).p_value < 0.05
    assert small <= 20  # 10 expected at most; 20 or fewer has a probability above 0.998


def test_a_model_sees_rows_move_away_and_move_inward(blob, fitted):
    rng = np.random.default_rng(2)
    same = fitted.drift(rng.normal(size=(2000, 2)))
    assert not same.detected()
    assert abs(same.effect) < 0.1
    away = fitted.drift(rng.normal(size=(500, 2)) + 2)
    assert away.detected()
    assert away.effect < -0.5
    assert "less central" in str(away)
    inward = fitted.drift(0.3 * rng.normal(size=(500, 2)))
    assert inward.detected()
    assert inward.effect > 0.3


def test_a_loaded_model_finds_the_same_drift(blob, tmp_path):
    model = quick().fit(blob)
    model.save(tmp_path / "m.safetensors")
    assert load(tmp_path / "m.safetensors").drift(blob + 1) == model.drift(blob + 1)


def test_one_row_is_not_enough(fitted):
    with pytest.raises(ValueError, match="at least 2 new rows, got 1"):
        fitted.drift([[0.0, 0.0]])


def test_what_is_kept_is_small_whatever_the_number_of_rows():
    assert TrainingScores.of(np.random.default_rng(0).uniform(size=(50_000, 2))).quantiles.nbytes < 20_000
