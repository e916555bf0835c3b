"""centrality plot: pictures of a model in a file."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from tests.conftest import quick


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A model of three columns and its rows, in files."""
    folder = tmp_path_factory.mktemp("plot")
    X = np.random.default_rng(0).normal(size=(600, 3))
    table = pa.table({"name": [f"row {i}" for i in range(len(X))], "a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    tables.write(table, folder / "t.parquet")
    quick(t=0.5).fit(table.select(["a", "b", "c"])).save(folder / "m.safetensors")
    return folder, table


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["map", "profile", "scores"])
def test_pictures_of_a_model_are_drawn_into_a_file(made, tmp_path, kind):
    folder, _ = made
    out = tmp_path / "figure.png"
    assert main(["plot", kind, str(folder / "m.safetensors"), str(folder / "t.parquet"), "-o", str(out)]) == 0
    assert out.read_bytes().startswith(b"\x89PNG")


def test_the_losses_are_drawn_without_rows_and_chosen_rows_by_their_numbers(made, tmp_path, capsys):
    folder, _ = made
    model, data = str(folder / "m.safetensors"), str(folder / "t.parquet")
    assert main(["plot", "history", model, "-o", str(tmp_path / "h.svg")]) == 0
    assert "Drew" in capsys.readouterr().out
    assert b"<svg" in (tmp_path / "h.svg").read_bytes()
    assert main(["plot", "profile", model, data, "-o", str(tmp_path / "p.png"), "--rows", "3,599"]) == 0
    assert main(["plot", "profile", model, data, "-o", str(tmp_path / "q.png"), "--rows", "600"]) == 2
    assert main(["plot", "scores", model, "-o", str(tmp_path / "q.png")]) == 2
    said = capsys.readouterr().err
    assert "--rows counts from 0 to 599 here, got 600" in said
    assert "Say which rows to draw: centrality plot scores MODEL DATA" in said
    assert not (tmp_path / "q.png").exists()


@pytest.mark.slow
def test_contours_need_two_columns(made, tmp_path, capsys, blob):
    folder, table = made
    arguments = ["plot", "contours", str(folder / "m.safetensors"), str(folder / "t.parquet")]
    assert main([*arguments, "-o", str(tmp_path / "f.png")]) == 2
    assert "Contours need a model of two columns of numbers" in capsys.readouterr().err
    quick().fit(table.slice(0, 500).select(["a", "b"])).save(tmp_path / "m.safetensors")
    arguments[2] = str(tmp_path / "m.safetensors")
    assert main([*arguments, "-o", str(tmp_path / "f.svg")]) == 0
    assert b"<svg" in (tmp_path / "f.svg").read_bytes()
