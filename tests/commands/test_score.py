"""centrality score: columns of scores beside those of the input."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality import load, tables
from centrality.apps.cli import main
from tests.commands.said import as_json, said
from tests.conftest import quick
from tests.promise import assert_same_scores


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_fit_then_score_adds_a_column_for_each_t_beside_the_input(csv, model, blob, tmp_path, suffix):
    data = csv if suffix != ".npz" else tmp_path / "rows.parquet"
    if suffix == ".npz":
        tables.write(tables.read(csv).drop_columns(["name"]), data)
    out = tmp_path / f"scores{suffix}"
    assert main(["score", str(model), str(data), "-o", str(out), "--t", "0,0.5,1"]) == 0
    expected = load(model).centrality(tables.select(tables.read(csv), ["length", "width"]), t=[0, 0.5, 1])
    if suffix == ".npz":
        with np.load(out) as archive:
            assert archive.files == ["length", "width", "centrality_t0", "centrality", "centrality_t100"]
            assert_same_scores(archive["centrality_t100"], expected[:, 2])
    else:
        table = tables.read(out)
        assert table.column_names == ["name", "length", "width", "centrality_t0", "centrality", "centrality_t100"]
        assert_same_scores(table["centrality"].to_numpy(), expected[:, 1])


def test_without_t_the_models_own_is_used(csv, tmp_path):
    model, out = tmp_path / "m.safetensors", tmp_path / "s.csv"
    assert main(["fit", str(csv), "-o", str(model), "--columns", "length,width", "--max-steps", "9", "--t", "0.2"]) == 0
    assert main(["score", str(model), str(csv), "-o", str(out)]) == 0
    assert tables.read(out).column_names[-1] == "centrality"


def test_arrays_work_from_end_to_end(blob, tmp_path):
    data, model, out = tmp_path / "rows.npy", tmp_path / "m.safetensors", tmp_path / "s.npy"
    np.save(data, blob)
    assert main(["fit", str(data), "-o", str(model), "--max-steps", "9", "--noise-scale", "0.5,1"]) == 0
    assert load(model).noise_scale_ == (0.5, 1.0)
    assert main(["score", str(model), str(data), "-o", str(out), "--t", "1"]) == 0
    scores = load(model).centrality(tables.read(data), t=1)
    np.testing.assert_allclose(np.load(out), np.column_stack([blob, scores]), atol=1e-6)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_p_values_stand_beside_the_scores_of_a_model_with_rows_held_aside(blob, tmp_path, monkeypatch, kind):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", blob)
    assert main(["fit", "rows.npy", "-o", "m.safetensors", "--holdout", "0.3", "--max-steps", "30"]) == 0
    tables.write(tables.read(Path("rows.npy")).slice(0, 40), Path(f"new.{kind}"))
    assert main(["score", "m.safetensors", f"new.{kind}", "-o", f"s.{kind}", "--t", "0,1", "--p-values"]) == 0
    scores = tables.read(Path(f"s.{kind}"))
    assert scores.column_names[-4:] == ["centrality_t0", "centrality_t100", "p_value_t0", "p_value_t100"]
    expected = load("m.safetensors").p_values(tables.read(Path(f"new.{kind}")), t=[0, 1])
    np.testing.assert_allclose(scores["p_value_t0"].to_numpy(), expected[:, 0])
    np.testing.assert_allclose(scores["p_value_t100"].to_numpy(), expected[:, 1])


def test_p_values_without_rows_held_aside_are_an_error_that_says_how_to_have_them(blob, tmp_path, capsys):
    model = tmp_path / "paper.safetensors"
    quick(epochs=1).fit(blob).save(model)  # the paper's schedule leaves no row out
    np.save(tmp_path / "rows.npy", blob)
    assert main(["score", str(model), str(tmp_path / "rows.npy"), "-o", str(tmp_path / "s.npz"), "--p-values"]) == 2
    assert "holdout=0.2" in capsys.readouterr().err
    assert not (tmp_path / "s.npz").exists()


def test_one_line_says_whether_the_threshold_of_the_model_still_holds(folder, capsys, tmp_path):
    text = said(capsys, "score", folder / "m.safetensors", folder / "rows.csv", "-o", tmp_path / "s.csv", "--severity")
    assert re.search(r"The model's threshold still holds: [0-9.]+% of the new rows are called outliers, ", text)
    scored = tables.read(tmp_path / "s.csv")
    np.testing.assert_allclose(
        scored["severity"], load(folder / "m.safetensors").severity(tables.read(folder / "rows.csv"))
    )
    moved = tables.read(folder / "rows.csv").to_pandas() + 3
    tables.write(pa.table(moved), tmp_path / "moved.csv")
    text = said(capsys, "score", folder / "m.safetensors", tmp_path / "moved.csv", "-o", tmp_path / "s.csv")
    assert "The model's threshold no longer holds: " in text


def test_intervals_and_standard_errors_are_columns(folder, capsys, tmp_path):
    model, data, out = folder / "m.safetensors", folder / "rows.csv", tmp_path / "scores.csv"
    result = as_json(capsys, "score", model, data, "--p-values", "--intervals", "--severity", "-o", out)
    assert result["columns"] == ["centrality", "p_value", "p_value_low", "p_value_high", "severity"]
    written = tables.read(out)
    expected = load(model).p_value_intervals(tables.read(data))
    np.testing.assert_allclose(np.column_stack([written["p_value_low"], written["p_value_high"]]), expected)
    single = main(["score", str(model), str(data), "--standard-error", "-o", str(out)])
    if load(model).fitted_.network.members > 1:
        assert single == 0
        np.testing.assert_allclose(
            tables.read(out)["standard_error"].to_numpy(), load(model).standard_error(tables.read(data))
        )
    else:
        assert single == 2
        assert "A standard error needs an ensemble" in capsys.readouterr().err
