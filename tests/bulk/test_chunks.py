"""Folders of files scored chunk by chunk: one after another, by workers, again, after a kill."""

import os
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pytest
from pyarrow import parquet

from centrality import load, tables
from centrality.apps.cli import main
from centrality.bulk import chunks
from centrality.bulk.score import ScoringJob, score_chunk
from centrality.tables import formats
from tests.conftest import quick
from tests.promise import assert_same_files, assert_same_scores, assert_same_tables


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(6000, 3))
    return pa.table({"id": np.arange(6000), **{f"x{j}": X[:, j] for j in range(3)}})


@pytest.fixture(scope="module")
def model(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    quick().fit(rows.select(["x0", "x1", "x2"])).save(path)
    return path


@pytest.fixture
def folder(rows, tmp_path):
    """Three files of 2000 rows in row groups of 500."""
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for start, name in ((0, "a"), (2000, "b"), (4000, "deep/c")):
        parquet.write_table(rows.slice(start, 2000), tmp_path / "in" / f"{name}.parquet", row_group_size=500)
    return tmp_path / "in"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def scored(model, folder, out, *options) -> dict[str, bytes]:
    assert main(["score", str(model), str(folder), "-o", f"{out}/", *options]) == 0
    return contents(out)


def test_units_are_files_or_runs_of_row_groups_and_hold_every_row_once(folder, tmp_path):
    whole = chunks.plan(folder, tmp_path / "out")
    assert [(Path(chunk.target).name, chunk.rows, chunk.groups) for chunk in whole] == [
        ("a.parquet", 2000, None),
        ("b.parquet", 2000, None),
        ("c.parquet", 2000, None),
    ]
    parts = chunks.plan(folder / "a.parquet", tmp_path / "out", split=1200)
    assert [(Path(chunk.target).name, chunk.rows, chunk.groups) for chunk in parts] == [
        ("a.00000.parquet", 1000, (0, 2)),
        ("a.00002.parquet", 1000, (2, 4)),
    ]
    ids = [id for chunk in parts for batch in chunk.open().batches() for id in batch["id"].to_pylist()]
    assert ids == list(range(2000))


def test_an_empty_file_among_others_is_no_unit(rows, folder, tmp_path):
    parquet.write_table(rows.slice(0, 0), folder / "empty.parquet")
    assert [Path(chunk.source).stem for chunk in chunks.plan(folder, tmp_path / "out")] == ["a", "b", "c"]


@pytest.mark.slow
def test_workers_and_parts_give_the_same_scores_as_one_process(model, folder, rows, tmp_path):
    alone = scored(model, folder, tmp_path / "alone", "--t", "0,1")
    script = "import sys\nfrom centrality.apps.cli import main\nmain(sys.argv[1:])\nprint('torch' in sys.modules)"
    command = ["score", str(model), str(folder), "-o", f"{tmp_path}/workers/", "--t", "0,1", "--workers", "2"]
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=True)
    assert_same_files(contents(tmp_path / "workers"), alone)
    assert done.stdout.splitlines()[-1] == "False"  # where others work, the caller stays small
    scored(model, folder, tmp_path / "parts", "--t", "0,1", "--split", "1000")
    assert len(contents(tmp_path / "parts")) == 6
    together = tables.read(tmp_path / "parts")
    assert together["id"].to_pylist() == rows["id"].to_pylist()
    assert_same_tables(together, tables.read(tmp_path / "alone"))
    expected = load(model).centrality(rows.select(["x0", "x1", "x2"]), t=1)
    assert_same_scores(together["centrality_t100"].to_numpy(), expected)


