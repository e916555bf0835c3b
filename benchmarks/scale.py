"""Many rows: a folder of Parquet scored by worker processes and on Ray, and fitted from a sample.

The rows (16 columns of float32, five overlapping clusters that drift from file to file) are made in a temporary folder
and deleted: .64 GB for ten million, and as much again for the scores. Rates are those after the start, which is what
the same command takes for a thousand rows of a few files; on a busy machine, those for each second of a processor tell
more.
One worker is one process whose threads share the rows. DuckDB sums every column and keeps nothing: what reading alone
costs. polars reads all columns, computes one expression of them and writes everything to Parquet, as scoring does.
"From memory" scores rows that are already there, with all cores, and writes nothing. Memory is that of all processes
together: PSS counts a page that several share once, RSS once for each of them.

    python -m benchmarks.scale [--rows 10000000] [--device cuda] [--folder DIR] [--only score fit sample]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import patch

import numpy as np
import psutil
import pyarrow as pa
from pyarrow import parquet
from scipy.stats import spearmanr

from benchmarks._results import save
from centrality import FUSE, load, tables
from centrality._internal import processes
from centrality._internal.devices import count_cores
from centrality.bulk import chunks
from centrality.bulk import sample as sampling
from centrality.bulk.score import ScoringJob, score_chunk
from centrality.model.fitted import FittedModel
from centrality.network.calibration import QUANTILES

COLUMNS, PER_FILE, PER_GROUP = 16, 1_000_000, 250_000
HELD = 4_000_000  # rows scored from memory
LARGER, ASKED = 1_000_000, 50_000  # rows of the larger sample, and those whose ranks are compared
SIZES = (2_000, 10_000, 50_000, 200_000, 1_000_000)
ON_RAY = """
import sys, time
import psutil, ray
from centrality import distributed, load
def used():
    every = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return time.perf_counter(), sum(sum(process.cpu_times()[:2]) for process in every)
model, small, large, out, cores = sys.argv[1:]
ray.init("local", num_cpus=int(cores), include_dashboard=False, log_to_driver=False, logging_level="ERROR")
distributed.score(load(model), small, out + "-small")
before = used()
distributed.score(load(model), large, out)
print(*(after - begun for begun, after in zip(before, used())))
"""
PEERS = {
    "DuckDB, reading alone": """
import sys, duckdb
names = [f"x{j}" for j in range(16)]
rows = f"read_parquet('{sys.argv[1]}/*.parquet')"
print(duckdb.sql(f"select {', '.join(f'sum({name})' for name in names)} from {rows}").fetchall())
""",
    "polars, one expression, written": """
import sys, polars
score = sum((polars.col(f"x{j}") ** 2 for j in range(1, 16)), polars.col("x0") ** 2).alias("score")
polars.scan_parquet(f"{sys.argv[1]}/*.parquet").with_columns(score).sink_parquet(
    sys.argv[2], compression="uncompressed"
)
""",
}


def block(number: int, rows: int) -> pa.RecordBatch:
    """Rows of the file of this number; the clusters' centres move with it."""
    centres = np.random.default_rng(0).normal(size=(5, COLUMNS)) + 0.01 * number
    rng = np.random.default_rng(number + 1)
    X = rng.standard_normal((rows, COLUMNS), dtype=np.float32)
    X += centres.astype(np.float32)[rng.integers(5, size=rows)]
    return pa.record_batch({f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)})


