"""The page in a real browser: what once went wrong with large, lopsided and broken things."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer import server
from centrality.apps.explorer.content import columns_of, items_of
from centrality.apps.explorer.payload import pack
from tests.explorer.pages import (
    close,
    colour_at,
    exported,
    grid,
    later,
    menu,
    on_page,
    pixels,
    settle,
    some_view,
    turn,
    unpacked,
)

pytestmark = pytest.mark.browser

DRAWN = "document.querySelector('canvas.points').dataset.drawn"


def drag(tab, start, *ways, steps=6):
    tab.mouse.move(*start)
    tab.mouse.down()
    for way in ways:
        tab.mouse.move(*way, steps=steps)


def test_while_the_dial_is_dragged_not_all_points_are_drawn_and_all_are_when_it_is_let_go(open_page, tmp_path):
    n = 120_000
    tab = open_page(exported(some_view(n), tmp_path), clock=True)
    tab.wait_for_function(f"() => {DRAWN} === '{n}'")
    box = tab.locator("input.turn").bounding_box()
    middle = box["y"] + box["height"] / 2
    drag(tab, (box["x"] + box["width"] / 2, middle), (box["x"] + box["width"] * 0.8, middle))
    later(tab, 0.7)  # longer than things take to come to rest
    assert int(tab.evaluate(DRAWN)) < n
    tab.mouse.up()
    tab.wait_for_function(f"() => {DRAWN} === '{n}'")


def test_one_far_row_does_not_squeeze_the_others_and_is_marked_at_the_edge(open_page, tmp_path):
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, size=(500, 2))
    points[7] = [300.0, 0.0]
    heads = np.full((500, 2), 0.9)
    heads[7] = 0.001
    view = some_view(500, points=points, heads=heads, t=0.0)
    header, found = unpacked(pack(view, pictures=False, reasons=False))
    reach = np.array(header["axes"]["reach"])
    assert (reach == 20).all()  # what is farther is shown there
    np.testing.assert_allclose(np.delete(found["points"], 7, 0), np.delete(points, 7, 0), atol=1e-4)
    tab = open_page(exported(view, tmp_path))
    image = pixels(tab, tmp_path)
    coloured = np.argwhere(np.ptp(image, axis=2) > 60)
    assert np.ptp(coloured[:, 0]) > 0.6 * image.shape[0]  # the others fill the map
    box = tab.locator("canvas.points").bounding_box()
    tab.mouse.move(box["x"] + box["width"] - 9, box["y"] + box["height"] / 2)
    tab.get_by_text("Row 7", exact=True).wait_for()
    tab.mouse.down()
    tab.mouse.up()
    tab.locator("ol.cards button").first.click()  # the same row: it is brought into view
    tab.wait_for_function("() => location.hash.includes('at=20_')")


def test_a_map_without_far_rows_is_shown_whole():
    header, _ = unpacked(pack(grid(), pictures=False, reasons=False))
    assert header["axes"]["reach"] == [1, 1]
    assert header["axes"]["half"] == [1, 1]


def test_zoom_to_the_selection_brings_it_close(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path) + "#rows=8")  # the upper right one
    tab.get_by_role("button", name="Zoom to what is selected or found").click()
    tab.wait_for_function("() => location.hash.includes('at=1_1_30')")


def test_the_brush_reaches_the_odd_rows_and_snaps_to_the_end(open_page, cloud, cloud_page):
    tab = open_page(cloud_page)
    turn(tab, 0)
    box = tab.locator("canvas.bars").bounding_box()
    middle = box["y"] + 30
    # All odd rows have scores below 0.002, which is 4.5% of the axis; a hand ends a little beside the corner.
    drag(tab, (box["x"] + box["width"] * 0.1, middle), (box["x"] + 6, middle))
    tab.mouse.up()
    settle(tab)
    assert tab.locator(".histogram .said").inner_text().startswith("60 of 2,000 rows")
    tab.get_by_role("button", name="select these").click()
    settle(tab)
    assert "60 rows, 3%" in tab.locator(".selection").inner_text()


def test_a_lost_graphics_card_is_told_of_and_everything_is_drawn_anew(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path))
    before = pixels(tab, tmp_path)
    tab.evaluate(
        """() => { window.taken = document.querySelector('canvas.points').getContext('webgl2')
            .getExtension('WEBGL_lose_context'); taken.loseContext(); }"""
    )
    tab.get_by_text("taken the graphics card away").wait_for()
    tab.evaluate("() => taken.restoreContext()")
    tab.locator(".lost").wait_for(state="hidden")
    settle(tab)
    assert (pixels(tab, tmp_path) == before).all()


def test_a_lasso_that_is_called_off_leaves_no_ghost(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path))
    tab.get_by_role("button", name="Select with a lasso").click()
    tab.locator("canvas.points").focus()
    clean = pixels(tab, tmp_path)
    drag(tab, on_page(tab, -0.5, -0.5), on_page(tab, 0.4, -0.5), on_page(tab, 0.4, 0.4))
    tab.keyboard.press("Escape")
    tab.mouse.move(*on_page(tab, -0.5, 0.5), steps=4)
    tab.mouse.up()
    tab.mouse.move(*on_page(tab, 0.55, 0.45))
    settle(tab)
    inner = (slice(20, -20), slice(20, -20))  # without the ring of the focus
    assert (pixels(tab, tmp_path)[inner] == clean[inner]).all()
    assert tab.locator(".selection").is_hidden()


def test_choosing_a_threshold_does_not_move_the_map(open_page, cloud_page):
    tab = open_page(cloud_page)
    before = tab.locator("canvas.points").bounding_box()
    for rule in ("share", "fdr", ""):
        tab.get_by_label("Threshold", exact=True).select_option(rule)
        settle(tab)
        assert tab.locator("canvas.points").bounding_box() == before
    tab.get_by_label("Colour by").select_option("group")
    settle(tab)
    assert tab.locator("canvas.points").bounding_box() == before


def test_a_level_that_is_no_share_and_a_rule_that_finds_nothing_say_why(open_page, tmp_path):
    inliers = np.random.default_rng(0).uniform(0.4, 1, size=(9, 2))
    tab = open_page(exported(grid(inliers=inliers, heads=np.full((9, 2), 0.5)), tmp_path))
    said = tab.locator(".outliers .said")
    assert said.inner_text() == "None is called an outlier until you choose how."
    tab.get_by_label("Threshold", exact=True).select_option("fdr")
    settle(tab)
    assert said.inner_text() == "0 outliers: 9 calibration rows give no p-value below 0.1."
    tab.get_by_label("Level").fill("5")
    assert said.inner_text() == "A share between 0 and 1 is wanted: 5% is 0.05."
    assert tab.get_by_label("Level").get_attribute("aria-invalid") == "true"
    tab.get_by_label("Threshold", exact=True).select_option("share")
    tab.get_by_label("Level").fill("0.01")
    settle(tab)
    assert said.inner_text() == "0 outliers: the oddest rows have equal scores."


def test_the_legend_lies_beside_the_map_and_says_what_it_cuts_off(open_page, tmp_path):
    values = np.arange(9.0)
    values[8] = 1e6
    table = pa.table({"size": values, "kind": list("aabbccddd")})
    tab = open_page(exported(grid(columns=tuple(columns_of(table, 2))), tmp_path))
    map_box, legend = tab.locator("canvas.points").bounding_box(), tab.locator(".legend").bounding_box()
    assert legend["y"] >= map_box["y"] + map_box["height"]
    tab.get_by_label("Colour by").select_option("kind")
    settle(tab)
    tab.locator(".legend button", has_text="b").click()  # only these
    settle(tab)
    assert tab.locator(".histogram .said").inner_text() == "2 of 9 rows, 22%"
    tab.locator(".legend button", has_text="c").click()  # and these
    settle(tab)
    assert tab.locator(".histogram .said").inner_text() == "4 of 9 rows, 44%"
    tab.get_by_role("button", name="show all").click()
    settle(tab)
    assert tab.locator(".histogram .said").inner_text() == "9 rows"


def test_the_back_button_undoes_a_step(open_page, cloud_page):
    tab = open_page(cloud_page)
    tab.get_by_label("Colour by").select_option("size")
    tab.wait_for_function("() => location.hash.includes('colour')")
    tab.locator("ol.cards button").first.click()
    tab.wait_for_function("() => location.hash.includes('row=')")
    tab.go_back()
    tab.locator(".detail").wait_for(state="hidden")
    assert tab.get_by_label("Colour by").input_value() == "=size"
    tab.go_back()
    tab.wait_for_function("() => document.querySelector('select[aria-label=\"Colour by\"]').value === 'f'")
    tab.go_forward()
    tab.wait_for_function("() => document.querySelector('select[aria-label=\"Colour by\"]').value === '=size'")


def test_single_letters_can_be_switched_off(open_page, cloud_page):
    tab = open_page(cloud_page)
    menu(tab, "Help")
    tab.get_by_label("Single letters are commands").uncheck()
    tab.get_by_role("button", name="Close").click()
    tab.locator("canvas.points").focus()
    for key in "tnrcb":
        tab.keyboard.press(key)
    settle(tab)
    assert tab.evaluate("document.activeElement.className") == "points"
    assert tab.locator(".detail").is_hidden()
    tab.reload()
    tab.wait_for_selector("[data-ready]")
    assert tab.locator("#centrality-page").get_attribute("data-keys") == "off"  # it is remembered


def test_the_card_of_a_chosen_row_covers_nothing_of_the_map_on_a_phone_neither(open_page, tmp_path):
    table = pa.table({f"column {k}": np.arange(9.0) for k in range(8)})
    address = exported(grid(columns=tuple(columns_of(table, 8))), tmp_path)
    for viewport in ({"width": 400, "height": 860}, {"width": 1200, "height": 500}):
        tab = open_page(address, viewport=viewport)
        for x, y in ((-1, -1), (0, 1), (1, 0), (1, -1)):
            tab.locator("canvas.points").scroll_into_view_if_needed()
            tab.mouse.click(*on_page(tab, x, y))
            settle(tab)
            card, stage = (tab.locator(part).bounding_box() for part in (".detail", ".stage"))
            beside = card["x"] >= stage["x"] + stage["width"] - 1
            above = card["y"] + card["height"] <= stage["y"] + 1
            assert beside or above, (viewport, x, y)
            tab.keyboard.press("Escape")
            settle(tab)


def test_no_ring_is_left_of_a_row_that_is_no_longer_chosen(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path))
    over = tab.locator("canvas.over")
    for _ in range(3):
        tab.keyboard.press("n")
        settle(tab)
    assert over.is_visible()
    tab.keyboard.press("Escape")
    settle(tab)
    assert not over.is_visible()  # of nine rows nothing else is drawn over the map


def test_nothing_lies_below_the_page(open_page, cloud_page):
    tab = open_page(cloud_page, viewport={"width": 1200, "height": 500})
    assert tab.evaluate("document.documentElement.scrollHeight") == 500


def test_rows_are_selected_by_keyboard(open_page, cloud_page):
    tab = open_page(cloud_page)
    tab.locator("canvas.points").focus()
    for key in ("n", "x", "n", "n", "x"):
        tab.keyboard.press(key)
        settle(tab)
    assert "2 rows" in tab.locator(".selection").inner_text()
    tab.keyboard.press("x")  # the last one is taken out again
    settle(tab)
    assert "1 row, 0.05%" in tab.locator(".selection").inner_text()


def test_a_link_that_cannot_hold_the_selection_says_so(open_page, tmp_path):
    n = 12_000
    table = pa.table({"odd": ["yes", "no"] * (n // 2)})
    tab = open_page(exported(some_view(n, columns=tuple(columns_of(table, 1))), tmp_path))
    tab.locator("input[type=search]").fill("odd:yes")
    tab.wait_for_function("() => document.querySelector('.histogram .said').textContent.startsWith('6,000')")
    tab.get_by_role("button", name="select these").click()
    settle(tab)
    menu(tab, "Copy a link", "Saved")
    tab.locator(".flash", has_text="the 6,000 selected rows do not fit into it: give the view a name").wait_for()


def test_a_missing_picture_does_not_stop_an_export(open_page, tmp_path):
    from PIL import Image

    for k in range(9):
        Image.new("RGB", (20, 20), "red").save(tmp_path / f"{k}.png")
    paths = [str(tmp_path / f"{k}.png") for k in range(9)]
    items = items_of(paths, 9)
    (tmp_path / "3.png").unlink()
    (tmp_path / "4.png").write_bytes(b"\x89PNG\r\n\x1a\nnothing")
    tab = open_page(exported(grid(items=items), tmp_path))
    # Each row stands at both ends of so few.
    assert tab.locator(".cards .missing").count() == 4
    assert tab.locator(".cards img").count() == 14


def test_yellow_means_central_in_light_and_in_dark(open_page, tmp_path):
    address = exported(grid(), tmp_path)
    for scheme in ("light", "dark"):
        tab = open_page(address, color_scheme=scheme)
        image = pixels(tab, tmp_path)
        peripheral, central = colour_at(image, tab, -1, 0), colour_at(image, tab, 1, 0)
        assert central[0] > 150
        assert central[1] > 150
        assert central[2] < 90  # yellow
        assert peripheral[2] > peripheral[0]  # blue
        assert not close(peripheral, image[2, 2], by=40)  # and off the ground


def test_ten_classes_have_ten_colours_told_apart_with_every_kind_of_colour_vision():
    import re

    from centrality.plots import figures
    from tests.explorer.test_server import ROOT
    from tests.explorer.vision import DICHROMACIES, delta_e, lab, linear

    code = (ROOT / "web" / "src" / "core" / "colours.ts").read_text()
    kinds = re.findall("[0-9a-f]{6}", re.search(r'KINDS = hex\("([0-9a-f]+)"', code).group(1))
    assert [f"#{colour}" for colour in kinds] == list(figures.CLASS_COLOURS)  # one meaning, plots included
    assert len(kinds) == 10
    rgb = np.array([[int(colour[k : k + 2], 16) for k in (0, 2, 4)] for colour in kinds]) / 255
    for name, seen in DICHROMACIES.items():
        colours = lab((linear(rgb) @ seen.T).clip(0, 1))
        apart = np.array([[delta_e(a, b) for a in colours] for b in colours])
        np.fill_diagonal(apart, np.inf)
        assert apart.min() >= 10, name
    assert server.built_file("explorer.js").count(kinds[0] + kinds[1]) == 1
