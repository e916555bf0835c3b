"""centrality pick: rows chosen from a file."""

import pyarrow as pa
import pytest

from centrality import Chain, load, select, tables
from centrality.apps.cli import main
from centrality.representations import Table
from tests.commands.said import as_json, said
from tests.conftest import quick


@pytest.mark.parametrize("option", ["typical", "odd", "diverse", "representative", "to-label"])
def test_pick_gives_the_rows_of_select_and_writes_them(trees, capsys, tmp_path, option):
    model, data, out = trees / "m.safetensors", trees / "rows.csv", tmp_path / "picked.csv"
    result = as_json(capsys, "pick", model, data, f"--{option}", "6", "-o", out)
    expected = select(load(model), tables.read(data), 6, option.replace("-", " "))
    assert [row["row"] for row in result["picked"]] == expected.tolist()
    written = tables.read(out)
    assert written["row"].to_pylist() == expected.tolist()
    assert written.column_names == ["length", "width", "height", "kind", "row", "centrality", "reasons"]
    reasons = load(model).reasons(tables.read(data).take(expected)).short()
    assert [text or "" for text in written["reasons"].to_pylist()] == reasons


def test_pick_shows_the_most_typical_of_each_class_in_turn(trees, capsys):
    text = said(capsys, "pick", trees / "m.safetensors", trees / "rows.csv", "--typical", "4", "--by", "kind")
    assert "4 of 200 rows: typical from each kind in turn" in text
    kinds = [line.split("kind=")[1].split()[0] for line in text.splitlines() if "kind=" in line]
    assert kinds == ["ash", "birch", "ash", "birch"]


def test_a_note_is_printed_once_though_the_data_is_read_twice(trees, capsys, tmp_path):
    table = tables.read(trees / "rows.csv")
    kinds = ["oak", *table["kind"].to_pylist()[1:]]
    tables.write(table.set_column(3, "kind", pa.array(kinds)), tmp_path / "new.csv")
    Chain(Table(), quick()).fit(table).save(tmp_path / "m.safetensors")
    assert main(["pick", str(tmp_path / "m.safetensors"), str(tmp_path / "new.csv"), "--odd", "1"]) == 0
    assert capsys.readouterr().err.count("did not occur in fitting") == 1
