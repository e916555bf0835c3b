"""Numbers that name a row are told from numbers that measure something."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import FUSE, Chain
from centrality.representations import Table
from centrality.representations.identifiers import identifiers, too_long_to_measure
from centrality.tables.columns import DataNote


def found(columns: dict[str, np.ndarray]) -> dict[str, bool]:
    rows = len(next(iter(columns.values())))
    return identifiers(list(columns), rows, lambda name, step: columns[name][::step])


rng = np.random.default_rng(0)
N = 300
AGE = rng.normal(40, 10, N)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (rng.permutation(N) + 1000.0, {"column": True}),  # dense
        (np.append(rng.permutation(N - 2) + 1000.0, [1003.0, 1010.0]), {"column": True}),  # two rows entered twice
        (rng.choice(3000, N, replace=False) + 1000.0, {"column": True}),  # drawn, fifteen of them would come again
        (rng.choice(90_000_000, N, replace=False) + 10_000_000.0, {"column": False}),  # of fixed length: perhaps
        (np.argsort(np.argsort(AGE)) + 1.0, {"column": True}),  # it goes with another column, but counts the rows
        (np.round(10_000 + 400 * AGE + np.arange(N) / 1e3), {}),  # it goes with another column
        (rng.permutation(N) + 0.5, {}),  # no whole numbers
        (rng.integers(0, 50, N).astype(float), {}),  # not all different
        (rng.integers(1000, 10_000, N).astype(float), {}),  # as many come again as chance lets
        (np.append(rng.permutation(N - 1) + 1000.0, np.nan), {}),  # some row has none
        (np.round(10 ** rng.uniform(2, 9, N)), {}),  # neither dense nor of one length
        (np.arange(N) + 1800.0, {}),  # years
    ],
    ids=["dense", "two twice", "codes", "fixed length", "counting", "ordered", "fractions", "repeated", "drawn",
         "with a gap", "sparse", "years"],
)  # fmt: skip
def test_an_identifier_is_whole_and_comes_again_less_often_than_chance_would_let(column, expected):
    assert found({"column": column, "age": AGE}) == expected


def test_few_rows_are_never_called_so():
    assert found({"id": np.arange(19.0)}) == {}
    assert found({"id": np.arange(25.0)}) == {"id": True}


def test_a_running_number_is_left_out_as_number_and_as_text_and_said():
    orders = np.arange(100_001, 100_301)
    for written in (orders, orders.astype(str), [f"A{number}" for number in orders]):
        table = Table().fit(pd.DataFrame({"order": written, "age": AGE}))
        assert table.columns_ == ["age"]
        assert table.describe()["order"].startswith("left out: it looks like an identifier")
        assert table.doubts()["order"] == "if it is no identifier, what it says is lost"
    alone = Table().fit(pd.DataFrame({"order": orders}))
    assert alone.columns_ == ["order"]  # there is nothing else
    assert "identifier" in alone.doubts()["order"]


def test_measured_whole_numbers_stay():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"pay": rng.lognormal(10.5, 0.4, 2000).round().astype(int), "seconds": np.arange(2000.0)})
    assert Table().fit(frame).columns_ == ["pay", "seconds"]


def test_a_column_of_which_nine_in_ten_new_values_lie_beyond_those_of_fitting_is_named():
    days = pd.date_range("2024-01-01", periods=N).to_numpy()
    table = Table().fit(pd.DataFrame({"age": AGE, "day": days}))
    later = days[:100] + np.timedelta64(N, "D")
    late_entries = np.where(np.arange(100) < 10, days[:100], later)
    for new, count in ((later, 100), (late_entries, 90)):
        with pytest.warns(DataNote, match=f"Column 'day': in {count} of 100 rows the value lies beyond"):
            table.transform(pd.DataFrame({"age": AGE[:100], "day": new}))
    late_entries[10] = days[0]
    table.transform(pd.DataFrame({"age": AGE[:100], "day": late_entries}))  # 89 of 100: no note


@pytest.mark.parametrize(
    ("least", "expected"),
    [
        (2**53, True),  # from here on neighbours are one number to a computer
        (2**53 - 1, False),
        (10**17, True),
        (-(10**17), True),
        (1_700_000_000 * 10**9, False),  # nanoseconds of 2023
        (23 * 10**17, True),  # as nanoseconds a moment of 2042
    ],
)
def test_whole_numbers_beyond_doubles_are_codes_unless_they_are_moments(least, expected):
    assert (
        too_long_to_measure(pa.chunked_array([[least + k if least > 0 else least - k for k in range(5)]])) is expected
    )


def test_whole_numbers_of_both_signs_or_none_are_no_codes():
    assert not too_long_to_measure(pa.chunked_array([[-(2**60), 2**60]]))
    assert not too_long_to_measure(pa.chunked_array([pa.array([None, None], pa.int64())]))


def test_ids_of_eighteen_digits_are_left_out_and_account_numbers_are_categories():
    accounts = np.array([10**17 + 3, 10**17 + 4])  # one and the same as doubles
    assert float(accounts[0]) == float(accounts[1])
    frame = pd.DataFrame({"id": 10**17 + np.arange(N), "account": accounts[np.arange(N) % 2], "age": AGE})
    table = Table().fit(frame)
    assert table.get_feature_names_out().tolist() == [f"account {accounts[0]}", f"account {accounts[1]}", "age"]
    Z = table.transform(frame[:2])
    assert (Z[0, :2] != Z[1, :2]).all()


@pytest.mark.slow
def test_later_orders_are_not_called_for_their_number():
    """Fitted on orders 100001 to 102000: of the next 2,000, which are like them, one in a hundred at most is called."""

    def orders(first: int) -> pd.DataFrame:
        rng = np.random.default_rng(first)
        amount, land = rng.lognormal(4, 0.5, 2000).round(2), rng.choice(["DE", "FR", "AT"], 2000)
        return pd.DataFrame({"order": np.arange(first, first + 2000), "amount": amount, "land": land})

    model = Chain(Table(), FUSE(random_state=0)).fit(orders(100_001))
    assert model.detect(orders(102_001), fdr=0.1).sum() <= 20
