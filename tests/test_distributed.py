"""A real Ray cluster of several nodes on this machine: processes are killed and a node leaves while it works."""

import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.compute
import pytest
from pyarrow import parquet

from centrality import Chain, distributed, load, tables
from centrality._internal.input import random_numbers
from centrality.apps.cli import main
from centrality.bulk import chunks, sample
from centrality.bulk.score import ScoringJob, score_chunk
from centrality.representations import Table
from centrality.representations.base import as_arrow
from centrality.tables.columns import NEW_KIND, NEW_VALUE
from tests import errands
from tests.conftest import quick
from tests.examples import assert_examples_hold
from tests.promise import assert_same_files, assert_same_scores, assert_same_unbounded
from tests.properties.test_given import houses

# Ray leaves sockets and files of its own to the garbage collector, and says so of parts of Python that it still uses.
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
]
ROWS, FILES = 800_000, 10
SMALL = {"object_store_memory": 80 << 20, "include_dashboard": False}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Rows in ten files, numbered; each file takes long enough to be interrupted."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    each = ROWS // FILES
    for k in range(FILES):
        X = rng.normal(size=(each, 2)).astype(np.float32)
        table = pa.table({"id": np.arange(k * each, (k + 1) * each), "a": X[:, 0], "b": X[:, 1]})
        parquet.write_table(table, folder / f"{k}.parquet", row_group_size=20_000)
    return folder


@pytest.fixture(scope="module")
def model(folder, tmp_path_factory):
    rows = tables.read(folder / "0.parquet").slice(0, 2000).select(["a", "b"])
    path = tmp_path_factory.mktemp("model") / "m.safetensors"
    quick().fit(rows).save(path)
    return path


