"""The page in a real browser: map, dial, filters and selection."""

import csv

import numpy as np
import pyarrow as pa
import pytest

from centrality.analysis import conformal
from centrality.apps.explorer.content import columns_of
from centrality.network.calibration import LINEAR, blend
from tests.explorer.pages import (
    CENTRAL,
    PERIPHERAL,
    close,
    colour_at,
    exported,
    grid,
    on_page,
    pixels,
    place,
    settle,
    telling,
    turn,
)

pytestmark = pytest.mark.browser

# The map and the dial


def test_the_slider_recolours_the_points(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path))
    at_0 = pixels(tab, tmp_path)
    assert close(colour_at(at_0, tab, -1, 1), PERIPHERAL)  # on the left: globally peripheral
    assert close(colour_at(at_0, tab, 1, -1), CENTRAL)
    turn(tab, 1)
    at_1 = pixels(tab, tmp_path)
    assert close(colour_at(at_1, tab, -1, 1), CENTRAL)  # at the top: locally central
    assert close(colour_at(at_1, tab, 1, -1), PERIPHERAL)
    turn(tab, 0)
    assert (pixels(tab, tmp_path) == at_0).all()


def test_the_legend_and_the_cards_follow_the_dial(open_page, cloud, cloud_page):
    tab = open_page(cloud_page)
    for t in (0.5, 0.0, 1.0):
        turn(tab, t)
        settle(tab)
        f = blend(cloud.heads, t)
        peripheral, central = (tab.locator("ol.cards").nth(k).locator("button").all() for k in (0, 1))
        for cards, wanted in ((peripheral, np.sort(f)[:6]), (central, np.sort(f)[::-1][:6])):
            shown = [int(card.get_attribute("data-row")) for card in cards]
            np.testing.assert_allclose(np.sqrt(f[shown]), np.sqrt(wanted), atol=2 / 65535)  # the page's steps
        low, high = (float(tab.locator(".legend .number").nth(k).inner_text()[2:]) for k in (0, 1))
        assert low == pytest.approx(np.quantile(f, 0.01), rel=0.2, abs=1e-4)
        assert high == pytest.approx(np.quantile(f, 0.99), rel=0.01)


def test_zoom_pan_and_pinch_keep_what_lies_under_the_pointer(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path))
    corner = on_page(tab, 1, 1)
    tab.mouse.move(*corner)
    tab.mouse.wheel(0, -400)
    settle(tab)
    image = pixels(tab, tmp_path)
    px, py = place(tab, 1, 1)
    assert close(image[round(py), round(px)], CENTRAL)
    tab.mouse.down()
    tab.mouse.move(corner[0] - 150, corner[1] + 80, steps=3)
    tab.mouse.up()
    settle(tab)
    image = pixels(tab, tmp_path)
    assert close(image[round(py + 80), round(px - 150)], CENTRAL)
    zoom = "() => Number(new URLSearchParams(location.hash.slice(1)).get('at').split('_')[2])"
    tab.wait_for_function("() => location.hash.includes('at=')")
    before = tab.evaluate(zoom)
    tab.evaluate(
        """() => {
          const map = document.querySelector("canvas.points"), box = map.getBoundingClientRect();
          map.setPointerCapture = () => {};  // a made-up finger cannot be captured
          const finger = (type, pointerId, x) => map.dispatchEvent(new PointerEvent(type,
            { pointerId, pointerType: "touch", clientX: box.left + x, clientY: box.top + 300, bubbles: true }));
          finger("pointerdown", 11, 300); finger("pointerdown", 12, 400);
          finger("pointermove", 12, 500);
          finger("pointerup", 11, 300); finger("pointerup", 12, 500);
        }"""
    )
    tab.wait_for_function("(before) => !location.hash.includes(before)", arg=tab.url.partition("at=")[2])
    assert tab.evaluate(zoom) == pytest.approx(2 * before, rel=0.01)


