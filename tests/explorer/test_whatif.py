"""What if, rows in full, guilty words, two maps side by side, groups and their names: in a real browser."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer.content import columns_of, items_of
from centrality.apps.explorer.questions import what_if
from centrality.apps.explorer.view import Against
from tests.explorer.pages import exported, grid, settle, some_view

pytestmark = pytest.mark.browser


def outcome(tab, *, not_yet: str = "") -> str:
    """The score that the panel tells, once it is another than before."""
    place = ".what-if .outcome b"
    tab.wait_for_function(
        "([place, old]) => ![undefined, '', old].includes(document.querySelector(place)?.textContent)",
        arg=[place, not_yet],
    )
    return tab.locator(place).inner_text()


def shown_score(view, row: int, changes: dict, t: float) -> float:
    return float(view.mixing.squeeze(view.mixing.mixed(np.array([what_if(view, row, changes)["units"]]), t))[0])


# What if


def test_typed_values_are_scored_by_the_model_and_taken_back(open_page, serve, stories):
    tab = open_page(serve(stories))
    tab.evaluate("location.hash = '#row=7&panel=whatif'")
    before = outcome(tab)
    assert float(before) == pytest.approx(shown_score(stories, 7, {}, stories.t), abs=6e-4)
    tab.get_by_label("width", exact=True).fill("0.5")
    after = outcome(tab, not_yet=before)
    assert float(after) == pytest.approx(shown_score(stories, 7, {"width": 0.5}, stories.t), abs=6e-4)
    assert float(after) > float(before)
    assert tab.locator(".what-if .changed").count() == 1
    assert f"as it is: {before}" in tab.locator(".what-if .outcome").inner_text()
    tab.locator(".what-if select").select_option("house")
    both = outcome(tab, not_yet=after)
    assert float(both) == pytest.approx(shown_score(stories, 7, {"width": 0.5, "kind": "house"}, stories.t), abs=6e-4)
    assert tab.locator(".what-if .reasons li").count() > 0
    tab.get_by_role("button", name="As it is").click()
    assert outcome(tab, not_yet=both) == before
    assert tab.locator(".what-if .changed").count() == 0
    assert tab.locator(".what-if label", has_text="story").count() == 0  # the model does not read it


def test_a_row_slides_towards_a_typical_place(open_page, serve, stories):
    tab = open_page(serve(stories) + "#row=7&panel=whatif")
    tab.evaluate("location.hash = '#row=7&panel=whatif'")
    before = outcome(tab)
    slider = tab.get_by_label("Towards a typical place")
    slider.evaluate("(e) => { e.value = 20; e.dispatchEvent(new Event('input')); }")
    after = outcome(tab, not_yet=before)
    assert float(after) > 5 * float(before)
    assert abs(float(tab.get_by_label("width", exact=True).input_value())) < 12
    slider.evaluate("(e) => { e.value = 0; e.dispatchEvent(new Event('input')); }")
    assert outcome(tab, not_yet=after) == before


def test_what_cannot_be_scored_is_said(open_page, serve, mixed):
    from centrality.apps.explorer.view import view_of

    model, table = mixed
    tab = open_page(serve(view_of(model, table, on="pca")))
    tab.evaluate("location.hash = '#row=7&panel=whatif'")
    outcome(tab)
    tab.get_by_label("width", exact=True).fill("")
    tab.locator(".outcome", has_text="finite").wait_for()
    tab.problems.clear()  # the browser tells of the refusal, too


def test_an_exported_page_has_no_such_panel_and_a_link_to_it_shows_another(open_page, stories, tmp_path):
    tab = open_page(exported(stories, tmp_path) + "#row=7&panel=whatif")
    assert tab.get_by_role("tab").all_inner_texts() == ["Review", "Ranking", "Columns"]
    assert tab.locator(".review").is_visible()


# In full


def test_a_cut_text_and_a_small_picture_are_shown_in_full(open_page, serve, stories, tmp_path):
    tab = open_page(serve(stories))
    tab.evaluate("location.hash = '#row=7'")
    tab.get_by_role("button", name="in full").click()
    whole = "The story of row 7. " + "It goes on and on. " * 40
    tab.wait_for_function("(n) => document.querySelector('.whole p')?.textContent.length === n", arg=len(whole))
    tab.keyboard.press("Escape")
    tab.locator("dialog.full").wait_for(state="detached")
    assert tab.locator(".facts").is_visible()  # the key closed the dialog and nothing else
    photo = np.zeros((9, 40, 500), dtype=np.uint8)
    view = grid(items=items_of(photo, 9))
    tab = open_page(serve(view))
    tab.evaluate("location.hash = '#row=3&panel=ranking'")
    tab.wait_for_function("() => document.querySelector('.detail img')?.naturalWidth === 96")
    tab.keyboard.press("v")
    tab.wait_for_function("() => document.querySelector('.whole img')?.naturalWidth === 500")
    tab = open_page(exported(view, tmp_path) + "#row=3")  # a file has no more than its small one
    tab.keyboard.press("v")
    tab.wait_for_function("() => document.querySelector('.whole img')?.naturalWidth === 96")


# Guilty words


def test_words_that_make_a_text_odd_are_painted_in_the_queue(open_page, serve):
    class Told:
        columns, has_way, has_words = (), False, True

        def words(self, row):
            words = {"so ": (0.1, 0.1), "odd ": (-1.0, 0.0), "rare": (0.0, -1.0)}
            told = [{"text": word, "global": added[0], "local": added[1]} for word, added in words.items()]
            return {"words": told, "typical": (0.5, 0.5)}

    tab = open_page(serve(grid(items=items_of(["so odd rare"] * 9, 9), live=Told())))
    tab.evaluate("location.hash = '#panel=review'")  # at t = 0
    tab.locator(".review mark").first.wait_for()
    assert tab.locator(".review mark").all_text_contents() == ["odd "]
    assert "in red what makes it odd" in tab.locator(".pair").inner_text()
    tab.evaluate("location.hash = '#panel=review&t=1'")
    tab.wait_for_function("() => document.querySelector('.review mark')?.textContent === 'rare'")


# Side by side


def rings(tab) -> list[int]:
    """How many pixels are drawn over each map."""
    return tab.evaluate(
        """() => [...document.querySelectorAll('canvas.over')].map((c) => c.hidden ? 0 : c.getContext('2d')
          .getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length)"""
    )


def test_two_t_stand_side_by_side_with_one_camera_selection_and_pointer(open_page, tmp_path):
    tab = open_page(exported(grid(), tmp_path))
    tab.get_by_role("button", name="A second map at another t").click()
    tab.locator("canvas.points").nth(1).wait_for()
    settle(tab)
    assert tab.evaluate("[...document.querySelectorAll('canvas.points')].map((c) => c.dataset.t)") == ["0", "1"]
    assert rings(tab) == [0, 0]
    tab.mouse.move(*on_page_of(tab, 1, 1, -1))  # the lower right: global 1, local 0
    settle(tab)
    first, second = rings(tab)
    assert first == pytest.approx(second, abs=20)  # a ring on each; they lie differently between pixels
    assert first > 100
    assert "1.00: row 2 0.0455, rank 7" in tab.locator(".beside .said").inner_text()  # 0.1 / 2.2, as all of its line
    assert "Row 2" in tab.locator(".detail").inner_text()
    tab.mouse.wheel(0, -200)
    tab.wait_for_function("() => location.hash.includes('at=') && location.hash.includes('beside=1')")
    tab.get_by_label("t of the second map").focus()
    tab.keyboard.press("Home")
    tab.wait_for_function("() => document.querySelectorAll('canvas.points')[1].dataset.t === '0'")
    tab.get_by_role("button", name="A second map at another t").click()
    tab.locator("canvas.points").nth(1).wait_for(state="hidden")
    tab.get_by_role("button", name="A second map at another t").click()  # and once more, at its first size
    settle(tab)
    tab.wait_for_function("() => document.querySelectorAll('canvas.points')[1].dataset.t === '1'")
    assert tab.locator("canvas.points").nth(1).evaluate("(c) => c.width") > 300


def on_page_of(tab, k: int, x: float, y: float) -> tuple[float, float]:
    box = tab.locator("canvas.points").nth(k).bounding_box()
    half = 0.46 * min(box["width"], box["height"])
    return box["x"] + box["width"] / 2 + x * half, box["y"] + box["height"] / 2 - y * half


def test_two_models_stand_side_by_side(open_page, tmp_path):
    view = grid()
    other = Against("the other", view.units[::-1].copy())
    tab = open_page(exported(grid(against=other), tmp_path) + "#beside=0&row=2")
    tab.locator(".beside", has_text="the other").wait_for()
    settle(tab)
    expected = float(view.heads[::-1][2, 0])
    assert f"row 2 {expected:.4f}" in tab.locator(".beside .said").inner_text()


# Groups


def two_groups(**changes):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(800, 2)) + np.repeat([[0, 0], [12, 0]], 400, axis=0)
    table = pa.table({"kind": ["oak"] * 400 + ["elm"] * 400, "size": np.arange(800) % 7})
    return some_view(800, **({"points": points, "columns": tuple(columns_of(table, 2))} | changes))


def names(tab) -> list[str]:
    """The names that the map writes when it is drawn again."""
    tab.evaluate(
        """() => { window.said = []; const { fillText } = CanvasRenderingContext2D.prototype;
          CanvasRenderingContext2D.prototype.fillText =
            function (text, ...at) { said.push(text); fillText.call(this, text, ...at); }; }"""
    )
    tab.keyboard.press("+")
    settle(tab)
    return tab.evaluate("[...new Set(said)]")


def test_groups_have_lines_and_names_from_afar_and_none_from_near(open_page, tmp_path):
    tab = open_page(exported(two_groups(), tmp_path))
    [drawn] = rings(tab)
    assert drawn > 1000  # lines around two groups, and two words
    tab.locator("canvas.points").focus()
    assert sorted(names(tab)) == ["kind: elm", "kind: oak"]
    tab.keyboard.press("+")
    tab.keyboard.press("+")
    settle(tab)
    assert rings(tab) == [0]
    tab.keyboard.press("0")
    tab.get_by_role("button", name="Lines around groups").click()
    settle(tab)
    assert rings(tab) == [0]


def test_groups_of_texts_are_named_by_their_words(open_page, tmp_path):
    rng = np.random.default_rng(1)
    said = [
        " ".join(rng.choice(words, 6))
        for words in (["sea", "ship", "the"], ["tree", "leaf", "the"])
        for _ in range(400)
    ]
    texts = tuple(columns_of(pa.table({"item": said}), 1))
    assert texts[0].kind == "text"
    tab = open_page(exported(two_groups(items=items_of(said, 800), columns=texts), tmp_path))
    tab.locator("canvas.points").focus()
    assert {frozenset(name.split(", ")) for name in names(tab)} == {
        frozenset({"sea", "ship"}),
        frozenset({"tree", "leaf"}),
    }
