"""New scores against training scores: chance does not alarm, change does, and its size is told."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy.stats import ks_2samp, mannwhitneyu

from centrality import FUSE, load, tables
from centrality.analysis import drift
from centrality.analysis.drift import FEWEST, TrainingScores, compare_windows, holm
from centrality.apps.cli import main
from tests.conftest import quick


def test_statistic_and_effect_are_those_of_the_two_samples_themselves(monkeypatch):
    monkeypatch.setattr(drift, "BLUR", 0.0)  # a guess at scores is not wanted here: these are known
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


@pytest.mark.slow
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


def test_holm_multiplies_the_smallest_by_the_number_of_tests_and_never_goes_down_again():
    assert holm([0.5, 0.01, 0.02]) == pytest.approx([0.5, 0.03, 0.04])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_scores_that_differ_by_less_than_can_be_known_of_them_are_alike():
    old = np.column_stack([np.linspace(0, 1, 2000)] * 2)
    assert TrainingScores.of(old).compare(old + 0.9 * drift.BLUR).p_value > 0.5
    assert TrainingScores.of(old).compare(old + 3 * drift.BLUR).p_value < 0.001


def test_a_few_rows_odder_than_all_training_rows_are_noticed_although_most_have_not_changed():
    """15 of 300 lie below all 2,000: the chance of that is about (300 / 2300)^15."""
    rng = np.random.default_rng(0)
    new = np.concatenate([rng.uniform(size=(285, 2)), np.full((15, 2), -1.0)])
    found = TrainingScores.of(rng.uniform(size=(2000, 2))).compare(new)
    assert found.global_head.odd >= 0.05
    assert abs(found.effect) < 0.147
    assert found.detected()
    assert "centrality that 0.5% of the training rows have" in str(found.changes()[0])


def test_what_changed_is_named_with_its_direction(blob):
    rng = np.random.default_rng(4)
    model = quick().fit(pd.DataFrame(blob, columns=["length", "width"]))
    new = pd.DataFrame(rng.normal(size=(300, 2)), columns=["length", "width"])
    assert model.drift(new).changes() == []
    assert "length is higher" in str(model.drift(new.assign(length=new["length"] + 1)))
    assert "width is lower" in str(model.drift(new.assign(width=new["width"] - 1)))
    tied = model.drift(new.assign(width=0.9 * new["length"] + 0.44 * new["width"]))
    assert str(tied.changes()[0]).startswith("length and width correlate by +0.")
    assert tied.detected()


def test_the_p_value_is_that_of_the_three_kinds_of_tests_together():
    rng = np.random.default_rng(5)
    rows, heads = rng.normal(size=(500, 3)), rng.uniform(size=(500, 2))
    found = TrainingScores.of(heads, rows).compare(heads, rows + np.array([0.0, 0.25, 0.0]))
    smallest = found.columns[1].p_value
    assert smallest == min(column.p_value for column in found.columns)
    assert found.p_value == pytest.approx(3 * 3 * smallest)  # three kinds, three columns


@pytest.mark.slow
@pytest.mark.parametrize("values", [2, 3])
def test_over_8_fits_columns_of_few_values_raise_no_false_alarms(values):
    """Of 160 samples 8 are expected to have p <= .05; those of one fit hang together, so twice as many may."""
    shares = []
    for seed in range(8):
        rng = np.random.default_rng([seed, values])
        model = FUSE(random_state=seed, max_steps=300).fit(rng.integers(0, values, size=(600, 5)).astype(float))
        found = [model.drift(rng.integers(0, values, size=(300, 5)).astype(float)) for _ in range(20)]
        shares.append(np.mean([each.p_value <= 0.05 for each in found]))
    assert np.mean(shares) <= 0.1


@pytest.mark.slow
def test_over_10_fits_one_of_20_columns_one_deviation_higher_is_found_and_named():
    named = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        model = FUSE(random_state=seed, max_steps=200).fit(rng.normal(size=(300, 20)))
        changes = model.drift(rng.normal(size=(300, 20)) + (np.arange(20) == 7)).changes()
        named.append(bool(changes) and str(changes[0]).startswith("x7 is higher"))
    assert all(named)


def test_one_row_is_not_enough(fitted):
    with pytest.raises(ValueError, match="at least 2 new rows, got 1"):
        fitted.drift([[0.0, 0.0]])


def test_what_is_kept_is_small_whatever_the_number_of_rows():
    assert TrainingScores.of(np.random.default_rng(0).uniform(size=(50_000, 2))).quantiles.nbytes < 20_000


def test_whether_yesterdays_threshold_still_holds_is_said_in_one_line():
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0, max_steps=100).fit(rng.normal(size=(1000, 2)))
    same = str(model.drift_report(rng.normal(size=(1000, 2))))
    assert re.search(r"Threshold: it still holds: .*% of the new rows are called outliers, 10\.\d% of the cal", same)
    wider = str(model.drift_report(2 * rng.normal(size=(1000, 2))))
    assert re.search(r"Threshold: it no longer holds: .*\(p < 0\.001\)", wider)


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    return pa.table({"id": [f"{i:05d}" for i in range(2000)], "a": X[:, 0], "b": X[:, 1]})


@pytest.fixture(scope="module")
def model(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    quick(t=0.5).fit(rows.select(["b", "a"])).save(path)
    return path


def test_drift_on_a_stream_is_said_when_it_begins_and_kept_for_each_window_of_rows(rows, model, tmp_path, capsys):
    calm, moved = rows, rows.set_column(1, "a", pa.array(rows["a"].to_numpy() + 3))
    tables.write(pa.concat_tables([calm, moved]), tmp_path / "t.parquet")
    arguments = ["score", str(model), str(tmp_path / "t.parquet"), "-o", str(tmp_path / "s.parquet"), "--json"]
    assert main([*arguments, "--watch-drift", "--drift-window", "1000"]) == 0
    shown = capsys.readouterr()
    assert [line.split(":")[1] for line in shown.err.splitlines()] == [
        " drift from row 2,001 on (rows 2,001 to 3,000 against all training rows)",
    ]
    drift = json.loads(shown.out)["drift"]
    assert len(drift) == 2
    assert drift[0]["effect"] < -0.5
    assert main([*arguments, "--watch-drift", "--drift-window", "2500"]) == 0  # the rest of a stream counts as well
    assert [line.split(":")[1] for line in capsys.readouterr().err.splitlines()] == [
        " drift from row 1 on (rows 1 to 2,500 against all training rows)",
    ]
    tables.write(pa.concat_tables([moved, calm]), tmp_path / "t.parquet")
    assert main([*arguments, "--watch-drift", "--drift-window", "1000"]) == 0
    assert capsys.readouterr().err.endswith("centrality: no drift any more from row 2,001 on.\n")


def uniform(rows: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(rows, 2))


def test_rows_that_have_not_changed_raise_no_alarm_in_any_of_twenty_windows():
    report = compare_windows(TrainingScores.of(uniform(5000, 0)), uniform(2000, 1), 100)
    assert len(report.windows) == 20
    assert not report.changed
    assert "0 of 20 windows of 100 rows differ" in str(report)


def test_the_windows_that_changed_are_named_and_so_is_what_they_are_compared_with():
    new = np.concatenate([uniform(300, 1), 0.3 * uniform(300, 2)])
    report = compare_windows(TrainingScores.of(uniform(5000, 0)), new, 300, "rows of last year")
    assert [window.changed for window in report.windows] == [False, True]
    text = str(report)
    assert "600 new rows with 5,000 rows of last year" in text
    assert "rows 300 to 599: effect -0." in text
    assert "season" in text
    assert report._repr_html_().count("<rect") == 2


def test_a_last_window_of_few_rows_is_left_out():
    report = compare_windows(TrainingScores.of(uniform(500, 0)), uniform(100 + FEWEST - 1, 1), 100)
    assert [(window.first, window.last) for window in report.windows] == [(0, 99)]


def test_without_windows_only_the_whole_is_compared():
    report = compare_windows(TrainingScores.of(uniform(500, 0)), uniform(100, 1), None)
    assert report.windows == []
    assert "Windows" not in str(report)


def test_a_window_names_the_column_that_changed_in_it_though_rows_are_as_central_as_before():
    rng = np.random.default_rng(3)
    old, rows = rng.normal(size=(2000, 2)), rng.normal(size=(600, 2))
    rows[300:, 1] += 1
    report = compare_windows(TrainingScores.of(uniform(2000, 0), old), uniform(600, 1), 300, rows=rows)
    assert [window.changed for window in report.windows] == [False, True]
    assert "by their scores and columns" in str(report)
    assert "rows 300 to 599" in str(report)
    assert "x1 is higher" in str(report)
