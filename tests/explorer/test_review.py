"""The review in a real browser: odd rows one after another, marked by one key each, kept and handed back."""

import csv
import json

import numpy as np
import pyarrow as pa
import pytest

from centrality._internal.checks import InputError
from centrality.apps.explorer import marks
from centrality.apps.explorer.content import columns_of, items_of
from centrality.network.calibration import LINEAR, blend
from tests.explorer.pages import exported, menu, serving, settle, some_view, telling, turn

pytestmark = pytest.mark.browser

N = 400


reasons = telling([-0.5, -0.5], [-0.2, -0.2], [0.1, 0.1])  # size takes a half, colour a fifth, age gives a bit


def neighbours(rows):
    return np.column_stack([np.full(len(rows), 300 + k) for k in range(6)])  # row 300 is typical


@pytest.fixture(scope="module")
def reviewed():
    heads = np.random.default_rng(0).uniform(0.3, 1, size=(N, 2))
    heads[:20] = np.linspace(0.001, 0.02, 20)[:, None]
    size = np.linspace(10, 20, N)
    size[0] = 999.0
    table = pa.table({"age": np.full(N, 30.0), "colour": ["red"] * 20 + ["blue"] * (N - 20), "size": size})
    return some_view(
        N, heads=heads, rows=np.arange(N) + 5000, columns=tuple(columns_of(table, 3)),
        features=("size", "colour", "age"), reasons=reasons, neighbours=neighbours, mixing=LINEAR,
    )  # fmt: skip


@pytest.fixture(scope="module")
def address(reviewed, tmp_path_factory):
    return exported(reviewed, tmp_path_factory.mktemp("reviewed"))


def start(tab):
    tab.evaluate("localStorage.clear()")
    tab.reload()
    tab.wait_for_selector("[data-ready]")
    tab.get_by_label("Threshold", exact=True).select_option("share")
    tab.get_by_role("tab", name="Review").click()
    tab.locator(".facts", has_text="Row 5000 ").wait_for()
    return tab


def done(tab):
    settle(tab)
    return tab.locator(".review h2 .said").inner_text()


def press(tab, keys):
    for key in keys:
        tab.keyboard.press(key)
        settle(tab)


