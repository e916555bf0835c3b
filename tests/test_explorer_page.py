"""The explorer's page in a real browser: exported, served, and as a notebook would show it."""

import csv
import json
import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import conformal
from centrality.calibration import blend
from centrality.explorer import page
from centrality.explorer.columns import columns_of
from centrality.explorer.items import items_of
from centrality.explorer.payload import pack, reasons_for
from centrality.explorer.server import Explorer
from centrality.explorer.view import View
from tests.browser import chromium, opened

PERIPHERAL, CENTRAL = (68, 1, 84), (195, 223, 37)  # the ends of the colours on a light ground, to the nearest few units


@pytest.fixture(scope="module")
def browser():
    if chromium() is None:
        if os.environ.get("CI"):
            pytest.fail("There is no Chromium: CI must test the page.")
        pytest.skip("There is no Chromium: apt-get install chromium, or set CENTRALITY_CHROMIUM.")
    with opened() as browser:
        yield browser


@pytest.fixture
def open_page(browser):
    """Opens an address in a fresh tab, keeps what it asks for, and expects no error from it."""
    tabs = []

    def go(address: str, *, ready: bool = True, **options):
        tab = browser.new_page(**({"viewport": {"width": 1200, "height": 800}, "color_scheme": "light"} | options))
        tab.requests, tab.problems = [], []
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.on("pageerror", lambda error: tab.problems.append(str(error)))
        tab.on("console", lambda said: tab.problems.append(said.text) if said.type == "error" else None)
        tabs.append(tab)
        tab.goto(address)
        if ready:
            tab.wait_for_selector("[data-ready]")
            settle(tab)
        return tab

    yield go
    for tab in tabs:
        assert tab.problems == []
        tab.close()


def grid(**changes) -> View:
    """Nine rows on a square of three by three: global scores rise to the right, local ones to the top."""
    x, y = (part.ravel() for part in np.meshgrid([-1.0, 0.0, 1.0], [-1.0, 0.0, 1.0]))
    heads = np.column_stack([(x + 1.1) / 2.2, (y + 1.1) / 2.2])
    parts = {"title": "Grid", "axes": ("PCA 1", "PCA 2"), "points": np.column_stack([x, y]), "heads": heads}
    return View(**(parts | {"rows": np.arange(9), "t": 0.0} | changes))


@pytest.fixture(scope="module")
def cloud() -> View:
    """2000 rows with columns, texts and calibration rows, of which the first 60 are odd."""
    rng = np.random.default_rng(0)
    n = 2000
    heads = rng.beta(5, 3, size=(n, 2))
    heads[:60] = rng.uniform(0, 0.002, size=(60, 2))
    table = pa.table(
        {
            "name": [f"item {i}, said" for i in range(n)],
            "group": np.array(["red", "green", "blue"])[np.arange(n) % 3],
            "size": np.arange(n) / 10,
            "day": np.datetime64("2020-01-01", "D") + np.arange(n),
        }
    )
    return View(
        "A cloud", ("UMAP 1", "UMAP 2"), rng.normal(size=(n, 2)), heads, np.arange(n), 0.5,
        columns=tuple(columns_of(table, 10)), inliers=rng.beta(5, 3, size=(1500, 2)),
    )  # fmt: skip


