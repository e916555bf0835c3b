"""The widget as Python sees it: traits that can be set and observed, answers to the page, a picture when saved."""

import base64
import io

import numpy as np
import pytest
import traitlets
from PIL import Image

from centrality._internal.checks import InputError
from centrality.apps.explorer import marks
from centrality.apps.explorer.content import items_of
from centrality.apps.explorer.questions import typical_with
from centrality.apps.explorer.widget import Widget
from tests.explorer.pages import some_view

NAMES = ["t", "query", "hovered", "selection", "marks", "notes"]


@pytest.fixture
def widget():
    pictures = np.random.default_rng(0).integers(0, 255, (50, 4, 4)).astype(np.uint8)
    return Widget(some_view(rows=np.arange(50) + 1000, items=items_of(pictures, 50)))


def from_page(widget, **state):
    """What a notebook does when the page has changed something: numbers of rows come as bytes, keys as texts."""
    widget.set_state(state)


def test_a_model_explores_its_rows_and_says_why(mixed, tmp_path):
    model, table = mixed
    widget = model.explore(table, on="pca")
    sent = []
    widget.send = lambda content, buffers=None: sent.append(content)
    widget._handle_custom_msg({"question": 1, "ask": "why", "row": 7}, [])  # noqa: SLF001  (what a notebook calls)
    assert sent[0]["question"] == 1
    by_local = max(sent[0]["answer"]["reasons"], key=lambda reason: abs(reason["local"]))
    assert by_local["name"] == "width"
    assert widget.t == model.t
    widget.export(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_pictures_that_are_not_in_the_page_are_asked_for(widget):
    sent = []
    widget.send = lambda content, buffers=None: sent.append((content, buffers))
    widget._handle_custom_msg({"question": 4, "picture": 7}, [])  # noqa: SLF001
    assert sent == [({"question": 4, "picture": True}, [widget.view.items.picture(7)])]


def test_a_picture_in_full_is_as_large_as_it_is():
    photos = np.zeros((50, 20, 300), dtype=np.uint8)
    widget, sent = Widget(some_view(items=items_of(photos, 50))), []
    widget.send = lambda content, buffers=None: sent.extend(buffers)
    for full in (False, True):
        widget._handle_custom_msg({"question": 1, "picture": 7, "full": full}, [])  # noqa: SLF001
    assert [Image.open(io.BytesIO(file)).width for file in sent] == [96, 300]


def test_questions_are_answered_and_what_is_wrong_is_said(mixed):
    model, table = mixed
    widget, sent = model.explore(table, on="pca"), []
    widget.send = lambda content, buffers=None: sent.append(content)
    questions = [("typical", 0.5), ("typical", 7), ("findings", None), ("texts", None), ("words", "name")]
    for number, (ask, given) in enumerate(questions):
        widget._handle_custom_msg({"question": number, "ask": ask, "row": 7, "given": given}, [])  # noqa: SLF001
    assert [one["question"] for one in sent] == [0, 1, 2, 3, 4]
    assert sent[0]["answer"] == typical_with(widget.view, 7, 0.5)
    assert "t must" in sent[1]["wrong"]
    assert sent[2]["answer"]["verdict"]
    assert sent[3]["answer"] == {"name": "row 7"}
    assert sent[4]["answer"]["words"] == []


def test_traits_are_observed_when_the_page_changes_them(widget):
    seen = []
    widget.observe(lambda change: seen.append((change["name"], change["new"])), NAMES)
    from_page(widget, t=0.25)
    from_page(widget, query="a>3")
    from_page(widget, hovered=1003)
    from_page(widget, selection=memoryview(np.array([1003, 1007], dtype="<u4").tobytes()))
    from_page(widget, marks={"1003": "fine", "1007": "outlier"}, notes={"1003": "so it was"})
    said = {name: value.tolist() if name == "selection" else value for name, value in seen}
    assert said == {
        "t": 0.25, "query": "a>3", "hovered": 1003, "selection": [1003, 1007],
        "marks": {1003: "fine", 1007: "outlier"}, "notes": {1003: "so it was"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("given", "rows"),
    [([1007, 1003, 1007], [1003, 1007]), ({1001}, [1001]), (np.arange(50) < 2, [1000, 1001]), ([], [])],
)
def test_a_selection_set_in_python_reaches_the_page(widget, given, rows):
    widget.selection = given
    assert widget.selection.tolist() == rows
    state = widget.get_state("selection")["selection"]
    assert np.frombuffer(state, dtype="<u4").tolist() == rows


def test_what_makes_no_sense_is_refused(widget):
    with pytest.raises(InputError, match=r"rows that the widget shows, got \[3, 4\]"):
        widget.selection = [3, 4, 1001]
    with pytest.raises(traitlets.TraitError, match="whole numbers of rows"):
        widget.selection = [0.5]
    with pytest.raises(traitlets.TraitError):
        widget.t = 1.5
    with pytest.raises(traitlets.TraitError):
        widget.marks = {1003: "perhaps"}
    assert widget.selection.tolist() == []


def test_marks_become_rows_and_a_file(widget, tmp_path):
    widget.marks = {1007: "outlier", 1003: "fine", 1001: "fine"}
    widget.notes = {1001: 'a "note", with\nlines', 1049: "no verdict"}
    assert widget.marked("fine").tolist() == [1001, 1003]
    assert widget.marked("later").tolist() == []
    with pytest.raises(InputError, match="one of outlier, fine, later, got 'good'"):
        widget.marked("good")
    widget.save_marks(tmp_path / "marks.csv")
    assert marks.rows_marked("outlier", tmp_path / "marks.csv").tolist() == [1007]
    again = {one["row"]: one["note"] for one in marks.read(tmp_path / "marks.csv")}
    assert again == {1001: 'a "note", with\nlines', 1003: "", 1007: "", 1049: "no verdict"}
    marks.MarksFile(tmp_path / "marks.csv").take({"key": "", "row": 1020, "mark": "later"})  # somebody else
    widget.marks = {1007: "fine"}
    widget.save_marks(tmp_path / "marks.csv")  # what was taken back is taken back, what is another's stays
    found = {one["row"]: one["mark"] for one in marks.read(tmp_path / "marks.csv")}
    assert found == {1001: "", 1007: "fine", 1020: "later", 1049: ""}


def test_a_saved_notebook_shows_a_picture_of_the_map(widget):
    data, _ = widget._repr_mimebundle_()  # noqa: SLF001  (what a notebook calls)
    assert "application/vnd.jupyter.widget-view+json" in data
    with Image.open(io.BytesIO(base64.b64decode(data["image/png"]))) as picture:
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 20)}
    near = {name: min(np.abs(np.subtract(one, wanted)).max() for one in colours)
            for name, wanted in {"peripheral": (68, 1, 84), "central": (195, 223, 37)}.items()}  # fmt: skip
    assert max(near.values()) < 25, near  # both ends of the colours are there
