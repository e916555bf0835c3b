"""The page in a real browser: by keyboard, on a phone, from a file, served, and as a notebook shows it."""

import numpy as np
import pytest

from centrality.apps.explorer import server
from centrality.apps.explorer.content import items_of
from centrality.apps.explorer.view import View
from centrality.network.calibration import LINEAR, blend
from tests.explorer.pages import close, exported, grid, later, menu, on_page, pixels, serving, settle, told, turn

pytestmark = pytest.mark.browser

# Without a mouse, and in either light


def test_everything_can_be_done_by_keyboard(open_page, cloud, cloud_page):
    tab = open_page(cloud_page)
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.type") == "search"
    tab.locator("canvas.points").focus()
    tab.keyboard.press("t")
    assert tab.evaluate("document.activeElement.className") == "turn"
    tab.keyboard.press("ArrowRight")
    tab.wait_for_function("() => document.querySelector('canvas.points').dataset.t === '0.51'")
    assert tab.locator("input.turn").get_attribute("aria-valuetext") == "t = 0.51, in between"
    tab.locator("canvas.points").focus()
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
    assert handle.get_attribute("aria-valuetext") == "0.010"  # a tenth of the way along the root


def test_a_screen_reader_finds_names_for_everything(open_page, cloud_page):
    tab = open_page(cloud_page)
    nameless = """() => [...document.querySelectorAll('button, input, select, canvas[tabindex], [role=slider], img')]
      .filter((e) => e.offsetParent && !(e.ariaLabel || e.alt || e.textContent.trim() || e.title
        || e.getAttribute('aria-label'))).map((e) => e.outerHTML)"""
    assert tab.evaluate(nameless) == []
    order = """() => [...document.querySelectorAll('.bar, canvas.points, .turn, .histogram, .ranking')]
      .map((e) => e.className)"""
    assert tab.evaluate(order) == ["bar", "histogram", "ranking", "points", "turn"]
    card = tab.locator("ol.cards button").first
    assert card.text_content().startswith("row ")


def test_light_and_dark_follow_the_system_until_chosen(open_page, cloud_page, tmp_path):
    grounds = {}
    for scheme in ("light", "dark"):
        tab = open_page(cloud_page, color_scheme=scheme)
        grounds[scheme] = pixels(tab, tmp_path)[2, 2]
    assert grounds["light"].min() > 240
    assert grounds["dark"].max() < 40
    menu(tab, "Light or dark")
    assert close(pixels(tab, tmp_path)[2, 2], grounds["light"], by=2)


def test_the_page_fits_a_phone(open_page, cloud_page):
    tab = open_page(cloud_page, viewport={"width": 400, "height": 860}, has_touch=True)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 400
    for selector in ("canvas.points", "input.turn", "input[type=search]"):
        box = tab.locator(selector).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 400


def test_a_link_restores_the_view(open_page, cloud_page):
    tab = open_page(cloud_page)
    turn(tab, 0.25)
    tab.locator("input[type=search]").fill("group:red")
    tab.get_by_label("Colour by").select_option("size")
    tab.get_by_label("Threshold", exact=True).select_option("share")
    tab.locator("canvas.points").focus()
    tab.keyboard.press("+")
    tab.keyboard.press("ArrowLeft")
    for part in ("t=0.25", "query=group", "colour=", "rule=share", "at=-"):
        tab.wait_for_function("(part) => location.hash.includes(part)", arg=part)
    settle(tab)
    link = tab.url
    again = open_page(link, clock=True)
    assert again.locator("input.turn").input_value() == "0.25"
    assert again.locator("input[type=search]").input_value() == "group:red"
    assert again.get_by_label("Colour by").input_value() == "=size"
    for selector in (".histogram .said", ".legend", ".outliers .said"):
        assert again.locator(selector).inner_text() == tab.locator(selector).inner_text()
    later(again, 0.4)  # it has had time to write it anew
    assert again.url == link
    bad = open_page(cloud_page + "#t=7&at=x_y_z&rule=magic_1&row=99999&colour=%3Dnone&rows=zz.-1&brush=2")
    assert bad.locator("input.turn").input_value() == "0.5"


# A file that stands alone


def test_an_exported_page_asks_for_nothing_and_may_not(open_page, cloud_page):
    tab = open_page(cloud_page)
    assert [url for url in tab.requests if not url.startswith(("file:", "blob:"))] == []
    assert len([url for url in tab.requests if url.startswith("file:")]) == 1
    # Playwright's own evaluate is not bound by the page's policy, so the page tries by itself, from a timer.
    tried = tab.evaluate(
        """() => new Promise((done) => {
          const blocked = [];
          document.addEventListener("securitypolicyviolation", (e) => {
            blocked.push(e.effectiveDirective);
            if (blocked.length === 3) setTimeout(() => done([blocked.sort(), window.ran === true]));
          });
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          const image = new Image();
          image.src = "http://127.0.0.1:9/x.png";
          fetch("http://127.0.0.1:9/x").catch(() => 0);
        })"""
    )
    assert tried == [["connect-src", "img-src", "script-src-elem"], False]
    tab.problems.clear()  # the browser has told of these three on its console


@pytest.mark.parametrize("damage", ["cut short", "changed", "not base64", "another version"])
def test_damaged_data_shows_a_message(open_page, tmp_path, damage):
    path = tmp_path / "page.html"
    server.export(grid(), path)
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
    points[0], heads[0] = (6.0, 6.0), (1e-8, 1e-8)
    view = View("Many", ("UMAP 1", "UMAP 2"), points, heads, np.arange(n), 0.5)
    tab = open_page(exported(view, tmp_path))
    turn(tab, 0.9)
    tab.wait_for_function("(n) => document.querySelector('canvas.points').dataset.drawn === String(n)", arg=n)
    assert tab.locator("ol.cards button").first.get_attribute("data-row") == "0"
    tab.locator("ol.cards button").first.click()
    tab.locator(".detail .place", has_text="oddest of 200,000").wait_for()


# Served, and in a notebook


@pytest.fixture
def pictured(tmp_path):
    """Nine rows that are pictures of one grey each."""
    pictures = np.stack([np.full((6, 6), 25 * i, dtype=np.uint8) for i in range(9)])
    pictures[0, 0, 0] = 255

    def reasons(rows):
        return told(np.stack([[[0.0, 0.1], [-0.001 * row, 0.1]] for row in rows]))

    return grid(items=items_of(pictures, 9), features=("a", "b"), reasons=reasons, mixing=LINEAR)


def test_the_served_page_shows_pictures_and_reasons_by_row(open_page, pictured):
    with serving(pictured) as server:
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
        other = open_page(own, ready=False, alone=True)
        assert "holds a token" in other.locator("body").inner_text()
        other.close()
        other.problems.clear()  # the browser tells of the refusal
        tab.close()  # before the server: what it still asks for would be an error