@pytest.fixture(scope="module")
def cloud_page(cloud, tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("cloud") / "page.html"
    page.export(cloud, path)
    return path.as_uri()


def settle(tab) -> None:
    """Until everything that follows from the last change has been shown: the map in a frame, the panels after it."""
    tab.evaluate(
        """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))"""
    )


def exported(view: View, folder: Path) -> str:
    page.export(view, folder / "page.html")
    return (folder / "page.html").as_uri()


def turn(tab, t: float) -> None:
    tab.locator("#t").evaluate("(slider, t) => { slider.value = t; slider.dispatchEvent(new Event('input')); }", t)
    tab.wait_for_function("(t) => document.querySelector('#map').dataset.t === String(t)", arg=t)
    settle(tab)


def pixels(tab, folder: Path) -> np.ndarray:
    """(height, width, 3) the map as it is seen, without what floats over it."""
    tab.evaluate("for (const e of document.querySelectorAll('.legend, .tools, .detail')) e.style.visibility = 'hidden'")
    tab.locator("#map").screenshot(path=folder / "map.png")
    tab.evaluate("for (const e of document.querySelectorAll('.legend, .tools, .detail')) e.style.visibility = ''")
    with Image.open(folder / "map.png") as picture:
        return np.asarray(picture.convert("RGB")).astype(int)


def place(tab, x: float, y: float) -> tuple[float, float]:
    """Where a place of the map, from -1 to 1 each way, lies on the canvas at the beginning."""
    box = tab.locator("#map").bounding_box()
    half = 0.46 * min(box["width"], box["height"])
    return box["width"] / 2 + x * half, box["height"] / 2 - y * half


def on_page(tab, x: float, y: float) -> tuple[float, float]:
    box = tab.locator("#map").bounding_box()
    px, py = place(tab, x, y)
    return box["x"] + px, box["y"] + py


def colour_at(image: np.ndarray, tab, x: float, y: float) -> np.ndarray:
    px, py = place(tab, x, y)
    return image[round(py), round(px)]


def close(colour, wanted, by: int = 45) -> bool:
    return bool(np.abs(np.asarray(colour) - wanted).max() <= by)


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
        low, high = (float(tab.locator(".legend .numbers").first.locator("span").nth(k).inner_text()) for k in (0, 2))
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
          const map = document.querySelector("#map"), box = map.getBoundingClientRect();
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
    def reasons(rows):
        return np.tile([[0.0, -0.4], [-0.3, 0.1]], (len(rows), 1, 1))

    table = pa.table({"width": np.arange(9.0), "height": np.arange(9.0) * 10})
    view = grid(columns=tuple(columns_of(table, 9)), features=("width", "height"), reasons=reasons)
    tab = open_page(exported(view, tmp_path))
    tab.mouse.move(*on_page(tab, 0, 0))
    card = tab.locator(".detail")
    card.wait_for()
    text = card.inner_text()
    assert "Row 4" in text
    assert "0.500" in text
    assert "rank 4 of 9" in text  # three columns are globally tied: those on the right come before it
    assert card.locator("svg.profile").count() == 1
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
    box = tab.locator("#histogram").bounding_box()
    middle = box["y"] + box["height"] / 2
    tab.mouse.move(box["x"] + box["width"] * 0.7, middle)
    tab.mouse.down()
    tab.mouse.move(box["x"] + box["width"] * 0.95, middle, steps=4)
    tab.mouse.up()
    settle(tab)
    f = blend(cloud.heads, 0.5)
    said = tab.locator(".histogram .said").inner_text()
    count = int(said.split()[0].replace(",", ""))
    assert abs(count - ((f >= 0.7) & (f <= 0.95)).sum()) <= 12  # to the pixel
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
        ("nowhere", lambda i: i < 0),
    ],
)
def test_search_filters_by_any_column(open_page, cloud_page, query, expected):
    tab = open_page(cloud_page)
    tab.locator("input[type=search]").fill(query)
    count = int(expected(np.arange(2000)).sum())
    tab.wait_for_function(
        "(count) => document.querySelector('.histogram .said').textContent.startsWith(`${count} of`)", arg=count
    )


def test_a_column_that_is_not_there_is_said(open_page, cloud_page):
    tab = open_page(cloud_page)
    tab.locator("input[type=search]").fill("colour:red")
    tab.get_by_text("There is no column “colour”. There are: name, group, size, day.").wait_for()
    assert tab.locator(".histogram .said").inner_text() == "2,000 rows"


def test_rows_are_coloured_by_any_column_with_a_legend(open_page, cloud_page, tmp_path):
    tab = open_page(cloud_page)
    tab.get_by_label("Colour by").select_option("group")
    settle(tab)
    assert tab.locator(".legend").inner_text().split() == ["group", "blue", "green", "red"]
    image = pixels(tab, tmp_path)
    for colour in ((0, 114, 178), (230, 159, 0), (0, 158, 115)):  # Okabe and Ito's first three
        assert (np.abs(image - colour).max(axis=2) <= 30).sum() > 300
    tab.get_by_label("Colour by").select_option("day")
    settle(tab)
    assert tab.locator(".legend").inner_text().split() == ["day", "2020-01-20", "2025-06-03"]