def test_hovering_shows_the_row_its_scores_rank_profile_and_reasons(open_page, tmp_path):
    table = pa.table({"width": np.arange(9.0), "height": np.arange(9.0) * 10})
    view = grid(
        columns=tuple(columns_of(table, 9)), features=("width", "height"), mixing=LINEAR,
        reasons=telling([0.0, -0.4], [-0.3, 0.1]),
    )  # fmt: skip
    tab = open_page(exported(view, tmp_path))
    tab.mouse.move(*on_page(tab, 0, 0))
    card = tab.locator(".detail")
    card.wait_for()
    text = card.inner_text()
    assert "Row 4" in text
    assert "0.500" in text
    assert "4th most typical of 9" in text  # three columns are globally tied: those on the right come before it
    first = card.locator(".reasons li").first.inner_text()
    assert "height" in first
    assert "−0.3" in first
    turn(tab, 1)
    assert "width" in card.locator(".reasons li").first.inner_text()
    tab.mouse.move(*on_page(tab, 0.5, 0.5))
    card.wait_for(state="hidden")


# Filters


def test_the_brush_filters_the_map(open_page, cloud, cloud_page, tmp_path):
    tab = open_page(cloud_page)
    before = pixels(tab, tmp_path)
    box = tab.locator("canvas.bars").bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] * np.sqrt(0.7), middle)  # the axis is of roots
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * np.sqrt(0.9), middle, steps=4)
    tab.mouse.up()
    settle(tab)
    f = blend(cloud.heads, 0.5)
    said = tab.locator(".histogram .said").inner_text()
    count = int(said.split()[0].replace(",", ""))
    assert abs(count - ((f >= 0.7) & (f <= 0.9)).sum()) <= 16  # to the pixel
    colourful = [(np.ptp(image, axis=2) > 60).sum() for image in (before, pixels(tab, tmp_path))]
    assert colourful[1] < 0.5 * colourful[0]
    shown = [int(card.get_attribute("data-row")) for card in tab.locator("ol.cards").first.locator("button").all()]
    assert (f[shown] >= 0.695).all()
    tab.get_by_text("show all").click()
    settle(tab)
    assert (pixels(tab, tmp_path) == before).all()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("group:red", lambda i: i % 3 == 0),
        ("group=green size>=100", lambda i: (i % 3 == 1) & (i >= 1000)),
        ("size<5 -group:blue", lambda i: (i < 50) & (i % 3 != 2)),
        ('"item 12"', lambda i: np.char.startswith(i.astype(str), "12")),
        ("day<2020-01-11", lambda i: i < 10),
        ("#17", lambda i: i == 17),
    ],
)
def test_search_filters_by_any_column(open_page, cloud_page, query, expected):
    tab = open_page(cloud_page)
    tab.locator("input[type=search]").fill(query)
    count = int(expected(np.arange(2000)).sum())
    tab.wait_for_function(
        "(count) => document.querySelector('.bar .rows').textContent.startsWith(`${count} of`)", arg=count
    )


def test_a_column_that_is_not_there_is_said(open_page, cloud_page):
    tab = open_page(cloud_page)
    tab.locator("input[type=search]").fill("colour:red")
    tab.get_by_text("There is no column “colour”. There are: name, group, size, day.").wait_for()
    assert tab.locator(".histogram .said").inner_text() == "2,000 rows"


def test_a_search_that_finds_nothing_says_so_and_leaves_the_map_as_it_is(open_page, cloud_page):
    tab = open_page(cloud_page)
    tab.locator("input[type=search]").fill("how many sizes")
    tab.get_by_text("No row holds “how many sizes”.").wait_for()
    tab.locator("input[type=search]").fill("group nowhere")
    tab.get_by_text("No row holds “group nowhere”. Did you mean a column: group:… ?").wait_for()
    assert tab.locator(".histogram .said").inner_text() == "2,000 rows"
    assert tab.locator(".bulk").is_hidden()  # there is nothing to be marked


def test_rows_are_coloured_by_any_column_with_a_legend(open_page, cloud_page, tmp_path):
    tab = open_page(cloud_page)
    tab.get_by_label("Colour by").select_option("group")
    settle(tab)
    assert tab.locator(".legend").inner_text().split() == ["group", "blue", "green", "red"]
    image = pixels(tab, tmp_path)
    for colour in ((41, 110, 155), (194, 89, 0), (0, 158, 115)):
        assert (np.abs(image - colour).max(axis=2) <= 30).sum() > 300
    tab.get_by_label("Colour by").select_option("day")
    settle(tab)
    assert tab.locator(".legend").inner_text().split() == ["day", "≤", "2020-01-20", "≥", "2025-06-03"]


