"""Jobs on many rows: learn from marks, pick a few, find copies; asked of Python, and on the page in a browser."""

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from centrality import FUSE, Chain, copies, select
from centrality._internal.checks import InputError
from centrality.apps.explorer.questions import answer_to
from centrality.apps.explorer.server import Explorer
from centrality.apps.explorer.view import View, view_of
from centrality.apps.explorer.widget import Widget
from tests.conftest import quick
from tests.explorer.pages import exported, settle
from tests.explorer.test_live import Counted


@pytest.fixture(scope="module")
def planted():
    """A table of 300 rows: row 3 has a copy, row 5 one but for its height, and ten rows are odd by their width."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    X[40:50, 1] = 8.0
    X[60], X[70] = X[3], X[5]
    X[70, 2] = 0.25
    names = ("length", "width", "height", "depth")
    kind = np.array(["barn", "house", "mill"])[np.arange(300) % 3]
    kind[60], kind[70] = kind[3], kind[5]
    table = pa.table({**dict(zip(names, X.T, strict=True)), "kind": kind})
    return quick(max_steps=100).fit(table.select(list(names))), table


@pytest.fixture(scope="module")
def view(planted) -> View:
    model, table = planted
    return view_of(model, table, on=("length", "width"))


def marks_of(rows: dict[str, list[int]], n: int = 300) -> list[str | None]:
    marks: list[str | None] = [None] * n
    for mark, those in rows.items():
        for row in those:
            marks[row] = mark
    return marks


MARKED = {"outlier": [40, 41, 42], "fine": [0, 1, 2, 4]}


def test_what_is_left_is_ordered_as_the_model_orders_it(planted, view):
    model, table = planted
    wanted = model.review(table, marks_of(MARKED))
    found = view.jobs.review({**MARKED, "t": model.t})
    assert found == {"order": wanted.order.tolist(), "said": str(wanted)}


def test_picked_rows_are_those_that_select_picks(planted, view):
    model, table = planted
    everything = list(range(300))
    for what in ("typical", "odd", "diverse", "representative", "to label"):
        found = view.jobs.pick({"rows": everything, "k": 7, "what": what, "by": "", "t": model.t})
        assert found == select(model, table, 7, what).tolist()
    found = view.jobs.pick({"rows": everything, "k": 7, "what": "typical", "by": "kind", "t": model.t})
    assert found == select(model, table, 7, "typical", by="kind").tolist()


def test_rows_are_picked_among_those_given(planted, view):
    model, table = planted
    some = list(range(100, 200))
    found = view.jobs.pick({"rows": some, "k": 5, "what": "odd", "by": "", "t": 0.25})
    scores = model.centrality(table, 0.25)
    assert found == sorted(some, key=lambda row: scores[row])[:5]


def test_copies_of_a_row_are_those_that_copies_finds(planted, view):
    _, table = planted
    found = copies(table)
    for row in (3, 5, 60, 70, 9):
        others = {other for group in view.jobs.copies_of(row) for other in group["rows"]} - {row}
        assert sorted(others) == found.of(row)
    (exact,) = view.jobs.copies_of(3)
    assert exact == {"kind": "exact copies", "rows": [3, 60], "differs": ""}
    (one_column,) = view.jobs.copies_of(70)
    assert one_column["kind"] == "the same but for one column"
    assert one_column["differs"].startswith("height ")


class CountedIfThere(Counted):
    """Counts the words of texts; an empty one cannot be represented."""

    def transform(self, X):
        vectors = super().transform(X)
        vectors[[not text for text in X]] = np.nan
        return vectors


def test_rows_are_told_by_their_place_in_the_view_where_some_rows_of_the_data_have_no_score():
    rows = ["", *texts_of(60), ""]
    rows[9] = rows[5]
    view = view_of(Chain(CountedIfThere(), quick(max_steps=20)).fit(rows), rows, on="pca")
    assert view.rows.tolist() == list(range(1, 61))
    (group,) = view.jobs.copies_of(4)  # row 5 of the data
    assert group["rows"] == [4, 8]
    order = view.jobs.review({"outlier": [38], "fine": [0], "t": 0.5})["order"]
    assert sorted([*order, 38, 0]) == list(range(60))
    assert sorted(view.jobs.pick({"rows": [0, 59], "k": 2, "what": "odd", "t": 0.5})) == [0, 59]


def texts_of(n: int) -> list[str]:
    rng = np.random.default_rng(0)
    return [" ".join(rng.choice(["cat", "dog", "sun"], size=6)) + f" {i}" for i in range(n)]


def test_copies_of_texts_are_told_by_their_letters():
    rows = texts_of(60)
    rows[8] = rows[4]
    view = view_of(Chain(Counted(), quick(max_steps=20)).fit(rows), rows, on="pca")
    assert view.jobs.copies_of(4)[0] == {"kind": "exact copies", "rows": [4, 8], "differs": ""}


@pytest.mark.parametrize(
    ("job", "wanted", "message"),
    [
        ("review", {"outlier": [400], "fine": [], "t": 0.5}, "Numbers of rows were wanted as 'outlier'"),
        ("review", None, "Numbers of rows were wanted"),
        ("pick", {"rows": [1, 2], "k": 3, "what": "odd", "t": 0.5}, "at most 2"),
        ("pick", {"rows": [1, 2], "k": 1, "what": "nice", "t": 0.5}, "what must be one of"),
        ("pick", {"rows": [1, 2], "k": 1, "what": "odd", "by": "length", "t": 0.5}, "by must be a column"),
        ("pick", {"rows": [1, 2], "k": 1, "what": "odd", "t": 2}, "t must"),
    ],
)
def test_what_makes_no_sense_is_told(view, job, wanted, message):
    with pytest.raises(InputError, match=message):
        getattr(view.jobs, job)(wanted)


def test_a_server_answers_and_tells_what_is_wrong(view):
    with Explorer(view, port=0) as server:

        def ask(question: object) -> tuple[int, Any]:
            status, kind, body = server.take("/ask", json.dumps(question).encode())
            return status, json.loads(body) if kind == "application/json" else body.decode()

        status, picked = ask({"ask": "pick", "given": {"rows": [5, 3], "k": 2, "what": "odd", "t": 0.5}})
        assert (status, sorted(picked)) == (200, [3, 5])
        assert ask({"ask": "pick", "given": {}})[0] == 422
        assert ask({"ask": "review", "given": "nothing"})[0] == 422
        status, found = ask({"ask": "copies", "row": 3})
        assert (status, found[0]["rows"]) == (200, [3, 60])


def test_a_model_that_has_learned_says_that_it_cannot_learn_again(planted):
    model, table = planted
    again = view_of(model.learn_marks(table, marks_of(MARKED)), table, on=("length", "width"))
    with pytest.raises(InputError, match="has learned marks already"):
        again.jobs.review({**MARKED, "t": 0.5})


def test_a_widget_answers(view):
    widget, sent = Widget(view), []
    widget.send = lambda content, buffers=None: sent.append(content)
    given = {"rows": [5, 3], "k": 2, "what": "odd", "t": 0.5}
    for asked in ({"ask": "pick", "given": given}, {"ask": "copies"}, {"ask": "review", "given": {}}):
        question: Any = {"question": 1, "row": 3} | asked
        widget._answer(None, question, [])
    picked, found, wrong = sent
    assert sorted(picked["answer"]) == [3, 5]
    assert found["answer"][0]["rows"] == [3, 60]
    assert "wanted" in wrong["wrong"]


@pytest.mark.browser
def test_the_queue_learns_from_marks_and_can_go_back(view, planted, open_page, serve):
    model, _ = planted
    tab = open_page(serve(view), panel="review")
    said = []
    for _ in range(4):
        said.append(tab.locator(".review .facts").text_content().split(" ·")[0])
        tab.keyboard.press("o" if len(said) % 2 else "f")
        settle(tab)
    rows = [int(text.removeprefix("Row ")) for text in said]
    tab.get_by_role("button", name="Learn from 4 marks").click()
    tab.get_by_role("button", name="Learned from 4 marks").wait_for()
    wanted = model.review(planted[1], marks_of({"outlier": rows[::2], "fine": rows[1::2]}))
    assert tab.locator(".learn .said").text_content() == str(wanted)
    tab.locator(".review .facts", has_text=f"Row {wanted.order[0]} ·").wait_for()
    tab.keyboard.press("f")
    tab.get_by_role("button", name="Learn from 5 marks").wait_for()
    tab.get_by_role("button", name="order by score").click()
    assert tab.get_by_role("button", name="order by score").is_hidden()


@pytest.mark.browser
def test_copies_of_a_row_are_found_selected_and_marked_together(view, open_page, serve):
    tab = open_page(serve(view) + "#row=3", panel="review")
    tab.get_by_role("button", name="Find copies of this row").click()
    tab.get_by_role("button", name="Select 2 rows").click()
    tab.locator(".bulk").get_by_role("button", name="later").click()
    settle(tab)
    assert tab.locator(".review h2 .said").text_content().endswith("2 later")


@pytest.mark.browser
def test_a_few_rows_of_those_left_by_the_filter_are_picked(view, planted, open_page, serve):
    model, table = planted
    tab = open_page(serve(view) + "#query=kind%3Amill")
    tab.get_by_label("How many rows to pick").fill("4")
    tab.get_by_label("Which rows to pick").select_option("odd")
    tab.get_by_role("button", name="Pick", exact=True).click()
    tab.locator(".selection", has_text="4 rows").wait_for()
    mills = [row for row in range(300) if table["kind"][row].as_py() == "mill"]
    scores = model.centrality(table)
    wanted = sorted(sorted(mills, key=lambda row: scores[row])[:4])
    with tab.expect_download() as download:
        tab.locator(".selection").get_by_role("button", name="CSV").click()
    lines = download.value.path().read_text().splitlines()[1:]
    assert [int(line.split(",")[0]) for line in lines] == wanted


@pytest.mark.browser
def test_an_exported_page_says_what_it_needs_python_for(view, open_page, tmp_path):
    tab = open_page(exported(view, tmp_path) + "#row=3&query=kind:mill", panel="review")
    tab.keyboard.press("o")
    tab.locator(".learn .said", has_text="centrality refine").wait_for()
    assert tab.locator(".pick").text_content() == "Picking a few of them needs centrality explore or a notebook."
    assert tab.get_by_role("button", name="Find copies").count() == 0


@pytest.mark.browser
def test_both_ends_are_told_group_by_group(view, planted, open_page, serve):
    model, table = planted
    tab = open_page(serve(view))
    tab.get_by_label("Both ends of which rows").select_option("kind")
    tab.locator(".list:visible").nth(5).wait_for()
    scores, kind = model.centrality(table), np.array(table["kind"].to_pylist())
    for k, heading in enumerate(tab.locator(".list:visible h2").all_text_contents()):
        group = heading.split(": ")[1].split(",")[0]
        rows = np.flatnonzero(kind == group)
        ranked = rows[np.argsort(scores[rows], kind="stable")][:: 1 if heading.startswith("Oddest") else -1]
        cards = tab.locator(".list:visible").nth(k).locator("button.card")
        assert [int(card.get_attribute("data-row")) for card in cards.all()] == ranked[:3].tolist()
        assert f"{len(rows)} rows" in heading


@pytest.mark.browser
def test_the_column_that_makes_a_row_odd_comes_first_on_its_card(view, planted, open_page, serve, tmp_path):
    model, table = planted
    names = ["length", "width", "height", "depth"]
    parts = model.explain(table)
    for address in (serve(view), exported(view, tmp_path)):
        tab = open_page(address)
        row = int(tab.locator(".list button.card").first.get_attribute("data-row"))
        guilty = [names[j] for j in np.argsort(parts[row]) if abs(parts[row, j]) > 0.02 * np.abs(parts[row]).max()]
        tab.locator(".list .card .face i").first.filter(has_text=guilty[0]).wait_for()
        shown = tab.locator(".list .card").first.locator(".face i").all_text_contents()
        assert shown[: len(guilty)] == guilty


@pytest.mark.browser
def test_rows_on_which_two_models_disagree_are_listed_with_their_places_by_both(planted, open_page, serve):
    model, table = planted
    other = quick(max_steps=30).fit(table.select(["length", "depth"]))
    tab = open_page(serve(view_of(model, table, on=("length", "width"), against=other, against_name="small")))
    tab.get_by_role("button", name="The models disagree").click()
    tab.locator(".list h2", has_text="Odder by small").wait_for()
    here, there = model.centrality(table), other.centrality(table)
    places = [(scores[:, None] > scores).sum(1) for scores in (here, there)]
    differ = places[1] - places[0]
    for k, sign in enumerate((1, -1)):
        cards = tab.locator(".list:visible").nth(k).locator("button.card").all()
        rows = [int(card.get_attribute("data-row")) for card in cards]
        assert [int(sign * differ[row]) for row in rows] == sorted(sign * differ)[: len(rows)]
        row = rows[0]
        ranks = [1 + int((scores > scores[row]).sum()) for scores in (here, there)]
        assert f"rank {ranks[0]}, by small {ranks[1]}" in cards[0].text_content()


def test_a_selection_has_a_certificate_unless_its_rows_are_those_of_the_fit():
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0, holdout=0.5, max_steps=200).fit(rng.normal(size=(1000, 3)))
    new = np.concatenate([rng.normal(size=(400, 3)), rng.normal(size=(40, 3)) + 9])
    far = {"ask": "certificate", "given": {"rows": list(range(400, 440)), "t": 0.5}}
    assert answer_to(view_of(model, new), far) == str(model.certificate(new[400:], among=new, t=0.5))
    of_the_fit = FUSE(random_state=0, max_steps=200).fit(new)
    assert answer_to(view_of(of_the_fit, new), far) == ""
