"""Input that once ended in a traceback, or in text that is no JSON: one line, and what to do."""

import json
import resource
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import tables
from centrality.apps.cli import main
from tests.commands.said import refused, said


def test_a_file_may_have_columns_named_as_ours_are_inside(tmp_path, capsys):
    X = np.random.default_rng(0).normal(size=(100, 4))
    names = ["_row", "_score", "_global", "_local"]
    tables.write(pa.table(dict(zip(names, X.T, strict=True))), tmp_path / "d.csv")
    found = json.loads(said(capsys, "rank", tmp_path / "d.csv", "--top", 2, "--json"))
    assert set(found["peripheral"][0]["holds"]) == set(names)


@pytest.mark.parametrize("command", ["rank", "fit", "copies", "detect", "pick"])
def test_a_picture_that_unpacks_to_too_many_pixels_is_named_in_one_line(command, tmp_path, capsys):
    rng = np.random.default_rng(0)
    for number in range(24):
        Image.fromarray(rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)).save(tmp_path / f"{number}.png")
    Image.new("1", (30_000, 30_000)).save(tmp_path / "bomb.png")
    more = {"fit": ["-o", tmp_path / "m.safetensors"], "pick": ["--typical", "3"]}.get(command, [])
    error = refused(capsys, command, tmp_path, *more)
    assert "bomb.png cannot be read as an image: Image size (900000000 pixels) exceeds limit" in error


def test_a_mark_of_a_row_beyond_all_rows_is_refused(folder, tmp_path, capsys):
    (tmp_path / "marks.csv").write_text("row,mark\n3,fine\n99999999999999999999999,outlier\n")
    rest = ["--marks", tmp_path / "marks.csv", "-o", tmp_path / "new.safetensors"]
    error = refused(capsys, "refine", folder / "m.safetensors", folder / "rows.csv", *rest)
    assert "a row was wanted by its number, got '99999999999999999999999'" in error


@pytest.mark.parametrize("command", ["rank", "explain", "labels", "pick", "score"])
def test_cells_that_are_not_a_number_are_null_in_json(command, tmp_path, capsys):
    """Parquet keeps NaN and a missing cell apart; JSON has no word for the former."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X[:5, 0], X[5, 1] = np.nan, 30
    table = pa.table({"a": X[:, 0], "b": X[:, 1], "kind": ["ash", "birch"] * 30})
    tables.write(table, tmp_path / "d.parquet")
    assert main(["fit", str(tmp_path / "d.parquet"), "-o", str(tmp_path / "m.safetensors"), "--quiet"]) == 0
    more = {
        "explain": ["--rows", "0,1"],
        "labels": ["--by", "kind", "--top", "60"],
        "pick": ["--typical", "60"],
        "score": ["-o", tmp_path / "out.jsonl"],
    }.get(command, ["--top", "60"])
    model = [tmp_path / "m.safetensors"] if command == "score" else []
    capsys.readouterr()
    text = said(capsys, command, *model, tmp_path / "d.parquet", *more, "--json", "--quiet")
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux'")
def test_too_little_memory_is_said_in_one_line(folder):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))

    command = [sys.executable, "-m", "centrality", "rank", str(folder / "rows.csv")]
    environment = {"OPENBLAS_NUM_THREADS": "1", "PATH": "", "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=limit, env=environment)
    assert done.returncode == 2, done.stderr
    assert done.stderr.strip() == "centrality: there is not enough memory: free some, or raise the limit (ulimit -v)."
