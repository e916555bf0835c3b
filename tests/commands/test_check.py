"""centrality check: the findings in words and as JSON, files, exit statuses."""

import json

import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from centrality.datasets import houses


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("check") / "houses.csv"
    tables.write(houses(), path)
    return path


def test_it_says_what_is_wrong_and_writes_the_rows_and_the_report(file, tmp_path, capsys):
    status = main(
        ["check", str(file), "-o", str(tmp_path / "odd.csv"), "--html", str(tmp_path / "odd.html"), "--quiet"]
    )
    said = capsys.readouterr().out
    assert status == 0
    assert said.startswith("1,200 rows: ")
    assert "price" in said
    rows = tables.read(tmp_path / "odd.csv")
    assert {1194, 1195, 1197, 1199} <= set(rows["row"].to_pylist())
    assert rows.column_names[:4] == ["finding", "reason", "severity", "row"]
    assert "houses.csv" in (tmp_path / "odd.html").read_text(encoding="utf-8")


def test_the_rows_are_written_as_a_sheet_too_and_a_file_without_findings_gives_one_without_rows(file, tmp_path):
    assert main(["check", str(file), "-o", str(tmp_path / "odd.xlsx"), "--quiet"]) == 0
    assert main(["check", str(file), "-o", str(tmp_path / "odd.csv"), "--quiet"]) == 0
    sheet, text = tables.read(tmp_path / "odd.xlsx"), tables.read(tmp_path / "odd.csv")
    assert sheet.column_names == text.column_names
    assert sheet["row"].to_pylist() == text["row"].to_pylist()
    plain = tmp_path / "plain.csv"
    plain.write_text("a,b\n" + "".join(f"{k % 7},{k % 5}\n" for k in range(200)))
    assert main(["check", str(plain), "-o", str(tmp_path / "none.csv"), "--quiet"]) == 0
    assert (tmp_path / "none.csv").read_text().splitlines() == ["finding,reason,severity,row,a,b"]


@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_words_for_nothing_that_the_reader_takes_for_gaps_are_found(ending, tmp_path, capsys):
    word = {3: "N/A", 8: "N/A", 9: "", 20: "NULL"}
    cells = [word.get(k, k % 7) for k in range(200)]
    tables.write(pa.table({"a": [str(cell) for cell in cells], "b": [k % 5 for k in range(200)]}), tmp_path / "x.csv")
    if ending == "xlsx":
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        for row in [["a", "b"], *([cell, k % 5] for k, cell in enumerate(cells))]:
            book.active.append(row)
        book.save(tmp_path / "x.xlsx")
    assert main(["check", str(tmp_path / f"x.{ending}"), "--json", "--quiet"]) == 0
    found = {one["sentence"]: one["rows"] for one in json.loads(capsys.readouterr().out)["findings"]}
    assert found["a is written 'N/A' where nothing is known"] == [3, 8]
    assert found["a is written 'NULL' where nothing is known"] == [20]


def test_it_fails_on_findings_as_severe_as_asked_for(file, capsys):
    assert main(["check", str(file), "--fail-on", "1000", "--json", "--quiet"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["findings"][0]["severity"] >= 1000
    assert set(found) >= {"verdict", "rows", "findings"}


def test_it_does_not_fail_on_a_file_without_findings(tmp_path, capsys):
    path = tmp_path / "plain.csv"
    path.write_text("a,b\n" + "".join(f"{k % 7},{k % 5}\n" for k in range(200)))
    assert main(["check", str(path), "--fail-on", "1", "--quiet"]) == 0
    assert "nothing wrong was found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["check", "nowhere.csv"], "There is no file at nowhere.csv"),
        (["check", "-"], "A file was wanted, got -"),
        (["check", "houses", "--label", "pride"], "Did you mean 'price'?"),
        (["check", "houses", "--html", "no/such/folder/r.html"], "no/such/folder"),
    ],
)
def test_wrong_input_is_said_in_one_line(arguments, said, capsys):
    assert main(arguments) == 2
    errors = capsys.readouterr().err
    assert said in errors
    assert "Traceback" not in errors
