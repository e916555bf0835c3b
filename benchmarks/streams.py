"""Scoring more rows than memory should hold: throughput and peak memory of `centrality score`.

Ten million rows of 16 float32 columns, made in a temporary folder and deleted. Each line is one process; the time it
takes for 1000 rows is its start, and rows/s are those after it; on a busy machine, those for each second of a processor
tell more. "from memory" reads the Parquet file whole and computes
the same scores, and writes nothing; the commands read, score and write. Peak memory is the process's, above that of a
bare interpreter.

    python -m benchmarks.streams [rows]
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from benchmarks._results import save
from centrality import FUSE, tables

COLUMNS, GROUP = 16, 500_000
MODELS = {"128, 128": (128, 128), "32, 32": (32, 32)}  # the default, and the paper's for small problems
MEMORY = "from memory, nothing written"
RUNS = [
    (MEMORY, "128, 128"),
    ("parquet to parquet", "128, 128"),
    ("stdin arrow to stdout", "128, 128"),
    ("stdin arrow to stdout", "32, 32"),
    ("stdin jsonl to stdout", "128, 128"),
    ("stdin csv to stdout", "128, 128"),
]
FROM_MEMORY = """
import sys
from pyarrow import parquet
from centrality import load, tables
model = load(sys.argv[1]).fitted_
model.centrality(tables.numbers(parquet.read_table(sys.argv[2])), t=[0.5])
"""


def batches(rows: int):
    rng = np.random.default_rng(0)
    for start in range(0, rows, GROUP):
        block = rng.standard_normal((min(GROUP, rows - start), COLUMNS), dtype=np.float32)
        yield pa.record_batch({f"x{j}": np.ascontiguousarray(block[:, j]) for j in range(COLUMNS)})


def prepare(folder: Path, rows: int) -> None:
    """The same rows in every format; the text formats get a twentieth of them."""
    first = next(batches(20_000))
    for name, hidden in MODELS.items():
        model = FUSE(hidden=hidden, random_state=0).fit(pa.Table.from_batches([first]))
        model.save(folder / f"{name}.safetensors")
    with (
        parquet.ParquetWriter(folder / "rows.parquet", first.schema, use_dictionary=False) as whole,
        pa.OSFile(str(folder / "rows.arrow"), "wb") as file,
        pa.ipc.new_stream(file, first.schema) as stream,
    ):
        for batch in batches(rows):
            whole.write_batch(batch)
            stream.write_table(pa.Table.from_batches([batch]), max_chunksize=65_536)
    few = pa.Table.from_batches(batches(max(rows // 20, 1)))
    tables.write(few, folder / "rows.jsonl")
    tables.write(few, folder / "rows.csv")


def process(command: list[str], stdin: Path | None) -> tuple[float, float, int]:
    """Seconds from start to end, seconds of processors, and the peak memory in MiB."""
    script = f"import resource, subprocess, sys\nsubprocess.run({command!r}, check=True)\n"
    script += "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
    script += "print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)"
    before = time.perf_counter()
    with (stdin or Path("/dev/null")).open("rb") as source:
        done = subprocess.run(
            [sys.executable, "-c", script],
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=True,
        )
    used, peak = done.stderr.split()[-2:]
    return time.perf_counter() - before, float(used), int(peak) // 1024


def command(what: str, model: Path, folder: Path) -> tuple[list[str], Path | None]:
    """What to run, and what it finds on stdin."""
    python, data = [sys.executable], str(folder / "rows.parquet")
    score = [*python, "-m", "centrality.apps.cli", "score", str(model)]
    if what == MEMORY:
        return [*python, "-c", FROM_MEMORY, str(model), data], None
    if what == "parquet to parquet":
        return [*score, data, "-o", str(folder / "out.parquet")], None
    return [*score, "-"], folder / f"rows.{what.split()[1]}"


def main(rows: int = 10_000_000) -> None:
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name, tempfile.TemporaryDirectory() as tiny:
        prepare(Path(name), rows)
        prepare(Path(tiny), 1000)
        _, _, bare = process([sys.executable, "-c", "pass"], None)
        for what, model in RUNS:
            file = Path(name) / f"{model}.safetensors"
            start, start_cpu, _ = process(*command(what, file, Path(tiny)))
            seconds, cpu, peak = process(*command(what, file, Path(name)))
            n = rows // 20 if what.split()[1] in ("jsonl", "csv") else rows
            line = {"what": what, "model": model, "rows": n, "seconds": seconds, "start_seconds": start}
            rates = {"rows_per_s": int(n / (seconds - start)), "rows_per_cpu_s": int(n / (cpu - start_cpu))}
            found.append(line | rates | {"peak_mib": peak - bare})
    for line in found:
        same = line["model"] == found[0]["model"] and line["rows"] == rows
        line["of_memory"] = line["rows_per_s"] / found[0]["rows_per_s"] if same else ""
    save("streams", found)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
