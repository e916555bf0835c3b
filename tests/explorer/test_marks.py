"""The file of marks: merged, never overwritten, readable by people and spreadsheets."""

import csv
import json
import re
import subprocess
import sys
import threading

import numpy as np
import pytest

from centrality._internal.checks import InputError
from centrality.apps.explorer import marks, server
from centrality.apps.explorer.marks import MarksFile
from tests.explorer.pages import some_view


def said(key, row=0, **what):
    return {"key": key, "row": row, **what}


def held(path):
    return {mark["key"]: (mark["mark"], mark["note"]) for mark in marks.read(path)}


def test_a_change_says_only_what_is_new_and_the_rest_stays(tmp_path):
    file = MarksFile(tmp_path / "m.csv")
    file.take(said("a", 3, mark="fine"))
    file.take(said("b", 4, note="why?"))
    (now,) = file.take(said("a", 3, note="big"))
    assert now.pop("at") != ""
    assert now == {"key": "a", "row": 3, "mark": "fine", "tags": "", "note": "big", "by": "", "version": 3}
    head, *lines = (tmp_path / "m.csv").read_text(encoding="utf-8").splitlines()
    assert head == "key,row,mark,tags,note,by,at,version"
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
    assert [re.sub(moment, "AT", line) for line in lines] == ["a,3,fine,,big,,AT,3", "b,4,,,why?,,AT,2"]


def test_a_mark_that_is_taken_back_is_gone_for_readers_and_the_counter_goes_on(tmp_path):
    file = MarksFile(tmp_path / "m.csv")
    file.take(said("a", mark="fine"))
    file.take(said("a", mark=""))
    assert file.marks() == []
    assert file.take(said("b", mark="later"))[0]["version"] == 3


def test_what_is_said_twice_changes_nothing(tmp_path):
    file = MarksFile(tmp_path / "m.csv")
    once = file.take(said("a", mark="fine", note="n", was=""))
    assert file.take(said("a", mark="fine", note="n", was="")) == once  # an answer was lost, and the page asks again


def test_two_explorers_on_one_file_do_not_overwrite_each_other(tmp_path):
    one, other = MarksFile(tmp_path / "m.csv"), MarksFile(tmp_path / "m.csv")
    one.take(said("a", mark="fine"))
    other.take(said("b", mark="outlier"))
    one.take(said("a", mark="later"))
    assert held(tmp_path / "m.csv") == {"a": ("later", ""), "b": ("outlier", "")}


def test_of_two_notes_written_at_the_same_time_both_are_kept(tmp_path):
    file = MarksFile(tmp_path / "m.csv")
    file.take(said("a", note="seen", was=""))
    file.take(said("a", note="seen by me", was="seen"))
    assert file.take(said("a", note="not by me", was="seen"))[0]["note"] == "seen by me | not by me"
    assert file.take(said("a", note="", was="seen by me | not by me"))[0]["note"] == ""


WRITER = """
import sys
from centrality.apps.explorer.marks import MarksFile
file = MarksFile(sys.argv[1])
for k in range(40):
    file.take({"key": f"{sys.argv[2]}-{k}", "row": k, "mark": "fine", "note": sys.argv[2]})
"""


