"""Scoring from table to table of a PostgreSQL here, beside COPY and beside pandas; functions in DuckDB's SQL.

    python -m benchmarks.databases [ROWS]

The server is a private one with its data in a temporary folder. Peak memory and the seconds of a core are those of the
process that scores, without the server's.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from tests.postgres import programs, run_sql, server

import centrality.duckdb
from benchmarks._results import save
from centrality import FUSE

ROWS, COLUMNS = 1_000_000, 16
NAMES = [f"x{j}" for j in range(COLUMNS)]
PEER = """
import sys
import pandas as pd
from adbc_driver_postgresql import dbapi
from sklearn.ensemble import IsolationForest
with dbapi.connect(sys.argv[1]) as con:
    rows = pd.read_sql("SELECT * FROM rows", con)
    names = [name for name in rows.columns if name != "id"]
    model = IsolationForest(random_state=0).fit(rows[names].sample(20_000, random_state=0))
    rows["centrality"] = model.score_samples(rows[names])
    rows[["id", "centrality"]].to_sql("peer", con, index=False)
    con.commit()
"""


# A small process starts the command: one that comes from a large one would count its memory as its own.
STARTER = """
import json, resource, subprocess, sys, time
began = time.perf_counter()
subprocess.run(json.loads(sys.argv[1]), stdout=subprocess.DEVNULL, check=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024]))
"""


def timed(command: list[str]) -> tuple[float, float, float]:
    """Return the seconds that a command takes, its seconds of a core, and its peak memory in MiB."""
    starter = [sys.executable, "-S", "-c", STARTER, json.dumps(command)]
    wall, cpu, peak = json.loads(subprocess.run(starter, capture_output=True, text=True, check=True).stdout)
    return wall, cpu, peak


def table_to_table(rows: int) -> list[dict[str, object]]:
    """Score a table into another one in three ways."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as host:
        address = f"{host}/postgres"
        values = ", ".join(f"sin(i * {j + 1}.1) + random() AS {name}" for j, name in enumerate(NAMES))
        run_sql(address, f"CREATE TABLE rows AS SELECT i AS id, {values} FROM generate_series(1, {rows}) i", "ANALYZE")
        cli = [sys.executable, "-m", "centrality"]
        model = f"{folder}/m.safetensors"
        fit = timed([*cli, "fit", address, "--table", "rows", "--columns", ",".join(NAMES), "--sample", "20000",
                     "-o", model, "--random-state", "0", "--quiet"])  # fmt: skip
        score = [
            *cli,
            "score",
            model,
            address,
            "--table",
            "rows",
            "-o",
            address,
            "--quiet",
            "--if-exists",
            "replace",
        ]
        key = timed([*score, "--into", "scores", "--only", "id,centrality"])
        whole = timed([*score, "--into", "whole"])
        psql = f"{programs()}/psql -q {address} -c"
        run_sql(address, "CREATE TABLE copy (LIKE rows)")
        both = f"{psql} 'COPY rows TO STDOUT (FORMAT binary)' | {psql} 'COPY copy FROM STDIN (FORMAT binary)'"
        copied = timed(["/bin/sh", "-c", both])
        peer = timed([sys.executable, "-c", PEER, address])
    measured = {
        "centrality fit: a sample of 20,000 drawn by the server": fit,
        "centrality score: the key and the scores": key,
        "centrality score: all columns and the scores": whole,
        "COPY out and in again, by psql": copied,
        "pandas read_sql, IsolationForest, to_sql of the key and the scores": peer,
    }
    return [
        {
            "what": what,
            "rows": rows,
            "seconds": round(seconds, 2),
            "cpu_s": round(cpu, 2),
            "rows_per_s": round(rows / seconds),
            "peak_mib": round(peak),
        }
        for what, (seconds, cpu, peak) in measured.items()
    ]


def in_sql(rows: int) -> list[dict[str, object]]:
    """Score rows in DuckDB's SQL, and by the same model in Python."""
    X = np.random.default_rng(0).normal(size=(rows, COLUMNS))
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    model = FUSE(random_state=0).fit(table.slice(0, 20_000))
    con = duckdb.connect()
    con.register("given", table)
    con.execute("CREATE TABLE rows AS FROM given")
    centrality.duckdb.register(con, model)
    asked: dict[str, Callable[[], object]] = {
        "SELECT centrality(rows): the whole row": lambda: con.sql("SELECT sum(centrality(rows)) FROM rows").fetchall(),
        "SELECT centrality(x0, ..., x15)": lambda: con.sql(
            f"SELECT sum(centrality({','.join(NAMES)})) FROM rows"
        ).fetchall(),
        "model.centrality(table) in Python": lambda: model.centrality(table),
    }
    measured = []
    for what, ask in asked.items():
        seconds = []
        for _ in range(3):
            began, cpu_began = time.perf_counter(), time.process_time()
            ask()
            seconds.append((time.perf_counter() - began, time.process_time() - cpu_began))
        best, cpu = min(seconds)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        measured.append(
            {
                "what": what,
                "rows": rows,
                "seconds": round(best, 2),
                "cpu_s": round(cpu, 2),
                "rows_per_s": round(rows / best),
                "peak_mib": peak,
            }
        )
    return measured


if __name__ == "__main__":
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    save("databases", [*table_to_table(rows), *in_sql(rows)])
