"""Marks in a real browser: two tabs, two explorers, a dead server, rows in another order; nothing is lost."""

import csv
import threading
from contextlib import ExitStack
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer import marks
from centrality.apps.explorer.content import LazyKeys, columns_of, row_keys
from tests.explorer.pages import exported, later, menu, serving, settle, some_view

pytestmark = pytest.mark.browser

N = 40
TABLE = pa.table({"name": [f"name {k}" for k in range(N)], "size": np.arange(N) / 7})


def view(order=None, **changes):
    """Rows that are odd in the order of their sizes, in this order in the data."""
    rows = np.arange(N) if order is None else np.asarray(order)
    table = TABLE.take(rows)
    heads = np.repeat((0.01 + rows / 50)[:, None], 2, axis=1)
    return some_view(
        len(rows), heads=heads, columns=tuple(columns_of(table, 5)), keys=row_keys(table), cells=table.take, **changes
    )


class Running(ExitStack):
    """An explorer that can be stopped (`close`), and started again where it was."""

    def __init__(self, path, shown=None, port=0, token=None):
        super().__init__()
        self.server = self.enter_context(serving(shown or view(), port=port, marks_file=path))
        self.server.token = token or self.server.token


@pytest.fixture
def run():
    with ExitStack() as running:
        yield lambda *parts, **options: running.enter_context(Running(*parts, **options))


def reviewing(open_page, address, **options):
    tab = open_page(f"{address}#panel=review", **options)
    tab.locator(".facts").wait_for()
    return tab


def say(tab, row, key):
    """Give a verdict on the row of this number."""
    tab.evaluate("(row) => { location.hash = `panel=review&row=${row}`; }", row)
    tab.locator(".facts", has_text=f"Row {row} ").wait_for()
    tab.locator("canvas.points").focus()
    tab.keyboard.press(key)
    settle(tab)


def note(tab, text):
    field = tab.get_by_label("A note on this row")
    tab.locator(".more-to-say").evaluate("(more) => { more.open = true; }")
    field.fill(text)
    field.blur()


def kept(path):
    return {mark["row"]: (mark["mark"], mark["note"]) for mark in marks.read(path)}


def wait_for(tab, question, wanted):
    for _ in range(500):  # frames of the page
        if (found := question()) == wanted:
            return
        settle(tab)
    assert found == wanted


def test_two_tabs_and_two_explorers_on_one_file_see_and_keep_what_each_says(run, open_page, tmp_path):
    path = tmp_path / "m.csv"
    first, second = (reviewing(open_page, run(path).server.url) for _ in range(2))
    say(first, 0, "o")
    say(second, 1, "f")
    say(first, 2, "l")
    wait_for(first, lambda: kept(path), {0: ("outlier", ""), 1: ("fine", ""), 2: ("later", "")})
    first.get_by_text("1 outlier, 1 fine, 1 later").wait_for()  # the other's mark came with the answer
    second.evaluate("dispatchEvent(new Event('focus'))")
    second.get_by_text("1 outlier, 1 fine, 1 later").wait_for()


def test_two_notes_on_one_row_are_both_kept(run, open_page, tmp_path):
    path = tmp_path / "m.csv"
    address = run(path).server.url
    tabs = [reviewing(open_page, address) for _ in range(2)]
    for tab, text in zip(tabs, ["=HYPERLINK(1)", "two " * 1000], strict=True):
        note(tab, text)
    wait_for(tabs[0], lambda: kept(path), {0: ("", "=HYPERLINK(1) | " + ("two " * 1000).strip())})
    assert "'=HYPERLINK" in path.read_text()


def test_a_mark_said_before_the_keys_came_is_kept_under_its_key(run, open_page, tmp_path):
    path, keys, may_come = tmp_path / "m.csv", view().keys, threading.Event()

    def make():
        may_come.wait(60)
        return tuple(keys)

    explorer = run(path, replace(view(), keys=LazyKeys(len(keys), make)))
    tab = reviewing(open_page, explorer.server.url)
    say(tab, 2, "o")
    assert not path.exists()
    may_come.set()
    wait_for(tab, lambda: path.exists() and kept(path), {2: ("outlier", "")})
    assert f"{keys[2]},2,outlier" in path.read_text()