@pytest.mark.parametrize("t", [0.0, 0.5])
def test_thresholds_are_those_of_the_library(open_page, cloud, cloud_page, t):
    tab = open_page(cloud_page)
    turn(tab, t)
    f, inliers = blend(cloud.heads, t), blend(cloud.inliers, t)
    tab.get_by_label("Threshold", exact=True).select_option("share")
    settle(tab)
    below = int((f < conformal.threshold_by_contamination(f, 0.05)).sum())
    assert f"{below} outliers" in tab.locator(".bar .said").nth(1).inner_text()
    tab.get_by_label("Threshold", exact=True).select_option("fdr")
    settle(tab)
    called = int((f < conformal.threshold_by_fdr(inliers, f, 0.05)).sum())
    assert called >= 55
    assert f"{called} outliers" in tab.locator(".bar .said").nth(1).inner_text()


def test_the_rows_that_move_most_are_one_click_away(open_page, cloud, cloud_page):
    tab = open_page(cloud_page)
    tab.get_by_role("button", name="Movers").click()
    settle(tab)
    places = np.argsort(np.argsort(cloud.heads[:, 1])) - np.argsort(np.argsort(cloud.heads[:, 0]))
    order = np.argsort(places, kind="stable")
    for k, wanted in ((0, order[:6]), (1, order[::-1][:6])):
        shown = [int(card.get_attribute("data-row")) for card in tab.locator("ol.cards").nth(k).locator("button").all()]
        assert np.abs(places[shown] - places[wanted]).max() <= 2  # rows that tie in sixteen bits may change places
    assert "change of place" in tab.locator(".legend").inner_text()


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


@pytest.mark.parametrize("how", ["lasso", "box", "keys"])
def test_a_lasso_and_a_box_select_what_is_inside(open_page, tmp_path, how):
    table = pa.table({"name": [f'row "{i}", so' for i in range(9)], "even": [i % 2 == 0 for i in range(9)]})
    tab = open_page(exported(grid(columns=tuple(columns_of(table, 9)), rows=np.arange(100, 109)), tmp_path))
    corners = [(-1.05, -1.05), (-1.05, 1.05), (-0.5, 1.05), (-0.5, -1.05)]
    if how == "box":
        tab.get_by_role("button", name="Select a box").click()
        corners = [corners[0], corners[2]]
    elif how == "lasso":
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
    assert "14.9 on average, 100 overall" in text


# Without a mouse, and in either light


def test_everything_can_be_done_by_keyboard(open_page, cloud, cloud_page):
    tab = open_page(cloud_page)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.type") == "search"
    tab.locator("#map").focus()
    tab.keyboard.press("t")
    assert tab.evaluate("document.activeElement.id") == "t"
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function("() => document.querySelector('#map').dataset.t === '0.51'")
    assert tab.locator("#t").get_attribute("aria-valuetext") == "t = 0.51, in between"
    tab.locator("#map").focus()
    tab.keyboard.press("n")
    first = int(np.argmin(blend(cloud.heads, 0.51)))
    tab.get_by_text(f"Row {first}", exact=True).wait_for()
    assert tab.locator("[aria-live]").first.inner_text().startswith(f"row {first}, centrality")
    tab.keyboard.press("Escape")
    tab.locator(".detail").wait_for(state="hidden")
    tab.keyboard.press("+")
    tab.wait_for_function("() => location.hash.includes('at=')")
    tab.keyboard.press("/")
    assert tab.evaluate("document.activeElement.type") == "search"
    handle = tab.get_by_role("slider", name="Lowest score shown")
    handle.focus()
    tab.keyboard.press("PageUp")
    tab.wait_for_function("() => document.querySelector('.histogram .said').textContent.includes(' of ')")
    assert handle.get_attribute("aria-valuenow") == "0.10"


def test_a_screen_reader_finds_names_for_everything(open_page, cloud_page):
    tab = open_page(cloud_page)
    nameless = """() => [...document.querySelectorAll('button, input, select, canvas[tabindex], [role=slider], img')]
      .filter((e) => e.offsetParent && !(e.ariaLabel || e.alt || e.textContent.trim() || e.title
        || e.getAttribute('aria-label'))).map((e) => e.outerHTML)"""
    assert tab.evaluate(nameless) == []
    order = (
        "() => [...document.querySelectorAll('.bar, #map, #t, .histogram, .ranking')].map((e) => e.id || e.className)"
    )
    assert tab.evaluate(order) == ["bar", "map", "t", "histogram", "ranking"]
    card = tab.locator("ol.cards button").first
    assert card.get_attribute("aria-label").startswith("row ")