@pytest.mark.slow
def test_processes_and_threads_that_write_at_the_same_time_lose_nothing(tmp_path):
    path = tmp_path / "m.csv"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("one", "two", "three")]
    shared = MarksFile(path)
    threads = [
        threading.Thread(target=lambda name=name: [shared.take(said(f"{name}-{k}", k, mark="fine")) for k in range(40)])
        for name in ("four", "five")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    found = marks.read(path)
    assert {mark["key"] for mark in found} == {
        f"{name}-{k}" for name in ("one", "two", "three", "four", "five") for k in range(40)
    }
    assert sorted(mark["version"] for mark in found) == list(range(1, 201))  # nobody's change was another's
    assert [file.name for file in tmp_path.iterdir()] == ["m.csv"]


def test_rows_are_found_by_their_keys_wherever_they_stand_now(tmp_path):
    MarksFile(tmp_path / "m.csv").take(said("a", 0, mark="fine"), said("b", 1, mark="fine"), said("c", 2, mark="fine"))
    assert marks.rows_marked("fine", tmp_path / "m.csv").tolist() == [0, 1, 2]
    assert marks.rows_marked("fine", tmp_path / "m.csv", keys=["new", "c", "a"]).tolist() == [1, 2]
    with pytest.raises(InputError, match="one of outlier, fine, later, got 'good'"):
        marks.rows_marked("good", tmp_path / "m.csv")


def test_a_file_written_by_hand_needs_only_row_and_mark_and_its_lines_get_keys_when_they_are_changed(tmp_path):
    (tmp_path / "m.csv").write_text("row,mark,owner\n3,Fine,Ann\n4,outlier,Bob\n")
    file = MarksFile(tmp_path / "m.csv")
    assert marks.rows_marked("fine", tmp_path / "m.csv").tolist() == [3]
    file.take(said("k3", 3, note="checked"))
    with (tmp_path / "m.csv").open(newline="") as text:
        lines = list(csv.DictReader(text))
    assert [(line["key"], line["row"], line["mark"], line["note"], line["owner"]) for line in lines] == [
        ("k3", "3", "fine", "checked", "Ann"),
        ("", "4", "outlier", "", "Bob"),  # what people have added stays
    ]


@pytest.mark.parametrize(
    "note",
    [
        "=1+1", "+A1", "-A1", "@SUM(A1)", "'=1", "''=1", "'so", "-5", "+3.5e2", "-", "\t=x", "\r", 'a "b", c\nd', "ü €",
        "x" * 300_000, "", "1e5",
    ],
)  # fmt: skip
def test_every_note_comes_back_as_it_was_and_no_spreadsheet_computes_it(tmp_path, note):
    MarksFile(tmp_path / "m.csv").take(said(note or "k", note=note, mark="later"))
    assert held(tmp_path / "m.csv") == {note or "k": ("later", note)}
    with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as text:
        cell = next(csv.DictReader(text))["note"]
    computed = cell[:1] in ("=", "+", "-", "@", "\t", "\r")
    assert not computed or float(cell) == float(note)  # a number stays a number


@pytest.mark.parametrize(
    ("encoding", "separator"), [("utf-8-sig", ","), ("cp1252", ";"), ("latin-1", ","), ("utf-16", "\t"), ("utf-8", ";")]
)
def test_what_spreadsheets_save_is_read(tmp_path, encoding, separator):
    text = f"key,row,mark,note\nk,7,outlier,größer\n".replace(",", separator)  # noqa: F541
    (tmp_path / "m.csv").write_bytes(text.encode(encoding))
    (mark,) = MarksFile(tmp_path / "m.csv").take(said("k", 7, mark="fine"))
    assert (mark["mark"], mark["note"]) == ("fine", "größer")


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"a,b\n1,2\n", "columns row, mark and note were wanted, got 'a,b'"),
        (b"row,mark\nx,fine\n", "line 2: a row was wanted by its number, got 'x'"),
        (b"row,mark\n1,good\n", "line 2: one of outlier, fine, later was wanted, or nothing, got 'good'"),
        (b"row,mark\n1,fine,more\n", "line 2: as many fields were wanted as there are columns"),
        (b"row,mark,mark\n1,fine,fine\n", "columns row, mark and note"),
        (b'row,mark\n1,"fine\n', "no CSV file"),
        (np.random.default_rng(0).bytes(5000), "holds no marks"),
        (b"\x89PNG\r\n\x1a\n\0\0", "holds no marks"),
        (b"\xff\xfe\x00", "holds no marks"),
    ],
)
def test_a_file_of_something_else_is_refused_in_a_sentence_and_left_alone(tmp_path, data, problem):
    (tmp_path / "m.csv").write_bytes(data)
    with pytest.raises(InputError, match=problem) as error:
        marks.read(tmp_path / "m.csv")
    assert str(error.value).isprintable()
    with pytest.raises(InputError):
        MarksFile(tmp_path / "m.csv")
    assert (tmp_path / "m.csv").read_bytes() == data


