"""Scores beside the rows: in bounded batches, on streams, whole or not at all."""

import json
import os
import select
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest

from centrality import load, tables
from centrality.apps.cli import main
from centrality.bulk.adapter import read_ahead
from tests.conftest import quick
from tests.present import present
from tests.promise import assert_same_scores


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    return pa.table({"id": [f"{i:05d}" for i in range(2000)], "a": X[:, 0], "b": X[:, 1]})


@pytest.fixture(scope="module")
def model(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    quick(t=0.5).fit(rows.select(["b", "a"])).save(path)
    return path


@pytest.fixture(scope="module")
def expected(rows, model):
    return load(model).centrality(rows.select(["b", "a"]), t=[0, 1])


SUFFIXES = [".csv", ".tsv", ".jsonl", ".csv.gz", ".parquet", ".arrow"]


@pytest.mark.slow
@pytest.mark.parametrize("into", SUFFIXES)
@pytest.mark.parametrize("of", SUFFIXES)
def test_any_format_in_any_format_out_ids_untouched(rows, model, expected, tmp_path, *, of, into):
    tables.write(rows, tmp_path / f"in{of}")
    out = tmp_path / f"out{into}"
    assert main(["score", str(model), str(tmp_path / f"in{of}"), "-o", str(out), "--t", "0,1"]) == 0
    scored = tables.read(out)
    assert scored.column_names == ["id", "a", "b", "centrality_t0", "centrality_t100"]
    assert scored.select(["id", "a", "b"]).equals(rows)
    assert_same_scores(scored["centrality_t100"].to_numpy(), expected[:, 1])


def test_text_travels_byte_for_byte(model, tmp_path):
    lines = ['{"n": 1e0, "a": 1, "b": 2.50, "deep": {"x": [1, 2]}}', '{"b":0,   "a":1, "new": null}']
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    assert main(["score", str(model), str(tmp_path / "in.jsonl"), "-o", str(tmp_path / "out.jsonl")]) == 0
    written = (tmp_path / "out.jsonl").read_text().splitlines()
    assert [line.partition(', "centrality"')[0] + "}" for line in written] == lines
    rows = ["007,1.50,2e0", '"a ""b""\nc",0,1']
    (tmp_path / "in.csv").write_text("id,a,b\r\n" + "\r\n".join(rows))
    assert main(["score", str(model), str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv")]) == 0
    written = (tmp_path / "out.csv").read_text()
    assert written.startswith("id,a,b,centrality\n" + rows[0] + ",")
    assert "\n" + rows[1] + "," in written


def test_scoring_again_replaces_the_old_scores(rows, model, tmp_path):
    tables.write(rows.slice(0, 5), tmp_path / "a.csv")
    main(["score", str(model), str(tmp_path / "a.csv"), "-o", str(tmp_path / "b.csv")])
    assert main(["score", str(model), str(tmp_path / "b.csv"), "-o", str(tmp_path / "c.csv")]) == 0
    assert tables.read(tmp_path / "c.csv").equals(tables.read(tmp_path / "b.csv"))


def test_a_column_that_the_model_learned_from_is_not_replaced_by_the_scores(rows, tmp_path, capsys):
    own = rows.select(["b", "a"]).rename_columns(["centrality", "a"])
    quick().fit(own).save(tmp_path / "m.safetensors")
    tables.write(own.slice(0, 5), tmp_path / "a.csv")
    command = ["score", str(tmp_path / "m.safetensors"), str(tmp_path / "a.csv"), "-o", str(tmp_path / "b.csv")]
    assert main(command) == 2
    assert "learned from a column 'centrality', which a new one would replace" in capsys.readouterr().err
    assert not (tmp_path / "b.csv").exists()
    assert main([*command, "--t", "1"]) == 0  # those are called centrality_t100


def test_a_folder_of_files_becomes_a_folder_of_scores(rows, model, expected, tmp_path):
    (tmp_path / "in" / "deep").mkdir(parents=True)
    tables.write(rows.slice(0, 1500), tmp_path / "in" / "1.parquet")
    tables.write(rows.slice(1500), tmp_path / "in" / "deep" / "2.parquet")
    assert main(["score", str(model), str(tmp_path / "in"), "-o", f"{tmp_path}/out/", "--t", "1"]) == 0
    assert tables.read(tmp_path / "out" / "deep" / "2.parquet").num_rows == 500
    assert_same_scores(tables.read(tmp_path / "out")["centrality_t100"].to_numpy(), expected[:, 1])


def in_bytes(rows: pa.Table, kind: str, tmp_path) -> bytes:
    if kind != "arrow":
        tables.write(rows, tmp_path / f"t.{kind}")
        return (tmp_path / f"t.{kind}").read_bytes()
    held = pa.BufferOutputStream()
    with pa.ipc.new_stream(held, rows.schema) as writer:
        writer.write_table(rows, max_chunksize=300)
    return held.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", ["csv", "jsonl", "arrow"])
def test_stdin_is_told_apart_by_its_first_bytes_and_comes_out_in_kind(
    rows, model, expected, *, tmp_path, monkeypatch, capfdbinary, kind
):
    (tmp_path / "in").write_bytes(in_bytes(rows, kind, tmp_path))
    with (tmp_path / "in").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["score", str(model), "-", "--t", "0,1"]) == 0
    done = capfdbinary.readouterr()
    assert b"Scored 2,000 rows" in done.err
    if kind == "arrow":
        scored = pa.ipc.open_stream(done.out).read_all()
    else:
        (tmp_path / f"out.{kind}").write_bytes(done.out)
        scored = tables.read(tmp_path / f"out.{kind}")
    assert_same_scores(scored["centrality_t0"].to_numpy(), expected[:, 0])
    assert scored["id"].to_pylist() == rows["id"].to_pylist()


@pytest.mark.slow
def test_a_line_is_scored_when_it_comes_not_when_the_stream_ends(model):
    expected = load(model).centrality(pa.table({"b": [0.0, 0.0], "a": [0.0, 5.0]}))
    command = [sys.executable, "-m", "centrality.apps.cli", "score", str(model), "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    given, said = present(process.stdin), present(process.stdout)
    for a, score in zip((0.0, 5.0), expected, strict=True):
        given.write(json.dumps({"a": a, "b": 0.0}).encode() + b"\n")
        given.flush()
        answer = json.loads(said.readline())  # waits forever if nothing is flushed
        assert answer["a"] == a
        assert answer["centrality"] == pytest.approx(score, abs=1e-6)
    given.close()
    assert process.wait() == 0
    said.close()


@pytest.mark.slow
def test_a_reader_that_leaves_early_ends_the_stream_quietly(rows, model, tmp_path):
    tables.write(pa.concat_tables([rows] * 100), tmp_path / "t.jsonl")
    shell = f"'{sys.executable}' -m centrality.apps.cli score '{model}' - < '{tmp_path}/t.jsonl' | head -n 1"
    done = subprocess.run(["bash", "-c", shell], capture_output=True, text=True, check=True)
    assert "centrality" in done.stdout
    assert done.stderr == ""


@pytest.mark.slow
def test_rows_that_nobody_takes_are_not_read_either(model):
    """Back-pressure: a producer can be ahead of the consumer by what pipes and a few batches hold, not by a stream."""
    command = [sys.executable, "-m", "centrality.apps.cli", "score", str(model), "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    line = b'{"a": 0.25, "b": -0.5, "note": "%s"}\n' % (b"x" * 200)
    given, said = present(process.stdin), present(process.stdout)
    given.write(line)
    given.flush()
    assert b"centrality" in said.readline()  # it has started
    entrance, sent, offered = given.fileno(), 0, 400_000 * len(line)
    os.set_blocking(entrance, False)
    while sent < offered and select.select([], [entrance], [], 1)[1]:
        sent += os.write(entrance, (line * 200)[sent % len(line) :])
    assert sent < offered / 4
    os.set_blocking(entrance, True)

    def send_the_rest() -> None:
        os.write(entrance, line[sent % len(line) :])
        given.close()

    rest = threading.Thread(target=send_the_rest)
    rest.start()  # now somebody reads, and everything comes
    assert said.read().count(b"\n") == sent // len(line) + 1
    rest.join()
    assert process.wait() == 0
    said.close()


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet", ".arrow", ".csv.gz", ".npy"])
def test_a_failure_half_way_leaves_the_old_scores(rows, model, tmp_path, suffix):
    good = "\n".join(f'{{"a": {i}, "b": 0.5, "c": {i}{"1" * 80}.5}}' for i in range(60_000))
    (tmp_path / "in.jsonl").write_text(good + '\n{"a": "many", "b": 1}\n')
    out = tmp_path / f"out{suffix}"
    out.write_text("the old scores")
    assert main(["score", str(model), str(tmp_path / "in.jsonl"), "-o", str(out)]) == 2
    assert out.read_text() == "the old scores"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", f"out{suffix}"]


def test_fetching_ahead_changes_neither_order_nor_errors():
    def items():
        yield from range(5)
        raise ValueError("half way")

    got = list[int]()
    with pytest.raises(ValueError, match="half way"):
        got.extend(read_ahead(items()))
    assert got == [0, 1, 2, 3, 4]
    assert list(read_ahead([])) == []


def test_the_models_columns_are_found_by_name_whatever_their_order(rows, model, expected, tmp_path):
    tables.write(rows.select(["b", "id", "a"]), tmp_path / "t.parquet")
    assert main(["score", str(model), str(tmp_path / "t.parquet"), "-o", str(tmp_path / "s.npz"), "--t", "1"]) == 2
    tables.write(rows.select(["b", "a"]), tmp_path / "t.parquet")
    assert main(["score", str(model), str(tmp_path / "t.parquet"), "-o", str(tmp_path / "s.npz"), "--t", "1"]) == 0
    with np.load(tmp_path / "s.npz") as archive:
        assert_same_scores(archive["centrality_t100"], expected[:, 1])


def test_no_output_for_a_file_says_where_scores_can_go(model, tmp_path, capsys):
    assert main(["score", str(model), "rows.csv"]) == 2
    assert "Say where the scores go: -o SCORES" in capsys.readouterr().err
