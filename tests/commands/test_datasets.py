"""centrality datasets: what comes along, and as a file."""

from centrality import tables
from centrality.apps.cli import main
from tests.commands.said import as_json, said


def test_datasets_are_listed_and_written_and_every_command_takes_their_names(capsys, tmp_path):
    listed = as_json(capsys, "datasets")
    assert {"houses", "wine"} <= set(listed["bundled"])
    assert "breastw" in listed["published"]
    assert "bundled (no download)" in said(capsys, "datasets")
    assert "1,200 rows, 9 columns" in said(capsys, "datasets", "houses", "-o", tmp_path / "houses.csv")
    assert tables.read(tmp_path / "houses.csv").num_rows == 1200
    assert main(["datasets", "hovses", "-o", str(tmp_path / "x.csv")]) == 2
    assert tables.read("iris").column_names == ["sepal_length", "sepal_width", "petal_length", "petal_width"]
