"""centrality explain: why rows are odd, for rows by number, by text, or the oddest."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import FUSE, load, tables
from centrality.apps.cli import main
from tests.commands.said import as_json, said


def test_explain_gives_the_contributions_of_the_library_for_the_rows_asked_for(folder, capsys):
    model = folder / "m.safetensors"
    result = as_json(capsys, "explain", model, folder / "rows.csv", "--rows", "599,0", "--top", "1", "--t", "1")
    assert [row["row"] for row in result["rows"]] == [599, 0]
    assert [reason["feature"] for reason in result["rows"][0]["reasons"]] == ["width"]
    expected = load(model).explain(tables.read(folder / "rows.csv").slice(599), t=1)[0, 1]
    assert result["rows"][0]["reasons"][0]["contribution"] == pytest.approx(expected, abs=1e-5)


def test_without_rows_explain_takes_the_oddest(folder, capsys):
    result = as_json(capsys, "explain", folder / "m.safetensors", folder / "rows.csv")
    assert {row["row"] for row in result["rows"][:2]} == {598, 599}
    assert "contribution" in said(capsys, "explain", folder / "m.safetensors", folder / "rows.csv")


def test_explain_refuses_a_row_that_is_not_there(folder, capsys):
    assert main(["explain", str(folder / "m.safetensors"), str(folder / "rows.csv"), "--rows", "600"]) == 2
    assert "--rows counts from 0 to 599 here, got 600." in capsys.readouterr().err


def test_rows_are_also_called_by_a_text_that_only_they_hold(folder, rows, capsys, tmp_path):
    ids = pa.array([f"H{i + 596}" for i in range(600)])
    tables.write(rows.append_column("id", ids).append_column("town", pa.array(["Oslo"] * 600)), tmp_path / "t.csv")
    result = as_json(capsys, "explain", folder / "m.safetensors", tmp_path / "t.csv", "--rows", "H1195,0", "--top", "1")
    assert [row["row"] for row in result["rows"]] == [599, 0]
    for wrong, found in (("H9", "none holds it"), ("Oslo", r"600 rows hold it, the first are [0, 1, 2]")):
        assert main(["explain", str(folder / "m.safetensors"), str(tmp_path / "t.csv"), "--rows", wrong]) == 2
        message = f"a number from 0 to 599 was wanted, or a text that one row holds, got {wrong}: {found}."
        assert message in capsys.readouterr().err


def test_a_refined_model_is_explained_at_another_t_too(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])
    frame.to_csv(tmp_path / "rows.csv", index=False)
    marks = ["outlier"] * 3 + ["fine"] * 3 + [None] * 194
    FUSE(random_state=0, max_steps=10).fit(frame).learn_marks(frame, marks).save(tmp_path / "m.safetensors")
    arguments = ["explain", str(tmp_path / "m.safetensors"), str(tmp_path / "rows.csv"), "--rows", "3"]
    assert main([*arguments, "--t", "0"]) == 0
    assert "smallest correction: unknown: marks have set what is odd at t = 0.5 only" in capsys.readouterr().out
    assert main(arguments) == 0
    assert "unknown" not in capsys.readouterr().out
