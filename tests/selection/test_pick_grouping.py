"""Groups of rows, and how a number of rows is shared among them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from centrality._internal.checks import InputError
from centrality.selection.pick import codes_of, interleaved, shares_of


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_a_frame_names_the_groups(kind):
    frame = kind({"class": ["b", "a", "b"], "x": [1.0, 2.0, 3.0]})
    assert codes_of(frame, "class", 3).tolist() == [1, 0, 1]


def test_numbers_stand_in_the_order_of_their_size():
    assert codes_of(None, [10, 9, 10], 3).tolist() == [1, 0, 1]


def test_all_gaps_are_one_group_and_the_last():
    frame = pd.DataFrame({"class": [np.nan, 2.0, np.nan, 1.0], "x": 0.0})
    assert codes_of(frame, "class", 4).tolist() == [2, 1, 2, 0]
    assert codes_of(None, ["b", None, float("nan"), "a"], 4).tolist() == [1, 2, 2, 0]


@pytest.mark.parametrize(
    ("X", "by", "said"),
    [
        (None, [1, 2], "one value for each of the 3 rows, got 2"),
        (np.zeros((3, 2)), "class", "names a column, but the rows are no frame"),
        (None, [1, 2, 3], "its values differ in every row"),
        (pd.DataFrame({"a": [1, 1, 2]}), "b", "'b'"),
    ],
)
def test_what_makes_no_groups_is_told(X, by, said):
    with pytest.raises(InputError, match=said):
        codes_of(X, by, 3)


def test_shares_are_even_and_no_group_gives_more_than_it_has():
    for k, sizes in ((10, [100, 3, 50]), (7, [1, 1, 1, 100]), (3, [5, 5, 5, 5]), (20, [4, 4, 4])):
        shares = shares_of(k, np.array(sizes))
        assert shares.sum() == min(k, sum(sizes))
        assert (shares <= sizes).all()
        free = shares[shares < sizes]  # groups that could give more differ by one row at most
        assert len(free) == 0 or free.max() - free.min() <= 1
        assert len(free) == 0 or shares.max() <= free.max()


def test_groups_take_turns_until_they_have_no_more():
    assert interleaved([np.array([5, 6, 7]), np.array([1]), np.array([8, 9])]).tolist() == [5, 1, 8, 6, 9, 7]