@pytest.mark.slow
def test_a_chain_and_its_notes_travel_to_the_workers(tmp_path, capsys):
    rng = np.random.default_rng(0)
    (tmp_path / "in").mkdir()
    fuels = ["gas", "oil"]
    for name, kinds in (("a", fuels), ("b", [*fuels, "coal"])):  # coal did not occur in fitting
        table = pa.table({"size": rng.normal(size=300), "fuel": rng.choice(kinds, 300)})
        tables.write(table, tmp_path / "in" / f"{name}.parquet")
    fit = ["fit", str(tmp_path / "in" / "a.parquet"), "-o", str(tmp_path / "m.safetensors"), "--represent", "table"]
    assert main([*fit, "--max-steps", "20", "--random-state", "0"]) == 0
    capsys.readouterr()
    here = scored(tmp_path / "m.safetensors", tmp_path / "in", tmp_path / "here", "--unreadable", "1")
    said_here = capsys.readouterr().err
    there = scored(
        tmp_path / "m.safetensors", tmp_path / "in", tmp_path / "there", "--workers", "2", "--unreadable", "1"
    )
    assert there == here
    assert "Column 'fuel'" in said_here
    assert said_here.splitlines() == capsys.readouterr().err.splitlines()


def times(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}


def test_resume_leaves_what_is_done_and_does_the_rest(model, folder, tmp_path):
    out = tmp_path / "out"
    done = scored(model, folder, out)
    before = times(out)
    (out / "b.parquet").unlink()
    assert scored(model, folder, out, "--resume") == done
    after = times(out)
    assert {name for name in before if before[name] != after[name]} == {"b.parquet"}
    assert scored(model, folder, out) == done  # without --resume, all is made again, with the same bits
    assert all(after[name] < time for name, time in times(out).items())


def test_resume_does_again_what_another_model_another_t_or_older_rows_left(model, folder, rows, tmp_path):
    out = tmp_path / "out"
    scored(model, folder, out, "--t", "0.5")
    other = tmp_path / "other.safetensors"
    quick(random_state=1).fit(rows.select(["x0", "x1", "x2"])).save(other)
    for arguments in ((other, folder, out, "--t", "0.5"), (other, folder, out, "--t", "1")):
        before = times(out)
        scored(*arguments, "--resume")
        assert all(before[name] < time for name, time in times(out).items())
    newer = time.time() + 10
    os.utime(folder / "a.parquet", (newer, newer))
    before = times(out)
    scored(other, folder, out, "--t", "1", "--resume")
    assert {name for name, time in times(out).items() if time != before[name]} == {"a.parquet"}


def test_parts_cut_in_another_way_are_refused_before_rows_are_there_twice(model, folder, tmp_path, capsys):
    scored(model, folder, tmp_path / "out", "--split", "500")
    for other in ([], ["--split", "1000"]):
        assert main(["score", str(model), str(folder), "-o", f"{tmp_path}/out/", "--resume", *other]) == 2
        assert "cut from its file in another way" in capsys.readouterr().err
    assert len(scored(model, folder, tmp_path / "out", "--split", "500", "--resume")) == 12


def test_scores_of_stdin_go_into_no_folder(model, tmp_path, capsys):
    assert main(["score", str(model), "-", "-o", f"{tmp_path}/out/"]) == 2
    assert "-o - or a file was wanted, not a folder" in capsys.readouterr().err


def test_scores_among_the_rows_are_refused(model, folder, capsys):
    assert main(["score", str(model), str(folder), "-o", f"{folder}/scores/"]) == 2
    assert "Name a folder outside" in capsys.readouterr().err


@pytest.mark.parametrize("options", [["--resume"], ["--workers", "2"], ["--split", "9"], ["--cluster", "auto"]])
def test_what_is_for_folders_is_refused_for_a_file(model, folder, tmp_path, capsys, options):
    assert main(["score", str(model), str(folder), "-o", str(tmp_path / "s.parquet"), *options]) == 2
    assert "-o FOLDER/ (ending in /) was wanted" in capsys.readouterr().err


def test_an_error_in_one_file_leaves_whole_files_only(model, folder, rows, tmp_path, capsys):
    broken = rows.slice(0, 2000).set_column(1, "x0", pa.array([np.nan] * 2000))
    parquet.write_table(broken, folder / "b.parquet")
    assert main(["score", str(model), str(folder), "-o", f"{tmp_path}/out/"]) == 2
    assert "NaN or infinity (inf) in column 'x0' (2000 rows)" in capsys.readouterr().err
    assert set(contents(tmp_path / "out")) == {"a.parquet"}
    assert parquet.ParquetFile(tmp_path / "out" / "a.parquet").metadata.num_rows == 2000