def test_an_empty_file_and_none_hold_no_marks(tmp_path):
    assert marks.read(tmp_path / "none.csv") == []
    (tmp_path / "m.csv").write_text("\n")
    assert MarksFile(tmp_path / "m.csv").take(said("a", mark="fine"))[0]["version"] == 1


def test_without_a_file_marks_are_kept_in_memory():
    file = MarksFile()
    file.take(said("a", 1, mark="fine"))
    assert [mark["row"] for mark in file.marks()] == [1]


@pytest.mark.parametrize(
    "body", ["{}", "[3]", '{"key": "a", "row": -1}', '{"key": 1, "row": 1}',
             '{"key": "a", "row": 1, "mark": "good"}', '{"key": "a", "row": 1, "note": 5}', '{"key": "a", "row": true}']
)  # fmt: skip
def test_a_request_that_holds_no_mark_is_refused(body):
    with pytest.raises(InputError, match="mark"):
        marks.changes_of(json.loads(body))


def test_a_request_may_hold_a_long_note():
    note = "long " * 10_000
    assert marks.changes_of([said("a", 1, note=note)])[0]["note"] == note


def test_many_marks_are_merged_in_one_go_with_name_and_time(tmp_path):
    file = MarksFile(tmp_path / "m.csv")
    kept = file.take(*[said(f"k{row}", row, mark="fine", by="Ann") for row in range(900)])
    assert [mark["version"] for mark in kept] == list(range(1, 901))
    assert {(mark["by"], mark["mark"]) for mark in marks.read(tmp_path / "m.csv")} == {("Ann", "fine")}
    (later,) = file.take(said("k3", 3, note="no", by="Bob"))
    assert (later["mark"], later["by"], later["version"]) == ("fine", "Bob", 901)


def test_tags_are_tidied_and_are_enough_to_be_kept(tmp_path):
    file = MarksFile(tmp_path / "m.csv")
    (now,) = file.take(said("a", tags=" unit; typo ;unit;"))
    assert now["tags"] == "typo; unit"
    assert [mark["tags"] for mark in file.marks()] == ["typo; unit"]
    file.take(said("a", tags=""))
    assert file.marks() == []


def test_marks_in_a_page_are_read_like_those_of_a_file(tmp_path):
    file = MarksFile()
    file.take(said("a", 3, mark="outlier", note="</script><b>", tags="typo", by="Ann"), said("b", 4, mark="later"))
    server.export(some_view(), tmp_path / "page.html", file.marks())
    found = marks.read(tmp_path / "page.html")
    assert [{**mark, "version": 0} for mark in file.marks()] == found
    server.export(some_view(), tmp_path / "none.html")
    assert marks.read(tmp_path / "none.html") == []


@pytest.mark.parametrize("held", ["[3]", "{", '[{"row": -1, "mark": "fine"}]', '[{"row": 1, "mark": "nice"}]', "3"])
def test_a_page_with_strange_marks_is_refused_in_a_sentence(tmp_path, held):
    text = server.single_file_page(some_view()).replace("[]</script>", f"{held}</script>")
    assert held in text
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=r"page\.html"):
        marks.read(tmp_path / "page.html")


def test_what_is_taken_over_takes_nothing_back_and_keeps_both_notes(tmp_path):
    file = MarksFile(tmp_path / "m.csv")
    file.take(said("a", mark="fine", note="mine"), said("b", mark="outlier"))
    others = MarksFile()
    others.take(said("a", note="theirs", by="Bob"), said("b", tags="typo"), said("c", mark="later"))
    file.take(*marks.as_changes(others.marks()))
    found = {mark["key"]: (mark["mark"], mark["tags"], mark["note"]) for mark in file.marks()}
    assert found == {"a": ("fine", "", "mine | theirs"), "b": ("outlier", "typo", ""), "c": ("later", "", "")}