@pytest.fixture(scope="module")
def cluster():
    """Three nodes of one core each. The caller owns it: the driver joins it and leaves it."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **SMALL})
    cluster.add_node(num_cpus=1, **SMALL)
    ray.init(cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def test_without_a_cluster_one_is_started_for_the_work_and_stopped():
    ray = pytest.importorskip("ray")
    assert_examples_hold(distributed.fit)
    assert not ray.is_initialized()


def test_the_example_of_score_holds(cluster):
    assert_examples_hold(distributed.score)


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def expected(model, folder, tmp_path_factory):
    """The same folder scored by this one process."""
    out = tmp_path_factory.mktemp("alone")
    job = ScoringJob(load(model), [0.0, 1.0])
    chunks.run_chunks(lambda chunk: score_chunk(job, chunk), chunks.plan(folder, out))
    return contents(out)


class Havoc(threading.Thread):
    """Kills processes that are in the middle of a file, then takes a node away from the cluster."""

    def __init__(self, cluster, node, out: Path) -> None:
        super().__init__(daemon=True)
        self.cluster, self.node, self.out = cluster, node, out
        self.killed: set[str] = set()
        self.removed = False

    def run(self) -> None:
        while len(self.killed) < 2:
            for process in psutil.process_iter():  # those of tasks are called "ray::outcome" by Ray
                try:
                    if not process.name().startswith("ray::"):
                        continue
                    writing = [file.path for file in process.open_files() if f"{self.out}/." in file.path]
                    if writing and len(self.killed) < 2 and writing[0] not in self.killed:
                        process.kill()
                        self.killed.add(writing[0])
                except psutil.Error:
                    continue
            time.sleep(0.005)
        self.cluster.remove_node(self.node, allow_graceful=False)
        self.removed = True


def test_every_row_comes_out_once_though_workers_die_and_a_node_leaves(cluster, model, folder, expected, tmp_path):
    doomed = cluster.add_node(num_cpus=1, **SMALL)
    havoc = Havoc(cluster, doomed, tmp_path)
    havoc.start()
    assert distributed.score(load(model), folder, tmp_path, t=[0, 1]) == ROWS
    assert len(havoc.killed) == 2
    havoc.join()
    assert havoc.removed
    assert_same_files(contents(tmp_path), expected)  # every file whole, and no other file
    ids = parquet.read_table(tmp_path, columns=["id"])["id"].to_numpy()
    np.testing.assert_array_equal(np.sort(ids), np.arange(ROWS))


def test_the_command_joins_a_cluster_by_its_address_and_resumes(cluster, model, folder, expected, *, tmp_path, capsys):
    out = tmp_path / "out"
    out.mkdir()
    for name in list(expected)[2:]:
        (out / name).write_bytes(expected[name])
    before = {path: path.stat().st_mtime_ns for path in out.iterdir()}
    arguments = ["score", str(model), str(folder), "-o", f"{out}/", "--t", "0,1", "--resume"]
    assert main([*arguments, "--cluster", cluster.address]) == 0
    assert f"Scored {ROWS:,} rows: centrality_t0, centrality_t100" in capsys.readouterr().out
    assert_same_files(contents(out), expected)
    assert {path: path.stat().st_mtime_ns for path in before} == before


def test_cells_that_cannot_be_read_are_counted_over_all_tasks(cluster, tmp_path, capsys):
    rng = np.random.default_rng(0)
    (tmp_path / "in").mkdir()
    for name, kinds in (("a", ["gas", "oil"]), ("b", ["gas", "oil", "coal"])):  # coal did not occur in fitting
        table = pa.table({"size": rng.normal(size=300), "fuel": np.resize(kinds, 300)})
        tables.write(table, tmp_path / "in" / f"{name}.parquet")
    model = Chain(Table(), quick(max_steps=20)).fit(tables.read(tmp_path / "in" / "a.parquet"))
    model.save(tmp_path / "m.safetensors")
    command = ["score", str(tmp_path / "m.safetensors"), f"{tmp_path}/in", "-o", f"{tmp_path}/out/", "--json"]
    assert main([*command, "--unreadable", "1", "--cluster", cluster.address]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["unreadable"] == {"fuel": {NEW_VALUE: 100}}
    assert "note: Column 'fuel': in 100 of 600 rows" in said.err


def test_new_kinds_are_counted_over_all_tasks_and_scores_are_those_of_the_model(cluster, tmp_path, capsys):
    rows = houses(300)
    (tmp_path / "in").mkdir()
    for name, size in (("a", rows["size"]), ("b", 900.0)):  # so large a house did not occur in fitting
        tables.write(as_arrow(rows.assign(size=size)), tmp_path / "in" / f"{name}.parquet")
    model = quick(given=["size", "city"]).fit(rows)
    model.save(tmp_path / "m.safetensors")
    command = ["score", str(tmp_path / "m.safetensors"), f"{tmp_path}/in", "-o", f"{tmp_path}/out/", "--json"]
    assert main([*command, "--cluster", cluster.address]) == 0
    assert json.loads(capsys.readouterr().out)["unreadable"] == {"size, city": {NEW_KIND: 300}}
    found = tables.read(tmp_path / "out" / "a.parquet")["centrality"]
    assert_same_scores(np.asarray(found), model.centrality(rows))


def test_a_fit_on_the_cluster_knows_the_context(cluster, tmp_path):
    rows = houses(600)
    tables.write(as_arrow(rows), tmp_path / "rows.parquet")
    model = distributed.fit(str(tmp_path / "rows.parquet"), quick(given=["size", "city"]))
    assert model.fitted_.context is not None
    np.testing.assert_array_equal(model.explain(rows[:5])[:, 2:], 0)


def test_a_task_computes_with_one_thread(cluster):
    assert [threads for _, threads in distributed.tasks(errands.threads, [0, 1])] == [1, 1]


def test_what_is_wrong_with_a_file_is_said_by_the_driver(cluster, model, tmp_path):
    (tmp_path / "in").mkdir()
    tables.write(pa.table({"a": [1.0, np.nan], "b": [0.0, 1.0]}), tmp_path / "in" / "x.parquet")
    with pytest.raises(ValueError, match=r"NaN or infinity \(inf\) in column 'a' \(1 rows\)"):
        distributed.score(load(model), tmp_path / "in", tmp_path / "out")
    assert contents(tmp_path / "out") == {}


def test_an_item_that_kills_every_process_is_named(cluster, monkeypatch):
    monkeypatch.setattr(distributed, "RETRIES", 1)
    with pytest.raises(ChildProcessError, match="The cluster could not do 3: a process or node was lost 2 times"):
        list(distributed.tasks(errands.killed_by_three, [3]))


def test_a_fit_on_the_cluster_is_the_fit_on_its_sample(cluster, folder):
    model = quick(contamination=0.05)
    fitted = distributed.fit(folder, model, columns=["a", "b"], sample=20_000)
    assert fitted is model
    rng = np.random.default_rng(random_numbers(model.random_state).randint(2**31))
    here = quick(contamination=0.05).fit(sample.sample(folder, 20_000, rng, ["a", "b"]))
    X = tables.numbers(parquet.read_table(folder, columns=["a", "b"]))[:1000]
    assert_same_unbounded(fitted.fitted_.raw(X), here.fitted_.raw(X))
    assert fitted.offset_ == pytest.approx(here.offset_, abs=1e-9)
    assert fitted.fitted_.training_scores.rows == here.fitted_.training_scores.rows


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    """Four days of 3,000 rows, each a folder of its own as Spark writes them; the last day's rows have moved."""
    folder = tmp_path_factory.mktemp("days")
    rng = np.random.default_rng(1)
    for day in range(4):
        X = rng.normal(size=(3000, 2))
        X[:, 0] += 2 * (day == 3)
        (folder / f"day={day}").mkdir()
        rows = pa.table({"id": np.arange(3000) + 3000 * day, "a": X[:, 0], "b": X[:, 1]})
        parquet.write_table(rows, folder / f"day={day}" / "part-0.parquet", row_group_size=1000)
    return folder


