"""Numbers as people read them."""

from datetime import date, datetime

import pytest

from centrality._internal.text import number, share


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "(missing)"),
        (True, "yes"),
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
