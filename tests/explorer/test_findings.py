"""The page opens with the answer: what is wrong with the rows, lit up on the map, looked at and marked."""

import threading

import numpy as np
import pytest

from centrality.apps.explorer import marks
from centrality.apps.explorer.payload import pack
from tests.explorer.pages import (
    Checked,
    close,
    exported,
    faulty,
    menu,
    pixels,
    serving,
    settle,
    some_view,
    telling,
    unpacked,
)

pytestmark = pytest.mark.browser

ODD = (194, 24, 60)


@pytest.fixture
def tab(open_page, tmp_path):
    return open_page(exported(faulty(), tmp_path), panel="")


def marked(tab) -> dict[str, int]:
    """How many rows are marked how, as the review says."""
    tab.get_by_role("tab", name="Review").click()
    settle(tab)
    words = tab.locator(".review h2 .said").inner_text().split(": ")[1].split(", ")
    return {word.split()[1]: int(word.split()[0]) for word in words}


def test_the_page_says_what_is_wrong_worst_first(tab):
    assert tab.get_by_role("tab", name="Findings").get_attribute("aria-selected") == "true"
    assert tab.locator("p.verdict").inner_text() == "Mostly fine. One fault, one thing to check."
    assert "4 rows (10%) in 3 findings" in tab.locator(".findings").inner_text()
    sentences = [item.inner_text() for item in tab.locator(".finding .what b").all()]
    assert sentences == ["gain is exactly 99999", "name is empty", "same has one value only"]
    bars = [bar.bounding_box()["width"] for bar in tab.locator(".finding .filled").all()]
    assert bars == sorted(bars, reverse=True)
    assert tab.get_by_role("button", name="Review 2 causes, 4 rows in all").is_visible()


def test_at_the_start_there_are_few_controls(tab):
    here = tab.evaluate(
        """() => [...document.querySelectorAll(
          "button, input, select, summary, textarea, canvas[tabindex], [role=slider]")]
          .filter((e) => e.checkVisibility() && !e.closest(".findings")).length"""
    )
    assert here <= 15


def test_pointing_at_a_finding_lights_its_rows_up_and_names_their_island(tab, tmp_path):
    before = pixels(tab, tmp_path)
    tab.locator(".finding").first.hover()
    settle(tab)
    assert tab.locator(".island").inner_text() == "3 rows: gain is exactly 99999"
    lit = pixels(tab, tmp_path)
    assert (np.abs(lit - ODD).max(axis=2) <= 30).sum() > 20 + (np.abs(before - ODD).max(axis=2) <= 30).sum()
    tab.mouse.move(900, 700)
    tab.locator(".island").wait_for(state="hidden")
    settle(tab)
    assert close(pixels(tab, tmp_path).mean(axis=(0, 1)), before.mean(axis=(0, 1)), by=1)


def test_an_open_finding_shows_examples_beside_a_typical_row(tab):
    tab.locator(".finding").first.click()
    cells = "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent).slice(0, 2))"
    tab.locator(".examples").wait_for()
    shown = tab.locator(".examples tbody tr").evaluate_all(cells)
    assert shown == [["row 103", "99999"], ["row 104", "99999"], ["row 109", "99999"], ["typical", "20"]]
    assert tab.locator(".examples td.guilty").all_inner_texts() == ["99999"] * 3
    tab.get_by_role("button", name="row 104").click()
    tab.locator(".inspector", has_text="Row 104").wait_for()
    tab.wait_for_function("() => location.hash.includes('cause=0')")  # a link opens it again


def test_one_key_marks_the_rows_of_the_open_finding_and_undo_takes_it_back(tab):
    tab.locator(".finding").first.click()
    tab.keyboard.press("o")
    tab.locator(".flash", has_text="3 rows: outlier").wait_for()
    assert marked(tab) == {"outlier": 3, "fine": 0, "later": 0}
    tab.keyboard.press("u")
    settle(tab)
    assert marked(tab) == {"outlier": 0, "fine": 0, "later": 0}