def test_light_and_dark_follow_the_system_until_chosen(open_page, cloud_page, tmp_path):
    grounds = {}
    for scheme in ("light", "dark"):
        tab = open_page(cloud_page, color_scheme=scheme)
        grounds[scheme] = pixels(tab, tmp_path)[2, 2]
    assert grounds["light"].min() > 240
    assert grounds["dark"].max() < 40
    tab.get_by_role("button", name="Light or dark").click()
    settle(tab)
    assert close(pixels(tab, tmp_path)[2, 2], grounds["light"], by=2)


def test_the_page_fits_a_phone(open_page, cloud_page):
    tab = open_page(cloud_page, viewport={"width": 400, "height": 860}, has_touch=True)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    for selector in ("#map", "#t", "input[type=search]"):
        box = tab.locator(selector).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400


def test_a_link_restores_the_view(open_page, cloud_page):
    tab = open_page(cloud_page)
    turn(tab, 0.25)
    tab.locator("input[type=search]").fill("group:red")
    tab.get_by_label("Colour by").select_option("size")
    tab.get_by_label("Threshold", exact=True).select_option("share")
    tab.locator("#map").focus()
    tab.keyboard.press("+")
    tab.keyboard.press("ArrowLeft")
    for part in ("t=0.25", "query=group", "colour=", "rule=share", "at=-"):
        tab.wait_for_function("(part) => location.hash.includes(part)", arg=part)
    settle(tab)
    link = tab.url
    again = open_page(link)
    assert again.locator("#t").input_value() == "0.25"
    assert again.locator("input[type=search]").input_value() == "group:red"
    assert again.get_by_label("Colour by").input_value() == "=size"
    for selector in (".histogram .said", ".legend", ".bar .said >> nth=1"):
        assert again.locator(selector).inner_text() == tab.locator(selector).inner_text()
    again.wait_for_timeout(400)  # it has had time to write it anew
    assert again.url == link
    bad = open_page(cloud_page + "#t=7&at=x_y_z&rule=magic_1&row=99999&colour=%3Dnone&rows=zz.-1&brush=2")
    assert bad.locator("#t").input_value() == "0.5"


# A file that stands alone


def test_an_exported_page_asks_for_nothing_and_may_not(open_page, cloud_page):
    tab = open_page(cloud_page)
    assert [url for url in tab.requests if not url.startswith(("file:", "blob:"))] == []
    assert len([url for url in tab.requests if url.startswith("file:")]) == 1
    # Playwright's own evaluate is not bound by the page's policy, so the page tries by itself, from a timer.
    tried = tab.evaluate(
        """() => new Promise((done) => {
          const blocked = [];
          document.addEventListener("securitypolicyviolation", (e) => blocked.push(e.effectiveDirective));
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          const image = new Image();
          image.src = "http://127.0.0.1:9/x.png";
          fetch("http://127.0.0.1:9/x").catch(() => 0);
          setTimeout(() => done([blocked.sort(), window.ran === true]), 300);
        })"""
    )
    assert tried == [["connect-src", "img-src", "script-src-elem"], False]
    tab.problems.clear()  # the browser has told of these three on its console


@pytest.mark.parametrize("damage", ["cut short", "changed", "not base64", "another version"])
def test_damaged_data_shows_a_message(open_page, tmp_path, damage):
    path = tmp_path / "page.html"
    page.export(grid(), path)
    text = path.read_text()
    start = text.index('id="centrality-data">') + len('id="centrality-data">')
    end = text.index("</script>", start)
    data = text[start:end]
    middle = len(data) // 2
    damaged = {
        "cut short": data[: middle // 4 * 4],
        "changed": data[:middle] + data[middle : middle + 40][::-1] + data[middle + 40 :],
        "not base64": data[:middle] + "%%" + data[middle + 2 :],
        "another version": "AAAA" + data[4:],
    }[damage]
    path.write_text(text[:start] + damaged + text[end:])
    tab = open_page(path.as_uri(), ready=False)
    tab.get_by_role("alert").wait_for()
    assert "This page cannot be shown" in tab.get_by_role("alert").inner_text()


def test_two_hundred_thousand_points_are_usable(open_page, tmp_path):
    n = 200_000
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2))
    heads = np.column_stack([np.exp(-np.square(points).sum(1) / 8), rng.uniform(size=n)])
    points[0], heads[0] = (6.0, 6.0), (1e-4, 1e-4)
    view = View("Many", ("UMAP 1", "UMAP 2"), points, heads, np.arange(n), 0.5)
    tab = open_page(exported(view, tmp_path))
    turn(tab, 0.9)
    tab.wait_for_function("(n) => document.querySelector('#map').dataset.drawn === String(n)", arg=n)
    assert tab.locator("ol.cards button").first.get_attribute("data-row") == "0"
    tab.locator("ol.cards button").first.click()
    tab.get_by_text("rank 200,000 of 200,000").wait_for()


