"""What commands write beside what they print: sheets of Excel, separators of the input, p-values and reasons."""

import csv
from datetime import datetime

import numpy as np
import openpyxl
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from tests.commands.said import as_json, refused, said


@pytest.fixture(scope="module")
def semicolons(tmp_path_factory):
    """100 rows with a semicolon between fields; the last is odd."""
    rng = np.random.default_rng(0)
    path = tmp_path_factory.mktemp("semicolons") / "rows.csv"
    lines = [
        f"{a:.3f};{b:.3f};{kind}"
        for a, b, kind in zip(*rng.normal(size=(2, 99)), ["ash", "oak", "fir"] * 33, strict=True)
    ]
    path.write_text("\n".join(["a;b;kind", *lines, "40;0;ash", ""]))
    return path


@pytest.mark.parametrize(
    "command",
    [["rank"], ["detect", "--contamination", "0.05"], ["pick", "--odd", "5"], ["copies", "--columns", "kind"]],
    ids=lambda command: command[0],
)
def test_fields_are_separated_as_in_the_input(command, semicolons, tmp_path, capsys):
    said(capsys, command[0], semicolons, *command[1:], "-o", tmp_path / "out.csv", "--quiet")
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert {"row", "kind"} <= set(header.split(";"))


def test_scores_that_replace_others_are_separated_as_in_the_input(semicolons, tmp_path, capsys):
    said(capsys, "fit", semicolons, "-o", tmp_path / "m.safetensors", "--quiet")
    for rows, scores in ((semicolons, "one.csv"), (tmp_path / "one.csv", "two.csv")):
        said(capsys, "score", tmp_path / "m.safetensors", rows, "-o", tmp_path / scores, "--quiet")
    assert (tmp_path / "two.csv").read_text().splitlines()[0] == "a;b;kind;centrality"


def test_a_ranking_goes_to_excel_with_p_values_and_reasons(semicolons, tmp_path, capsys):
    said(capsys, "rank", semicolons, "-o", tmp_path / "r.xlsx", "--quiet")
    names, first, *rest = openpyxl.load_workbook(tmp_path / "r.xlsx").active.iter_rows(values_only=True)
    assert names == ("row", "centrality", "p_value", "severity", "reasons", "a", "b", "kind")
    assert first[0] == 99
    assert first[4].startswith("a 40, typically ")
    assert len(rest) == 99


def test_outliers_by_their_share_have_p_values_too(semicolons, tmp_path, capsys):
    said(capsys, "detect", semicolons, "--contamination", "0.05", "-o", tmp_path / "d.xlsx", "--quiet")
    written = tables.read(tmp_path / "d.xlsx")
    assert written["row"][0].as_py() == 99
    assert 0 < written["p_value"][0].as_py() < 0.05
    assert written["reasons"][0].as_py().startswith("a 40")


def test_cells_come_back_from_a_sheet_as_they_were(tmp_path):
    table = pa.table(
        {
            "when": [datetime(2024, 1, 31, 8, 30), None],
            "text": ["=1+1", "bell\x07"],
            "id": [2**60 + 1, 7],
            "number": [0.1, float("nan")],
            "yes": [True, False],
        }
    )
    tables.write(table, tmp_path / "t.xlsx")
    _, first, second = openpyxl.load_workbook(tmp_path / "t.xlsx").active.iter_rows(values_only=True)
    assert first == (datetime(2024, 1, 31, 8, 30), "=1+1", str(2**60 + 1), 0.1, True)
    assert second == (None, "bell\ufffd", 7, None, False)


def test_reasons_in_a_file_say_what_was_there_and_what_is_usual(semicolons, tmp_path, capsys):
    said(capsys, "fit", semicolons, "-o", tmp_path / "m.safetensors", "--quiet")
    said(capsys, "score", tmp_path / "m.safetensors", semicolons, "-o", tmp_path / "s.csv", "--explain", "--quiet")
    with (tmp_path / "s.csv").open(newline="") as file:
        *_, last = csv.DictReader(file, delimiter=";")
    assert last["reasons"].startswith("a 40, typically ")


@pytest.mark.parametrize(("above", "line"), [("", 101), ("Trees of 2024\n\n", 103)])
def test_it_is_said_once_how_rows_are_counted(above, line, semicolons, tmp_path, capsys):
    (tmp_path / "rows.csv").write_text(above + semicolons.read_text())
    text = said(capsys, "rank", tmp_path / "rows.csv", "--quiet")
    assert text.count("Rows count from 0") == 1
    assert f"row 99 is row {line} in a spreadsheet" in text


def test_a_ranking_of_stdin_cannot_be_written_as_it_is_read_twice(semicolons, tmp_path, capsys):
    said(capsys, "fit", semicolons, "-o", tmp_path / "m.safetensors", "--quiet")
    assert "-o wants rows" in refused(capsys, "rank", tmp_path / "m.safetensors", "-", "-o", tmp_path / "r.csv")


def test_a_quiet_fit_names_the_model_alone(semicolons, tmp_path, capsys):
    text = said(capsys, "fit", semicolons, "-o", tmp_path / "m.safetensors", "--quiet")
    assert text == f"Model: {tmp_path / 'm.safetensors'}\n"
    assert as_json(capsys, "fit", semicolons, "-o", tmp_path / "m.safetensors", "--quiet")["rows"] == 100


def test_drift_can_fail_a_job(tmp_path, capsys):
    rng = np.random.default_rng(0)
    for name, mean in (("old", 0), ("same", 0), ("new", 3)):
        tables.write(pa.table({"a": rng.normal(mean, size=400), "b": rng.normal(size=400)}), tmp_path / f"{name}.csv")
    drift = ["drift", str(tmp_path / "old.csv")]
    assert main([*drift, str(tmp_path / "new.csv"), "--fail-on", "0"]) == 1
    assert main([*drift, str(tmp_path / "new.csv"), "--fail-on", "0.2"]) == 1
    assert main([*drift, str(tmp_path / "same.csv"), "--fail-on", "0"]) == 0
    assert main([*drift, str(tmp_path / "new.csv")]) == 0
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main([*drift, str(tmp_path / "new.csv"), "--fail-on", "2"])
    assert "an effect from 0 to 1 was wanted, got 2" in capsys.readouterr().err


def test_picked_rows_are_written_with_reasons(semicolons, tmp_path, capsys):
    said(capsys, "pick", semicolons, "--odd", "3", "-o", tmp_path / "odd.csv", "--quiet")
    with (tmp_path / "odd.csv").open(newline="") as file:
        first = next(csv.DictReader(file, delimiter=";"))
    assert (first["row"], first["reasons"][:5]) == ("99", "a 40,")
