"""centrality depth: which depths there are."""

from centrality.cli import main
from tests.commands.said import as_json, said


def test_depths_are_listed_with_a_sentence_each(capsys):
    listed = as_json(capsys, "depth", "--list")["depths"]
    assert listed["halfspace"].startswith("Computes halfspace depth")
    assert "zonoid" in said(capsys, "depth", "--list")
    assert main(["depth"]) == 2
