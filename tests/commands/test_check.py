"""centrality check: the findings in words and as JSON, files, exit statuses."""

import json

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