def test_a_dead_server_is_said_loudly_and_marks_are_sent_when_it_is_back(run, open_page, tmp_path):
    path = tmp_path / "m.csv"
    explorer = run(path)
    tab = reviewing(open_page, explorer.server.url, clock=True)
    banner = tab.locator("[role=alert].unkept")
    assert banner.is_hidden()
    explorer.close()
    say(tab, 0, "o")
    say(tab, 1, "f")
    banner.get_by_text("2 marks are not kept. centrality explore does not answer").wait_for()
    tab.screenshot(path=tmp_path / "banner.png")
    assert banner.bounding_box()["width"] == 1200
    with tab.expect_download() as download:
        banner.get_by_role("button", name="Save marks as CSV").click()
    download.value.save_as(tmp_path / "saved.csv")
    assert kept(tmp_path / "saved.csv") == {0: ("outlier", ""), 1: ("fine", "")}
    run(path, port=explorer.server.server_port, token=explorer.server.token)
    later(tab, 3)  # it tries again
    banner.wait_for(state="hidden")
    assert kept(path) == {0: ("outlier", ""), 1: ("fine", "")}
    tab.problems.clear()  # the browser's own words about the server that was gone


def test_marks_that_were_not_kept_outlive_the_tab(run, open_page, tmp_path):
    path = tmp_path / "m.csv"
    explorer = run(path)
    tab = reviewing(open_page, explorer.server.url)
    explorer.close()
    say(tab, 3, "o")
    tab.locator(".unkept", has_text="1 mark is not kept").wait_for()
    tab.on("dialog", lambda dialog: dialog.accept())  # the browser asks whether to leave
    run(path, port=explorer.server.server_port, token=explorer.server.token)
    tab.goto(explorer.server.url)
    wait_for(tab, lambda: kept(path), {3: ("outlier", "")})
    tab.problems.clear()


def test_a_place_that_cannot_be_written_is_said_before_the_first_mark(run, open_page, tmp_path):
    explorer = run(tmp_path / "gone" / "m.csv")
    tab = reviewing(open_page, explorer.server.url, clock=True)
    tab.locator(".unkept", has_text="What you mark will not be kept. Cannot write").wait_for()
    say(tab, 0, "o")
    tab.locator(".unkept", has_text="1 mark is not kept").wait_for()
    (tmp_path / "gone").mkdir()
    later(tab, 3)  # it tries again
    tab.locator(".unkept").wait_for(state="hidden")
    assert kept(tmp_path / "gone" / "m.csv") == {0: ("outlier", "")}
    tab.problems.clear()


def test_marks_find_their_rows_in_another_order_and_stay_when_rows_are_missing(run, open_page, tmp_path):
    path = tmp_path / "m.csv"
    explorer = run(path)
    tab = reviewing(open_page, explorer.server.url)
    say(tab, 5, "o")
    say(tab, 6, "f")
    wait_for(tab, lambda: kept(path), {5: ("outlier", ""), 6: ("fine", "")})
    explorer.close()
    turned = run(path, shown=view(np.delete(np.arange(N)[::-1], N - 1 - 6)))  # back to front, and without row 6
    other = reviewing(open_page, turned.server.url)
    other.get_by_text("1 outlier, 0 fine, 0 later").wait_for()
    other.get_by_text("1 mark of rows that are not here, kept as well").wait_for(state="attached")
    other.evaluate("location.hash = 'panel=review&row=33'")  # 39 - 5, and one less
    other.locator(".facts", has_text="Row 33 ").wait_for()
    assert "name 5" in other.locator(".cells-beside").inner_text()
    assert other.locator(".verdict.outlier").get_attribute("aria-pressed") == "true"
    say(other, 33, "l")
    wait_for(other, lambda: {key: mark for key, (mark, _) in kept(path).items()}, {33: "later", 6: "fine"})
    tab.problems.clear()


