"""centrality refine: marks in a file change a model, and what it says is what the library says."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

from centrality import Chain, load, tables
from centrality.apps.cli import main
from centrality.apps.explorer.content import row_keys
from centrality.apps.explorer.marks import MarksFile
from centrality.representations import Table
from tests.conftest import quick


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Houses, a model of them, and marks by somebody who finds large ones wrong."""
    folder = tmp_path_factory.mktemp("refine")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "id": [f"H{k}" for k in range(300)],
            "size": rng.normal(100, 20, 300),
            "town": rng.choice(["Bonn", "Köln"], 300),
        }
    )
    frame.to_csv(folder / "houses.csv", index=False)
    table = tables.read(folder / "houses.csv")
    model = Chain(Table(), quick(max_steps=150)).fit(table.drop_columns(["id"]))
    model.save(folder / "m.safetensors")
    order = model.review(table, [None] * 300).order[:30].tolist()
    said = [(row, "outlier" if frame["size"][row] > 100 else "fine") for row in order]
    with (folder / "marks.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("row", "mark"), *said])
    return folder


def expected(folder) -> Chain:
    """What the library learns from the same marks."""
    marks: list[str | None] = [None] * 300
    with (folder / "marks.csv").open() as file:
        for line in csv.DictReader(file):
            marks[int(line["row"])] = line["mark"]
    return load(folder / "m.safetensors").learn_marks(tables.read(folder / "houses.csv"), marks)


def refine(folder, tmp_path, *more) -> list[str]:
    paths = [folder / "m.safetensors", folder / "houses.csv", "--marks", folder / "marks.csv", "-o"]
    return ["refine", *map(str, [*paths, tmp_path / "new.safetensors", *more])]


def test_the_new_model_is_the_one_that_the_library_makes(folder, tmp_path, capsys):
    assert main([*refine(folder, tmp_path), "--json", "--top", "7"]) == 0
    result = json.loads(capsys.readouterr().out)
    wiser = load(tmp_path / "new.safetensors")
    assert wiser.fitted_ == expected(folder).fitted_
    assert result["outlier"] + result["fine"] == 30
    assert result["elsewhere"] == 0
    assert result["error_rates"]
    table = tables.read(folder / "houses.csv")
    assert result["called"] == (wiser.predict(table) == -1).sum()
    chances = [row["chance"] for row in result["next"]]
    assert len(chances) == 7
    assert chances == sorted(chances, reverse=True)
    assert result["columns"][0]["column"] == "size"
    assert result["columns"][0]["odder"] > 100 > result["columns"][0]["more_typical"]
    assert result["left"]["low"] <= result["left"]["about"] <= result["left"]["high"]


def test_it_is_said_in_words_what_was_learned_what_is_left_and_where_to_look_next(folder, tmp_path, capsys):
    assert main(refine(folder, tmp_path, "--top", "3")) == 0
    said = capsys.readouterr().out
    assert "outliers and" in said.splitlines()[0]
    assert "  size: " in said
    assert "is odder than before" in said
    assert "Of the next 100 rows, about" in said
    assert "Look at these next" in said
    assert "town=" in said
    assert said.rstrip().endswith(f"Model: {tmp_path / 'new.safetensors'}")


def test_marks_of_the_explorer_find_their_rows_by_key_wherever_these_stand_now(folder, tmp_path, capsys):
    table = tables.read(folder / "houses.csv")
    for column in (None, "id"):
        kept, keys = tmp_path / f"kept-{column}.csv", row_keys(table, column)
        with (folder / "marks.csv").open() as file:
            changes = [
                {"key": keys[int(line["row"])], "row": int(line["row"]), "mark": line["mark"]}
                for line in csv.DictReader(file)
            ]
        MarksFile(kept).take(*changes, {"key": "gone", "row": 7, "mark": "outlier"})
        turned = table.take(np.arange(300)[::-1])
        tables.write(turned, tmp_path / "turned.csv")
        arguments = ["refine", folder / "m.safetensors", tmp_path / "turned.csv", "--marks", kept]
        arguments += ["-o", tmp_path / "by_key.safetensors", "--json", *(["--key", column] if column else [])]
        assert main([str(each) for each in arguments]) == 0
        result = json.loads(capsys.readouterr().out)
        assert result["elsewhere"] == 1
        # Rows in another order are not those of the fit, by their order: the ranking is learned, error rates wait.
        assert not result["error_rates"]
        np.testing.assert_allclose(
            load(tmp_path / "by_key.safetensors").score_samples(table), expected(folder).score_samples(table), atol=1e-6
        )


def test_what_cannot_be_learned_from_is_said_in_a_sentence(folder, tmp_path, capsys):
    def fails(text: str | None, message: str) -> None:
        path = tmp_path / "marks.csv"
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(text)
        arguments = refine(folder, tmp_path)
        arguments[4] = str(path)
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
        assert not (tmp_path / "new.safetensors").exists()

    fails(None, "There is no file of marks")
    fails("row,mark\n3,later\n", "it has no such mark")
    fails("row,mark\n300,outlier\n", "none of its 1 marks is of a row of")
    fails("key,row,mark\nzzz,3,outlier\n", "none of its 1 marks is of a row of")
    fails("row,mark\n3,strange\n", "one of outlier, fine, later was wanted")
    fails("row,verdict\n3,outlier\n", "columns row, mark and note were wanted")


def test_the_model_that_is_read_is_not_overwritten(folder, capsys):
    model = str(folder / "m.safetensors")
    marks = ["--marks", str(folder / "marks.csv")]
    assert main(["refine", model, str(folder / "houses.csv"), *marks, "-o", model]) == 2
    assert "would be overwritten, but it is read" in capsys.readouterr().err
    learned = str(folder / "learned.safetensors")
    assert main(["refine", model, str(folder / "houses.csv"), *marks, "-o", learned]) == 0
    assert main(["refine", learned, str(folder / "houses.csv"), *marks, "-o", str(folder / "again.safetensors")]) == 2
    assert "This model has learned marks already" in capsys.readouterr().err


def test_a_row_marked_both_ways_is_said(folder, tmp_path, capsys):
    with (folder / "marks.csv").open() as file:
        marks = [(line["row"], line["mark"]) for line in csv.DictReader(file)]
    row = next(row for row, mark in marks if mark == "outlier")
    both = tmp_path / "marks.csv"
    with both.open("w", newline="") as file:
        csv.writer(file).writerows([("row", "mark"), *marks, (row, "fine")])
    arguments = [*map(str, ["refine", folder / "m.safetensors", folder / "houses.csv", "--marks", both, "-o"])]
    assert main([*arguments, str(tmp_path / "n.safetensors")]) == 0
    assert f"Marked as outlier and as fine, and taken as fine: row {int(row):,}." in capsys.readouterr().out
    assert main([*arguments, str(tmp_path / "o.safetensors"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["contradictory"] == [int(row)]
