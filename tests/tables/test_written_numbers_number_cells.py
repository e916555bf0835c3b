"""Cells of text are taken apart into sign, currency, digits and unit, or told to be no numbers."""

import pyarrow as pa
import pytest

from centrality.tables.written_numbers import DIGITS, NumberCells, canonical, evenly, is_currency, without_gaps

PARTS = ("sign", "before", "digits", "exponent", "after")


@pytest.mark.parametrize(
    ("cell", "parts"),
    [
        ("$1,234.50", ("", "$", "1,234.50", "", "")),
        ("-EUR 5", ("-", "EUR ", "5", "", "")),
        ("1 234,5 km/h", ("", "", "1 234,5", "", " km/h")),
        ("1.5e-3m", ("", "", "1.5", "e-3", "m")),
        ("12 m2", ("", "", "12", "", " m2")),
        ("~6,5 l/100km", ("", "", "6,5", "", " l/100km")),
        ("59,- €", ("", "", "59", "", " €")),
        ("5 €", ("", "", "5", "", " €")),
        ("hello", (None,) * 5),
        ("A5", (None,) * 5),
        ("5 - 6", (None,) * 5),
    ],
)
def test_a_cell_has_these_parts(cell, parts):
    found = NumberCells.of(pa.array([cell])).parts
    assert tuple(found[name][0].as_py() for name in PARTS) == parts


def test_look_alikes_are_made_plain_and_words_for_gaps_missing():
    given = pa.array(["\u22125", "1\u00a0234", "1\u2019234", " 5 ", "\u2014", "N/A", "unknown", None, "no"])
    assert without_gaps(given).to_pylist() == ["-5", "1 234", "1'234", "5", None, None, None, None, "no"]


@pytest.mark.parametrize(
    ("digits", "point", "comma"),
    [
        ("1234", True, True),
        ("1,234", True, True),
        ("1.234", True, True),
        ("1,234.5", True, False),
        ("1.234,5", False, True),
        ("1,234,567", True, False),
        ("12,34,567", True, False),  # lakhs
        ("1,2345", False, True),
        ("0,123", False, True),  # no group begins with a zero
        ("1 234", True, True),
        ("1 234'567", False, False),  # one mark for all groups
        ("1.2.3", False, False),
        (".5", True, False),
    ],
)
def test_digits_are_a_number_where_a_point_or_a_comma_is_the_decimal_mark(digits, point, comma):
    cells = NumberCells.of(pa.array([digits]))
    assert [bool(cells.fits(mark)[0]) for mark in DIGITS] == [point, comma]


def test_a_unit_is_the_same_however_people_vary_it():
    assert canonical(" Lbs.") == canonical("lb")
    assert canonical("m²") == canonical(" m2")
    assert canonical("ms") != canonical("m")


def test_currencies_are_symbols_and_common_codes():
    assert all(map(is_currency, ["$", "€ ", "US$", "CHF", "eur", "kr.", "₹"]))
    assert not any(map(is_currency, ["", "kg", "%", "ms"]))


def test_texts_are_looked_at_from_first_to_last():
    assert evenly(pa.array(["a", "b", "c", "d", "e"]), 3).to_pylist() == ["a", "c", "e"]
    assert evenly(pa.array(["a", "b"]), 3).to_pylist() == ["a", "b"]
