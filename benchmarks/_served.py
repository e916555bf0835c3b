"""A service to be measured: a model of 32 columns in a folder, servers of it, and wrk, which asks for single rows."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from centrality import FUSE

COLUMNS, CONNECTIONS = 32, 64
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}
LUA = """wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
wrk.body = '{{"rows": [{row}], "t": 0.5}}'
"""


@dataclass(frozen=True)
class Workshop:
    """Where the model is, and the script by which wrk asks for the score of a row."""

    model: str
    script: Path

    def serve(self) -> "Served":
        return Served("centrality.apps.cli", "serve", self.model, "--port", "{port}")


@contextmanager
def workshop() -> Iterator[Workshop]:
    """Fit the model, in a folder that lasts as long as the block."""
    if shutil.which("wrk") is None:
        raise SystemExit("This needs wrk, which makes the requests: apt install wrk")
    with tempfile.TemporaryDirectory() as name:
        model, script = Path(name, "m.safetensors"), Path(name, "post.lua")
        FUSE(random_state=0).fit(np.random.default_rng(0).normal(size=(20_000, COLUMNS))).save(model)
        script.write_text(LUA.format(row=np.random.default_rng(1).normal(size=COLUMNS).round(6).tolist()))
        yield Workshop(str(model), script)


def rows_of(n: int) -> np.ndarray:
    return np.random.default_rng(2).standard_normal((n, COLUMNS), dtype=np.float32)


def table_of(rows: np.ndarray) -> pa.Table:
    return pa.table({f"x{j}": np.ascontiguousarray(rows[:, j]) for j in range(COLUMNS)})


def arrow(table: pa.Table, compression: str | None = None) -> bytes:
    """The table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


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
