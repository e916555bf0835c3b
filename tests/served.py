"""The service in a process of its own, and what a client needs to ask it."""

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from http.client import HTTPConnection

import pyarrow as pa
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.foreground import foreground
from tests.present import present

Where = Callable[[], AbstractContextManager[None]]
JSON, ARROW = "application/json", "application/vnd.apache.arrow.stream"


class Server:
    """`centrality serve` in a process of its own, on a free port."""

    def __init__(self, *arguments: str, where: Where = foreground) -> None:
        command = [sys.executable, "-m", "centrality.apps.cli", "serve", *arguments, "--port", "0"]
        with where():
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        said = present(self.process.stderr).readline()  # waits until it serves
        found = re.search(r"http://(.*):(\d+) ", said)
        assert found is not None, said
        self.host, self.port = found[1], int(found[2])
        self.log: list[str] = []
        self.listening = threading.Thread(target=lambda: self.log.extend(present(self.process.stderr)), daemon=True)
        self.listening.start()

    def connection(self) -> HTTPConnection:
        return HTTPConnection(self.host, self.port, timeout=60)

    def ask(self, method: str, path: str, body=None, kind: str = JSON, **headers: str):
        """Status, headers and body, of a connection of its own."""
        connection = self.connection()
        connection.request(method, path, body, {"Content-Type": kind} | headers)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, answer.headers, content

    def score(self, **asked) -> dict:
        status, _, content = self.ask("POST", "/score", json.dumps(asked))
        return json.loads(content) if status == 200 else {"status": status, **json.loads(content)}

    def metric(self, name: str, **labels: str) -> float:
        page = self.ask("GET", "/metrics")[2].decode()
        samples = (s for family in text_string_to_metric_families(page) for s in family.samples)
        return sum(s.value for s in samples if s.name == name and labels.items() <= s.labels.items())

    def stop(self, by: int = signal.SIGTERM) -> tuple[int, str]:
        """Tell it to stop, and wait."""
        self.process.send_signal(by)
        return self.ended()

    def ended(self) -> tuple[int, str]:
        """Exit status, and what it said on stdout."""
        said = present(self.process.stdout).read()
        status = self.process.wait(timeout=60)
        self.listening.join()
        present(self.process.stdout).close()
        present(self.process.stderr).close()
        return status, said


def arrow(table: pa.Table, compression: str | None = None) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as stream:
        stream.write_table(table)
    return sink.getvalue().to_pybytes()


def wait_for(happened) -> None:
    for _ in range(6000):
        if happened():
            return
        time.sleep(0.01)
    pytest.fail("It did not happen within a minute.")
