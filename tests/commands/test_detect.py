"""centrality detect: the outliers of a file under a rule, in the terminal, as JSON, and in a file."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import load, tables
from centrality.apps.cli import main
from centrality.datasets import houses
from tests.commands.said import as_json, said


def test_detect_names_the_planted_rows_first_and_writes_them_with_their_scores(folder, capsys, tmp_path):
    model, data = folder / "m.safetensors", folder / "rows.csv"
    result = as_json(capsys, "detect", model, data, "--false-positives", "2", "-o", tmp_path / "odd.csv")
    assert {found["row"] for found in result["found"][:2]} == {598, 599}
    expected = load(model).detect(tables.read(data), false_positives=2)
    assert result["outliers"] == expected.sum()
    written = tables.read(tmp_path / "odd.csv")
    assert written["row"].to_pylist() == [found["row"] for found in result["found"]]
    assert written.column_names == ["length", "width", "height", "row", "centrality", "p_value", "severity", "reasons"]


def test_a_file_of_no_outliers_has_the_columns_of_one_with_some(folder, capsys, tmp_path):
    for rule, outliers in (("--fdr", 0), ("--contamination", 6)):
        arguments = (folder / "m.safetensors", folder / "rows.csv", rule, "0.01", "-o", tmp_path / "odd.csv")
        assert as_json(capsys, "detect", *arguments)["outliers"] == outliers
        header = (tmp_path / "odd.csv").read_text().partition("\n")[0]
        assert header.split(",") == ["length", "width", "height", "row", "centrality", "p_value", "severity", "reasons"]


def test_detect_says_the_rule_and_takes_one_only(folder, capsys):
    text = said(capsys, "detect", folder / "m.safetensors", folder / "rows.csv", "--contamination", "0.01")
    assert "6 of 600 rows are outliers at t = 0.5 (contamination=0.01" in text
    with pytest.raises(SystemExit) as stopped:
        main(["detect", "m", "d", "--fdr", "0.1", "--false-positives", "3"])
    assert stopped.value.code == 2


def test_when_nothing_is_found_it_is_said_how_odd_the_oddest_row_is_and_what_would_find_more(folder, capsys, tmp_path):
    tables.write(tables.read(folder / "rows.csv").slice(0, 598), tmp_path / "fine.csv")
    text = said(capsys, "detect", folder / "m.safetensors", tmp_path / "fine.csv", "--fdr", "0.01")
    assert "0 of 598 rows are outliers" in text
    assert "The oddest row has the p-value 0.0" in text
    assert "compared with 299 calibration rows." in text


def test_rows_that_stand_apart_are_named_where_too_few_calibration_rows_can_call_them(folder, capsys, tmp_path):
    command = ["detect", folder / "m.safetensors", folder / "rows.csv", "--fdr", "0.01"]
    text = said(capsys, *command)
    assert text.startswith("2 of 600 rows stand out at t = 0.5 (fdr=0.01 calls none: 299 calibration rows tell no")
    result = as_json(capsys, *command, "-o", tmp_path / "apart.csv")
    assert (result["outliers"], result["found"]) == (0, [])
    assert {row["row"] for row in result["apart"]} == {598, 599}
    assert {row["p_value"] for row in result["apart"]} == {1 / 599}  # lower than all of the 598 others
    assert set(tables.read(tmp_path / "apart.csv")["row"].to_pylist()) == {598, 599}


def test_of_a_file_by_itself_the_planted_rows_stand_out_although_no_rate_can_be_told(tmp_path, capsys):
    tables.write(houses(), tmp_path / "houses.csv")
    result = as_json(capsys, "detect", tmp_path / "houses.csv", "--quiet")
    assert (result["by_themselves"], result["outliers"]) == (True, 0)
    assert {row["row"] for row in result["apart"]} == {1194, 1195, 1196, 1197, 1198, 1199}
    assert all(row["severity"] > 1200 for row in result["apart"])
    assert result["apart"][0]["reasons"]
    by_cell = {row["row"]: row["cell"] for row in result["apart"] if "cell" in row}
    assert by_cell[1196] == "built is far from others of the same heating"
    assert "certificate" not in result  # the rows of a fit tell nothing of themselves


def test_outliers_are_written_with_their_p_values_and_reasons(trees, capsys, tmp_path):
    model, out = trees / "m.safetensors", tmp_path / "odd.csv"
    result = as_json(capsys, "detect", model, trees / "rows.csv", "--false-positives", "20", "-o", out)
    written = tables.read(out)
    assert written.column_names[-5:] == ["row", "centrality", "p_value", "severity", "reasons"]
    assert written["row"].to_pylist() == [found["row"] for found in result["found"]]
    table, rows = tables.read(trees / "rows.csv"), written["row"].to_pylist()
    np.testing.assert_allclose(written["p_value"], load(model).p_values(table.take(rows)))
    np.testing.assert_allclose(written["severity"], load(model).severity(table.take(rows)))
    assert written["reasons"][0].as_py().split()[0] in table.column_names


def test_a_column_that_the_model_learned_from_is_not_replaced_in_the_file_of_outliers(trees, capsys, tmp_path):
    own = tables.read(trees / "rows.csv")
    own = own.rename_columns(["row", *own.column_names[1:]])
    tables.write(own, tmp_path / "own.csv")
    assert main(["fit", str(tmp_path / "own.csv"), "-o", str(tmp_path / "m.safetensors"), "--max-steps", "20"]) == 0
    command = ["detect", str(tmp_path / "m.safetensors"), str(tmp_path / "own.csv"), "--contamination", "0.05"]
    assert main([*command, "-o", str(tmp_path / "odd.csv")]) == 2
    assert "learned from a column 'row', which a new one would replace" in capsys.readouterr().err
    assert not (tmp_path / "odd.csv").exists()
    assert main(command) == 0  # nothing is replaced where nothing is written


def test_another_column_of_a_new_ones_name_is_replaced_and_a_note_says_so(folder, capsys, tmp_path):
    table = tables.read(folder / "rows.csv")
    tables.write(table.append_column("row", table["length"]), tmp_path / "own.csv")
    command = ["detect", folder / "m.safetensors", tmp_path / "own.csv", "--contamination", "0.01"]
    assert main([str(a) for a in [*command, "-o", tmp_path / "odd.csv"]]) == 0
    note = "centrality: note: New columns replace those of the data called 'row': rename these to keep both."
    assert note in capsys.readouterr().err
    assert {598, 599} <= set(tables.read(tmp_path / "odd.csv")["row"].to_pylist())


def test_a_job_fails_if_as_many_rows_are_called_as_it_names(folder):
    detect = ["detect", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--contamination", "0.01", "--quiet"]
    assert main(detect) == 0
    assert main([*detect, "--fail-on", "6"]) == 1  # 1% of 600 rows
    assert main([*detect, "--fail-on", "7"]) == 0


def test_what_is_named_comes_with_a_certificate_if_the_model_is_of_other_rows(tmp_path, capsys):
    """Forty far rows lie below all of 500 calibration rows: by their p-values alone, at most a few can be ordinary."""
    rng = np.random.default_rng(0)
    columns = ["a", "b", "c"]

    def write(name, rows):
        tables.write(pa.table(dict(zip(columns, rows.T, strict=True))), tmp_path / name)

    write("fine.csv", rng.normal(size=(1000, 3)))
    write("new.csv", np.concatenate([rng.normal(size=(400, 3)), rng.normal(size=(40, 3)) + 9]))
    model, new = tmp_path / "m.safetensors", tmp_path / "new.csv"
    fit = ["fit", tmp_path / "fine.csv", "-o", model, "--holdout", "0.5", "--max-steps", "200", "--quiet"]
    assert main([str(a) for a in fit]) == 0
    capsys.readouterr()
    result = as_json(capsys, "detect", model, new)
    named = np.array([found["row"] for found in result["found"]])
    rows = tables.read(new)
    expected = load(model).certificate(rows.take(named), among=rows)
    assert result["certificate"]["at_most"] == expected.at_most < len(named) / 2
    assert str(expected) in said(capsys, "detect", model, new)


def test_it_is_said_where_cells_are_not_compared(folder, capsys, monkeypatch):
    monkeypatch.setattr("centrality.apps.commands.detect.MOST_BY_CELLS", 599)
    text = said(capsys, "detect", folder / "m.safetensors", folder / "rows.csv", "--fdr", "0.01")
    assert "Cells were not compared: there are over 599 rows. centrality check FILE compares them." in text
