"""Each kind of finding finds what was planted, with its rows, and is silent where nothing is wrong."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import check
from centrality.findings.kinds import KINDS
from centrality.findings.kinds.columns import (
    find_changes,
    find_gap_words,
    find_gaps_together,
    find_placeholder_numbers,
    find_slipped_values,
    find_unread_cells,
    find_unread_columns,
)
from centrality.findings.kinds.numbers import find_far_numbers, find_wrong_signs
from centrality.findings.kinds.rows import find_copies, find_labels
from centrality.findings.kinds.ties import find_broken_sums, find_dates_out_of_order, find_unfit_values
from centrality.findings.kinds.words import find_faulty_texts, find_spellings
from centrality.findings.sheet import Sheet
from tests.findings.sheets import ROWS, WORDS, only, orders, sheet_of

PLANTED = np.array([7, 50, 133, 201, 333])


@pytest.fixture(scope="module")
def plain() -> Sheet:
    return sheet_of(orders())


@pytest.mark.parametrize("find", KINDS, ids=lambda find: find.__name__)
def test_no_kind_finds_anything_in_orders_that_are_right(plain, find):
    assert [str(finding) for finding in find(plain) if finding.count] == []


def test_a_value_far_from_all_others_in_many_rows_is_a_placeholder():
    frame = orders()
    frame.loc[PLANTED, "weight"] = 999.0
    found = only(find_placeholder_numbers(sheet_of(frame)))
    assert found.rows.tolist() == PLANTED.tolist()
    assert found.sentence == "weight is exactly 999"
    assert not found.mild


def test_a_negative_mark_and_a_date_long_ago_are_placeholders():
    frame = orders()
    frame.loc[PLANTED, "price"] = -1.0
    frame.loc[PLANTED, "ordered"] = pd.Timestamp("1900-01-01")
    found = list(find_placeholder_numbers(sheet_of(frame)))
    assert {finding.columns for finding in found} == {("price",), ("ordered",)}
    assert all(finding.rows.tolist() == PLANTED.tolist() for finding in found)


def test_one_very_frequent_value_among_very_many_is_a_placeholder():
    frame = orders()
    frame.loc[100:150, "price"] = 111.11
    assert only(find_placeholder_numbers(sheet_of(frame))).count == 51


def test_words_for_nothing_are_named():
    frame = orders()
    frame.loc[PLANTED, "wood"] = "n/a"
    found = only(find_gap_words(sheet_of(frame)))
    assert found.rows.tolist() == PLANTED.tolist()
    assert "'n/a'" in found.sentence


def test_a_slipped_decimal_is_found_with_its_factor():
    frame = orders()
    frame.loc[PLANTED[:3], "price"] *= 100
    found = only(find_far_numbers(sheet_of(frame)))
    assert sorted(found.rows) == PLANTED[:3].tolist()
    assert found.sentence == "price is about 100 times too large"


def test_a_price_that_fits_the_column_but_not_its_weight_is_found():
    frame = orders()
    light, heavy = int(frame.weight.argmin()), int(frame.weight.argmax())
    frame.loc[light, "price"] = frame.loc[heavy, "price"]
    assert light in only(find_far_numbers(sheet_of(frame))).rows


def test_a_wrong_sign_is_found():
    frame = orders()
    frame.loc[PLANTED, "price"] *= -1
    assert only(find_wrong_signs(sheet_of(frame))).rows.tolist() == PLANTED.tolist()


def test_a_rare_spelling_beside_a_common_one_is_found():
    frame = orders()
    frame.loc[PLANTED[:2], "wood"] = "Eich"
    frame.loc[PLANTED[2:], "wood"] = "Aborn"
    found = only(find_spellings(sheet_of(frame)))
    assert found.rows.tolist() == PLANTED[2:].tolist()  # a word of four letters is too short to be sure


def test_mixed_case_and_accents_are_one_word_written_in_two_ways():
    frame = orders()
    frame.loc[PLANTED[:2], "wood"] = "EICHE"
    frame.loc[PLANTED[2:], "wood"] = "Búche"
    found = only(find_spellings(sheet_of(frame)))
    assert found.rows.tolist() == PLANTED.tolist()
    assert "more than one way" in found.sentence


def test_at_most_50_and_over_50_are_no_two_spellings_of_one_word():
    frame = orders()
    frame["income"] = np.where(frame.price > 90, ">50K", "<=50K")
    assert list(find_spellings(sheet_of(frame))) == []


def prose(rng: np.random.Generator) -> list[str]:
    return [" ".join(rng.choice(WORDS, 12)) for _ in range(ROWS)]


def test_markup_other_languages_and_empty_texts_are_found():
    frame = orders()
    note = prose(np.random.default_rng(0))
    note[3] = "<font face=verdana>the house of the river</font> is old"
    note[5] = "das Haus an der Strasse ist nicht alt und der Weg zu dem Fluss war lang für den Mann"
    note[9] = "дом у реки стар и дорога к нему была долгой"
    note[11] = " ... "
    frame["note"] = note
    found = {finding.kind + finding.sentence: finding.rows.tolist() for finding in find_faulty_texts(sheet_of(frame))}
    assert found == {
        "markupnote holds markup": [3],
        "languagenote is German": [5],
        "languagenote is Cyrillic": [9],
        "empty textnote says nothing": [11],
    }


def test_rows_entered_twice_are_found():
    frame = orders()
    frame = pd.concat([frame, frame.iloc[PLANTED]], ignore_index=True)
    found = only(find_copies(sheet_of(frame)))
    assert found.rows.tolist() == sorted([*PLANTED, *range(ROWS, ROWS + 5)])


def test_rows_that_are_equal_by_chance_are_no_copies():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.integers(0, 4, ROWS) for name in "abcd"})
    assert list(find_copies(sheet_of(frame))) == []


def test_columns_that_are_missing_together_are_one_finding():
    frame = orders()
    frame.loc[PLANTED, ["weight", "wood"]] = None
    found = only(find_gaps_together(sheet_of(frame)))
    assert found.columns == ("weight", "wood")
    assert found.rows.tolist() == PLANTED.tolist()


def test_a_value_that_slipped_into_the_column_beside_is_found():
    frame = orders()
    frame["place"] = np.array(["Ober Au", "Nieder Au", "Auen"])[np.arange(ROWS) % 3]
    frame["state"] = np.array(["TX", "CA", "NY"])[np.arange(ROWS) % 3]
    moved = frame.place[PLANTED] + " " + frame.state[PLANTED]
    frame.loc[PLANTED, "place"], frame.loc[PLANTED, "state"] = moved, None
    found = only(find_slipped_values(sheet_of(frame)))
    assert found.rows.tolist() == PLANTED.tolist()
    assert found.columns == ("place", "state")


def test_a_total_that_is_no_sum_is_found():
    frame = orders()
    frame["total"] = (frame.weight + frame.price).round(2)
    frame.loc[PLANTED, "total"] += 5
    found = only(find_broken_sums(sheet_of(frame)))
    assert found.rows.tolist() == PLANTED.tolist()
    assert found.sentence == "total is not weight + price"


def test_a_date_after_another_is_found():
    frame = orders()
    frame.loc[PLANTED, ["ordered", "sent"]] = frame.loc[PLANTED, ["sent", "ordered"]].to_numpy()
    found = only(find_dates_out_of_order(sheet_of(frame)))
    assert found.rows.tolist() == PLANTED.tolist()
    assert found.sentence == "ordered comes after sent"


def test_a_code_that_another_column_rules_out_is_found():
    frame = orders()
    frame.loc[7, "code"] = "A3" if frame.loc[7, "wood"] != "Ahorn" else "E1"
    found = list(find_unfit_values(sheet_of(frame)))
    assert found
    assert all(finding.rows.tolist() == [7] for finding in found)


def test_constant_columns_and_cells_that_are_no_numbers_are_told():
    frame = orders()
    frame["currency"] = "EUR"
    frame["price"] = frame.price.map("{:.2f}".format)
    frame.loc[PLANTED[:2], "price"] = "ask Bob"
    sheet = sheet_of(frame)
    constant = only(find_unread_columns(sheet), "constant")
    assert constant.columns == ("currency",)
    assert constant.count == 0
    assert only(find_unread_cells(sheet), "unreadable").rows.tolist() == PLANTED[:2].tolist()


def test_numbers_with_and_without_a_unit_are_two_formats():
    frame = orders()
    frame["weight"] = frame.weight.map("{:.2f}".format)
    frame.loc[PLANTED, "weight"] += " kg"
    found = only(find_unread_cells(sheet_of(frame)), "format")
    assert found.rows.tolist() == PLANTED.tolist()


def test_labels_that_do_not_fit_their_rows_are_found():
    rng = np.random.default_rng(0)
    species = np.repeat(["a", "b"], ROWS // 2)
    frame = pd.DataFrame({"x": rng.normal(size=ROWS) + 8 * (species == "b"), "y": rng.normal(size=ROWS)})
    frame["species"] = species
    frame.loc[PLANTED, "species"] = np.where(frame.species[PLANTED] == "a", "b", "a")
    found = only(find_labels(sheet_of(frame, "species")))
    assert sorted(found.rows) == PLANTED.tolist()


def test_a_new_category_and_a_column_that_is_gone_are_changes():
    old = sheet_of(orders())
    new = orders(1).drop(columns="sent")
    new.loc[PLANTED, "wood"] = "Esche"
    sheet = sheet_of(new)
    sheet = Sheet(sheet.data, sheet.items, sheet.model, None, 0, against=old.data)
    found = {finding.sentence: finding.rows.tolist() for finding in find_changes(sheet)}
    assert found == {"sent is gone": [], "wood has 1 new value: Esche": PLANTED.tolist()}


@pytest.mark.parametrize(
    "kind",
    ["dates written as text", "amounts written as text", "values that half the time come once"],
)
def test_values_that_are_new_in_every_sample_are_no_change(kind):
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2023-01-01") + pd.to_timedelta(rng.integers(0, 500, size=1200), unit="D")
    columns = {
        "dates written as text": [f"{day:%d/%m/%Y}" for day in days],
        "amounts written as text": [f"€{amount:.1f}" for amount in rng.lognormal(3, 1, size=1200)],
        "values that half the time come once": [f"w{word:x}" for word in rng.zipf(1.5, size=1200)],
    }
    rows = pd.DataFrame({"value": columns[kind], "x": rng.normal(size=1200)})
    old, new = sheet_of(rows[:800]), sheet_of(rows[800:].reset_index(drop=True))
    against = Sheet(new.data, new.items, new.model, None, 0, against=old.data)
    assert [finding.sentence for finding in find_changes(against) if "new value" in finding.sentence] == []


def test_one_word_among_few_different_numbers_is_unreadable_and_no_level():
    pieces = np.random.default_rng(0).integers(1, 9, size=600).astype(str).astype(object)
    pieces[30] = "acht"
    found = [finding for finding in check(pa.table({"pieces": pieces})) if finding.kind == "unreadable"]
    assert [(finding.columns, finding.rows.tolist()) for finding in found] == [(("pieces",), [30])]
