"""Data sets that need no download."""

import pytest

from centrality._internal.checks import InputError
from centrality.datasets import BUNDLED, ODD_HOUSES, bundled, houses


@pytest.mark.parametrize("name", BUNDLED)
def test_each_has_as_many_rows_as_its_description_says(name):
    rows = int(BUNDLED[name][1].partition(" ")[0].replace(",", ""))
    assert bundled(name).num_rows == rows


def test_the_last_six_houses_are_those_that_are_odd():
    last = houses().slice(1194).to_pylist()
    assert len(last) == len(ODD_HOUSES) == 6
    for house, odd in zip(last, ODD_HOUSES, strict=True):
        assert odd.items() <= house.items()


def test_houses_are_the_same_each_time_and_have_gaps_in_two_columns():
    first = houses()
    assert first.equals(houses())
    assert {name for name in first.column_names if first[name].null_count} == {"area", "heating"}


def test_an_unknown_name_is_answered_with_those_there_are():
    with pytest.raises(InputError, match="no bundled data set called 'flowers'; there are: houses, wine, iris"):
        bundled("flowers")
