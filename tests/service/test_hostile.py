"""A real server process, asked by clients that mean no good; those who do are answered all the same."""

import json
import os
import pathlib
import resource
import signal
import socket
import sys
from contextlib import ExitStack

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pytest

from centrality import Chain, load
from centrality.representations import Table
from tests.conftest import quick
from tests.served import ARROW, Server, arrow, wait_for

pytestmark = pytest.mark.slow  # each waits for a process that imports torch
GIB = 1 << 30
ROW = '{"rows": [[1, 2, 3]]}'
LARGE = ROW + " " * 100_000  # the same, and too large to be answered beside small ones
HANG = """
# The real program, with requests that never end (and let nothing else of Python's run), and that want all memory.
import re
from centrality.apps.service import requests, worker
right, worker.GRACE = requests.parse, 0.5
def parse(served, kind, query, *rest):
    if query == b"hang":
        re.match("(a+)+$", 64 * "a" + "b")
    if query == b"grab":
        bytearray(1 << 38)
    return right(served, kind, query, *rest)
requests.parse = parse
"""
IMPATIENT = """
# The real program, less patient than by default.
from functools import partialmethod
from centrality.apps.service.queue import Limits
Limits.__init__ = partialmethod(Limits.__init__, head_seconds=3.0, unread_seconds=1)
"""


@pytest.fixture
def impatient(tmp_path, monkeypatch):
    """Servers that start now wait three seconds for a request's head, and one for a client to read."""
    (tmp_path / "sitecustomize.py").write_text(IMPATIENT)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))


@pytest.fixture(scope="module")
def server(file):
    running = Server(str(file))
    yield running
    assert running.stop()[0] == 0


def connected(server: Server) -> socket.socket:
    return socket.create_connection((server.host, server.port), timeout=60)


def head(server: Server, length: int, *more: str) -> bytes:
    lines = ("POST /score HTTP/1.1", f"Host: localhost:{server.port}", "Content-Type: application/json")
    return "\r\n".join([*lines, f"Content-Length: {length}", *more, "", ""]).encode()


def said(end: socket.socket) -> bytes:
    """What the server says before it hangs up."""
    heard = b""
    try:
        while part := end.recv(1 << 16):
            heard += part
    except ConnectionResetError:
        pass  # it did not wait for the rest of what it was sent
    return heard


def processes(server: Server) -> list[psutil.Process]:
    """The server's own, and the one for large requests if there is one."""
    own = psutil.Process(server.process.pid)
    return [own, *own.children()]


def peak_bytes(server: Server) -> int:
    """The most memory that any process of the service has had."""
    peaks = []
    for process in processes(server):
        with pathlib.Path(f"/proc/{process.pid}/status").open() as file:
            peaks += [1024 * int(line.split()[1]) for line in file if line.startswith("VmHWM")]
    return max(peaks)


def answers(server: Server) -> bool:
    return len(server.score(rows=[[1, 2, 3]])["centrality"]) == 1


def test_a_dictionary_that_stands_for_gigabytes_is_never_written_out_and_no_process_outlives_the_service(
    start, tmp_path
):
    rng = np.random.default_rng(0)
    homes = pd.DataFrame({"area": rng.normal(size=100), "heating": rng.choice(["gas", "oil"], 100)})
    Chain(Table(), quick()).fit(homes).save(tmp_path / "m.safetensors")
    server = start(str(tmp_path / "m.safetensors"), "--allow-host", "scores.example")
    known = pa.table({"area": homes["area"], "heating": pa.array(homes["heating"]).dictionary_encode()})
    assert server.ask("POST", "/score", arrow(known), ARROW, Host="Scores.example:80")[0] == 200
    n, long = 12_000, pa.array(["x" * 500_000])
    heating = pa.DictionaryArray.from_arrays(np.zeros(n, dtype=np.int32), long)
    body = arrow(pa.table({"area": np.zeros(n), "heating": heating}))
    assert len(body) < 700_000
    status, _, content = server.ask("POST", "/score", body, ARROW)
    assert status == 413
    assert "would take 6,0" in json.loads(content)["error"]
    assert peak_bytes(server) < 1.5 * GIB
    (large,) = processes(server)[1:]
    server.process.kill()
    large.wait(60)
    server.ended()


def test_the_process_for_large_requests_is_there_before_the_first_of_them_and_changes_with_the_model(
    start, file, tmp_path
):
    path = tmp_path / "m.safetensors"
    path.write_bytes(file.read_bytes())
    server = start(str(path))
    wait_for(lambda: processes(server)[1:])
    (large,) = processes(server)[1:]
    assert server.ask("POST", "/score", LARGE)[0] == 200
    assert processes(server)[1:] == [large]
    load(path).set_params(t=0.25).save(path)
    large.wait(60)  # its model is an older one
    wait_for(lambda: processes(server)[1:])


def test_lists_without_end_are_refused_before_they_are_made(server):
    status, _, content = server.ask("POST", "/score", b'{"rows": [' + b"[]," * 20_000_000 + b"[]]}")
    assert status == 413
    assert "bytes decoded" in json.loads(content)["error"]
    assert peak_bytes(server) < 1.5 * GIB  # 20 million lists take more
    assert answers(server)


@pytest.mark.parametrize(
    ("column", "status", "message"),
    [
        (pa.RunEndEncodedArray.from_arrays(pa.array([900_000], pa.int32()), pa.array([1.0])), 422, "run_end_encoded"),
        (pa.array(["x" * 1000] * 10).cast(pa.string_view()), 422, "string_view"),
        (pa.array([{"x": 1.0}]), 422, "struct"),
    ],
)
def test_few_bytes_that_stand_for_many_values_are_refused(server, column, status, message):
    table = pa.table([column, column, column], names=["a", "b", "c"])
    got, _, content = server.ask("POST", "/score", arrow(table), ARROW)
    assert (got, message in json.loads(content)["error"]) == (status, True)


