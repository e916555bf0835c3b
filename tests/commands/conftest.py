"""Rows in files, and models of them. Shared: tests must not change them."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import FUSE, tables
from centrality.apps.cli import main
from tests.conftest import quick


@pytest.fixture(scope="package")
def rows():
    """600 rows of three columns, of which the last two are odd."""
    X = np.random.default_rng(0).normal(size=(600, 3))
    X[-2:] = [[9, 0, 0], [0, -12, 0]]
    return pa.table({"length": X[:, 0], "width": X[:, 1], "height": X[:, 2]})


@pytest.fixture(scope="package")
def folder(rows, tmp_path_factory):
    """These rows, and a model of all but the odd ones."""
    folder = tmp_path_factory.mktemp("commands")
    tables.write(rows, folder / "rows.csv")
    model = FUSE(random_state=0, max_steps=150, holdout=0.5).fit(rows.slice(0, 598))
    model.save(folder / "m.safetensors")
    return folder


@pytest.fixture(scope="package")
def trees(tmp_path_factory):
    """200 rows of two kinds, ten apart; 198 is an exact copy of 3, 199 has another width than 4; 7 has a wrong kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X[100:198] += 10
    X[198], X[199] = X[3], X[4]
    X[199, 1] = 1.25
    kind = np.array(["ash"] * 100 + ["birch"] * 98 + ["ash"] * 2)
    kind[7] = "birch"
    trees = tmp_path_factory.mktemp("choosing")
    table = pa.table({"length": X[:, 0], "width": X[:, 1], "height": X[:, 2], "kind": kind})
    tables.write(table, trees / "rows.csv")
    quick().fit(table.drop_columns(["kind"])).save(trees / "m.safetensors")
    return trees


@pytest.fixture
def csv(blob, tmp_path):
    """The blob in a file, its rows named."""
    path = tmp_path / "rows.csv"
    names = pa.array([f"row {i}" for i in range(len(blob))])
    tables.write(pa.table({"name": names, "length": blob[:, 0], "width": blob[:, 1]}), path)
    return path


@pytest.fixture
def model(csv, tmp_path):
    """A model of that file, by the command."""
    path = tmp_path / "model.safetensors"
    fit = ["fit", str(csv), "-o", str(path), "--columns", "length,width", "--max-steps", "50", "--random-state", "0"]
    assert main(fit) == 0
    return path
