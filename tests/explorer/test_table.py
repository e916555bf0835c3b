"""The page in a real browser: the table and gallery of rows, and the panel of columns."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer.content import columns_of, items_of
from centrality.network.calibration import blend
from tests.explorer.pages import exported, grid, settle, some_view, telling

pytestmark = pytest.mark.browser

ROWS = "rows => rows.map((row) => Number(row.dataset.row))"


@pytest.fixture
def tab(open_page, cloud_page):
    return open_page(cloud_page)


def lines(tab):
    settle(tab)
    return tab.locator("table.rows tbody tr")


def shown(tab):
    return lines(tab).evaluate_all(ROWS)


def test_the_table_shows_the_odd_rows_first_and_sorts_by_any_column(tab, cloud):
    tab.get_by_role("button", name="Table", exact=True).click()
    f = blend(cloud.heads, 0.5)
    first = shown(tab)
    assert 5 < len(first) < 40  # only those in sight are made
    np.testing.assert_allclose(np.sqrt(f[first]), np.sqrt(np.sort(f)[: len(first)]), atol=2 / 65535)
    assert tab.locator("table.rows").get_attribute("aria-rowcount") == "2001"
    head = tab.locator("table.rows thead")
    groups = np.array(["red", "green", "blue"])[np.arange(2000) % 3]
    for name, order in {
        "size": np.arange(2000), "day": np.arange(2000), "group": np.argsort(groups, kind="stable"),
        "name": np.argsort([f"item {i}, said" for i in range(2000)], kind="stable"), "row": np.arange(2000),
    }.items():  # fmt: skip
        button = head.get_by_role("button", name=name)
        button.click()
        assert shown(tab)[:5] == order[:5].tolist(), name
        assert head.locator("th[aria-sort=ascending]").inner_text().startswith(name)
        button.click()
        assert shown(tab)[:5] == order[::-1][:5].tolist(), name


def test_the_table_follows_filter_selection_and_dial(tab, cloud):
    tab.get_by_role("button", name="Table", exact=True).click()
    tab.locator("input[type=search]").fill("group:red")
    tab.get_by_text("667 rows, as filtered").wait_for()
    assert all(row % 3 == 0 for row in shown(tab))
    tab.get_by_role("button", name="select these").click()
    tab.get_by_text("667 rows, selected").wait_for()
    tab.locator("input.turn").evaluate("(s) => { s.value = 1; s.dispatchEvent(new Event('input')); }")
    red = np.flatnonzero(np.arange(2000) % 3 == 0)
    local = cloud.heads[:, 1]
    first = int(red[np.argmin(local[red])])
    tab.wait_for_function(f"() => document.querySelector('table.rows tbody tr').dataset.row === '{first}'")
    assert lines(tab).first.get_attribute("aria-selected") == "true"


def test_a_click_in_the_table_shows_the_row_on_the_map_and_back(tab):
    tab.get_by_role("button", name="Table", exact=True).click()
    row = shown(tab)[2]
    lines(tab).nth(2).click()
    tab.locator(".detail", has_text=f"Row {row:,}").wait_for()
    assert "pinned" in lines(tab).nth(2).get_attribute("class")
    lines(tab).nth(4).click(modifiers=["Shift"])
    settle(tab)
    assert "3 rows" in tab.locator(".selection").inner_text()
    lines(tab).nth(0).click(modifiers=["Control"])  # of the three selected that are shown now
    settle(tab)
    assert "2 rows" in tab.locator(".selection").inner_text()
    tab.keyboard.press("Escape")
    tab.keyboard.press("Escape")
    settle(tab)
    central = tab.locator("ol.cards").nth(1).locator("button").first
    wanted = int(central.get_attribute("data-row"))
    central.click()  # the last row of the table: it scrolls there
    tab.wait_for_function(f"() => document.querySelector('table.rows tr.pinned')?.dataset.row === '{wanted}'")


def test_the_table_is_walked_by_keyboard(tab):
    tab.keyboard.press("b")
    first = shown(tab)
    tab.locator("table.rows").focus()
    for key in ("ArrowDown", "ArrowDown"):
        tab.keyboard.press(key)
    tab.wait_for_function(f"() => document.querySelector('table.rows tr.pinned')?.dataset.row === '{first[1]}'")
    tab.keyboard.press("End")
    tab.wait_for_function("() => document.querySelector('table.rows tr.pinned')?.ariaRowIndex === '2001'")
    tab.keyboard.press("x")
    settle(tab)
    assert "1 row" in tab.locator(".selection").inner_text()


def test_a_table_of_many_rows_scrolls_to_its_very_end(open_page, tmp_path):
    n = 300_000  # more pixels than a browser would let it have
    table = pa.table({"size": np.arange(n, dtype=float)})
    tab = open_page(exported(some_view(n, columns=tuple(columns_of(table, 1))), tmp_path) + "#table=table")
    tab.get_by_role("button", name="row", exact=True).click()
    tab.locator(".scroller").first.evaluate("(s) => { s.scrollTop = s.scrollHeight; }")
    tab.wait_for_function(
        f"() => [...document.querySelectorAll('table.rows tbody tr')].at(-1).dataset.row === '{n - 1}'"
    )
    assert lines(tab).last.get_attribute("aria-rowindex") == str(n + 1)
    box, seen = lines(tab).last.bounding_box(), tab.locator(".scroller").first.bounding_box()
    assert box["y"] + box["height"] <= seen["y"] + seen["height"] + 1  # it is not cut


def test_columns_that_make_rows_odd_come_first(open_page, tmp_path):
    table = pa.table({"a": np.arange(9.0), "b": np.arange(9.0), "c": np.arange(9.0)})
    view = grid(
        columns=tuple(columns_of(table, 3)), features=("a", "b", "c"),
        main_features=("c", "b"), reasons=telling([0.1, 0.1], [-0.1, -0.1], [-0.9, -0.9]),
    )  # fmt: skip
    tab = open_page(exported(view, tmp_path) + "#table=table&panel=columns")
    heads = tab.locator("table.rows thead th").all_text_contents()
    assert heads[2:] == ["c", "b", "a"]
    assert tab.locator("li.column h3").all_text_contents() == ["c", "b", "a"]


def test_columns_are_as_wide_as_their_cells_need_and_empty_ones_are_not_there(open_page, tmp_path):
    table = pa.table(
        {"kind": ["a", "b", "c"] * 3, "told": [f"a rather long sentence, the {k}th of nine" for k in range(9)]}
    )
    tab = open_page(exported(grid(columns=tuple(columns_of(table, 2))), tmp_path) + "#table=table&row=3")
    heads = tab.locator("table.rows thead th")
    assert [text.split()[0] for text in heads.all_text_contents()] == ["row", "centrality", "kind", "told"]
    narrow, wide = (heads.nth(k).bounding_box()["width"] for k in (2, 3))
    assert narrow < 100 < 250 < wide
    tab.keyboard.press("o")
    tab.locator("table.rows thead th", has_text="mark").wait_for()


def test_pictures_lie_on_the_map_and_open_as_a_gallery(open_page, tmp_path):
    pictures = np.full((9, 12, 12), 200, dtype=np.uint8)
    tab = open_page(exported(grid(items=items_of(pictures, 9)), tmp_path))
    assert tab.locator(".gallery img").count() == 9
    grey = """() => { const c = document.querySelector('canvas.over');
      if (c.hidden) return 0;
      const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
      let count = 0;
      for (let k = 0; k < data.length; k += 4) count += data[k + 3] === 255 && Math.abs(data[k] - 200) < 8 ? 1 : 0;
      return count; }"""
    tab.wait_for_function(f"() => ({grey})() > 9 * 40 * 40 * 0.4")  # some of them at least, 46 pixels wide


def test_the_gallery_shows_rows_as_they_look_and_picks_them(open_page, tmp_path):
    pictures = np.arange(60)[:, None, None] * np.full((60, 6, 6), 4, dtype=np.uint8)
    heads = np.column_stack([np.linspace(0.1, 0.9, 60)] * 2)
    tab = open_page(exported(some_view(60, heads=heads, items=items_of(pictures, 60)), tmp_path))
    tab.get_by_role("button", name="Table", exact=True).click()
    tab.get_by_role("button", name="Gallery").click()
    tab.wait_for_function("() => document.querySelectorAll('.gallery img').length > 8")
    tab.locator(".gallery button").nth(1).click()
    tab.locator(".detail", has_text="Row 1").wait_for()
    tab.locator(".drawer .scroller:not([hidden])").evaluate("(s) => { s.scrollTop = s.scrollHeight; }")
    tab.locator(".gallery", has_text="row 59").wait_for()


# The panel of columns


def test_a_brush_on_a_column_filters_everything(tab):
    tab.keyboard.press("c")
    chart = tab.locator("li.column", has=tab.locator("h3", has_text="size"))
    box = chart.locator("canvas").bounding_box()
    tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + 20)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] - 2, box["y"] + 20, steps=4)  # and snaps to the end
    tab.mouse.up()
    settle(tab)
    count = int(tab.locator(".bar .rows").inner_text().split()[0].replace(",", ""))
    assert abs(count - 1000) <= 10  # to the pixel
    group = tab.locator("li.column", has=tab.locator("h3", has_text="group"))
    group.get_by_role("button", name="red").click()
    settle(tab)
    both = int(tab.locator(".bar .rows").inner_text().split()[0])
    assert abs(both - count / 3) <= 2
    assert group.get_by_role("button", name="red").inner_text().split()[-1] == "100%"
    tab.wait_for_function("() => location.hash.includes('group')")
    link = tab.url
    tab.get_by_role("button", name="show all").click()
    settle(tab)
    assert tab.locator(".bar .rows").inner_text().startswith("2,000 rows")
    tab.goto("about:blank")
    tab.goto(link)
    tab.wait_for_selector("[data-ready]")
    tab.wait_for_function(f"() => document.querySelector('.bar .rows').textContent.startsWith('{both} of')")


def test_a_column_is_brushed_by_keyboard(tab):
    tab.keyboard.press("c")
    settle(tab)
    handle = tab.get_by_role("slider", name="Lowest size shown")
    handle.focus()
    tab.keyboard.press("PageUp")
    tab.keyboard.press("PageUp")
    settle(tab)
    assert tab.locator(".bar .rows").inner_text().startswith("1,600 of 2,000 rows")  # sizes from 0 to 199.9
    assert handle.get_attribute("aria-valuetext") == "39.98"  # a fifth of the way


def test_what_sets_a_selection_apart_comes_first_and_is_said(open_page, cloud_page):
    rows = ".".join(["0"] + ["3"] * 99)  # every third row: the red ones, and the smaller ones
    tab = open_page(f"{cloud_page}#rows={rows}&panel=columns")
    assert tab.locator("li.column h3").all_text_contents()[0] == "group"
    assert tab.locator("li.column .said").first.inner_text() == "red 100%, 33% overall"
    group = tab.locator("li.column").first
    assert group.get_by_role("button", name="red").inner_text().split()[-1] == "100%"
