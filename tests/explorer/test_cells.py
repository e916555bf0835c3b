"""Cells are the file's: shown, searched and asked for when they are missing, served and exported."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer.content import column_of, columns_of
from centrality.apps.explorer.questions import exact_cells
from tests.explorer.pages import exported, search, some_view

N = 60
IDS = [9007199254740992 + k for k in range(N)]  # whole numbers from 2**53 on: every second one is no double
CELLS = pa.table(
    {
        "id": pa.array(IDS, pa.int64()),
        "price": [1234561.88 + k for k in range(N)],
        "year": np.arange(1913, 1913 + N),
        "code": np.arange(4000000, 4000000 + N),
        "at": pa.array([1_600_000_000 + 61 * k for k in range(N)], pa.timestamp("s")),
        "fine": pa.array([1_600_000_000_000_001 + k for k in range(N)], pa.timestamp("us")),
        "area": pa.array([None if k % 7 == 3 else k / 10 for k in range(N)]),
        "story": [f"row {k} " + "and so on " * 60 + f"end{k}" for k in range(N)],
    }
)
FIRST = {
    "id": "9007199254740993",
    "price": "1234562.88",
    "year": "1914",
    "code": "4000001",
    "at": "2020-09-13 12:27:41",
    "fine": "2020-09-13 12:26:40.000002",
    "area": "0.1",
}


@pytest.fixture(params=["served", "exported"])
def tab(request, open_page, serve, tmp_path):
    view = some_view(N, columns=tuple(columns_of(CELLS, 20)), cells=CELLS.take)
    address = serve(view) if request.param == "served" else exported(view, tmp_path)
    return open_page(f"{address}#row=1", clock=True)


def found(tab, query: str) -> str:
    return search(tab, query).split(",")[0]


@pytest.mark.browser
def test_a_card_and_the_table_show_what_the_file_holds(tab):
    card = dict(
        zip(tab.locator(".detail dt").all_inner_texts(), tab.locator(".detail dd").all_inner_texts(), strict=True)
    )
    assert {name: card[name] for name in FIRST} == FIRST
    assert found(tab, "#1") == "1 of 60 rows"
    tab.get_by_role("button", name="Table", exact=True).click()
    tab.locator("table.rows tr[data-row='1']").wait_for()
    names = [name.strip(" ▲▼") for name in tab.locator("table.rows thead th").all_inner_texts()]
    cells = tab.locator("table.rows tr[data-row='1'] > *").all_inner_texts()
    assert {name: cells[names.index(name)] for name in FIRST} == FIRST


@pytest.mark.browser
def test_a_search_finds_the_cell_and_no_other(tab):
    for name in ("id", "price", "year", "code"):
        assert found(tab, FIRST[name]) == "1 of 60 rows", name
        assert found(tab, f"{name}={FIRST[name]}") == "1 of 60 rows", name
    assert found(tab, f"id>{IDS[56]}") == "3 of 60 rows"
    assert found(tab, 'at="2020-09-13 12:27:41"') == "1 of 60 rows"
    assert found(tab, "end17") == "1 of 60 rows"  # beyond what is shown of the text
    assert found(tab, "missing:area") == "9 of 60 rows"  # 3, 10, ... 59
    assert found(tab, "-missing:area") == "51 of 60 rows"


@pytest.mark.browser
def test_the_gaps_of_a_column_are_one_click_away(tab):
    tab.get_by_role("tab", name="Columns").click()
    tab.get_by_role("button", name="9 missing").click()
    tab.locator(".bar .rows", has_text="9 of 60 rows").wait_for()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (pa.array([0.1, 2.5]), np.float64),
        (pa.array([0.1, 2.5], pa.float32()), np.float32),
        (pa.array([3.0, None]), np.float32),  # short whole numbers, of whatever type
        (pa.array([2**24 + 1, 3]), np.float64),
    ],
)
def test_numbers_take_four_bytes_only_where_that_tells_them_apart(values, kind):
    held = column_of("x", values).values
    assert held.dtype == kind
    if values.type != pa.float32():
        np.testing.assert_array_equal(held, values.to_numpy(zero_copy_only=False))


def test_only_cells_that_columns_do_not_tell_are_sent_as_texts():
    view = some_view(N, columns=tuple(columns_of(CELLS, 20)), cells=CELLS.take)
    assert [column.name for column in exact_cells(view, in_file=False)] == ["id", "fine", "story"]
    assert [column.name for column in exact_cells(view, in_file=True)] == ["id", "at", "fine", "story"]
