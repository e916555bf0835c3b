"""Samples of data that is too large to read whole, and quantiles of all of it."""

import json

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from scipy.stats import chisquare

from centrality import load, tables
from centrality.cli import main
from centrality.scoring import chunks, sampling, sketches
from centrality.scoring.job import Job
from tests.conftest import quick

ROWS = 30_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Three files of unequal length whose rows drift from one to the next, numbered."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    table = pa.table(
        {"id": np.arange(ROWS), "a": rng.normal(size=ROWS) + np.arange(ROWS) / ROWS, "b": rng.normal(size=ROWS)}
    )
    for name, start, end in (("1", 0, 4000), ("2", 4000, 24_000), ("3", 24_000, ROWS)):
        parquet.write_table(table.slice(start, end - start), folder / f"{name}.parquet", row_group_size=1500)
    return folder


def drawn(data, size, seed=0) -> np.ndarray:
    return sampling.sample(data, size, np.random.default_rng(seed), ["id"])["id"].to_numpy()


@pytest.fixture(scope="module", params=["parquet", "csv", "arrow", "npy"])
def data(request, folder, tmp_path_factory):
    """The same rows, in formats that know their number and in such that do not."""
    if request.param == "parquet":
        return folder
    path = tmp_path_factory.mktemp("other") / f"rows.{request.param}"
    tables.write(tables.read(folder), path)
    return path


def test_a_sample_holds_rows_of_the_data_each_once_in_order(data, folder):
    names = ["x0", "x1"] if data.suffix == ".npy" else ["id", "a"]
    sample = sampling.sample(data, 1000, np.random.default_rng(0), names)
    assert sample.column_names == names
    ids = sample[names[0]].to_numpy().astype(int)
    assert len(ids) == 1000
    assert (np.diff(ids) > 0).all()
    every = tables.read(folder)["a"].to_numpy()
    np.testing.assert_array_equal(sample[names[1]].to_numpy(), every[ids])


def test_fewer_rows_than_asked_for_are_all_taken(data):
    name = "x0" if data.suffix == ".npy" else "id"
    sample = sampling.sample(data, ROWS + 1, np.random.default_rng(0), [name])
    np.testing.assert_array_equal(sample[name].to_numpy(), np.arange(ROWS))


def test_every_stretch_of_the_data_is_as_likely_as_any_other(data):
    name = "x0" if data.suffix == ".npy" else "id"
    rng = np.random.default_rng(1)
    counts = np.zeros(20)
    for _ in range(10):
        ids = sampling.sample(data, 2000, rng, [name])[name].to_numpy()
        counts += np.histogram(ids, bins=20, range=(0, ROWS))[0]
    # Drawn without replacement, counts spread a little less than the test expects: it errs on the safe side.
    assert chisquare(counts).pvalue > 0.001


def test_the_same_seed_draws_the_same_rows_and_another_others(folder):
    np.testing.assert_array_equal(drawn(folder, 500), drawn(folder, 500))
    assert not np.array_equal(drawn(folder, 500), drawn(folder, 500, seed=1))


def test_whoever_reads_them_the_rows_are_the_same(folder):
    def backwards(work, items):
        yield from chunks.in_turn(work, items[::-1])

    rng = np.random.default_rng(0)
    sample = sampling.sample(folder, 500, rng, ["id"], backwards)
    np.testing.assert_array_equal(sample["id"].to_numpy(), drawn(folder, 500))


def test_a_missing_column_is_said_before_anything_is_read(folder):
    with pytest.raises(tables.TableError, match=r"Missing column: 'idd'\. Did you mean 'id'\?"):
        sampling.sample(folder, 10, np.random.default_rng(0), ["idd"])


def test_wide_tables_need_no_more_values_than_narrow_ones():
    assert sampling.enough(16) == 200_000
    assert sampling.enough(1000) == 50_000
    assert sampling.enough(1_000_000) == sampling.FEWEST


def fit(data, out, *options) -> dict:
    arguments = ["fit", str(data), "-o", str(out), "--columns", "a,b", "--max-steps", "60", "--random-state", "0"]
    assert main([*arguments, *options, "--json"]) == 0
    return out


