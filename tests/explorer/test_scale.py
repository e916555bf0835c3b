"""A review of many rows: marked at once and undone, tagged, filtered by what was said, handed over and taken back."""

import csv
import io

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer import marks, server
from centrality.apps.explorer.content import columns_of
from centrality.apps.explorer.marks import MarksFile
from tests.explorer.pages import exported, later, menu, search, settle, some_view

pytestmark = pytest.mark.browser
N = 1200
TABLE = pa.table({"garden": ["yes", "no"] * (N // 2), "size": np.arange(N) / 10})


@pytest.fixture(scope="module")
def view():
    return some_view(N, columns=tuple(columns_of(TABLE, 2)), cells=TABLE.take, keys=tuple(f"k{k}" for k in range(N)))


@pytest.fixture
def tab(open_page, view, tmp_path):
    return open_page(f"{exported(view, tmp_path)}#rows=0-{np.base_repr(921, 36).lower()}&panel=columns", clock=True)


def told(tab) -> list[dict]:
    """What is marked, as the file says it."""
    with tab.expect_download() as download:
        tab.evaluate("location.hash = 'panel=review&row=0'")
        menu(tab, "Marks as CSV", "Saved")
    return list(csv.DictReader(io.StringIO(download.value.path().read_text(encoding="utf-8"))))


def found(tab, query: str) -> str:
    return search(tab, query).split(",")[0].split()[0]


def test_a_lasso_of_922_rows_is_marked_by_one_key_and_taken_back_by_one_click(tab):
    bulk = tab.locator(".bulk")
    assert "922 selected rows" in bulk.inner_text()
    tab.locator("canvas.points").focus()
    tab.keyboard.press("Shift+O")
    settle(tab)
    assert tab.locator(".key", has_text="outlier").is_visible()
    assert found(tab, "mark:outlier") == "922"
    assert found(tab, "missing:mark") == "278"
    bulk.get_by_role("button", name="undo").click()
    settle(tab)
    assert tab.locator(".bar .rows").inner_text().startswith("1,200 rows")  # the filter follows what is said


def test_enter_ends_a_search_so_that_the_next_key_marks_what_it_found(open_page, view, tmp_path):
    tab = open_page(exported(view, tmp_path), panel="columns", clock=True)
    tab.keyboard.press("/")
    tab.keyboard.type("size<5")
    tab.wait_for_function("() => location.hash.includes('query')")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Shift+F")
    settle(tab)
    assert found(tab, "mark:fine") == "50"


def test_what_a_filter_leaves_is_tagged_and_rows_are_coloured_and_sorted_by_it(open_page, view, tmp_path):
    tab = open_page(f"{exported(view, tmp_path)}#query=size%3C5&table=table&panel=columns", clock=True)
    field = tab.locator(".bulk").get_by_label("A tag of your own")
    field.fill("typo")
    field.press("Enter")
    settle(tab)
    assert tab.locator(".bulk", has_text="50 rows left by the filter").is_visible()
    assert found(tab, "tags:typo") == "50"
    tab.get_by_label("Colour by").select_option("tags")
    settle(tab)
    assert "typo" in tab.locator(".legend").inner_text()
    tab.get_by_role("button", name="show all").click()
    tab.locator("table.rows").get_by_role("button", name="tags").click()
    settle(tab)
    shown = tab.locator("table.rows tbody tr").evaluate_all("rows => rows.map((row) => row.cells[2].textContent)")
    assert set(shown) == {"typo"}


def test_names_and_times_stand_in_the_file(tab):
    tab.evaluate("location.hash = 'panel=review&row=3'")
    tab.locator("summary", has_text="Saved").click()
    tab.get_by_label("Your name, for the file of marks").fill("Ann")
    tab.get_by_label("Your name, for the file of marks").blur()
    tab.locator("canvas.points").focus()
    tab.keyboard.press("o")
    settle(tab)
    (line,) = told(tab)
    assert (line["row"], line["mark"], line["by"]) == ("3", "outlier", "Ann")
    assert len(line["at"]) == len("2026-01-31 09:30:00")


def test_a_page_is_handed_over_with_its_marks_and_they_are_taken_back(open_page, view, serve, tab, tmp_path, browser):
    tab.locator("canvas.points").focus()
    tab.keyboard.press("Shift+F")
    settle(tab)
    tab.evaluate("location.hash = 'panel=review&row=0'")
    with tab.expect_download() as download:
        menu(tab, "Save as one file", "Saved")
    download.value.save_as(tmp_path / "with.html")
    assert len(marks.read(tmp_path / "with.html")) == 922
    colleague = browser.new_context().new_page()  # whose browser has seen none of it
    problems = []
    colleague.on("pageerror", lambda error: problems.append(str(error)))
    colleague.goto((tmp_path / "with.html").as_uri() + "#panel=review")
    colleague.get_by_text("0 outlier, 922 fine").wait_for()
    assert problems == []
    colleague.context.close()
    kept = tmp_path / "kept.csv"
    server_tab = open_page(f"{serve(view, marks_file=kept)}#panel=review")
    server_tab.get_by_label("A file of marks, or a page with marks in it").set_input_files(tmp_path / "with.html")
    server_tab.get_by_text("0 outlier, 922 fine").wait_for()
    assert len(MarksFile(kept).marks()) == 922


def test_a_file_that_holds_no_marks_is_said_and_changes_nothing(open_page, view, serve, tmp_path):
    (tmp_path / "no.csv").write_text("a,b\n1,2\n")
    tab = open_page(f"{serve(view, marks_file=tmp_path / 'kept.csv')}#panel=review")
    tab.get_by_label("A file of marks, or a page with marks in it").set_input_files(tmp_path / "no.csv")
    tab.locator(".flash", has_text="Nothing was taken over: The file holds no marks").wait_for()
    tab.problems.clear()  # the browser's own words about the answer


def test_exported_marks_come_with_the_page(open_page, view, tmp_path):
    file = MarksFile()
    file.take({"key": "k5", "row": 5, "mark": "outlier", "by": "Ann"})
    server.export(view, tmp_path / "page.html", file.marks())
    tab = open_page((tmp_path / "page.html").as_uri() + "#row=5")
    tab.locator(".detail", has_text="outlier · by Ann").wait_for()


def test_a_view_is_kept_by_name_and_opened_again(tab):
    tab.locator("summary", has_text="Saved").click()
    tab.get_by_label("Name of this view").fill("the first ones")
    tab.get_by_label("Name of this view").press("Enter")
    tab.evaluate("location.hash = 'panel=columns'")
    settle(tab)
    assert tab.locator(".bulk").is_hidden()
    tab.reload()
    tab.wait_for_selector("[data-ready]")
    menu(tab, "the first ones", "Saved")
    tab.locator(".bulk", has_text="922 selected rows").wait_for()


def test_a_page_without_findings_opens_at_the_review(open_page, view, tmp_path):
    tab = open_page(exported(view, tmp_path), panel="")
    tab.get_by_role("button", name="Review the 100 oddest rows").click()
    tab.locator(".facts").wait_for()


DRAGGED = """async () => {
  const slider = document.querySelector("input.turn");
  slider.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
  for (const t of [0.2, 0.5, 0.9]) {
    slider.value = t;
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((next) => requestAnimationFrame(next));
  }
  slider.dispatchEvent(new Event("change", { bubbles: true }));
}"""


def test_what_followed_a_sample_while_the_dial_was_dragged_is_exact_when_it_is_let_go(open_page, tmp_path):
    n = 201_000  # more than are followed one by one
    heads = np.random.default_rng(0).beta(2, 3, size=(n, 2))
    address = exported(some_view(n, heads=heads), tmp_path)

    def shown(tab) -> list[str]:
        settle(tab)
        return [tab.locator(part).first.inner_text() for part in (".legend", ".outliers .said", ".ranking .cards")]

    straight = open_page(f"{address}#t=0.9&rule=share&level=0.001&panel=ranking")
    dragged = open_page(f"{address}#t=0.1&rule=share&level=0.001&panel=ranking", clock=True)
    before = shown(dragged)
    dragged.evaluate(DRAGGED)
    later(dragged, 0.5)
    assert shown(dragged) == shown(straight) != before
