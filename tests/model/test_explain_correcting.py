"""The smallest correction: as few columns as are odd, no farther than needed, in the user's units."""

import numpy as np
import pandas as pd
import pytest

from centrality import Chain
from centrality.model.explain import smallest_change
from centrality.representations import Table
from tests.conftest import quick

RNG = np.random.default_rng(0)
X = RNG.normal(size=(600, 6))
PAIR = np.arange(2)


@pytest.fixture(scope="module")
def model():
    return quick(max_steps=300).fit(X)


def below_two(rows: np.ndarray) -> np.ndarray:
    """Give a row the score 2 minus its largest number: odd, below 0, where one is above 2."""
    return 2 - np.abs(rows).max(1)


def test_the_columns_that_are_odd_are_changed_and_no_others_and_no_farther_than_they_must():
    row, goal = np.array([5.0, 0.3, -4.0, 1.0]), np.zeros(4)
    change = smallest_change(below_two, row, goal[None], np.arange(4), 0.0)
    assert change.enough
    assert sorted(change.groups) == [0, 2]
    assert below_two(change.row[None])[0] >= 0
    assert change.row[0] == pytest.approx(2.0, abs=5 / 2**9)  # by half of the way, ten times
    assert change.row[[1, 3]].tolist() == [0.3, 1.0]


def test_numbers_of_one_owner_move_together_and_as_a_whole():
    change = smallest_change(below_two, np.array([5.0, 0.3, 1.0]), np.zeros((1, 3)), np.array([0, 0, 1]), 0.0)
    assert (change.row.tolist(), change.groups) == ([0.0, 0.0, 1.0], (0,))


def test_a_row_that_nothing_helps_is_left_as_it_is():
    change = smallest_change(lambda rows: np.full(len(rows), -1.0), np.ones(2), np.zeros((1, 2)), np.arange(2), 0.0)
    assert (change.enough, change.groups, change.row.tolist()) == (False, (), [1.0, 1.0])


def test_a_number_takes_the_value_that_fits_the_rest_of_the_row():
    """The typical 0 beside a 3 is as odd as the 9 was: only 3 is right, which another goal has."""
    goals = np.array([[0.0, 0.0], [3.0, 3.0]])
    change = smallest_change(lambda rows: 1 - np.abs(rows[:, 0] - rows[:, 1]), np.array([9.0, 3.0]), goals, PAIR, 0.0)
    assert (change.groups, change.enough) == ((0,), True)
    assert change.row[0] == pytest.approx(4.0, abs=6 / 2**9)
    assert change.row[1] == 3.0


def test_where_values_that_fit_lead_nowhere_those_of_the_typical_point_are_taken():
    def score(rows: np.ndarray) -> np.ndarray:  # only the typical point is not odd; one step towards 3 looks better
        return np.where((rows == 0).all(1), 1.0, -1.0 - np.abs(rows - 3).sum(1))

    change = smallest_change(score, np.array([9.0, 9.0]), np.array([[0.0, 0.0], [3.0, 3.0]]), PAIR, 0.0)
    assert (sorted(change.groups), change.row.tolist(), change.enough) == ([0, 1], [0.0, 0.0], True)


def test_one_odd_cell_needs_one_column_two_need_two_and_a_typical_row_none(model):
    rows = 0.3 * RNG.normal(size=(3, 6))
    rows[1, 4], rows[2, [0, 3]] = 9.0, (8.0, -8.0)
    typical, one, two = model.smallest_correction(rows)
    assert (typical.columns, typical.enough) == ((), True)
    assert one.columns == ("x4",)
    assert one.before == (9.0,)
    assert abs(one.after[0]) < 9.0
    assert sorted(two.columns) == ["x0", "x3"]
    corrected = rows[1:2].copy()
    corrected[0, 4] = one.after[0]
    assert model.predict(rows[1:2]) == [-1]
    assert model.predict(corrected) == [1]
    assert "instead of 9" in str(one)
    assert len(str(model.smallest_correction(rows)).splitlines()) == 3


def test_a_chain_speaks_of_the_users_columns():
    frame = pd.DataFrame(X[:, :2], columns=["length", "width"]).assign(kind=RNG.choice(list("ab"), 600))
    model = Chain(Table(), quick(max_steps=300)).fit(frame)
    odd = frame.iloc[:1].assign(length=0.0, width=40.0)
    correction = model.smallest_correction(odd)[0]
    assert correction.columns == ("width",)
    assert float(correction.after[0]) < 40


@pytest.mark.parametrize("chained", [False, True])
def test_a_count_is_corrected_to_the_next_whole_number(chained):
    frame = pd.DataFrame({"rooms": RNG.integers(1, 9, 600).astype(float), "area": RNG.normal(100, 20, 600)})
    plain = quick(max_steps=300)
    model = (Chain(Table(), plain) if chained else plain).fit(frame)
    correction = model.smallest_correction(frame.iloc[:1].assign(rooms=60.0, area=100.0))[0]
    assert correction.columns == ("rooms",)
    (rooms,) = correction.after
    assert isinstance(rooms, float)
    assert rooms == pytest.approx(round(rooms), abs=1e-6)
    assert rooms < 60
    assert model.predict(frame.iloc[:1].assign(rooms=float(round(rooms)), area=100.0)) == [1]


def test_a_date_is_corrected_to_one_that_is_written_as_the_others():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(0, 300, 600), "D")
    frame = pd.DataFrame({"sold": days.strftime("%d.%m.%Y"), "area": RNG.normal(100, 20, 600)})
    model = Chain(Table(), quick(max_steps=300)).fit(frame)
    odd = frame.iloc[:1].assign(sold="01.01.1970", area=100.0)
    (correction,) = model.smallest_correction(odd)
    assert correction.columns == ("sold",)
    assert days.min() <= pd.to_datetime(correction.after[0], format="%d.%m.%Y") <= days.max()
    reason = model.reasons(odd)[0][0]
    assert f"sold 01.01.1970, typically {reason.typical}" in str(reason)
    assert days.min() <= pd.to_datetime(reason.typical, format="%d.%m.%Y") <= days.max()