def test_workers_with_drift_watched_are_refused(model, folder, tmp_path, capsys):
    arguments = ["score", str(model), str(folder), "-o", f"{tmp_path}/out/", "--watch-drift", "--workers", "2"]
    assert main(arguments) == 2
    assert "in one process: leave out --workers" in capsys.readouterr().err


@pytest.mark.slow
def test_killed_while_writing_then_finished_with_no_trace(model, rows, tmp_path):
    """Workers of the real command are killed one after another while they score."""
    (tmp_path / "in").mkdir()
    many = pa.concat_tables([rows] * 25)  # 150,000 rows
    for name in range(6):
        parquet.write_table(many, tmp_path / "in" / f"{name}.parquet", row_group_size=30_000)
    expected = scored(model, tmp_path / "in", tmp_path / "calm", "--workers", "1")
    command = [
        sys.executable,
        "-m",
        "centrality.apps.cli",
        "score",
        str(model),
        f"{tmp_path}/in",
        "-o",
        f"{tmp_path}/out/",
    ]
    process = subprocess.Popen([*command, "--workers", "2"], stdout=subprocess.DEVNULL)
    left: set[str] = set()
    while process.poll() is None and len(left) < 2:
        for worker in psutil.Process(process.pid).children():
            with suppress(psutil.Error):
                writing = [file.path for file in worker.open_files() if "/out/." in file.path]
                if writing and len(left) < 2 and writing[0] not in left:
                    worker.kill()
                    left.add(writing[0])
        time.sleep(0.005)
    assert process.wait() == 0
    assert len(left) == 2
    assert_same_files(contents(tmp_path / "out"), expected)


def test_what_scoring_a_unit_says_is_its_rows(model, folder, tmp_path):
    job = ScoringJob(load(model), [0.5])
    assert [score_chunk(job, chunk).rows for chunk in chunks.plan(folder, tmp_path / "out")] == [2000] * 3


def test_a_file_that_is_no_parquet_is_one_unit_and_a_folder_without_parquet_none(model, rows, folder, tmp_path):
    tables.write(rows, tmp_path / "t.csv")
    (chunk,) = chunks.plan(tmp_path / "t.csv", tmp_path / "out")
    assert (Path(chunk.target).name, chunk.groups) == ("t.csv", None)
    expected = load(model).centrality(rows.select(["x0", "x1", "x2"]))
    assert main(["score", str(model), str(tmp_path / "t.csv"), "-o", f"{tmp_path}/out/"]) == 0
    assert_same_scores(tables.read(tmp_path / "out" / "t.csv")["centrality"].to_numpy(), expected)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "a.png").touch()
    with pytest.raises(tables.TableError, match=r"\.parquet files were wanted for a folder of scores"):
        chunks.plan(tmp_path / "pictures", tmp_path / "out")


def test_text_that_goes_into_a_folder_is_opened_once(model, rows, tmp_path, monkeypatch):
    tables.write(rows, tmp_path / "t.csv")
    opened, csv = [], formats.FORMATS[".csv"]

    def read(path: Path) -> pa.Table:
        opened.append(path)
        return csv.read(path)

    monkeypatch.setitem(formats.FORMATS, ".csv", replace(csv, read=read))
    scored(model, tmp_path / "t.csv", tmp_path / "out")
    assert opened == [tmp_path / "t.csv"]


def test_resume_does_a_damaged_file_again(model, folder, tmp_path):
    done = scored(model, folder, tmp_path / "out")
    (tmp_path / "out" / "b.parquet").write_bytes(b"half a file")
    assert scored(model, folder, tmp_path / "out", "--resume") == done


def test_ctrl_c_between_files_says_how_many_are_whole_and_how_to_go_on(folder, tmp_path):
    every = chunks.plan(folder, tmp_path / "out")

    def work(chunk):
        if chunk is every[1]:
            raise KeyboardInterrupt
        return chunk.rows

    with pytest.raises(KeyboardInterrupt, match="1 of 3 files are whole; --resume does the others"):
        chunks.run_chunks(work, every)