@pytest.mark.parametrize("t", [0.0, 0.5])
def test_thresholds_are_those_of_the_library(open_page, cloud, cloud_page, t):
    tab = open_page(cloud_page)
    turn(tab, t)
    f, inliers = (cloud.mixing.squeeze(cloud.mixing.mixed(u, t)) for u in (cloud.units, cloud.inliers))
    tab.get_by_label("Threshold", exact=True).select_option("share")
    settle(tab)
    below = int((f < conformal.threshold_by_contamination(f, 0.05)).sum())
    assert f"{below} outliers" in tab.locator(".outliers .said").inner_text()
    tab.get_by_label("Threshold", exact=True).select_option("fdr")
    settle(tab)
    called = int((f < conformal.threshold_by_fdr(inliers, f, 0.05)).sum())
    assert called >= 55
    assert f"{called} outliers" in tab.locator(".outliers .said").inner_text()


def test_the_rows_that_move_most_are_one_click_away(open_page, cloud, cloud_page):
    tab = open_page(cloud_page)
    tab.get_by_role("button", name="Change with the dial").click()
    settle(tab)
    places = np.argsort(np.argsort(cloud.heads[:, 1])) - np.argsort(np.argsort(cloud.heads[:, 0]))
    order = np.argsort(places, kind="stable")
    for k, wanted in ((0, order[:6]), (1, order[::-1][:6])):
        shown = [int(card.get_attribute("data-row")) for card in tab.locator("ol.cards").nth(k).locator("button").all()]
        assert np.abs(places[shown] - places[wanted]).max() <= 2  # rows that tie in sixteen bits may change places
    assert "change with the dial" in tab.locator(".legend").inner_text()


def test_what_rows_hold_is_shown_as_text_never_as_markup(open_page, tmp_path):
    evil = "<img src=x onerror=alert(1)><b>bold</b>"
    table = pa.table({evil: [f"{evil} {i}" for i in range(9)]})
    tab = open_page(exported(grid(title=evil, columns=tuple(columns_of(table, 1))), tmp_path))
    assert tab.locator("h1").inner_text() == evil
    assert evil in tab.locator("ol.cards button").first.inner_text()
    tab.locator("ol.cards button").first.click()
    tab.locator(".detail dd").first.wait_for()
    assert tab.locator("#centrality-page img").count() == 0


# Selection


@pytest.mark.parametrize("how", ["lasso", "keys"])
def test_a_lasso_and_a_box_select_what_is_inside(open_page, tmp_path, how):
    table = pa.table({"name": [f'row "{i}", so' for i in range(9)], "even": [i % 2 == 0 for i in range(9)]})
    tab = open_page(exported(grid(columns=tuple(columns_of(table, 9)), rows=np.arange(100, 109)), tmp_path))
    corners = [(-1.05, -1.05), (-1.05, 1.05), (-0.5, 1.05), (-0.5, -1.05)]
    if how == "lasso":
        tab.get_by_role("button", name="Select with a lasso").click()
    else:
        corners = [corners[0], corners[2]]
        tab.keyboard.down("Shift")
    tab.mouse.move(*on_page(tab, *corners[0]))
    tab.mouse.down()
    for corner in corners[1:]:
        tab.mouse.move(*on_page(tab, *corner), steps=5)
    tab.mouse.up()
    tab.keyboard.up("Shift")
    panel = tab.locator(".selection")
    panel.wait_for()
    assert "3 rows, 33%" in panel.inner_text()
    with tab.expect_download() as download:
        panel.get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "selection.csv")
    with (tmp_path / "selection.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == ["100", "103", "106"]
    assert [row["name"] for row in rows] == ['row "0", so', 'row "3", so', 'row "6", so']
    heads = grid().heads[[0, 3, 6]]
    np.testing.assert_allclose([[float(row["global"]), float(row["local"])] for row in rows], heads, atol=2e-5)
    tab.keyboard.press("Escape")
    panel.wait_for(state="hidden")


def test_a_selection_says_in_what_it_differs(open_page, cloud_page):
    rows = ".".join(["0"] + ["3"] * 99)  # every third row: the red ones, and the smaller ones
    tab = open_page(f"{cloud_page}#rows={rows}")
    text = tab.locator(".selection").inner_text()
    assert "100 rows, 5%" in text
    assert "red 100%, 33% overall" in text
    assert "14.85 on average, 99.95 overall" in text
