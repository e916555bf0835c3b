"""How many outliers are left among the next rows, and how surely."""

import numpy as np
import pytest

from centrality.model.refine import COVERAGE, FEW, RemainingOutliers, errors_left

NOBODY = np.array([]), np.array([], dtype=bool)


def test_rows_that_are_surely_one_or_the_other_are_counted():
    found = errors_left(np.array([60.0] * 7 + [-60.0] * 93), *NOBODY)
    assert (found.rows, found.low, found.high) == (100, 7, 7)
    assert found.about == pytest.approx(7)


@pytest.mark.parametrize("off", [0.0, 2.0, -2.0])
def test_the_interval_holds_as_often_as_it_says_also_where_all_chances_are_off_together(off):
    """Chances are those of the model; the truth has log-odds that differ from them by `off` for every row."""
    rng, held = np.random.default_rng(0), []
    for _ in range(100):
        said = rng.normal(-1, 2, size=150)
        outlier = rng.random(150) < 1 / (1 + np.exp(-(said + off)))
        found = errors_left(said[50:], said[:50], outlier[:50])
        held.append(found.low <= outlier[50:].sum() <= found.high)
    assert np.mean(held) >= COVERAGE - 2 * np.sqrt(COVERAGE * (1 - COVERAGE) / 100)


def test_more_marks_that_say_so_move_what_is_left():
    said, judged = np.zeros(100), np.zeros(40)
    many, few = (errors_left(said, judged, np.full(40, value)) for value in (True, False))
    assert few.about < 20 < 80 < many.about
    assert few.low <= few.about <= few.high


def test_one_may_stop_where_even_the_upper_end_is_few():
    assert RemainingOutliers(100, 1.0, 0, int(100 * FEW)).enough
    assert not RemainingOutliers(100, 1.0, 0, int(100 * FEW) + 1).enough
    assert (
        str(RemainingOutliers(100, 1.2, 0, 4))
        == "Of the next 100 rows, about 1 are outliers (0 to 4). You may stop here."
    )
    assert str(RemainingOutliers(100, 8.8, 3, 20)) == "Of the next 100 rows, about 9 are outliers (3 to 20)."


def test_where_no_row_is_left_that_is_said():
    found = errors_left(*(np.array([]), np.array([1.0]), np.array([True])))
    assert str(found) == "All rows are marked."
    assert found.enough
