"""`centrality serve` under load, beside services one would write in ten minutes, on one machine in the same run.

Rows of 32 columns, the default model. Single rows as JSON over 64 connections come from wrk (apt install wrk), turn by
turn to ours and to the plain ones, so that what else the machine does meets both; one longer run looks for errors.
Requests for each second of the server's processor time tell more than those a second where the machine is shared.
Large bodies are Arrow streams of 100,000 rows of float32; "in memory" is `model.centrality` of the same rows, in
between.

    python -m benchmarks.service [seconds of the long run]
"""

import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks._results import save
from centrality import FUSE, load

COLUMNS, ROWS, CONNECTIONS = 32, 100_000, 64
TURNS, SECONDS = 8, 4
OURS = "single rows, JSON"
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}
LUA = """wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{{"rows": [{row}], "t": 0.5}}'
"""


class Served:
    """A server process, and what it has used of its processors."""

    def __init__(self, *command: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        command = [part.format(port=self.port) for part in command]
        self.process = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.DEVNULL)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except ConnectionRefusedError:
                time.sleep(0.1)

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()


def wrk(server: Served, script: Path, seconds: int) -> dict[str, float]:
    before = server.cpu()
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", "--timeout", "10s", "-s", str(script)]
    said = subprocess.run(
        [*command, f"http://127.0.0.1:{server.port}/score"], capture_output=True, text=True, check=True
    ).stdout
    used = server.cpu() - before
    requests = int(re.search(r"(\d+) requests in", said)[1])
    wrong = sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", said)))
    wrong += sum(map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", said)))
    return {
        "per_s": float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]),
        "per_cpu_s": requests / used,
        "p50_ms": milliseconds(said, 50),
        "p99_ms": milliseconds(said, 99),
        "errors": wrong,
    }


def milliseconds(said: str, percent: int) -> float:
    number, unit = re.search(rf"{percent}%\s+([\d.]+)(us|ms|s)", said).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def middle(runs: list[dict[str, float]]) -> dict[str, float]:
    found = {name: statistics.median(run[name] for run in runs) for name in runs[0]}
    return found | {"errors": sum(run["errors"] for run in runs)}


def single_rows(folder: Path, seconds: int) -> list[dict[str, object]]:
    model, script = str(folder / "m.safetensors"), folder / "post.lua"
    script.write_text(LUA.format(row=np.random.default_rng(1).normal(size=COLUMNS).round(6).tolist()))
    servers = {OURS: Served("centrality.cli", "serve", model, "--port", "{port}")}
    servers |= {
        f"plain, {kind}": Served("benchmarks.plain_service", kind, model, "{port}") for kind in ("fastapi", "asgi")
    }
    for server in servers.values():
        wrk(server, script, 2)  # all are warm
    turns = [{what: wrk(server, script, SECONDS) for what, server in servers.items()} for _ in range(TURNS)]
    lines = []
    for what in servers:
        line = {"what": what, "seconds": SECONDS * TURNS, **middle([turn[what] for turn in turns])}
        for name, column in (("per_s", "ratio"), ("per_cpu_s", "ratio_cpu")):
            ratio = statistics.median(turn[OURS][name] / turn[what][name] for turn in turns)
            line |= {column: "" if what == OURS else ratio}
        lines.append(line)
    lines.append({"what": f"{OURS}, at length", "seconds": seconds, **wrk(servers[OURS], script, seconds)})
    for server in servers.values():
        server.stop()
    return lines


def large_bodies(folder: Path) -> list[dict[str, object]]:
    model = load(folder / "m.safetensors")
    rows = np.random.default_rng(2).standard_normal((ROWS, COLUMNS), dtype=np.float32)
    table = pa.table({f"x{j}": np.ascontiguousarray(rows[:, j]) for j in range(COLUMNS)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    body = sink.getvalue().to_pybytes()
    server = Served("centrality.cli", "serve", str(folder / "m.safetensors"), "--port", "{port}")
    connections = [HTTPConnection("127.0.0.1", server.port) for _ in range(4)]

    def post(connection: HTTPConnection) -> None:
        connection.request("POST", "/score", body, ARROW)
        answer = connection.getresponse()
        assert (answer.status, len(answer.read()) > 8 * ROWS) == (200, True)

    def rates(work: Callable[[], object], cpu: Callable[[], float], times: int) -> tuple[float, float]:
        """Rows a second, and for each second of the scoring process's processors."""
        before, before_cpu = time.perf_counter(), cpu()
        work()
        return times * ROWS / (time.perf_counter() - before), times * ROWS / max(cpu() - before_cpu, 1e-2)

    with ThreadPoolExecutor(4) as pool:
        kinds = {
            "in memory": lambda: rates(lambda: model.centrality(rows), time.process_time, 1),
            "100,000 rows, Arrow": lambda: rates(lambda: post(connections[0]), server.cpu, 1),
            "100,000 rows, Arrow, 4 at once": lambda: rates(lambda: list(pool.map(post, connections)), server.cpu, 4),
        }
        for measure in kinds.values():
            measure()
        turns = [{kind: measure() for kind, measure in kinds.items()} for _ in range(12)]
    server.stop()
    return [
        {
            "what": kind,
            "rows_per_s": int(statistics.median(turn[kind][0] for turn in turns)),
            "best": int(max(turn[kind][0] for turn in turns)),
            "rows_per_cpu_s": int(statistics.median(turn[kind][1] for turn in turns)),
            "of_memory": statistics.median(turn[kind][0] / turn["in memory"][0] for turn in turns),
        }
        for kind in kinds
    ]


def main(seconds: int = 60) -> None:
    if shutil.which("wrk") is None:
        raise SystemExit("This needs wrk, which makes the requests: apt install wrk")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        X = np.random.default_rng(0).normal(size=(20_000, COLUMNS))
        FUSE(random_state=0).fit(X).save(folder / "m.safetensors")
        large = large_bodies(folder)
        single = single_rows(folder, seconds)
    columns = ["what", "seconds", "per_s", "per_cpu_s", "p50_ms", "p99_ms", "errors", "ratio", "ratio_cpu"]
    save("service", [{name: line.get(name, "") for name in columns} for line in single])
    save("service_arrow", large)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
