"""What would make a row typical, rows in full, guilty words, comparisons, groups and their names: in a real browser."""

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer.content import columns_of, items_of
from centrality.apps.explorer.questions import typical_with
from tests.explorer.pages import exported, grid, menu, settle, some_view

pytestmark = pytest.mark.browser


# A line instead of many fields


def test_the_cells_that_would_make_a_row_typical_are_told_in_a_line(open_page, serve, stories):
    answer = typical_with(stories, 7, stories.t)
    assert answer["columns"][0] == "width"
    like = stories.columns[2].values[answer["like"]]
    for panel in ("review", "ranking"):
        tab = open_page(serve(stories) + f"#row=7&panel={panel}")
        line = tab.locator(".would")
        line.wait_for()
        assert line.inner_text().startswith("Would be typical with width ")
        assert float(line.inner_text().split("width ")[1].split()[0].rstrip("…")) == pytest.approx(like, rel=1e-4)
        assert "(now 30)" in line.inner_text()


def test_nothing_is_told_of_a_row_that_is_typical_or_where_nobody_can_tell(open_page, serve, stories, tmp_path):
    typical = int(np.argmax(stories.centrality(stories.t)))
    for address in (serve(stories) + f"#row={typical}", exported(stories, tmp_path) + "#row=7"):
        tab = open_page(address, panel="ranking")
        tab.locator(".detail .reasons li").first.wait_for()
        assert tab.locator(".would").count() == 0


def test_a_cut_text_and_a_small_picture_are_shown_in_full(open_page, serve, stories, tmp_path):
    tab = open_page(serve(stories))
    tab.evaluate("location.hash = '#row=7'")
    tab.get_by_role("button", name="in full").click()
    whole = "The story of row 7. " + "It goes on and on. " * 40
    tab.wait_for_function("(n) => document.querySelector('.whole p')?.textContent.length === n", arg=len(whole))
    tab.keyboard.press("Escape")
    tab.locator("dialog.full").wait_for(state="detached")
    assert tab.locator(".detail").is_visible()  # the key closed the dialog and nothing else
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
        columns, texts = (), ("item",)

        def words(self, row, column):
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


# Compared


def test_two_groups_are_compared_in_words_with_counts(open_page, tmp_path):
    table = pa.table({"kind": ["oak"] * 30 + ["elm"] * 70, "size": [9] * 30 + list(range(70))})
    tab = open_page(exported(some_view(100, columns=tuple(columns_of(table, 2))), tmp_path), panel="compare")
    told = tab.locator(".comparison")
    tab.get_by_label("Group A").select_option("kind: oak")
    tab.get_by_label("Group B").select_option("kind: elm")
    settle(tab)
    assert "30 rows, 30%" in told.inner_text()
    assert "= 9 in 30 of 30 (100%), in B 1 of 70 (1.4%)" in told.inner_text()
    tab.wait_for_function("() => location.hash.includes('a=') && location.hash.includes('b=')")
    again = open_page(tab.url)
    assert again.locator(".comparison").inner_text() == told.inner_text()
    tab.get_by_role("button", name="70 rows").click()  # a group becomes the selection
    tab.locator(".selection", has_text="70 rows").wait_for()


def test_rows_that_are_selected_are_compared_with_all_others(open_page, tmp_path):
    table = pa.table({"kind": ["oak"] * 30 + ["elm"] * 70})
    tab = open_page(exported(some_view(100, columns=tuple(columns_of(table, 1))), tmp_path) + "#rows=0-t")
    tab.locator(".selection").get_by_role("button", name="Compare").click()
    tab.locator(".comparison", has_text="oak in 30 of 30 (100%), in B 0 of 70 (0%)").wait_for()


# Groups


def rings(tab) -> list[int]:
    """How many pixels are drawn over the map."""
    return tab.evaluate(
        """() => [...document.querySelectorAll('canvas.over')].map((c) => c.hidden ? 0 : c.getContext('2d')
          .getImageData(0, 0, c.width, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length)"""
    )


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
    [named] = rings(tab)
    assert named > 300  # two words
    menu(tab, "Lines around groups")
    [drawn] = rings(tab)
    assert drawn > named + 1000
    tab.keyboard.press("Escape")
    tab.locator("canvas.points").focus()
    assert sorted(names(tab)) == ["kind: elm", "kind: oak"]
    tab.keyboard.press("+")
    tab.keyboard.press("+")
    settle(tab)
    assert rings(tab) == [0]
    tab.keyboard.press("0")
    menu(tab, "Names of groups")
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
