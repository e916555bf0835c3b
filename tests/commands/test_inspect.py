"""centrality inspect: what is in a model file."""

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main


def test_inspect_says_what_is_in_a_model(model, capsys):
    capsys.readouterr()
    assert main(["inspect", str(model)]) == 0
    shown = capsys.readouterr().out
    for part in ("FUSE, format 2.0", "length, width", "after 50 steps", "metric='euclidean'", "weights"):
        assert part in shown


def test_a_model_of_mixed_columns_is_inspected_and_mapped(tmp_path, capsys):
    table = pa.table({"size": np.arange(40.0), "colour": ["red", "blue"] * 20})
    tables.write(table, tmp_path / "t.parquet")
    fit = ["fit", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "m.safetensors"), "--represent", "table"]
    assert main([*fit, "--max-steps", "9", "--random-state", "0"]) == 0
    capsys.readouterr()
    assert main(["inspect", str(tmp_path / "m.safetensors")]) == 0
    shown = capsys.readouterr().out
    for part in ("Chain, format", "representation  Table", "colour  category, 2 levels", "size    number, scaled"):
        assert part in shown
    out = tmp_path / "map.svg"
    assert main(["plot", "map", str(tmp_path / "m.safetensors"), str(tmp_path / "t.parquet"), "-o", str(out)]) == 0
    assert "t = 0  (global)" in out.read_text()


@pytest.mark.slow
def test_reading_a_model_needs_no_torch(model):
    start = "import sys\nfrom centrality.apps.cli import main\n"
    script = f"{start}main(['inspect', {str(model)!r}])\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"


def test_the_card_says_what_the_model_learned_from_and_how_that_went(tmp_path, capsys):
    table = pa.table({"size": np.arange(40.0), "a|b <i>*": ["red", "blue"] * 20})
    tables.write(table, tmp_path / "t.parquet")
    fit = ["fit", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "m.safetensors"), "--represent", "table"]
    assert main([*fit, "--max-steps", "9", "--random-state", "0"]) == 0
    assert main(["inspect", str(tmp_path / "m.safetensors"), "--card", str(tmp_path / "card.md")]) == 0
    card = (tmp_path / "card.md").read_text()
    assert "**Learned from**: 40 rows, of which the file holds none" in card
    assert r"| a\|b \<i\>\* | category, 2 levels |" in card
    for part in ("# m\n", "## Training", "## Limits"):
        assert part in card
    assert f"Card: {tmp_path}/card.md" in capsys.readouterr().out


def test_the_card_of_a_model_of_numbers_names_its_columns(model, tmp_path):
    assert main(["inspect", str(model), "--card", str(tmp_path / "card.md")]) == 0
    assert "length, width: numbers." in (tmp_path / "card.md").read_text()
    assert main(["inspect", str(model), "--card", str(model)]) == 2
