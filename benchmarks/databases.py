"""Scoring from table to table of a PostgreSQL here, beside COPY and beside pandas; functions in SQL.

    python -m benchmarks.databases [postgresql] [sql]

The server is a private one with its data in a temporary folder. Peak memory is that of the process that scores, without
the server's; seconds of a core are those of the process and, apart from them, of the server for the same work.
"""

import json
import os
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

ROWS = 1_000_000
SIZES = (200_000, ROWS, 5_000_000)  # rows of the tables by which memory is looked at
COLUMNS = 16
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


def server_seconds(postmaster: int) -> float:
    """Return the seconds of a core of the server's processes that have ended: one for each connection."""
    fields = Path(f"/proc/{postmaster}/stat").read_text().rpartition(")")[2].split()
    children_user, children_system = int(fields[13]), int(fields[14])
    return (children_user + children_system) / os.sysconf("SC_CLK_TCK")


def table_to_table(rows: int) -> list[dict[str, object]]:
    """Score a table into another one beside COPY and, at one size, in every way and beside pandas."""
    measured: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as host:
        address = f"{host}/postgres"
        postmaster = int((Path(folder) / "data" / "postmaster.pid").read_text().split()[0])

        def measure(what: str, command: list[str]) -> None:
            before = server_seconds(postmaster)
            seconds, cpu, peak = timed(command)
            time.sleep(1)  # until the server's process has ended
            measured.append(
                {
                    "what": what,
                    "rows": rows,
                    "seconds": round(seconds, 2),
                    "cpu_s": round(cpu, 2),
                    "server_cpu_s": round(server_seconds(postmaster) - before, 2),
                    "rows_per_s": round(rows / seconds),
                    "peak_mib": round(peak),
                }
            )
            print(measured[-1], flush=True)

        # Cleaning up in the background would count as work of whatever is measured.
        run_sql(address, "ALTER SYSTEM SET autovacuum = off", "ALTER SYSTEM SET max_wal_size = '8GB'")
        run_sql(address, "SELECT pg_reload_conf()::text")
        values = ", ".join(f"sin(i * {j + 1}.1::float8) + random() AS {name}" for j, name in enumerate(NAMES))
        run_sql(address, f"CREATE TABLE rows AS SELECT i AS id, {values} FROM generate_series(1, {rows}) i", "ANALYZE")
        cli = [sys.executable, "-m", "centrality"]
        model = f"{folder}/m.safetensors"
        fit = [*cli, "fit", address, "--table", "rows", "--columns", ",".join(NAMES), "--sample", "20000", "-o", model]
        measure("centrality fit: a sample of 20,000 drawn by the server", [*fit, "--random-state", "0", "--quiet"])
        score = [*cli, "score", model, address, "--table", "rows", "-o", address, "--quiet"]
        measure("centrality score: the key and the scores", [*score, "--into", "scores", "--only", "id,centrality"])
        run_sql(address, "DROP TABLE scores", "CREATE TABLE copy (LIKE rows)")
        psql = f"{programs()}/psql -q {address} -c"
        both = f"{psql} 'COPY rows TO STDOUT (FORMAT binary)' | {psql} 'COPY copy FROM STDIN (FORMAT binary)'"
        measure("COPY out and in again, by psql", ["/bin/sh", "-c", both])
        run_sql(address, "DROP TABLE copy")
        if rows == ROWS:
            measure("centrality score: all columns and the scores", [*score, "--into", "whole"])
            run_sql(address, "DROP TABLE whole")
            what = "pandas read_sql, IsolationForest, to_sql of the key and the scores"
            measure(what, [sys.executable, "-c", PEER, address])
    return measured


def in_sql(rows: int) -> list[dict[str, object]]:
    """Score rows in DuckDB's SQL, and by the same model in Python: turn by turn, and the quickest of five turns."""
    X = np.random.default_rng(0).normal(size=(rows, COLUMNS))
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    model = FUSE(random_state=0).fit(table.slice(0, 20_000))
    con = duckdb.connect(config={"threads": 1})
    con.register("given", table)
    con.execute("CREATE TABLE rows AS FROM given")
    centrality.duckdb.register(con, model)

    def query(call: str) -> Callable[[], object]:
        return lambda: con.sql(f"SELECT sum({call}) FROM rows").fetchall()

    in_python = "model.centrality(table) in Python"
    asked: dict[str, Callable[[], object]] = {
        in_python: lambda: model.centrality(table),
        "SELECT centrality(rows): the whole row": query("centrality(rows)"),
        "SELECT centrality(x0, ..., x15)": query(f"centrality({','.join(NAMES)})"),
        "model.severity(table) in Python": lambda: model.severity(table),
        "SELECT severity(rows): the whole row": query("severity(rows)"),
    }
    best = dict.fromkeys(asked, float("inf"))
    for _ in range(5):
        for what, ask in asked.items():
            began = time.process_time()
            ask()
            best[what] = min(best[what], time.process_time() - began)
    return [
        {
            "what": what,
            "rows": rows,
            "cpu_s": round(cpu, 2),
            "rows_per_cpu_s": round(rows / cpu),
            "beside_python": round(best[in_python] / cpu, 2),
        }
        for what, cpu in best.items()
    ]


if __name__ == "__main__":
    parts = sys.argv[1:] or ["postgresql", "sql"]
    if "postgresql" in parts:
        tables: list[dict[str, object]] = []
        for size in SIZES:
            tables += table_to_table(size)
            save("databases", tables)
    if "sql" in parts:
        save("databases_sql", in_sql(ROWS))
