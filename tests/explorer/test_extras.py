"""The page in a real browser: places that glide, names of groups, selections with names, pictures to take along."""

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality.apps.explorer.content import columns_of
from centrality.network.calibration import LINEAR
from tests.explorer.pages import exported, grid, menu, pixels, settle, some_view, turn

pytestmark = pytest.mark.browser


def test_places_of_a_few_rows_glide_along_a_chart(open_page, tmp_path):
    # Row 0 falls from the front to the back, row 1 the other way; the others stay.
    heads = np.column_stack([np.linspace(0.2, 0.8, 50), np.linspace(0.2, 0.8, 50)])
    heads[0], heads[1] = [0.9, 0.1], [0.1, 0.9]
    tab = open_page(exported(some_view(50, heads=heads, t=0.0, mixing=LINEAR), tmp_path) + "#rows=0-1")
    chart = tab.locator(".ranks svg")
    assert chart.get_attribute("aria-label").endswith("row 0 from 99% to 1%, row 1 from 1% to 99%")
    heights = [chart.locator("circle").evaluate_all("all => all.map((c) => Number(c.getAttribute('cy')))")]
    for t in (0.5, 1.0):
        turn(tab, t)
        heights.append(chart.locator("circle").evaluate_all("all => all.map((c) => Number(c.getAttribute('cy')))"))
    falls, rises = zip(*heights, strict=True)
    assert falls[0] < falls[1] < falls[2]  # downward on the page
    assert rises[0] > rises[1] > rises[2]
    tab.keyboard.press("Escape")
    settle(tab)
    tab.get_by_role("button", name="Change with the dial").click()
    settle(tab)
    assert "the rows that change most" in tab.locator(".ranks figcaption").inner_text()


def test_groups_have_names_on_the_map_until_the_reader_comes_near(open_page, tmp_path):
    points = np.repeat([[-1.0, 0.0], [1.0, 0.0]], 30, axis=0) + np.random.default_rng(0).normal(0, 0.05, (60, 2))
    table = pa.table({"side": ["left"] * 30 + ["right"] * 30, "mixed": ["a", "b"] * 30})
    tab = open_page(exported(some_view(60, points=points, columns=tuple(columns_of(table, 2))), tmp_path))
    tab.evaluate(
        """() => {
          const draw = CanvasRenderingContext2D.prototype.fillText;
          window.said = [];
          CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
            said.push(text);
            return draw.call(this, text, ...rest);
          };
        }"""
    )
    tab.get_by_label("Colour by").select_option("side")
    settle(tab)
    assert set(tab.evaluate("said")) == {"left", "right"}
    for _ in range(2):
        tab.get_by_role("button", name="Zoom in").click()  # to more than twice
        settle(tab)
    tab.evaluate("said.length = 0")
    menu(tab, "Light or dark")  # all is drawn anew
    assert tab.evaluate("said") == []
    tab.get_by_role("button", name="Show the whole map").click()
    tab.wait_for_function("() => said.includes('left')")
    tab.evaluate("said.length = 0")
    tab.get_by_label("Colour by").select_option("mixed")  # of levels that lie all over the map a name would mislead
    settle(tab)
    assert tab.evaluate("said") == []


def test_a_view_with_a_name_comes_back_with_its_selection(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path) + "#rows=2-3")
    tab.locator("summary", has_text="Saved").click()
    tab.get_by_label("Name of this view").fill("right side")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="clear").click()
    settle(tab)
    tab.reload()
    tab.wait_for_selector("[data-ready]")
    menu(tab, "right side", "Saved")
    tab.locator(".selection", has_text="4 rows").wait_for()
    menu(tab, "Forget right side", "Saved")
    assert tab.get_by_role("button", name="right side", exact=True).count() == 0


def test_the_view_is_saved_as_a_picture_with_its_legend(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path))
    seen = pixels(tab, tmp_path)
    with tab.expect_download() as download:
        menu(tab, "Save a picture")
    with Image.open(download.value.path()) as picture:
        saved = np.asarray(picture.convert("RGB")).astype(int)
    height, width, _ = seen.shape
    assert saved.shape == (height + 34 + 40, width, 3)
    assert np.abs(saved[34 : 34 + height] - seen).max() <= 3
    assert (np.ptp(saved[34 + height :], axis=2) > 60).sum() > 100  # the legend's colours