def test_twenty_rows_are_reviewed_by_keyboard_undone_and_saved(open_page, address, tmp_path):
    tab = start(open_page(address))
    assert done(tab) == "row 1, 0 of 20 done: 0 outlier, 0 fine, 0 later"
    press(tab, "ofl")
    assert done(tab) == "row 4, 2 of 20 done: 1 outlier, 1 fine, 1 later"
    assert "Row 5003" in tab.locator(".facts").inner_text()
    press(tab, "u")  # the row for later comes back without a verdict
    assert "Row 5002" in tab.locator(".facts").inner_text()
    assert done(tab).startswith("row 3, 2 of 20 done: 1 outlier, 1 fine, 0 later")
    tab.get_by_text("Tag, note").click()
    tab.get_by_label("A note on this row").fill('odd, "very"')
    press(tab, ["Tab"])
    tab.locator(".review .verdict.outlier").focus()
    press(tab, "l" + "o" * 17)
    assert done(tab).startswith("row 3, 19 of 20 done: 18 outlier, 1 fine, 1 later")  # what is for later comes last
    press(tab, "f")
    assert done(tab) == "row 3, 20 of 20 done: 18 outlier, 2 fine, 0 later"
    assert "all rows are reviewed" in tab.locator("[aria-live]").first.inner_text()
    with tab.expect_download() as download:
        menu(tab, "Marks as CSV", "Saved")
    download.value.save_as(tmp_path / "marks.csv")
    with (tmp_path / "marks.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["row"] for row in rows] == [str(5000 + k) for k in range(20)]
    assert [rows[2][name] for name in ("key", "row", "mark", "note")] == ["", "5002", "fine", 'odd, "very"']
    assert marks.rows_marked("fine", tmp_path / "marks.csv").tolist() == [5001, 5002]
    tab.wait_for_function("() => location.hash.includes('rule=share') && !location.hash.includes('panel=')")
    tab.reload()  # they are kept in the page
    tab.wait_for_selector("[data-ready]")
    tab.get_by_text("20 of 20 done").wait_for()


def test_a_verdict_is_one_key_in_every_panel_and_says_why_where_no_row_is_chosen(open_page, address):
    tab = open_page(address, panel="columns")
    flash, key = tab.locator(".flash").last, tab.locator(".key")
    press(tab, "o")
    assert "No row is chosen" in flash.inner_text()
    tab.evaluate("location.hash = 'row=5&panel=columns'")
    tab.locator(".detail", has_text="Row 5005").wait_for()
    press(tab, "o")
    assert "Row 5005: outlier" in flash.inner_text()
    assert "outlier" in key.inner_text()
    press(tab, "u")
    assert "Row 5005: undone" in flash.inner_text()
    assert "outlier" not in key.inner_text()
    tab.keyboard.press("Escape")
    tab.get_by_role("tab", name="Review").click()
    tab.locator(".review h2 .said", has_text="row 1").wait_for()  # the queue is there
    tab.keyboard.press("Escape")
    press(tab, "f")
    assert "now it is row 5000" in flash.inner_text()
    assert done(tab).startswith("row 1, 0 of 100 done")  # a row that was not seen is not marked
    press(tab, "f")
    assert done(tab).startswith("row 2, 1 of 100 done: 0 outlier, 1 fine")


def test_each_row_stands_beside_the_nearest_typical_one_with_its_guilty_cells_painted(open_page, address):
    tab = start(open_page(address))
    cells = "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))"
    found = tab.locator(".cells-beside tbody tr").evaluate_all(cells)
    # The typical row's own size is 10 + 10 · 300 / 399.
    assert found == [["size", "999", "17.518796992481203"], ["colour", "red", "blue"], ["age", "30", "30"]]
    assert "nearest typical: row 5300" in tab.locator(".cells-beside thead").inner_text()
    assert tab.locator("td.guilty").all_inner_texts() == ["999", "red"]  # age gives, it does not take
    why = tab.locator(".sentences li").all_text_contents()
    assert why[0].startswith("size 999, above 99% of the rows; half of the rows lie from 12.5")
    assert why[1].startswith("colour red, as are 5% of the rows")
    assert "−0.5" in why[0]
    tab.get_by_role("button", name="nearest typical: row 5300").click()
    tab.locator(".facts", has_text="Row 5300").wait_for()


def test_the_queue_is_what_the_threshold_and_the_filter_leave_in_the_order_of_t(open_page, cloud, cloud_page):
    tab = open_page(cloud_page)
    tab.evaluate("localStorage.clear()")
    tab.get_by_role("tab", name="Review").click()
    assert "0 of 100 done" in done(tab)  # without a threshold, the first hundred
    tab.locator("input[type=search]").fill("group:red")
    tab.locator(".bar .rows", has_text="667 of 2,000 rows").wait_for()
    tab.get_by_role("tab", name="Ranking").click()
    tab.get_by_label("Threshold", exact=True).select_option("fdr")
    tab.get_by_role("tab", name="Review").click()
    tab.wait_for_function("() => !document.querySelector('.review .said').textContent.includes('of 100')")
    turn(tab, 1)
    tab.locator("canvas.points").focus()
    press(tab, ["Escape", "n"])
    f = blend(cloud.heads, 1.0)
    red = np.flatnonzero(np.arange(2000) % 3 == 0)
    first = red[np.argsort(f[red])][0]
    assert f"Row {first} " in tab.locator(".facts").inner_text()
    called = int(done(tab).split(" of ")[1].split()[0])
    press(tab, "p")  # round to the last of the queue
    assert f"row {called}, 0 of {called} done" in done(tab)
    assert f"Row {red[np.argsort(f[red])][called - 1]} " in tab.locator(".facts").inner_text()


def test_guilty_pixels_are_painted_on_the_picture(open_page, tmp_path):
    pictures = np.zeros((60, 4, 4), dtype=np.uint8)
    view = some_view(
        60,
        items=items_of(pictures, 60),
        features=tuple("abcdefghijklmnop"),
        reasons=telling(*[[0, 0]] * 15, [-0.5, -0.5]),  # the pixel at the lower right takes all
        neighbours=lambda rows: np.full((len(rows), 6), 7),
    )
    tab = open_page(exported(view, tmp_path))
    tab.get_by_role("tab", name="Review").click()
    heat = tab.locator(".review canvas.heat")
    heat.wait_for()
    alpha = heat.evaluate("(c) => [...c.getContext('2d').getImageData(0, 0, 4, 4).data].filter((_, k) => k % 4 === 3)")
    assert alpha == [0] * 15 + [255]
    assert tab.locator(".review figure").count() == 2
    tab.locator("ol.cards").first.wait_for(state="hidden")


def test_the_server_keeps_marks_in_a_file_and_gives_them_back(open_page, reviewed, tmp_path):
    path = tmp_path / "model.rows.marks.csv"
    path.write_text("row,mark,note\n5001,fine,before\n9000,outlier,of a row that is gone\n")
    with serving(reviewed, marks_file=path) as server:
        tab = open_page(server.url + "#rule=share_0.05&panel=review")
        tab.get_by_text("1 of 20 done: 0 outlier, 1 fine, 0 later").wait_for()
        tab.locator(".facts", has_text="Row 5000 ").wait_for()
        press(tab, "o")
        tab.locator(".facts", has_text="Row 5002 ").wait_for()  # the one between has its verdict
        tab.wait_for_function("() => fetch('marks').then((a) => a.json()).then((all) => all.marks.length === 3)")
        tab.locator("summary", has_text="Saved").click()
        tab.get_by_text("kept in model.rows.marks.csv; 1 mark of rows that are not here, kept as well").wait_for()
        tab.locator(".cells-beside", has_text="row 5300").wait_for()  # asked of the server
        assert [(one["row"], one["mark"], one["note"]) for one in marks.read(path)] == [
            (5001, "fine", "before"),
            (9000, "outlier", "of a row that is gone"),
            (5000, "outlier", ""),
        ]


def test_marks_are_taken_only_from_the_reader_and_only_if_they_are_marks(reviewed, tmp_path):
    import http.client

    def put(body, path="/marks", cookie=True, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        own = {"Cookie": f"{server.cookie}={server.token}"} if cookie else {}
        connection.request("PUT", path, body, own | headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    good = json.dumps([{"key": "", "row": 1, "mark": "fine"}])
    with serving(reviewed, marks_file=tmp_path / "no" / "marks.csv") as server:
        assert put(good, cookie=False)[0] == 403
        assert put(good, Host="evil.example")[0] == 403
        assert put(good, path="/data")[0] == 404
        assert put(good, **{"Sec-Fetch-Site": "cross-site"})[0] == 404
        assert put(good, **{"Content-Length": "99999999999"})[0] == 413
        no_mark = dict.fromkeys(("{}", "[3]", '[{"key": "", "row": -1, "mark": "fine"}]'), "mark")
        for bad, problem in (no_mark | dict.fromkeys(("nothing", "[" * 100_000), "no JSON")).items():
            status, text = put(bad)
            assert status == 422, bad[:50]
            assert problem in text
        status, text = put(good)
        assert status == 500
        assert "does not exist" in text  # the page shows it


def test_marks_serve_the_model_in_one_line():
    """The lines of docs/internals/explorer.md: calibrate with what is fine, fit again without the outliers."""
    from centrality.apps.explorer.widget import Widget
    from tests.conftest import quick

    X = np.random.default_rng(0).normal(size=(300, 3))
    X[:5] += 20
    model = quick(max_steps=100).fit(X)
    widget = Widget(some_view(300))
    widget.marks = {**dict.fromkeys(range(5), "outlier"), **dict.fromkeys(range(50, 150), "fine")}
    with pytest.warns(UserWarning, match="About 100% of these rows are training rows"):
        model.calibrate(X[widget.marked("fine")])
    assert len(model.fitted_.calibration_rows().units) == 100
    again = quick(max_steps=100).fit(np.delete(X, widget.marked("outlier"), axis=0))
    assert again.centrality(X[:5], t=0).max() < again.centrality(X[5:], t=0).min()


@pytest.mark.parametrize("content", [b"\x94\xff\x00\x81", b'row,mark\n"' + b"x" * 200_000])
def test_bytes_that_are_no_marks_are_refused_in_a_sentence(tmp_path, content):
    (tmp_path / "marks.csv").write_bytes(content)
    with pytest.raises(InputError, match=r"marks\.csv holds no marks: "):
        marks.read(tmp_path / "marks.csv")
