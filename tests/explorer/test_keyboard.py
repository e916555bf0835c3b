"""Every task of a review without a mouse: no click, no focus that is not reached by keys."""

import csv

import pytest

from tests.explorer.pages import exported, faulty, settle

pytestmark = pytest.mark.browser


class Keys:
    """A reader who has a keyboard only."""

    def __init__(self, tab) -> None:
        self.tab = tab

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tab.keyboard.press(key)
            settle(self.tab)

    def go_to(self, what: str, *, back: bool = False) -> None:
        """Tab until the focus is on what this selector finds."""
        for _ in range(150):
            if self.tab.evaluate("(what) => document.activeElement.matches(what)", what):
                return
            self.tab.keyboard.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"{what} cannot be reached by Tab")

    def text(self, where: str) -> str:
        settle(self.tab)
        return self.tab.locator(where).first.inner_text()

    def saved(self, path):
        with self.tab.expect_download() as download:
            self.tab.keyboard.press("Enter")
        download.value.save_as(path)
        return path


@pytest.fixture
def keys(open_page, serve, stories, tmp_path):
    return Keys(open_page(serve(stories, marks_file=tmp_path / "kept.csv")))


def test_a_whole_review_by_keyboard_alone(keys, tmp_path):
    # The queue: a mark, a note, another mark, taken back; and out of the page.
    keys.press("r")
    assert "row 1, 0 of 100 done" in keys.text(".review h2")
    keys.press("o")
    assert "row 2, 1 of 100 done: 1 outlier" in keys.text(".review h2")
    keys.go_to(".more-to-say summary")
    keys.press("Enter")
    keys.go_to(".review input[placeholder='A note']")
    keys.tab.keyboard.type("mind the gap")
    keys.press("Tab", "f")
    assert "row 3, 2 of 100 done: 1 outlier, 1 fine" in keys.text(".review h2")
    keys.press("u")
    assert "row 2, 1 of 100 done: 1 outlier, 0 fine" in keys.text(".review h2")
    keys.go_to(".saved summary", back=True)
    keys.press("Enter")
    while "CSV" not in keys.tab.evaluate("document.activeElement.textContent"):
        keys.press("Tab")
    with keys.saved(tmp_path / "marks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert sorted((row["mark"], row["note"]) for row in rows) == [("", "mind the gap"), ("outlier", "")]

    keys.press("Escape")
    keys.go_to("canvas.points")

    # The dial.
    keys.press("t", "End")
    assert keys.text(".dial output") == "t = 1.00"

    # The search.
    keys.press("/")
    keys.tab.keyboard.type("kind:barn")
    keys.tab.locator(".bar .rows", has_text="200 of 400").wait_for()

    # The table: sorted by width from the largest on, and its first row selected.
    keys.go_to(".bar .buttons button")
    keys.press("b")
    keys.go_to("table.rows thead button")
    while "width" not in keys.tab.evaluate("document.activeElement.textContent"):
        keys.press("Tab")
    keys.press("Enter")
    keys.go_to("th[aria-sort=ascending] button")
    keys.press("Enter")
    assert keys.text("th[aria-sort=descending]").startswith("width")
    keys.go_to("table.rows", back=True)
    keys.press("Escape", "ArrowDown", "x")
    assert "1 row" in keys.text(".selection h2")
    assert keys.tab.locator("tr[aria-selected=true] th").all_inner_texts() == ["7"]
    keys.press("b")

    # The row in full.
    keys.press("v")
    assert "The story of row 7." in keys.text("dialog.full")
    keys.press("Escape")

    # A brush over a column.
    keys.press("c")
    keys.go_to("li.column [role=slider]")
    keys.press("PageUp", "PageUp")
    keys.tab.wait_for_function("() => decodeURIComponent(location.hash).includes('ranges={')")

    # A picture to take along.
    keys.go_to(".more-acts summary", back=True)
    keys.press("Enter")
    while "picture" not in keys.tab.evaluate("document.activeElement.textContent"):
        keys.press("Tab")
    assert keys.saved(tmp_path / "map.png").read_bytes()[:4] == b"\x89PNG"


def test_findings_by_keyboard_alone(open_page, tmp_path):
    keys = Keys(open_page(exported(faulty(), tmp_path), panel=""))
    keys.go_to(".finding")
    assert keys.text(".island") == "3 rows: gain is exactly 99999"  # lit up when the focus comes
    keys.press("Enter")
    assert "row 103" in keys.text(".inside")
    keys.press("o")
    assert "3 rows: outlier" in keys.text(".flash")
    keys.go_to(".findings .start")
    keys.press("Enter")
    assert "3 of 4 done: 3 outlier" in keys.text(".review h2")
    assert "name is empty" in keys.text(".cause")  # the first example without a verdict
    keys.press("d")
    keys.go_to("[aria-label='Group A']", back=True)
    keys.press("ArrowDown")
    assert "A 1 row" in keys.text(".comparison .group").replace("\n", " ")