# Served, and in a notebook


@pytest.fixture
def pictured(tmp_path):
    """Nine rows that are pictures of one grey each."""
    pictures = np.stack([np.full((6, 6), 25 * i, dtype=np.uint8) for i in range(9)])
    pictures[0, 0, 0] = 255

    def reasons(rows):
        return np.stack([[[0.0, -0.001 * row], [0.1, 0.1]] for row in rows])

    return grid(items=items_of(pictures, 9), features=("a", "b"), reasons=reasons)


def test_the_served_page_shows_pictures_and_reasons_by_row(open_page, pictured):
    server = Explorer(pictured, port=0)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        tab = open_page(server.url)
        assert "token" not in tab.url
        tab.wait_for_function("() => [...document.querySelectorAll('.cards img')].every((i) => i.naturalWidth === 6)")
        assert tab.locator(".cards img").count() == 18
        tab.mouse.move(*on_page(tab, 1, 1))
        tab.locator(".reasons li").first.wait_for()
        assert "−0.008" not in tab.locator(".reasons").inner_text()  # that is what it takes at t = 1
        turn(tab, 1)
        assert "−0.008" in tab.locator(".reasons").inner_text()
        own = f"http://127.0.0.1:{server.server_port}/"
        assert all(url.startswith((own, "blob:")) for url in tab.requests)
        assert tab.evaluate("document.cookie") == ""
        other = open_page(own, ready=False)
        assert "holds a token" in other.locator("body").inner_text()
        other.problems.clear()  # the browser tells of the refusal
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>[STYLE]</style><div id="cell"></div>
<script type="text/plain" id="source">[SCRIPT]</script>
<script type="module">
const source = new Blob([document.querySelector("#source").textContent], { type: "text/javascript" });
const module = await import(URL.createObjectURL(source));
const traits = { height: 640, _bytes: new DataView(new Uint8Array([BYTES]).buffer) }, told = [];
const model = {
  get: (name) => traits[name],
  set: (name, value) => (traits[name] = value),
  save_changes: () => {},
  on: (_, then) => told.push(then),
  send: ({ question, row }) => told.forEach((then) => then({ question, reasons: [ANSWERS][row] })),
};
window.selected = () => [...new Uint32Array(traits._selected?.buffer ?? new ArrayBuffer(0))];
module.default.render({ model, el: document.querySelector("#cell") });
</script>"""


def test_a_notebook_gets_the_same_page_and_the_selection(open_page, pictured, tmp_path):
    """The front end as anywidget loads it: the module's default export, with a model that holds traits."""
    parts = {
        "STYLE": page.built("explorer.css"),
        "SCRIPT": page.built("explorer.js"),
        "BYTES": str(list(pack(pictured, pictures=True, reasons=False))),
        "ANSWERS": json.dumps({row: reasons_for(pictured, row) for row in range(9)}),
    }
    text = NOTEBOOK
    for name, part in parts.items():
        text = text.replace(f"[{name}]", part)
    (tmp_path / "notebook.html").write_text(text, encoding="utf-8")
    tab = open_page((tmp_path / "notebook.html").as_uri())
    assert tab.locator("#map").bounding_box()["height"] > 300
    tab.mouse.move(*on_page(tab, 1, 1))
    tab.locator(".reasons li").first.wait_for()
    tab.keyboard.down("Shift")
    tab.mouse.move(*on_page(tab, -1.05, -1.05))
    tab.mouse.down()
    tab.mouse.move(*on_page(tab, -0.5, 1.05), steps=5)
    tab.mouse.up()
    tab.wait_for_function("() => selected().length === 3")
    assert tab.evaluate("selected()") == [0, 3, 6]
    assert "in Python: widget.selection" in tab.locator(".selection").inner_text()
    assert tab.evaluate("location.hash") == ""  # the address is the notebook's
