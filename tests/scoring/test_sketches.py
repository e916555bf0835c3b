"""A second pass over all rows: quantiles of data that is too large to read whole."""

import numpy as np
import pytest

from centrality import load, tables
from centrality.cli import main
from centrality.scoring import chunks, sketches
from centrality.scoring.job import Job
from tests.conftest import quick
from tests.scoring.conftest import ROWS


def fit(data, out, *options) -> dict:
    arguments = ["fit", str(data), "-o", str(out), "--columns", "a,b", "--max-steps", "60", "--random-state", "0"]
    assert main([*arguments, *options, "--json"]) == 0
    return out


@pytest.mark.parametrize("calibration", ["soft", "clip"])
def test_the_second_pass_sets_quantiles_by_all_rows_and_leaves_the_network(drifting, calibration):
    rows = tables.read(drifting).select(["a", "b"])
    model = quick(calibration=calibration, contamination=0.07).fit(rows.slice(0, 3000))  # the first rows: a bad sample
    raw = model.raw(rows)
    shares = np.mean(raw[:, :, None] < model.fitted_.calibration.ends, axis=0)  # (heads, ends)
    assert np.abs(shares - [0.01, 0.99]).max() > 0.002
    model = sketches.second_pass(model, drifting)
    np.testing.assert_array_equal(model.raw(rows), raw)
    for column, (low, high) in zip(raw.T, model.fitted_.calibration.ends, strict=True):
        assert np.mean(column < low) == pytest.approx(0.01, abs=0.002)
        assert np.mean(column < high) == pytest.approx(0.99, abs=0.002)
    assert np.mean(model.predict(rows) == -1) == pytest.approx(0.07, abs=0.002)
    # The training scores it remembers are those of all rows now, so that these do not drift.
    kept = model.fitted_.training_scores
    assert kept.rows == ROWS
    assert abs(kept.compare(model.heads(rows)).effect) < 0.002


def test_sketches_of_parts_put_together_are_as_good_as_one(drifting):
    model = quick().fit(tables.read(drifting).select(["a", "b"]))
    local = np.sort(model.raw(tables.read(drifting).select(["a", "b"]))[:, 1])
    for split in (None, 1500):
        parts = [sketches.sketch_chunk(model, chunk) for chunk in chunks.plan(drifting, None, split)]
        assert len(parts) == (3 if split is None else 21)
        merged = sketches.merge(parts)[1]
        assert merged.n == ROWS
        for level in (0.01, 0.25, 0.5, 0.99):
            rank = np.searchsorted(local, merged.get_quantile(level)) / ROWS
            assert rank == pytest.approx(level, abs=0.002)


@pytest.mark.slow
def test_the_command_makes_a_second_pass_with_workers(drifting, tmp_path, capsys):
    path = fit(drifting, tmp_path / "m.safetensors", "--sample", "2000", "--second-pass")
    model = load(path)
    raw = model.raw(tables.read(drifting).select(["a", "b"]))
    assert np.mean(raw[:, 1] < model.fitted_.calibration.ends[1, 0]) == pytest.approx(0.01, abs=0.002)
    assert model.fitted_.training_scores.rows == ROWS


def test_what_cannot_have_a_second_pass_says_so_before_the_fit(drifting, tmp_path, capsys):
    out = str(tmp_path / "m.safetensors")
    for options, message in ((["--holdout", "0.2"], "leave out holdout"), (["--window", "20"], "no --window")):
        assert main(["fit", str(drifting), "-o", out, "--columns", "a", "--second-pass", *options]) == 2
        assert message in capsys.readouterr().err
    model = quick(holdout=0.2).fit(tables.read(drifting).select(["a", "b"]))
    with pytest.raises(ValueError, match="leave out holdout"):
        sketches.second_pass(model, drifting)
    assert not (tmp_path / "m.safetensors").exists()


def test_a_model_with_a_second_pass_is_saved_and_scores_alike(drifting, tmp_path):
    rows = tables.read(drifting).select(["a", "b"])
    model = quick().fit(rows.slice(0, 3000))
    model = sketches.second_pass(model, drifting)
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.heads(rows), model.heads(rows))
    assert again.offset_ == model.offset_
    job = Job(again, [0.5])
    assert job.names == ["centrality"]
