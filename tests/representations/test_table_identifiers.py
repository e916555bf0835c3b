"""Numbers that name a row are told from numbers that measure something."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality.representations import Table
from centrality.representations.table import identifiers, too_long_to_measure


def found(columns: dict[str, np.ndarray]) -> list[str]:
    rows = len(next(iter(columns.values())))
    return identifiers(list(columns), rows, lambda name, step: columns[name][::step])


rng = np.random.default_rng(0)
N = 300
AGE = rng.normal(40, 10, N)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (rng.permutation(N) + 1000.0, True),  # dense
        (rng.choice(90_000_000, N, replace=False) + 10_000_000.0, True),  # of fixed length
        (np.argsort(np.argsort(AGE)) + 1.0, True),  # it goes with another column, but counts the rows
        (np.round(10_000 + 400 * AGE + np.arange(N) / 1e3), False),  # it goes with another column
        (rng.permutation(N) + 0.5, False),  # no whole numbers
        (rng.integers(0, 50, N).astype(float), False),  # not all different
        (np.append(rng.permutation(N - 1) + 1000.0, np.nan), False),  # some row has none
        (np.round(10 ** rng.uniform(2, 9, N)), False),  # neither dense nor of one length
    ],
    ids=["dense", "fixed length", "counting", "ordered", "fractions", "repeated", "with a gap", "sparse"],
)
def test_an_identifier_is_whole_all_different_dense_or_of_one_length_and_in_no_order(column, expected):
    assert found({"column": column, "age": AGE}) == (["column"] if expected else [])


def test_few_rows_are_never_called_so():
    assert found({"id": np.arange(19.0)}) == []
    assert found({"id": np.arange(20.0)}) == ["id"]


def test_order_in_a_part_of_very_many_rows_is_order():
    many = rng.permutation(50_000).astype(float)
    assert found({"id": many, "other": rng.normal(size=50_000)}) == ["id"]
    assert found({"id": many + (many > 9), "other": many**3}) == []  # a number is left out: they do not count rows


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