def test_partitions_are_scored_into_partitions_of_the_same_names(cluster, model, days, tmp_path):
    assert distributed.score(load(model), days, tmp_path) == 12_000
    assert set(contents(tmp_path)) == set(contents(days))
    scored = parquet.read_table(tmp_path)  # Arrow reads the days from the names of the folders
    assert sorted(set(scored["day"].to_pylist())) == [0, 1, 2, 3]
    rows = tables.read(days / "day=2" / "part-0.parquet")
    expected = load(model).centrality(rows.select(["a", "b"]))
    found = tables.read(tmp_path / "day=2" / "part-0.parquet")
    assert_same_scores(found["centrality"].to_numpy(), expected)


def test_drift_is_told_file_by_file_and_of_a_sample_of_all(cluster, model, days):
    report = distributed.drift(load(model), days, sample=4000)
    assert [(window.first, window.last) for window in report.windows] == [
        (3000 * day, 3000 * day + 2999) for day in range(4)
    ]
    assert [window.changed for window in report.windows] == [False, False, False, True]
    assert (report.whole.rows, report.drawn_from) == (4000, 12_000)
    assert "4,000 new rows drawn at random from 12,000" in str(report)
    # A quarter of the rows has moved by two standard deviations: Cliff's delta is (2 Phi(2 / sqrt 2) - 1) / 4 = .21.
    [of_a] = [column for column in report.whole.columns if column.name == "a"]
    assert of_a.effect == pytest.approx(0.21, abs=0.05)
    alone = load(model).drift(tables.read(days / "day=3" / "part-0.parquet").select(["a", "b"]))
    last = report.windows[-1].drift
    assert last.columns[0].effect == pytest.approx(alone.columns[0].effect, abs=1e-9)  # all rows of the file
    assert last.global_head.effect == pytest.approx(alone.global_head.effect, abs=1e-6)
    by_group = distributed.drift(load(model), days, split=1000)
    assert len(by_group.windows) == 12
    assert by_group.drawn_from is None  # the sample would hold every row


def test_what_is_wrong_is_told_of_a_sample_with_the_file_of_each_row(cluster, days, tmp_path):
    for day in range(4):
        rows = tables.read(days / f"day={day}" / "part-0.parquet")
        a = rows["a"].to_numpy().copy()
        a[::100] = -999.0  # one row in a hundred of every day
        (tmp_path / f"day={day}").mkdir()
        tables.write(rows.set_column(1, "a", pa.array(a)), tmp_path / f"day={day}" / "part-0.parquet")
    findings = distributed.check(tmp_path, sample=6000)
    [placeholder] = [one for one in findings if one.kind == "placeholder"]
    assert findings.data.num_rows == 6000
    low, high = findings.in_all_rows(placeholder)
    assert low <= 120 <= high
    assert high <= 2 * 120  # 60 of 6,000 drawn: the interval ends below a share of two in a hundred
    text = str(findings)
    assert "These 6,000 rows were drawn at random from 12,000" in text
    assert f"Of all rows, {low:,} to {high:,} are likely such rows." in text
    marked = findings.marked_rows()
    marked = marked.filter(pa.compute.equal(marked["finding"], placeholder.sentence))
    for row in marked.slice(0, 5).to_pylist():
        there = tables.read(row["file"]).slice(row["row_of_file"], 1).to_pylist()[0]
        assert there == {name: row[name] for name in ("id", "a", "b")}


def test_the_commands_check_and_drift_on_a_cluster(cluster, model, days, tmp_path, capsys):
    drift = ["drift", str(model), str(days), "--cluster", cluster.address]
    assert main([*drift, "--sample", "5000", "--json", "--fail-on", "0.2"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["drawn_from"], len(said["windows"])) == (5000, 12_000, 4)
    check = ["check", str(days), "--cluster", cluster.address, "--sample", "3000"]
    assert main([*check, "--json", "-o", f"{tmp_path}/rows.csv"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["rows"], said["drawn_from"]) == (3000, 12_000)
    header = (tmp_path / "rows.csv").read_text().splitlines()[0]
    assert {"file", "row_of_file"} <= set(header.split(","))
    assert main([*drift, "--window", "100"]) == 2
    assert "leave out --window" in capsys.readouterr().err
    assert main(["check", str(days), "--sample", "100"]) == 2
    assert "--sample is for --cluster ADDRESS" in capsys.readouterr().err
    assert main(["drift", str(days), str(days), "--cluster", cluster.address]) == 2
    assert "MODEL NEW was wanted" in capsys.readouterr().err


def test_one_file_that_is_no_parquet_is_refused(cluster, model, tmp_path):
    tables.write(pa.table({"a": [1.0, 2.0], "b": [1.0, 2.0]}), tmp_path / "rows.csv")
    with pytest.raises(tables.TableError, match=r"a folder of \.parquet files was wanted"):
        distributed.drift(load(model), tmp_path / "rows.csv")


@pytest.mark.parametrize("example", [distributed.drift, distributed.check])
def test_the_examples_of_drift_and_check_hold(cluster, example):
    assert_examples_hold(example)