def prepare(folder: Path, rows: int) -> None:
    """The rows in folder/in, a thousand of each of the first files in folder/small, a model."""
    for name in ("in", "small"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    for number in range(-(-rows // PER_FILE)):
        table = pa.Table.from_batches([block(number, min(PER_FILE, rows - number * PER_FILE))])
        options = {"use_dictionary": False, "compression": "none", "row_group_size": PER_GROUP}
        parquet.write_table(table, folder / "in" / f"{number:05d}.parquet", **options)
        if number < count_cores():
            parquet.write_table(table.slice(0, 1000), folder / "small" / f"{number:05d}.parquet")
    rng = np.random.default_rng(0)
    FUSE(random_state=0).fit(sampling.sample(folder / "in", 20_000, rng)).save(folder / "m.safetensors")


class Watch(threading.Thread):
    """A process and all below it, every fifth of a second: the peak of memory in MiB, and seconds of processors."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.top, self.pss, self.rss = psutil.Process(pid), 0, 0
        self._cpu: dict[int, float] = {}
        self.start()

    @property
    def cpu(self) -> float:
        return sum(self._cpu.values())

    def run(self) -> None:
        while self.top.is_running():
            pss = rss = 0
            try:
                for process in (self.top, *self.top.children(recursive=True)):
                    seen = process.memory_full_info()
                    pss, rss = pss + seen.pss, rss + seen.rss
                    self._cpu[process.pid] = sum(process.cpu_times()[:2])
            except psutil.Error:
                continue
            self.pss, self.rss = max(self.pss, pss >> 20), max(self.rss, rss >> 20)
            time.sleep(0.2)


def timed(*command: str) -> tuple[float, Watch, str]:
    before = time.perf_counter()
    process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
    watch = Watch(process.pid)
    said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return time.perf_counter() - before, watch, said


def read(chunk: chunks.Chunk) -> None:
    with chunk.open() as source:
        for _ in source.batches():
            pass


def move(job: ScoringJob, chunk: chunks.Chunk) -> None:
    """Score by a model that takes no time: what is left is reading, making a matrix, and writing."""
    with patch.object(FittedModel, "units", lambda _, rows: np.zeros((len(rows), 2))):
        score_chunk(job, chunk)


def clocked(work: Callable[[chunks.Chunk], None], chunk: chunks.Chunk) -> tuple[float, float]:
    """Seconds, and seconds of a processor."""
    before, cpu = time.perf_counter(), time.process_time()
    work(chunk)
    return time.perf_counter() - before, time.process_time() - cpu


def from_memory(folder: Path, rows: int, device: str) -> dict[str, object]:
    model = load(folder / "m.safetensors", device=device).fitted_
    files = sorted((folder / "in").iterdir())[: -(-min(rows, HELD) // PER_FILE)]
    X = tables.numbers(pa.concat_tables([parquet.read_table(file) for file in files]))
    model.centrality(X[:100_000], t=[0.5])  # libraries set themselves up
    before, cpu = time.perf_counter(), time.process_time()
    model.centrality(X, t=[0.5])
    seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
    return line("from memory, nothing written", len(X), seconds, cpu)


def line(what: str, rows: int, seconds: float, cpu: float, watch: Watch | None = None) -> dict[str, object]:
    found = {"what": what, "rows": rows, "seconds": seconds, "rate": int(rows / seconds), "cpu_rate": int(rows / cpu)}
    return found | {"pss": watch.pss if watch else "", "rss": watch.rss if watch else ""}


def score(folder: Path, rows: int, device: str) -> list[dict[str, object]]:
    model, cores = str(folder / "m.safetensors"), count_cores()
    found = [from_memory(folder, rows, device)]
    for count in dict.fromkeys((cores, 1) if device == "cpu" else (cores, cores // 4, 1)):
        command = ["-m", "centrality.apps.cli", "score", model, "--workers", str(count), "--device", device]
        start, first, _ = timed(*command, str(folder / "small"), "-o", f"{folder}/started/")
        seconds, watch, _ = timed(*command, str(folder / "in"), "-o", f"{folder}/out/")
        there = sum(part.rows or 0 for part in chunks.plan(folder / "out", None))
        assert there == rows, f"{there} rows came out of {rows}"
        shutil.rmtree(folder / "out")
        name = f"{count} worker{'s' * (count > 1)}"
        found.append(line(name, rows, seconds - start, watch.cpu - first.cpu, watch))
    for what, words in (("read", "reading alone"), ("move", "reading and writing alone")):
        _, _, said = timed("-m", "benchmarks.scale", "--alone", what, str(folder))
        found.append(line(f"{cores} workers, {words}", rows, *map(float, said.split())))
    for name, script in PEERS.items() if device == "cpu" else ():
        start, first, _ = timed("-c", script, str(folder / "small"), str(folder / "peer.parquet"))
        seconds, watch, _ = timed("-c", script, str(folder / "in"), str(folder / "peer.parquet"))
        found.append(line(name, rows, seconds - start, watch.cpu - first.cpu, watch))
    if device == "cpu" and find_spec("ray"):
        places = (f"{folder}/{name}" for name in ("small", "in", "ray"))
        _, watch, said = timed("-c", ON_RAY, model, *places, str(cores))
        found.append(line(f"Ray, {cores} cores", rows, *map(float, said.split()[-2:]), watch))
    for each in found:
        for name, other in (("of_memory", found[0]), ("of_workers", found[1])):
            each[name] = each["rate"] / other["rate"]
            each[f"{name}_cpu"] = each["cpu_rate"] / other["cpu_rate"]
    return found


def agreement(one: FUSE, other: FUSE, X: np.ndarray) -> dict[str, object]:
    each = [model.fitted_.centrality(X, t=[0, 0.5, 1]) for model in (one, other)]
    pairs = zip(("t0", "t05", "t1"), *(scores.T for scores in each), strict=True)
    return {name: float(spearmanr(a, b)[0]) for name, a, b in pairs}


def fit(folder: Path, rows: int, device: str) -> list[dict[str, object]]:
    """From the folder by the command, beside a fit on a larger sample."""
    rng = np.random.default_rng(9)
    larger = sampling.sample(folder / "in", LARGER, rng)
    X = tables.numbers(larger)
    fresh = tables.numbers(sampling.sample(folder / "in", ASKED, rng))
    best = FUSE(random_state=1, device=device).fit(larger)
    out = str(folder / "fitted.safetensors")
    command = ["-m", "centrality.apps.cli", "fit", str(folder / "in"), "-o", out, "--device", device]
    seconds, watch, _ = timed(*command, "--random-state", "0")
    model = load(out)
    raw = model.fitted_.raw(X)
    ranks = [float(np.mean(raw[:, 1] < end)) for end in model.fitted_.calibration.ends[1]]
    line = {"what": "from a sample", "rows": rows, "seconds": seconds, "cpu": watch.cpu, "pss": watch.pss}
    off = float(np.abs(np.subtract(ranks, QUANTILES)).max())
    return [line | agreement(model, best, fresh) | {"rank_off": off}]


def sample(folder: Path, rows: int, device: str) -> list[dict[str, object]]:
    """How many rows are enough: fits on samples beside one on all rows, and two of those beside each other."""
    files = sorted((folder / "in").iterdir())[: max(1, min(rows, 10 * PER_FILE) // PER_FILE)]
    every = tables.numbers(pa.concat_tables([parquet.read_table(file) for file in files]))
    rng = np.random.default_rng(5)
    fresh = every[rng.choice(len(every), min(ASKED, len(every)), replace=False)]
    whole = FUSE(random_state=0, device=device).fit(every)
    found: list[dict[str, object]] = []
    for size in (*(size for size in SIZES if size < len(every)), len(every)):
        for seed in (1, 2):
            some = every if size == len(every) else every[np.sort(rng.choice(len(every), size, replace=False))]
            model = FUSE(random_state=seed, device=device).fit(some)
            found.append({"rows": size, "of": len(every), "seed": seed, **agreement(model, whole, fresh)})
    return found


PARTS = {"score": score, "fit": fit, "sample": sample}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--folder", help="for the rows and scores: a disk with room for them (default: temporary)")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)  # `read` or `move` the rows of a folder, in workers
    arguments = parser.parse_args()
    if arguments.alone:
        from benchmarks import scale  # by a name that other processes know

        what, folder = arguments.alone
        work = scale.read if what == "read" else partial(scale.move, ScoringJob(load(f"{folder}/m.safetensors"), [0.5]))
        work = partial(scale.clocked, work)
        done = processes.run(work, chunks.plan(f"{folder}/in", f"{folder}/moved"), count_cores())
        wall, cpu = np.sum([taken for _, taken in done], axis=0)
        shutil.rmtree(f"{folder}/moved", ignore_errors=True)
        print(wall / count_cores(), cpu)
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    at = "" if arguments.device == "cpu" else f"_{arguments.device}"
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        prepare(Path(name), arguments.rows)
        for part in arguments.only:
            result = PARTS[part](Path(name), arguments.rows, arguments.device)
            save({"score": "scale"}.get(part, f"scale_{part}") + at, result)


if __name__ == "__main__":
    main()