def test_tabs_of_an_exported_page_share_their_marks_and_these_have_keys(browser, tmp_path):
    address = exported(view(), tmp_path)
    context = browser.new_context()
    tab, other = context.new_page(), context.new_page()
    for one in (tab, other):
        one.goto(f"{address}#panel=review")
        one.locator(".facts").wait_for()
    say(tab, 0, "o")
    say(other, 1, "f")
    tab.get_by_text("1 outlier, 1 fine, 0 later").wait_for()
    other.get_by_text("1 outlier, 1 fine, 0 later").wait_for()
    with tab.expect_download() as download:
        menu(tab, "Marks as CSV", "Saved")
    download.value.save_as(tmp_path / "marks.csv")
    keys = row_keys(TABLE)
    assert {mark["key"]: mark["mark"] for mark in marks.read(tmp_path / "marks.csv")} == {
        keys[0]: "outlier",
        keys[1]: "fine",
    }
    context.close()


def test_a_browser_that_keeps_nothing_is_said_loudly(open_page, tmp_path):
    address = exported(view(), tmp_path)
    tab = open_page(address, ready=False)
    tab.add_init_script("Storage.prototype.setItem = () => { throw new Error('full'); };")
    tab.goto(f"{address}#panel=review&row=0")
    tab.reload()
    tab.locator(".facts").wait_for()
    tab.keyboard.press("o")
    tab.locator(".unkept", has_text="1 mark is not kept. This browser lets the page keep nothing").wait_for()


CELLS = pa.table(
    {
        "id": pa.array([4111111111111111 + 2**53 + k for k in range(N)], pa.int64()),
        "card": [f"0{4111111111111111 + k}" for k in range(N)],
        "when": pa.array([1_600_000_000_000_001 + k for k in range(N)], pa.timestamp("us")),
        "second": pa.array([1_600_000_000 + k for k in range(N)], pa.timestamp("s")),
        "double": np.random.default_rng(0).normal(size=N),
        "single": pa.array(np.random.default_rng(1).normal(size=N).astype(np.float32)),
        "text": [f'=A{k}, "long"\n' + "word  " * 200 for k in range(N)],
        "kind": ["a  b", "=c"] * (N // 2),
        "gap": pa.array([None if k % 2 else k for k in range(N)], pa.int64()),
        "row": np.arange(N) / 2,
    }
)


@pytest.mark.parametrize("served", [True, False])
def test_the_cells_of_a_selection_leave_as_they_came(run, open_page, tmp_path, served):
    shown = some_view(N, columns=tuple(columns_of(CELLS, 20)), cells=CELLS.take, rows=np.arange(N) + 100)
    address = run(tmp_path / "m.csv", shown=shown).server.url if served else exported(shown, tmp_path)
    tab = open_page(f"{address}#rows=3-1.7")
    tab.locator(".selection", has_text="3 rows").wait_for()
    with tab.expect_download() as download:
        tab.locator(".selection").get_by_role("button", name="CSV").click()
    download.value.save_as(tmp_path / "selection.csv")
    with (tmp_path / "selection.csv").open(newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    wanted = CELLS.take([3, 4, 11]).to_pydict()
    assert [int(line["centrality row"]) for line in found] == [103, 104, 111]
    for name in ("card", "text", "kind"):
        assert [line[name] for line in found] == wanted[name]
    assert [int(line["id"]) for line in found] == wanted["id"]
    assert [line["gap"] for line in found] == ["", "4", ""]
    assert [line["when"] for line in found] == [f"{moment:%Y-%m-%d %H:%M:%S.%f}" for moment in wanted["when"]]
    assert [line["second"] for line in found] == [f"{moment:%Y-%m-%d %H:%M:%S}" for moment in wanted["second"]]
    assert [float(line["double"]) for line in found] == wanted["double"]
    assert [np.float32(line["single"]) for line in found] == [np.float32(one) for one in wanted["single"]]
    assert max(len(line["single"]) for line in found) <= 13  # as few digits as say it
    heads = np.array([[float(line["global"]), float(line["local"])] for line in found])
    np.testing.assert_allclose(heads, shown.heads[[3, 4, 11]], atol=1e-4)
