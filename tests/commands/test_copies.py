"""centrality copies: rows that occur twice, wholly or nearly."""

from centrality import tables
from tests.commands.said import as_json, said


def test_copies_are_shown_with_what_differs_and_written_by_group(trees, capsys, tmp_path):
    text = said(capsys, "copies", trees / "rows.csv", "-o", tmp_path / "copies.csv")
    assert "2 rows in 1 group are exact copies" in text
    assert "| 1.25" in text
    written = tables.read(tmp_path / "copies.csv")
    assert written["row"].to_pylist() == [3, 198, 4, 199]
    assert written["group"].to_pylist() == [0, 0, 1, 1]
    assert written["kind"].to_pylist() == ["exact", "exact", "one column", "one column"]


def test_copies_compares_the_columns_that_are_named(trees, capsys):
    result = as_json(capsys, "copies", trees / "rows.csv", "--columns", "length,height")
    assert [(group["kind"], group["rows"]) for group in result["groups"]] == [("exact", [3, 198]), ("exact", [4, 199])]
