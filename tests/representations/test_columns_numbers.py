"""Columns of numbers in disguise are encoded as the numbers that they are."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from centrality import Chain, load
from centrality.representations import Table
from centrality.tables import TableError, read
from centrality.tables.columns import NEW_GAP, NO_NUMBER, TWO_NUMBERS, CellIssues, DataNote
from tests.conftest import quick

N = 300
X = np.round(np.random.default_rng(0).lognormal(7, 0.8, N), 2)


def german(x: float) -> str:
    return f"{x:,.2f}".translate({ord(","): ".", ord("."): ","})


WRITINGS: dict[str, Any] = {
    "dollars": [f"${x:,.2f}" for x in X],
    "euros": [f"{german(x)} €" for x in X],
    "commas": [f"{x:.2f}".replace(".", ",") for x in X],
    "spaces": [f"{x:,.2f}".replace(",", "\u202f") for x in X],
    "per cent": [f"{x:.2f}%" for x in X],
    "unit": [f"{x:,.2f} kg" for x in X],
    "stored": X,
}


@pytest.mark.parametrize("how", WRITINGS)
def test_numbers_in_disguise_are_encoded_as_the_numbers_that_they_are(how):
    plain = pa.table({"x": X, "y": np.arange(N) % 7})
    disguised = pa.table({"x": WRITINGS[how], "y": np.arange(N) % 7})
    fitted = Table().fit(disguised)
    np.testing.assert_array_equal(fitted.transform(disguised), Table().fit(plain).transform(plain))
    np.testing.assert_array_equal(fitted.transform(plain), fitted.transform(disguised))
    state, arrays = fitted.state()
    again = Table().restore(json.loads(json.dumps(state)), arrays)
    np.testing.assert_array_equal(again.transform(disguised), fitted.transform(disguised))
    assert again.describe() == fitted.describe()


def test_words_for_gaps_are_gaps():
    cells = ["n/a", "-", None, *WRITINGS["dollars"][3:]]
    plain = [None, None, None, *X[3:]]
    disguised, numbers = (pa.table({"x": cells, "y": np.arange(N) % 7}) for cells in (cells, plain))
    np.testing.assert_array_equal(Table().fit_transform(disguised), Table().fit_transform(numbers))


def test_a_cell_that_is_no_number_counts_against_its_row_and_is_counted():
    table = Table().fit(pa.table({"x": WRITINGS["dollars"]}))
    Z, unreadable = table.examined(pa.table({"x": ["$5.00", "€5.00", "hello", None]}))
    assert unreadable == CellIssues(4, {"x": {NO_NUMBER: 2, NEW_GAP: 1}})
    greatest = table.transform(pa.table({"x": WRITINGS["dollars"]})).max()
    assert greatest > 6
    assert Z[1:, 0].tolist() == [greatest] * 3  # as far off as any number of fitting
    with pytest.raises(TableError, match="in 2 the value cannot be read as a number"):
        table.transform(pa.table({"x": ["$5.00", "€5.00", "hello"]}))


def test_a_few_unreadable_cells_in_fitting_are_no_gaps():
    cells = ["see note", *WRITINGS["dollars"][1:]]
    with pytest.warns(UserWarning, match=r"Column 'x': 0\.3% of the numbers have no unit"):
        table = Table().fit(pa.table({"x": cells}))
    with pytest.warns(DataNote, match="in 1 of 300 rows the value cannot be read as a number"):
        Z = table.transform(pa.table({"x": cells}))
    assert Z.shape == (N, 1)  # no column that marks gaps
    assert Z[0, 0] == Z[1:, 0].max() > 6


def test_the_oddest_price_is_the_last_one_as_if_it_were_cleaned_by_hand(tmp_path):
    rng = np.random.default_rng(1)
    prices = rng.integers(1000, 9000, 500).astype(float)
    prices[7] = 9_999_999
    other = rng.normal(size=500)
    disguised = pa.table({"price": [f"${x:,.0f}" for x in prices], "other": other})
    with pytest.warns(UserWarning, match="Nearly all variance of column price comes from 1 of its cells"):
        chain = Chain(Table(), quick(max_steps=300)).fit(disguised)
    assert chain.centrality(disguised).argmin() == 7
    chain.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.centrality(disguised), chain.centrality(disguised))
    [[reason, *_]] = again.reasons(disguised.slice(7, 1))
    assert (reason.feature, reason.value) == ("price", "$9,999,999")
    assert str(reason.typical).startswith("$")


def test_codes_stay_what_they_were_and_categories_that_are_called_so_too():
    postcodes = pa.array(["10115", "20095", "01067"] * 30)
    rooms = pa.array(["1", "2", "3"] * 30)
    table = Table().fit(pa.table({"code": postcodes, "rooms": rooms, "kind": rooms.dictionary_encode()}))
    said = table.describe()
    assert said["code"] == "category, 3 levels"
    assert said["rooms"].startswith("number written as")
    assert said["kind"] == "category, 3 levels"


def test_times_of_day_are_numbers_of_seconds(tmp_path):
    rng = np.random.default_rng(0)
    minutes = rng.integers(0, 24 * 60, 200)
    lines = [f"{m // 60:02d}:{m % 60:02d},{k % 7}" for k, m in enumerate(minutes)]
    (tmp_path / "t.csv").write_text("at,x\n" + "\n".join(lines) + "\n")
    rows = read(tmp_path / "t.csv")
    table = Table().fit(rows)
    numbers = pa.table({"at": 60.0 * minutes, "x": np.arange(200) % 7})
    np.testing.assert_array_equal(table.transform(rows), Table().fit_transform(numbers))
    assert table.types()["at"] == pa.time32("s")
    assert table.typical(np.zeros(2))[0] == f"{int(np.median(minutes)) // 60:02d}:{int(np.median(minutes)) % 60:02d}"


def test_a_mark_that_never_stood_between_thousands_leaves_two_readings_and_is_no_number():
    de = pa.table(
        {"x": [f"{v:.3f}".replace(".", ",") for v in np.linspace(1, 99, 199)] + ["7,5"], "y": np.arange(200) % 7}
    )
    table = Table(unreadable=1).fit(de)
    found, issues = table.examined(pa.table({"x": ["50.629", "50.62", "1.234,5", "50,629", "1.234.567"], "y": [1] * 5}))
    assert issues.cells == {"x": {TWO_NUMBERS: 1}}
    encoder: Any = table._encoders["x"]
    assert found[0, 0] == encoder.far
    exact = table.transform(pa.table({"x": [50.62, 1234.5, 50.629, 1234567.0], "y": [1] * 4}))
    np.testing.assert_array_equal(found[1:], exact)


def test_text_beside_a_model_of_numbers_is_no_thousandfold():
    table = Table(unreadable=1).fit(pa.table({"x": np.linspace(1, 99, 200), "y": np.arange(200) % 7}))
    assert table.examined(pa.table({"x": ["50,629"], "y": [1]}))[1].cells == {"x": {TWO_NUMBERS: 1}}
    assert not table.examined(pa.table({"x": ["50,629.5"], "y": [1]}))[1]


def test_a_column_that_used_the_mark_between_thousands_goes_on_using_it():
    prices = pa.table({"x": [f"${v:,.0f}" for v in np.geomspace(1, 5e6, 200)], "y": np.arange(200) % 7})
    table = Table().fit(prices)
    found = table.transform(pa.table({"x": ["1,234", "$1,234"], "y": [1, 1]}))
    np.testing.assert_array_equal(found, table.transform(pa.table({"x": [1234.0, 1234.0], "y": [1, 1]})))


def test_fractions_in_a_column_of_per_cent_are_said():
    share = np.linspace(0.05, 0.4, 200)
    table = Table().fit(pa.table({"x": [f"{v:.1%}" for v in share], "y": np.arange(200) % 7}))
    with pytest.warns(DataNote, match="in 200 of 200 rows the value has no unit, and is of another size"):
        table.transform(pa.table({"x": share, "y": np.arange(200) % 7}))
    table.transform(pa.table({"x": 100 * share, "y": np.arange(200) % 7}))  # per cent without their sign: no note
