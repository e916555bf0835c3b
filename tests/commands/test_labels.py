"""centrality labels: rows that rather belong to another class."""

import pytest

from centrality import tables
from tests.commands.said import as_json, said


@pytest.mark.slow
def test_labels_names_the_wrong_one_first_and_writes_all_doubtful_rows(trees, capsys, tmp_path):
    result = as_json(capsys, "labels", trees / "rows.csv", "--by", "kind", "-o", tmp_path / "doubtful.csv")
    first = result["doubtful"][0]
    assert (first["row"], first["suggested"], first["holds"]["kind"]) == (7, "ash", "birch")
    assert tables.read(tmp_path / "doubtful.csv")["row"].to_pylist() == [row["row"] for row in result["doubtful"]]
    text = said(capsys, "labels", trees / "rows.csv", "--by", "kind", "--columns", "length,width", "--top", "1")
    assert "rows rather belong to another kind" in text
    assert "birch" in text
