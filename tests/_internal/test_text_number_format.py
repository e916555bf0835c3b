"""Numbers as people read them."""

from datetime import date, datetime

import numpy as np
import pandas as pd
import pytest

from centrality._internal.text import column_name, none_if_missing, number, share


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "(missing)"),
        (True, "yes"),
        (datetime(2024, 1, 1), "2024-01-01"),
        (datetime(2024, 1, 1, 0, 1), "2024-01-01 00:01"),
        (datetime(2024, 1, 1, 0, 1, 7), "2024-01-01 00:01:07"),
        (1999, "1999"),
        (1999.0, "1999"),
        (123456, "123,456"),
        (-6.145e-8, "-0.000000061"),
        (9.9e-05, "0.000099"),
        (12.3456, "12.35"),
        (1e300, "1.00e+300"),
        (0.0, "0"),
        (date(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29), "2024-02-29"),
        (datetime(2024, 2, 29, 13, 5), "2024-02-29 13:05"),
        ("two\n lines", "two lines"),
    ],
)
def test_a_value_is_written_as_people_read_it(value, text):
    assert number(value) == text


def test_a_share_that_is_hardly_more_than_nothing_is_said_to_be_small():
    assert (share(0.25), share(6e-11), share(0.0)) == ("0.250", "<0.001", "0.000")


@pytest.mark.parametrize(
    ("t", "name"),
    [
        (0.3, "centrality"),
        (0.0, "centrality_t0"),
        (1.0, "centrality_t100"),
        (0.25, "centrality_t25"),
        (0.125, "centrality_t12_5"),
        (0.07, "centrality_t7"),  # 100 * 0.07 is a little more than 7
        (1 / 3, "centrality_t33_333333"),
        (1e-6, "centrality_t0_0001"),
        (-0.0, "centrality_t0"),
    ],
)
def test_a_score_column_has_no_dot_and_none_but_its_kind_at_the_models_own_t(t, name):
    assert column_name("centrality", t, model_t=0.3) == name
    assert name.isidentifier()


@pytest.mark.parametrize("value", [None, float("nan"), np.datetime64("NaT"), pd.NA, pd.NaT])
def test_what_frames_write_for_nothing_is_missing(value):
    assert none_if_missing(value) is None


@pytest.mark.parametrize("value", [0, False, np.False_, "", "NaN", date(2024, 1, 1)])
def test_anything_else_is_there(value):
    assert none_if_missing(value) is value
