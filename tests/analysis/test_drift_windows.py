"""Drift, window by window: adjusted p-values, and what is said about them."""

import numpy as np

from centrality.analysis.drift import FEWEST, TrainingScores, compare_windows


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
