"""centrality depth: which depths there are."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from centrality import tables
from centrality.apps.cli import main
from tests.commands.said import as_json, said


def test_depths_are_listed_with_a_sentence_each(capsys):
    listed = as_json(capsys, "depth", "--list")["depths"]
    assert listed["halfspace"].startswith("Computes halfspace depth")
    assert "zonoid" in said(capsys, "depth", "--list")
    assert main(["depth"]) == 2


@pytest.mark.parametrize("name", ["mahalanobis", "halfspace", "projection", "kernel_density"])
def test_depth_adds_a_column_beside_the_input(csv, blob, tmp_path, name):
    out = tmp_path / "depths.parquet"
    arguments = ["depth", name, str(csv), "-o", str(out), "--columns", "length,width", "--random-state", "0"]
    assert main(arguments) == 0
    table = tables.read(out)
    assert table.column_names == ["name", "length", "width", f"depth_{name}"]
    inward = -np.linalg.norm(blob, axis=1)
    assert spearmanr(table[f"depth_{name}"].to_numpy(), inward)[0] > 0.95
