"""`centrality serve` at its best rate while a second client does it all the harm it can, beside the same in peace.

Single rows as JSON over 64 connections come from wrk (apt install wrk), in turn with and without the hostile client, so
that what else the machine does meets both. Beside them a client with good requests of 20,000 rows asks again and again.
The hostile client runs with the lowest priority: one that sits elsewhere would not take our processors.

    python -m benchmarks.hostile [--minutes 10]
"""

import argparse
import itertools
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa

from benchmarks._results import save
from benchmarks._served import ARROW, COLUMNS, Served, arrow, rows_of, table_of, workshop, wrk

CALM, HOSTILE = 10, 60  # seconds, in turn
JSON = {"Content-Type": "application/json"}
MIB = 1 << 20


# The hostile client: each function does its harm once, and is called again and again.


def post(port: int, body: bytes, headers: dict[str, str], path: str = "/score", host: str = "localhost") -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", path, body, headers | {"Host": host})
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def dictionary(port: int) -> None:
    """Some 578 kB that stand for 6 GB."""
    texts = pa.DictionaryArray.from_arrays(np.zeros(12_000, dtype=np.int32), pa.array(["x" * 500_000]))
    table = pa.table({f"x{j}": texts if j == 0 else np.zeros(12_000, dtype=np.float32) for j in range(COLUMNS)})
    post(port, arrow(table), ARROW)


def compressed(port: int) -> None:
    post(port, arrow(pa.table({"x0": np.zeros(5_000_000)}), "zstd"), ARROW)


def empty_lists(port: int) -> None:
    post(port, b'{"rows": [' + b"[]," * 20_000_000 + b"[]]}", JSON)


def explanations(port: int) -> None:
    post(port, arrow(table_of(rows_of(20_000))), ARROW, "/score?explain=true")


def three_large(port: int) -> None:
    row = "[" + ",".join(["0.123456789"] * COLUMNS) + "]"
    body = ('{"rows": [' + ",".join([row] * (9_000_000 // len(row))) + "]}").encode()
    threads = [threading.Thread(target=post, args=(port, body, JSON)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def rebound(port: int) -> None:
    time.sleep(0.1)
    post(port, b'{"rows": []}', JSON, host="rebound.example")


def half_open(port: int) -> None:
    with ExitStack() as opened:
        for _ in range(900):
            one = opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))
            one.sendall(b"POST /score HTTP/1.1\r\nHost: local")
        time.sleep(5)


def endless_head(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as one:
        one.sendall(b"GET /health HTTP/1.1\r\n")
        while True:  # until the other side hangs up
            one.sendall(b"X-More: 1\r\n" * 1000)


def slow_bodies(port: int) -> None:
    head = b"POST /score HTTP/1.1\r\nHost: localhost\r\nContent-Length: 60000000\r\n\r\n"
    with ExitStack() as opened:
        several = [opened.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60)) for _ in range(8)]
        for one in several:
            one.sendall(head + b" " * 100_000)
        for one in several * 5:
            one.sendall(b" ")
            time.sleep(0.5)


def unread(port: int) -> None:
    body = arrow(table_of(rows_of(50_000)))
    kind = ARROW["Content-Type"]
    head = f"POST /score?t=0,0.25,0.5,0.75,1 HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\n"
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(60)
        one.connect(("127.0.0.1", port))
        one.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        time.sleep(12)


ATTACKS = (
    dictionary,
    compressed,
    empty_lists,
    explanations,
    three_large,
    rebound,
    half_open,
    endless_head,
    slow_bodies,
    unread,
)


def attack(port: int, seconds: float) -> None:
    """Do everything at once, again and again; print how often each was done."""
    os.nice(19)
    end, done = time.monotonic() + seconds, Counter[str]()

    def repeat(harm: Callable[[int], None]) -> None:
        while time.monotonic() < end:
            with suppress(OSError, HTTPException):
                harm(port)
            done[harm.__name__] += 1

    for harm in ATTACKS:
        threading.Thread(target=repeat, args=[harm], daemon=True).start()
    time.sleep(max(0, end - time.monotonic()))
    print(*(f"{name} {done[name]}" for name in sorted(done)), sep=", ", flush=True)
    os._exit(0)


# The measurement.


class Watch:
    """Looks at the memory of the service's processes, twice a second."""

    def __init__(self, pid: int) -> None:
        self.seen: list[tuple[float, float]] = []  # MiB of the service, and of its process for large requests
        self._service = psutil.Process(pid)
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        with suppress(psutil.Error):
            while True:
                sizes = [one.memory_info().rss / MIB for one in (self._service, *self._service.children())]
                self.seen.append((sizes[0], sum(sizes[1:])))
                time.sleep(0.5)


class LargeRequests:
    """A client with good requests, one after the other: how long they took, and how many were not answered."""

    def __init__(self, port: int) -> None:
        self.seconds: list[float] = []
        self.errors = 0
        self._body, self._port = arrow(table_of(rows_of(20_000))), port
        threading.Thread(target=self._ask, daemon=True).start()

    def _ask(self) -> None:
        while True:
            begun = time.perf_counter()
            try:
                self.errors += post(self._port, self._body, ARROW) != 200
            except (OSError, HTTPException):
                self.errors += 1
            self.seconds.append(time.perf_counter() - begun)
            time.sleep(0.5)


def rounds(server: Served, script: Path, minutes: int) -> Iterator[dict[str, object]]:
    """Yield what each minute of harm, and the moment of peace before it, were like."""
    watch, large = Watch(server.process.pid), LargeRequests(server.port)
    for minute in range(1, minutes + 1):
        calm = wrk(server, script, CALM)
        watch.seen.clear()
        large.seconds.clear()
        harm = [sys.executable, "-m", "benchmarks.hostile", "--attack", str(server.port)]
        hostile = subprocess.Popen(harm, stdout=subprocess.PIPE, text=True)
        busy = wrk(server, script, HOSTILE)
        print(f"{minute}: {hostile.communicate()[0].strip()}", flush=True)
        service, rooms = zip(*watch.seen, strict=True)
        yield {
            "minute": minute,
            "calm_per_s": calm["per_s"],
            "per_s": busy["per_s"],
            "calm_p50_ms": calm["p50_ms"],
            "p50_ms": busy["p50_ms"],
            "calm_p99_ms": calm["p99_ms"],
            "p99_ms": busy["p99_ms"],
            "errors": calm["errors"] + busy["errors"],
            "large": len(large.seconds),
            "large_worst_s": max(large.seconds, default=0.0),
            "large_errors": large.errors,
            "service_mib": statistics.mean(service),
            "large_process_mib": statistics.mean(rooms),
            "peak_mib": max(map(sum, watch.seen)),
            "load": os.getloadavg()[0],
        }


def main(minutes: int) -> None:
    with workshop() as shop:
        script, server = shop.script, shop.serve()
        post(server.port, arrow(table_of(rows_of(20_000))), ARROW)  # both processes are warm
        wrk(server, script, 2)
        found = list(itertools.islice(rounds(server, script, minutes), minutes))
        begun = time.monotonic()
        server.stop()
        print(f"Stopped with {server.process.returncode} after {time.monotonic() - begun:.1f} s.")
    save("hostile", found)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=int, default=10, help="how long the hostile client is at it (default: 10)")
    parser.add_argument("--attack", type=int, metavar="PORT", help="be the hostile client, for a minute")
    given = parser.parse_args()
    if given.attack:
        attack(given.attack, HOSTILE - 1)
    else:
        main(given.minutes)