def test_the_review_goes_through_the_causes_one_after_another(tab):
    tab.get_by_role("button", name="Review 2 causes, 4 rows in all").click()
    causes = []
    for _ in range(4):
        causes.append(tab.locator(".cause").inner_text())
        tab.keyboard.press("f")
        settle(tab)
    assert causes == ["gain is exactly 99999"] * 3 + ["name is empty"]
    assert "4 of 4 done" in tab.locator(".review h2 .said").inner_text()
    tab.get_by_role("button", name="the oddest instead").click()
    settle(tab)
    assert "of 40 done" in tab.locator(".review h2 .said").inner_text()


def test_a_tab_shows_something_else_whatever_is_open(tab):
    tab.locator(".finding").first.click()
    tab.get_by_role("button", name="row 104").click()
    tab.get_by_role("button", name="select them").click()
    for name, shown in (("Ranking", ".histogram"), ("Columns", ".column"), ("Compare", ".comparison .told")):
        tab.get_by_role("tab", name=name).click()
        settle(tab)
        box = tab.locator(shown).first.bounding_box()
        assert 0 <= box["y"] < 400
        assert tab.locator(".inspector").is_visible()


class Slow:
    """Findings that take as long as the test wants."""

    def __init__(self) -> None:
        self.may_end = threading.Event()

    def findings(self):
        self.may_end.wait(20)
        return faulty().jobs.findings()


def test_a_served_page_is_there_before_its_findings_and_they_come_by_themselves(open_page):
    view = faulty()
    slow = Slow()
    object.__setattr__(view, "jobs", slow)
    with serving(view) as server:
        tab = open_page(server.url, panel="")
        tab.locator(".verdict", has_text="Looking for what is wrong").wait_for()
        assert tab.locator("canvas.points").get_attribute("data-drawn") == "40"
        slow.may_end.set()
        tab.locator(".verdict", has_text="One fault").wait_for()
        assert tab.locator(".finding").count() == 3
        tab.close()


def test_a_served_page_is_saved_as_one_file_with_its_findings_and_marks(open_page, tmp_path):
    with serving(faulty(), marks_file=tmp_path / "marks.csv") as server:
        tab = open_page(server.url, panel="")
        tab.locator(".finding").first.click()
        tab.keyboard.press("o")
        tab.locator("summary", has_text="Saved").click()
        tab.get_by_text("3 rows marked").wait_for()
        tab.wait_for_function("() => fetch('marks').then((a) => a.json()).then((all) => all.marks.length === 3)")
        tab.keyboard.press("Escape")
        with tab.expect_download() as download:
            menu(tab, "Save as one file", "Saved")
        download.value.save_as(tmp_path / "page.html")
        tab.close()
    assert [mark["row"] for mark in marks.read(tmp_path / "page.html")] == [103, 104, 109]
    alone = open_page((tmp_path / "page.html").as_uri(), panel="")
    assert alone.locator("p.verdict").inner_text() == "Mostly fine. One fault, one thing to check."
    assert [url for url in alone.requests if not url.startswith(("file:", "blob:"))] == []


def test_a_file_knows_why_the_examples_are_odd_however_many_rows_it_has():
    n = 7000
    far = np.arange(3000, 3005)  # neither odd nor typical: nothing else would bring their reasons into the file
    jobs = Checked("One thing to check.", {"kind": "x", "sentence": "x", "rows": far.tolist(), "typical": 4000})
    heads = np.repeat(np.linspace(0.1, 0.9, n)[:, None], 2, axis=1)
    view = some_view(n, heads=heads, features=("a", "b"), reasons=telling([-0.3, 0.1], [0.2, 0.2]), jobs=jobs)
    held = unpacked(pack(view, pictures=True, reasons=True))
    explained = held[1]["get"](held[0]["why"]["rows"])
    assert len(explained) < n / 2
    assert set(far) | {4000} <= set(explained.tolist())
