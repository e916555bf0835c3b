"""Scoring more rows than memory should hold: throughput and peak memory of `centrality score`.

Ten million rows of 16 float32 columns, made in a temporary folder and deleted. Each line is one whole process, start
and imports included. "from memory" reads the Parquet file whole and computes the same scores, and writes nothing; the
commands read, score and write. Peak memory is the process's, above that of a bare interpreter.

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
FROM_MEMORY = """
import sys
from pyarrow import parquet
from centrality import load, scoring, tables
model = scoring.without_names(load(sys.argv[1]))
model.centrality(tables.numbers(parquet.read_table(sys.argv[2])), t=[0.5])
"""


def batches(rows: int):
    rng = np.random.default_rng(0)
    for start in range(0, rows, GROUP):
        block = rng.standard_normal((min(GROUP, rows - start), COLUMNS), dtype=np.float32)
        yield pa.record_batch({f"x{j}": np.ascontiguousarray(block[:, j]) for j in range(COLUMNS)})


def prepare(folder: Path, rows: int) -> None:
    first = next(batches(20_000))
    FUSE(random_state=0).fit(pa.Table.from_batches([first])).save(folder / "model.safetensors")
    with (
        parquet.ParquetWriter(folder / "rows.parquet", first.schema, use_dictionary=False) as whole,
        pa.OSFile(str(folder / "rows.arrows"), "wb") as file,
        pa.ipc.new_stream(file, first.schema) as stream,
    ):
        for batch in batches(rows):
            whole.write_batch(batch)
            stream.write_table(pa.Table.from_batches([batch]), max_chunksize=65_536)
    few = pa.Table.from_batches(batches(rows // 20))
    tables.write(few, folder / "rows.jsonl")
    tables.write(few, folder / "rows.csv")


def measured(what: str, command: list[str], rows: int, stdin: Path | None = None) -> dict[str, object]:
    """One process, from its start to its end."""
    script = f"import resource, subprocess, sys\nsubprocess.run({command!r}, check=True)\n"
    script += "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)"
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
    seconds = time.perf_counter() - before
    peak = int(done.stderr.split()[-1]) / 1024
    return {"what": what, "rows": rows, "seconds": seconds, "rows_per_s": int(rows / seconds), "peak_mib": int(peak)}


def main(rows: int = 10_000_000) -> None:
    python, found = [sys.executable], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, rows)
        model = str(folder / "model.safetensors")
        score = [*python, "-m", "centrality.cli", "score", model]
        data, few = str(folder / "rows.parquet"), rows // 20
        bare = measured("interpreter", [*python, "-c", "pass"], 0)
        found.append(measured("from memory, nothing written", [*python, "-c", FROM_MEMORY, model, data], rows))
        found.append(measured("parquet to parquet", [*score, data, "-o", str(folder / "out.parquet")], rows))
        found.append(measured("stdin arrow to stdout", [*score, "-"], rows, folder / "rows.arrows"))
        found.append(measured("stdin jsonl to stdout", [*score, "-"], few, folder / "rows.jsonl"))
        found.append(measured("stdin csv to stdout", [*score, "-"], few, folder / "rows.csv"))
    for row in found:
        row["peak_mib"] -= bare["peak_mib"]
        row["of_memory"] = row["rows_per_s"] / found[0]["rows_per_s"]
    save("streams", found)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
