"""centrality pick, copies and labels: rows chosen from a file, in the terminal, as JSON, and in a file."""

import json

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import Chain, load, select, tables
from centrality.cli import main
from centrality.representations import Table
from tests.conftest import quick


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """200 rows of two kinds, ten apart; 198 is an exact copy of 3, 199 has another width than 4; 7 has a wrong kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[100:198] += 10
    X[198], X[199] = X[3], X[4]
    X[199, 1] = 1.25
    kind = np.array(["ash"] * 100 + ["birch"] * 98 + ["ash"] * 2)
    kind[7] = "birch"
    folder = tmp_path_factory.mktemp("choosing")
    table = pa.table({"length": X[:, 0], "width": X[:, 1], "height": X[:, 2], "kind": kind})
    tables.write(table, folder / "rows.csv")
    quick().fit(table.drop_columns(["kind"])).save(folder / "m.safetensors")
    return folder


def said(capsys, *arguments) -> str:
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def as_json(capsys, *arguments):
    return json.loads(said(capsys, *arguments, "--json"))


@pytest.mark.parametrize("option", ["typical", "odd", "diverse", "representative", "to-label"])
def test_pick_gives_the_rows_of_select_and_writes_them(folder, capsys, tmp_path, option):
    model, data, out = folder / "m.safetensors", folder / "rows.csv", tmp_path / "picked.csv"
    result = as_json(capsys, "pick", model, data, f"--{option}", "6", "-o", out)
    expected = select(load(model), tables.read(data), 6, option.replace("-", " "))
    assert [row["row"] for row in result["picked"]] == expected.tolist()
    written = tables.read(out)
    assert written["row"].to_pylist() == expected.tolist()
    assert written.column_names == ["length", "width", "height", "kind", "row", "centrality"]


def test_pick_shows_the_most_typical_of_each_class_in_turn(folder, capsys):
    text = said(capsys, "pick", folder / "m.safetensors", folder / "rows.csv", "--typical", "4", "--by", "kind")
    assert "4 of 200 rows: typical from each kind in turn" in text
    kinds = [line.split("kind=")[1].split()[0] for line in text.splitlines() if "kind=" in line]
    assert kinds == ["ash", "birch", "ash", "birch"]


def test_rank_shows_both_ends_of_each_class(folder, capsys):
    result = as_json(capsys, "rank", folder / "m.safetensors", folder / "rows.csv", "--by", "kind", "--top", "2")
    assert [(group["group"], group["rows"]) for group in result["groups"]] == [("ash", 101), ("birch", 99)]
    for group in result["groups"]:
        assert {row["holds"]["kind"] for row in group["central"] + group["peripheral"]} == {group["group"]}


def test_copies_are_shown_with_what_differs_and_written_by_group(folder, capsys, tmp_path):
    text = said(capsys, "copies", folder / "rows.csv", "-o", tmp_path / "copies.csv")
    assert "2 rows in 1 group are exact copies" in text
    assert "| 1.25" in text
    written = tables.read(tmp_path / "copies.csv")
    assert written["row"].to_pylist() == [3, 198, 4, 199]
    assert written["group"].to_pylist() == [0, 0, 1, 1]
    assert written["kind"].to_pylist() == ["exact", "exact", "one column", "one column"]


def test_copies_compares_the_columns_that_are_named(folder, capsys):
    result = as_json(capsys, "copies", folder / "rows.csv", "--columns", "length,height")
    assert [(group["kind"], group["rows"]) for group in result["groups"]] == [("exact", [3, 198]), ("exact", [4, 199])]


def test_labels_names_the_wrong_one_first_and_writes_all_doubtful_rows(folder, capsys, tmp_path):
    result = as_json(capsys, "labels", folder / "rows.csv", "--by", "kind", "-o", tmp_path / "doubtful.csv")
    first = result["doubtful"][0]
    assert (first["row"], first["suggested"], first["holds"]["kind"]) == (7, "ash", "birch")
    assert tables.read(tmp_path / "doubtful.csv")["row"].to_pylist() == [row["row"] for row in result["doubtful"]]
    text = said(capsys, "labels", folder / "rows.csv", "--by", "kind", "--columns", "length,width", "--top", "1")
    assert "rows rather belong to another kind" in text
    assert "birch" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pick", "m.safetensors", "rows.csv", "--odd", "201"], "at most 200, got 201"),
        (["pick", "m.safetensors", "rows.csv", "--odd", "3", "-o", "rows.csv"], "would be overwritten"),
        (["copies", "rows.csv", "--represent", "series"], "--represent must be text:COLUMN"),
        (["copies", "rows.csv", "-o", "rows.csv"], "would be overwritten"),
        (["labels", "rows.csv", "--by", "colour"], "'colour'"),
        (["labels", "rows.csv", "--by", "length"], "At least two classes of 10 rows"),
    ],
)
def test_wrong_input_is_told_in_a_sentence(folder, capsys, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_note_is_printed_once_though_the_data_is_read_twice(folder, capsys, tmp_path):
    table = tables.read(folder / "rows.csv")
    kinds = ["oak", *table["kind"].to_pylist()[1:]]
    tables.write(table.set_column(3, "kind", pa.array(kinds)), tmp_path / "new.csv")
    Chain(Table(), quick()).fit(table).save(tmp_path / "m.safetensors")
    assert main(["pick", str(tmp_path / "m.safetensors"), str(tmp_path / "new.csv"), "--odd", "1"]) == 0
    assert capsys.readouterr().err.count("did not occur in fitting") == 1


def test_outliers_are_written_with_their_p_values_and_reasons(folder, capsys, tmp_path):
    model, out = folder / "m.safetensors", tmp_path / "odd.csv"
    result = as_json(capsys, "detect", model, folder / "rows.csv", "--false-positives", "20", "-o", out)
    written = tables.read(out)
    assert written.column_names[-4:] == ["row", "centrality", "p_value", "reasons"]
    assert written["row"].to_pylist() == [found["row"] for found in result["found"]]
    table, rows = tables.read(folder / "rows.csv"), written["row"].to_pylist()
    np.testing.assert_allclose(written["p_value"], load(model).p_values(table.take(rows)))
    assert written["reasons"][0].as_py().split()[0] in table.column_names


@pytest.mark.slow
def test_a_folder_of_images_is_read_as_such_without_being_told(capsys, tmp_path):
    rng = np.random.default_rng(0)
    for number in range(30):
        pixels = np.full((8, 8, 3), 255) if number == 7 else rng.integers(0, 90, (8, 8, 3))
        Image.fromarray(pixels.astype(np.uint8)).save(tmp_path / f"{number:02d}.png")
    result = as_json(capsys, "rank", tmp_path, "--top", "1")
    assert result["peripheral"][0]["holds"]["path"].endswith("07.png")


def test_a_context_that_is_misspelled_is_answered_with_the_one_that_was_meant(folder, capsys):
    assert main(["rank", str(folder / "rows.csv"), "--given", "knid"]) == 2
    assert "Did you mean 'kind'?" in capsys.readouterr().err
