"""Samples of data that is too large to read whole, and quantiles of all of it."""

import json

import numpy as np
import pytest
from scipy.stats import chisquare

from centrality import tables
from centrality.apps.cli import main
from centrality.bulk import chunks
from centrality.bulk import sample as sampling
from tests.bulk.conftest import ROWS


def drawn(data, size, seed=0) -> np.ndarray:
    return sampling.sample(data, size, np.random.default_rng(seed), ["id"])["id"].to_numpy()


@pytest.fixture(scope="module", params=["parquet", "csv", "arrow", "npy"])
def data(request, drifting, tmp_path_factory):
    """The same rows, in formats that know their number and in such that do not."""
    if request.param == "parquet":
        return drifting
    path = tmp_path_factory.mktemp("other") / f"rows.{request.param}"
    tables.write(tables.read(drifting), path)
    return path


def test_a_sample_holds_rows_of_the_data_each_once_in_order(data, drifting):
    names = ["x0", "x1"] if data.suffix == ".npy" else ["id", "a"]
    sample = sampling.sample(data, 1000, np.random.default_rng(0), names)
    assert sample.column_names == names
    ids = sample[names[0]].to_numpy().astype(int)
    assert len(ids) == 1000
    assert (np.diff(ids) > 0).all()
    every = tables.read(drifting)["a"].to_numpy()
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


def test_the_same_seed_draws_the_same_rows_and_another_others(drifting):
    np.testing.assert_array_equal(drawn(drifting, 500), drawn(drifting, 500))
    assert not np.array_equal(drawn(drifting, 500), drawn(drifting, 500, seed=1))


def test_whoever_reads_them_the_rows_are_the_same(drifting):
    def backwards(work, items):
        yield from chunks.in_turn(work, items[::-1])

    rng = np.random.default_rng(0)
    sample = sampling.sample(drifting, 500, rng, ["id"], backwards)
    np.testing.assert_array_equal(sample["id"].to_numpy(), drawn(drifting, 500))


def test_a_missing_column_is_said_before_anything_is_read(drifting):
    with pytest.raises(tables.TableError, match=r"Missing column: 'idd'\. Did you mean 'id'\?"):
        sampling.sample(drifting, 10, np.random.default_rng(0), ["idd"])


def test_wide_tables_need_no_more_values_than_narrow_ones():
    assert sampling.enough(16) == 200_000
    assert sampling.enough(1000) == 50_000
    assert sampling.enough(1_000_000) == sampling.FEWEST


def fit(data, out, *options) -> dict:
    arguments = ["fit", str(data), "-o", str(out), "--columns", "a,b", "--max-steps", "60", "--random-state", "0"]
    assert main([*arguments, *options, "--json"]) == 0
    return out


@pytest.mark.slow
def test_fit_learns_from_a_sample_when_asked_or_when_rows_are_very_many(drifting, tmp_path, monkeypatch, capsys):
    fit(drifting, tmp_path / "asked.safetensors", "--sample", "2000")
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["sampled"]) == (ROWS, 2000)
    fit(drifting, tmp_path / "all.safetensors")
    said = json.loads(capsys.readouterr().out)
    assert said["rows"] == ROWS
    assert "sampled" not in said
    monkeypatch.setattr(sampling, "ROWS", 2000)
    fit(drifting, tmp_path / "many.safetensors")
    assert json.loads(capsys.readouterr().out)["sampled"] == 2000
    bits = [(tmp_path / f"{name}.safetensors").read_bytes() for name in ("asked", "many", "all")]
    assert bits[0] == bits[1] != bits[2]
    assert (
        main(["fit", str(drifting), "-o", str(tmp_path / "m.safetensors"), "--columns", "a", "--max-steps", "9"]) == 0
    )
    assert "learned from 2,000 of 30,000 rows of one column" in capsys.readouterr().out
