"""Rows that cannot be read or scored: they stop the job, are left out, or have no score; others are not lost."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from centrality import Chain, load, tables
from centrality._internal.checks import InputError
from centrality.bulk.chunks import plan
from centrality.bulk.score import ScoringJob, score, score_chunk
from centrality.representations import Table
from tests.conftest import quick

CSV = 'a,b\n1,2\n0.5,oops\n1\n"1,2\n0.1,0.2\n,1\n4,5\n'  # four of the seven rows cannot be read or scored
GOOD = pa.table({"a": [1.0, 0.1, 4.0], "b": [2.0, 0.2, 5.0]})
JSON = '{"a":1,"b":2}\n{"a":0.5,"b":"oops"}\n{"a":1,\n{"a":0.1,"b":0.2}\n{"b":1}\n[1]\n{"a":4,"b":5}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faulty")
    rows = np.random.default_rng(0).normal(size=(300, 2))
    quick().fit(pa.table({"a": rows[:, 0], "b": rows[:, 1]})).save(folder / "m.safetensors")
    (folder / "d.csv").write_text(CSV)
    (folder / "d.jsonl").write_text(JSON)
    return folder


@pytest.fixture(scope="module")
def model(folder):
    return load(folder / "m.safetensors")


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
@pytest.mark.parametrize("output", ["out.csv", "out.jsonl", "out.parquet"])
def test_what_cannot_be_read_or_scored_is_left_out_and_counted(folder, model, ending, output, tmp_path):
    done = score(ScoringJob(model, [0.5], on_error="skip"), folder / f"d.{ending}", tmp_path / output)
    assert (done.rows, done.left_out) == (3, 4)
    assert "'b'" in done.faults[0]
    assert "row 2" in done.faults[0]
    written = tables.read(tmp_path / output)
    np.testing.assert_allclose(written["centrality"], model.centrality(GOOD), rtol=1e-6)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_rows_stay_in_step_where_their_score_is_left_empty(folder, model, ending, tmp_path):
    done = score(ScoringJob(model, [0.5], on_error="null"), folder / f"d.{ending}", tmp_path / f"out.{ending}")
    assert (done.rows, done.left_out) == (7, 4)
    lines = (tmp_path / f"out.{ending}").read_text().splitlines()
    if ending == "csv":
        cells, scored = [line.split(",")[-1] for line in lines[1:]], [0, 4, 6]
    else:
        cells, scored = [json.loads(line)["centrality"] for line in lines], [0, 3, 6]
    scores = np.array([float(cell) if cell else np.nan for cell in cells])
    assert np.flatnonzero(~np.isnan(scores)).tolist() == scored
    np.testing.assert_allclose(scores[scored], model.centrality(GOOD), rtol=1e-6)
    assert lines[2 if ending == "csv" else 1].startswith(("0.5,oops,", '{"a":0.5,"b":"oops", "centrality": null'))


def test_reasons_are_empty_where_there_is_no_score(folder, model, tmp_path):
    job = ScoringJob(model, [0, 1], explain=True, p_values=True, on_error="null")
    score(job, folder / "d.csv", tmp_path / "out.parquet")
    written = tables.read(tmp_path / "out.parquet").to_pylist()
    assert written[1]["reasons_t0"] == ""
    assert written[1]["p_value_t100"] is None
    assert written[0]["reasons_t0"] != ""


def test_by_default_such_a_row_stops_a_file_and_nothing_is_written(folder, model, tmp_path):
    with pytest.raises(InputError, match=r"d\.csv cannot be read"):
        score(ScoringJob(model, [0.5]), folder / "d.csv", tmp_path / "out.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_quotation_mark_that_nobody_closes_costs_its_own_line_alone(model, tmp_path):
    rows = [f"{number},{number}" for number in range(1000)]
    rows[500] = '"500,500'
    (tmp_path / "d.csv").write_text("\n".join(["a,b", *rows, ""]))
    done = score(ScoringJob(model, [0.5], on_error="skip"), tmp_path / "d.csv", tmp_path / "out.csv")
    assert (done.rows, done.left_out) == (999, 1)


def test_a_table_with_words_where_its_numbers_were_is_scored_but_for_these(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({"a": rng.normal(size=300), "kind": rng.choice(["ash", "birch"], 300)})
    model = Chain(Table(), quick()).fit(table)
    (tmp_path / "d.csv").write_text("a,kind\n0.1,ash\n0.2,birch,3\n0.3,birch\n")
    done = score(ScoringJob(model, [0.5], on_error="skip"), tmp_path / "d.csv", tmp_path / "out.csv")
    assert (done.rows, done.left_out) == (2, 1)
    expected = model.centrality(pa.table({"a": [0.1, 0.3], "kind": ["ash", "birch"]}))
    np.testing.assert_allclose(tables.read(tmp_path / "out.csv")["centrality"], expected, rtol=1e-6)


def test_what_to_do_is_one_of_three_words(model):
    with pytest.raises(InputError, match="on_error must be one of stop, skip, null, got 'go on'"):
        ScoringJob(model, [0.5], on_error="go on")


def streamed(folder, text: str, *options: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "centrality", "score", str(folder / "m.safetensors"), "-", *options]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_stream_goes_on_after_a_broken_line(folder):
    done = streamed(folder, JSON, "--on-error", "skip")
    assert done.returncode == 0
    assert [json.loads(line)["a"] for line in done.stdout.splitlines()] == [1, 0.1, 4]
    assert "4 rows could not be read or scored" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("text", "scored"), [(JSON, 1), (CSV, 2), ("a,b\n1,2\n3,4\n,5\n6,7\n", 3)])
def test_a_stream_that_stops_loses_nothing_that_came_before(folder, text, scored):
    """The broken line comes together with those before it."""
    done = streamed(folder, text)
    assert done.returncode == 2
    assert len(done.stdout.splitlines()) == scored  # CSV: with the header


def test_what_was_left_out_is_not_scored_again_when_a_job_goes_on_but_for_another_way(model, tmp_path):
    rows, done = tmp_path / "rows", tmp_path / "done"
    rows.mkdir()
    tables.write(pa.table({"a": [1.0, None, 2.0], "b": [1.0, 2.0, 3.0]}), rows / "0.parquet")
    (chunk,) = plan(rows, done)

    def written(how: str) -> tuple[int, int]:
        scored = score_chunk(ScoringJob(model, [0.5], resume=True, on_error=how), chunk)
        return scored.rows, (done / "0.parquet").stat().st_mtime_ns

    first, again, other = written("skip"), written("skip"), written("null")
    assert first == again
    assert first[0] == 2
    assert other[0] == 3
    assert other[1] != first[1]