def test_a_column_that_is_there_twice_is_refused_and_what_the_model_does_not_know_is_not_looked_at(server):
    twice = pa.table([[1.0], [1.0], [1.0], [1.0]], names=["a", "b", "c", "a"])
    status, _, content = server.ask("POST", "/score", arrow(twice), ARROW)
    assert (status, "several columns called 'a'" in json.loads(content)["error"]) == (422, True)
    other = pa.table([[1.0], [1.0], [1.0], pa.array([{"x": 1.0}])], names=["a", "b", "c", "d"])
    assert server.ask("POST", "/score", arrow(other), ARROW)[0] == 200


def test_a_request_that_never_ends_or_wants_all_memory_is_no_trouble_of_others(start, file, tmp_path, monkeypatch):
    (tmp_path / "sitecustomize.py").write_text(HANG)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    server = start(str(file), "--max-seconds", "2")
    wait_for(lambda: server.ask("POST", "/score", LARGE)[0] == 200)  # the process for large requests is there
    (large,) = processes(server)[1:]
    status, _, content = server.ask("POST", "/score?grab", LARGE)
    assert (status, "more memory than" in json.loads(content)["error"]) == (413, True)
    with connected(server) as stuck:
        stuck.sendall(head(server, len(LARGE), "Connection: close").replace(b"/score", b"/score?hang") + LARGE.encode())
        wait_for(lambda: server.metric("centrality_score_running") == 1)
        assert answers(server)
        assert b"This took longer than 2 s" in said(stuck)
    large.wait(60)  # killed: it did not let go
    wait_for(lambda: server.ask("POST", "/score", LARGE)[0] == 200)  # by another
    (large,) = processes(server)[1:]
    large.suspend()
    with connected(server) as client:
        client.sendall(head(server, len(LARGE), "Connection: close") + LARGE.encode())
        wait_for(lambda: server.metric("centrality_score_running") == 1)
        large.kill()
        answer = said(client)
    assert answer.startswith(b"HTTP/1.1 503")
    assert b"Try again" in answer
    assert server.stop()[0] == 0


def test_half_a_head_on_a_thousand_connections_locks_nobody_out(impatient, start, file):
    server = start(str(file))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2000:
        pytest.skip("this process may not open 1,100 connections")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2000), hard))
    with ExitStack() as opened:
        for _ in range(1100):
            one = opened.enter_context(connected(server))
            one.sendall(b"POST /score HTTP/1.1\r\nHost: local")
        assert answers(server)
        assert psutil.Process(server.process.pid).num_fds() < 1200
        assert said(one).startswith((b"HTTP/1.1 408", b"HTTP/1.1 503"))  # also the last of them, in time
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("line", [b"X-A: 1\r\n", b"x"], ids=["many headers", "one long name"])
def test_a_head_has_an_end(server, line):
    with connected(server) as client:
        client.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
        try:
            client.sendall(line * (4_000_000 // len(line)))
        except (BrokenPipeError, ConnectionResetError):
            return
        assert said(client).startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


def test_headers_after_a_body_have_an_end_too(server):
    with connected(server) as client:
        client.sendall(b"POST /score HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n")
        try:
            client.sendall(b"X-A: 1\r\n" * 500_000)
        except (BrokenPipeError, ConnectionResetError):
            return
        assert said(client).startswith((b"HTTP/1.1 431", b"HTTP/1.1 400"))


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("rebound.example", 403),
        ("rebound.example:8000", 403),
        ("127.0.0.1.rebound.example", 403),
        ("localhost.rebound.example", 403),
        ("[::1", 403),
        ("localhost", 200),
        ("LOCALHOST:8000", 200),
        ("127.0.0.1:8000", 200),
        ("[::1]:8000", 200),
    ],
)
def test_without_a_token_no_page_can_have_its_name_lead_here(server, host, status):
    found = {server.ask(method, path, body, Host=host)[0] for method, path, body in ASKED}
    assert found == {status}


ASKED = (("POST", "/score", ROW), ("GET", "/model", None), ("GET", "/metrics", None), ("GET", "/health", None))


def test_connected_clients_get_their_answers_after_the_signal_to_stop(start, file):
    server = start(str(file))
    with ExitStack() as opened:
        clients = [opened.enter_context(connected(server)) for _ in range(13)]
        for client in clients[:6]:  # some have been answered before
            client.sendall(head(server, len(ROW)) + ROW.encode())
            heard = b""
            while not heard.endswith(b"}"):
                heard += client.recv(1 << 16)
        assert answers(server)
        server.process.send_signal(signal.SIGTERM)
        for client in clients:
            client.sendall(head(server, len(ROW)) + ROW.encode())
        replies = [said(client) for client in clients]
    assert [answer[:12] for answer in replies] == 13 * [b"HTTP/1.1 200"]
    assert all(b"connection: close" in answer for answer in replies)
    assert server.ended() == (0, "Stopped after 20 requests with 20 rows.\n")


def test_a_client_that_does_not_read_keeps_neither_the_service_nor_its_end_waiting(impatient, start, file):
    server = start(str(file))
    rows = np.zeros((200_000, 3))
    body = arrow(pa.table({name: rows[:, j] for j, name in enumerate("abc")}))
    asked = head(server, len(body)).replace(b"application/json", ARROW.encode()).replace(b"/score", b"/score?t=0,.5,1")
    with ExitStack() as opened:
        for _ in range(2):
            client = opened.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect((server.host, server.port))
            client.sendall(asked + body)
            wait_for(lambda: server.metric("centrality_requests_total", path="/score") > 0)
        assert answers(server)
        assert server.stop()[0] == 0