@pytest.mark.slow
def test_fit_learns_from_a_sample_when_asked_or_when_rows_are_very_many(folder, tmp_path, monkeypatch, capsys):
    fit(folder, tmp_path / "asked.safetensors", "--sample", "2000")
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["sampled"]) == (ROWS, 2000)
    fit(folder, tmp_path / "all.safetensors")
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == ROWS
    assert "sampled" not in said
    monkeypatch.setattr(sampling, "ROWS", 2000)
    fit(folder, tmp_path / "many.safetensors")
    assert json.loads(capsys.readouterr().out)["sampled"] == 2000
    bits = [(tmp_path / f"{name}.safetensors").read_bytes() for name in ("asked", "many", "all")]
    assert bits[0] == bits[1] != bits[2]
    assert main(["fit", str(folder), "-o", str(tmp_path / "m.safetensors"), "--columns", "a", "--max-steps", "9"]) == 0
    assert "learned from 2,000 of 30,000 rows of one column" in capsys.readouterr().out


@pytest.mark.parametrize("calibration", ["soft", "clip"])
def test_the_second_pass_sets_quantiles_by_all_rows_and_leaves_the_network(folder, calibration):
    rows = tables.read(folder).select(["a", "b"])
    model = quick(calibration=calibration, contamination=0.07).fit(rows.slice(0, 3000))  # the first rows: a bad sample
    raw = model.raw(rows)
    shares = np.mean(raw[:, :, None] < model.fitted_.calibration.ends, axis=0)  # (heads, ends)
    assert np.abs(shares - [0.01, 0.99]).max() > 0.002
    model = sketches.second_pass(model, folder)
    np.testing.assert_array_equal(model.raw(rows), raw)
    for column, (low, high) in zip(raw.T, model.fitted_.calibration.ends, strict=True):
        assert np.mean(column < low) == pytest.approx(0.01, abs=0.002)
        assert np.mean(column < high) == pytest.approx(0.99, abs=0.002)
    assert np.mean(model.predict(rows) == -1) == pytest.approx(0.07, abs=0.002)
    # The training scores it remembers are those of all rows now, so that these do not drift.
    kept = model.fitted_.training_scores
    assert kept.rows == ROWS
    assert abs(kept.compare(model.heads(rows)).effect) < 0.002


def test_sketches_of_parts_put_together_are_as_good_as_one(folder):
    model = quick().fit(tables.read(folder).select(["a", "b"]))
    local = np.sort(model.raw(tables.read(folder).select(["a", "b"]))[:, 1])
    for split in (None, 1500):
        parts = [sketches.sketch_chunk(model, chunk) for chunk in chunks.plan(folder, None, split)]
        assert len(parts) == (3 if split is None else 21)
        merged = sketches.merge(parts)[1]
        assert merged.n == ROWS
        for level in (0.01, 0.25, 0.5, 0.99):
            rank = np.searchsorted(local, merged.get_quantile(level)) / ROWS
            assert rank == pytest.approx(level, abs=0.002)


@pytest.mark.slow
def test_the_command_makes_a_second_pass_with_workers(folder, tmp_path, capsys):
    path = fit(folder, tmp_path / "m.safetensors", "--sample", "2000", "--second-pass")
    model = load(path)
    raw = model.raw(tables.read(folder).select(["a", "b"]))
    assert np.mean(raw[:, 1] < model.fitted_.calibration.ends[1, 0]) == pytest.approx(0.01, abs=0.002)
    assert model.fitted_.training_scores.rows == ROWS


def test_what_cannot_have_a_second_pass_says_so_before_the_fit(folder, tmp_path, capsys):
    out = str(tmp_path / "m.safetensors")
    for options, message in ((["--holdout", "0.2"], "leave out holdout"), (["--window", "20"], "no --window")):
        assert main(["fit", str(folder), "-o", out, "--columns", "a", "--second-pass", *options]) == 2
        assert message in capsys.readouterr().err
    model = quick(holdout=0.2).fit(tables.read(folder).select(["a", "b"]))
    with pytest.raises(ValueError, match="leave out holdout"):
        sketches.second_pass(model, folder)
    assert not (tmp_path / "m.safetensors").exists()


def test_a_model_with_a_second_pass_is_saved_and_scores_alike(folder, tmp_path):
    rows = tables.read(folder).select(["a", "b"])
    model = quick().fit(rows.slice(0, 3000))
    model = sketches.second_pass(model, folder)
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(again.heads(rows), model.heads(rows))
    assert again.offset_ == model.offset_
    job = Job(again, [0.5])
    assert job.names == ["centrality"]
