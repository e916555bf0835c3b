"""Numbers as people write them: a number that is written in a style is read back exactly, a column shows its style."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from centrality.tables.written_numbers import ENOUGH, LEARNED_FROM, NumberFormat, learn_writing, ordered_levels
from tests.present import present

MARKS = [(".", ""), (".", ","), (".", " "), (".", "'"), (",", ""), (",", "."), (",", " "), (",", "'")]
AFFIXES = [("", ""), ("$", ""), ("€ ", ""), ("US$", ""), ("CHF ", ""), ("", " €"), ("", "%"), ("", " %"), ("", " kg"),
           ("", "ms"), ("", " m²"), ("", " km/h"), ("", " sq ft"), ("Rs. ", ""), ("$", "/hr")]  # fmt: skip

styles = st.builds(
    lambda marks, affixes, decimals: NumberFormat(marks[0], marks[1], affixes[0], affixes[1], decimals),
    st.sampled_from(MARKS),
    st.sampled_from(AFFIXES),
    st.integers(0, 4),
)
numbers = st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20)


@given(styles, numbers)
def test_a_number_that_is_written_in_a_style_is_read_back_exactly(writing, wholes):
    exact = [whole / 10**writing.decimals for whole in wholes]  # the nearest float to a number of so many decimals
    found, wrong = present(writing).read(pa.array(map(writing.write, exact)))
    assert found.tolist() == exact
    assert not wrong.any()


@pytest.mark.slow
@given(styles, numbers)
def test_the_style_of_a_column_is_learned_wherever_its_numbers_tell(writing, wholes):
    drawn = [*(whole / 10**writing.decimals for whole in wholes), 9876543.21, -7654321.09, 12.34, 1.21]
    exact = np.round(drawn, writing.decimals)  # two groups of thousands, and under a thousand: no other reading fits
    if writing.decimals in (0, 3) and not writing.thousands:
        return  # plain digits; and three digits after the only mark, which is the next test
    learned, doubt = learn_writing(pa.array(map(writing.write, exact)))
    assert doubt == ""
    found, wrong = present(learned).read(pa.array(map(writing.write, exact)))
    np.testing.assert_array_equal(found, exact)
    assert not wrong.any()
    if writing.decimals or writing.thousands in (",", "."):
        assert learned == writing


@pytest.mark.parametrize(
    ("cells", "value", "doubt"),
    [
        (["1,234", "12,345", "950"], 1234.0, "'1,234' is taken for 1234, but could be 1.234"),
        (["1.234", "12.345", "950"], 1234.0, "'1.234' is taken for 1234, but could be 1.234"),
        (["1.234", "12.345", "9500"], 1.234, "'1.234' is taken for 1.234, but could be 1234"),
        (["1.234", "12.345"], 1.234, "'1.234' is taken for 1.234, but could be 1234"),
        (["€1.234", "€12.345"], 1234.0, "'1.234' is taken for 1234, but could be 1.234"),
        (["1,234", "0,345"], 1.234, ""),  # no group begins with a zero
        (["1,234", "12,5"], 1.234, ""),
        (["1,234", "1,234,567"], 1234.0, ""),
        (["1.234", "1.234.567"], 1234.0, ""),
        (["1,234", "7.5"], 1234.0, ""),
        (["1.234", "7,5"], 1234.0, ""),
        (["3,041", "1302,81"], 3.041, ""),
        (["3,041"] * 30_000 + ["1302,81"], 3.041, ""),  # one cell is enough, wherever it stands
    ],
)
def test_the_marks_mean_what_the_whole_column_allows_and_a_choice_is_said(cells, value, doubt):
    writing, said = learn_writing(pa.array(cells))
    assert present(writing).read(pa.array(cells))[0][0] == value
    assert said == doubt


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("(1,234.50)", -1234.5),
        ("($1,234.50)", -1234.5),
        ("$(1,234.50)", -1234.5),
        ("-$1,234.50", -1234.5),
        ("$-1,234.50", -1234.5),
        ("1,234.50-", -1234.5),
        ("\u22121,234.50", -1234.5),  # a minus that is no hyphen
        ("+$5", 5.0),
        ("$ 5", 5.0),
        ("5 $", 5.0),
        ("\u00a0$1\u202f234.5 ", 1234.5),
        ("12,34,567", 1234567.0),  # lakhs
        ("1234.5", 1234.5),
        ("1.5e3", 1500.0),
        (".5", 0.5),
    ],
)
def test_a_cell_may_be_written_otherwise_than_most(cell, value):
    found, wrong = NumberFormat(thousands=",", before="$", decimals=2).read(pa.array([cell]))
    assert found.tolist() == [value]
    assert not wrong.any()


@pytest.mark.parametrize(
    "cell", ["€5", "5 kg", "$5 kg", "(5", "5)", "-(5)", "--5", "-5-", "1,23.4", "1.2.3", "5 6", "1e999", "$", "hello"]
)  # fmt: skip
def test_what_is_no_number_of_the_column_is_told(cell):
    found, wrong = NumberFormat(thousands=",", before="$", decimals=2).read(pa.array(["$5", cell]))
    assert found[0] == 5
    assert np.isnan(found[1])
    assert wrong.tolist() == [False, True]


@pytest.mark.parametrize("gap", ["-", "–", "n/a", "N/A", "NA", "null", "None", "?", ".", "", "unknown", "NaN", None])
def test_a_word_for_a_gap_is_a_gap_and_not_wrong(gap):
    writing, doubt = learn_writing(pa.array(["12.5%", "3%", gap]))
    found, wrong = present(writing).read(pa.array(["12.5%", "3%", gap]))
    np.testing.assert_array_equal(found, [12.5, 3, np.nan])
    assert not wrong.any()
    assert doubt == ""


def test_programs_numbers_are_read_beside_decimal_commas():
    writing, _ = learn_writing(pa.array(["1.234,50 €", "12,00 €"]))
    found, wrong = present(writing).read(pa.array(["1234.5", "-0.5", "12.50", "1.234", "1.234.5"]))
    np.testing.assert_array_equal(found, [1234.5, -0.5, 12.5, 1234.0, np.nan])  # 1.234 is how the column writes it
    assert wrong.tolist() == [False, False, False, False, True]


def test_a_unit_may_vary_as_people_vary_it():
    writing, doubt = learn_writing(pa.array(["1 day", "3 days", "2 Days", "4days."]))
    assert present(writing).read(pa.array(["1 day", "3 days", "2 Days", "4days."]))[0].tolist() == [1, 3, 2, 4]
    assert doubt == ""


def test_numbers_without_the_unit_of_the_others_are_a_doubt():
    writing, doubt = learn_writing(pa.array(["5 kg", "7 kg", "9 kg", "8"]))
    assert present(writing).read(pa.array(["8"]))[0].tolist() == [8]
    assert doubt == "25.0% of the numbers have no unit and are taken for kg, too"


def test_thousands_and_millions_multiply():
    cells = pa.array(["$950", "$1.2k", "$3.5M", "$2bn"])
    writing, _ = learn_writing(cells)
    assert present(writing).read(cells)[0].tolist() == [950, 1200, 3.5e6, 2e9]
    metres, _ = learn_writing(pa.array(["5 m", "12 m"]))
    assert present(metres).read(pa.array(["5 m", "7"]))[0].tolist() == [5, 7]


@pytest.mark.parametrize(
    "cells",
    [
        ["hello", "world"],
        ["01234", "56789"],  # postcodes
        ["10115", "20095"],
        ["10-20", "20-30"],
        ["555-1234", "555-4321"],
        ["192.168.1.1", "10.0.0.1"],
        ["12:30", "13:45"],
        ["A1", "A2"],
        ["4111 1111 1111 1111", "4222 2222 2222 2222"],
        ["12 Main St", "14 High Rd", "3 Park Ave"],
        ["n/a", "-", None],
    ],
    ids=str,
)
def test_what_is_no_column_of_numbers_is_left_as_it_is(cells):
    assert learn_writing(pa.array(cells, pa.string()))[0] is None


def test_several_units_are_no_column_of_numbers_and_that_is_said():
    assert learn_writing(pa.array(["5 kg", "7 lb", "3 kg"])) == (
        None,
        "numbers of several units (kg, lb) cannot be compared: write them in one",
    )


def test_metres_beside_kilometres_are_no_millions():
    assert learn_writing(pa.array(["500 m", "3 km", "12 km", "800 m"]))[0] is None
    assert present(learn_writing(pa.array(["12 b", "30 b", "7"]))[0]).read(pa.array(["7"]))[0].tolist() == [7]


def test_a_unit_of_a_few_cells_is_none_of_the_column():
    writing, doubt = learn_writing(pa.array([*map(str, range(99)), "5a"]))
    assert writing == NumberFormat()
    assert doubt == ""
    assert present(writing).read(pa.array(["5a", "5"]))[1].tolist() == [True, False]


def test_a_zero_in_front_makes_codes_only_of_bare_digits():
    assert present(learn_writing(pa.array(["$012.50", "$7.00"]))[0]).read(pa.array(["$012.50"]))[0].tolist() == [12.5]
    typo = pa.array([*map(str, range(5000)), "007"])
    assert present(learn_writing(typo)[0]).read(pa.array(["007"]))[0].tolist() == [7]
    assert learn_writing(pa.array([*map(str, range(500)), "007"]))[0] is None


def test_a_few_cells_that_are_no_numbers_do_not_hide_the_others():
    few, many = ["see note"] * 5, ["see note"] * 6
    assert learn_writing(pa.array(["$5"] * 95 + few))[0] == NumberFormat(before="$")
    assert learn_writing(pa.array(["$5"] * 94 + many))[0] is None
    assert ENOUGH == 0.95


def test_a_single_cell_of_very_many_tells_what_a_mark_means():
    cells = ["1,234"] * (3 * LEARNED_FROM)
    assert present(learn_writing(pa.array(cells))[0]).decimal == "."
    cells[12_347] = "12,5"
    assert present(learn_writing(pa.array(cells))[0]).decimal == ","


@pytest.mark.parametrize("parts", [{"decimal": ";"}, {"thousands": "x"}, {"decimals": -1}, {"decimals": 1.5}])
def test_a_writing_that_is_none_is_refused(parts):
    with pytest.raises(ValueError, match="numbers cannot be written so"):
        NumberFormat(**parts)


@pytest.mark.parametrize(
    "style", ['="{}"', "'{}", "<{}", "≥ {}", ">={}"], ids=["formula", "apostrophe", "below", "at least", "in two signs"]
)
def test_what_spreadsheets_and_laboratories_put_before_a_number_is_no_part_of_it(style):
    wholes = [7, 1234, 98, 560321, 12]
    writing, doubt = learn_writing(pa.array([style.format(whole) for whole in wholes]))
    assert doubt == ""
    assert present(writing).read(pa.array([style.format(whole) for whole in wholes]))[0].tolist() == wholes


@pytest.mark.parametrize("zero", "０٠۰०")
def test_digits_of_other_scripts_are_digits(zero):
    wholes = [7, 1234, 98, 560321, 12]
    other = {ord("0") + digit: chr(ord(zero) + digit) for digit in range(10)}
    texts = pa.array([f"{whole}".translate(other) for whole in wholes])
    assert present(learn_writing(texts)[0]).read(texts)[0].tolist() == wholes


def test_zeros_in_front_are_codes_also_where_a_spreadsheet_marked_them_as_text():
    assert learn_writing(pa.array([f'="{code:05d}"' for code in range(490, 560)])) == (None, "")


@pytest.mark.parametrize(
    "levels",
    [
        ["<=50K", ">50K"],
        ["< 1 year", "1 year", "2 years", "10+ years"],
        ["<$10,000", "$10,000 - $24,999", "$25,000+"],
        ["500-1.000", "1.000-2.000", "über 2.000"],
        ["-5 – 0", "0 – 5", "> 5", "no answer"],
    ],
)
def test_limits_and_ranges_are_levels_of_an_order(levels):
    shuffled = np.random.default_rng(0).permutation(levels * 6)
    assert ordered_levels(pa.array(shuffled)) == levels


@pytest.mark.parametrize(
    "texts",
    [
        ["2-1", "0-0", "3-2"],  # results
        ["1 - bad", "2 - fair"],
        ["1st-4th", "5th-6th", "9th", "HS-grad", "Bachelors", "Masters"] * 6,  # schooling: more words than ranges
        ["<0.5"] * 80 + [f"{k / 7:.3f}" for k in range(20)],  # many limits, but the numbers do not come again
        [f"{k}" for k in range(30)] * 9 + ["<1"],  # one limit among many numbers
    ],
)
def test_codes_and_limits_among_measured_numbers_have_no_order(texts):
    assert ordered_levels(pa.array(texts)) == []


def test_what_a_measurement_may_be_off_is_left_out_and_said():
    writing, doubt = learn_writing(pa.array([f"{k}.5 ± 0.3 kg" for k in range(30)]))
    assert doubt == "what stands behind ± is left out"
    assert present(writing).read(pa.array(["7.5 ± 0.1 kg", "7.5 +/- 2", "7.5"]))[0].tolist() == [7.5, 7.5, 7.5]
