"""The service as a client meets it: whatever it is sent, it answers below 500, or ends the connection, and lives."""

import atexit
import contextlib
import http.client
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

BODY = b'{"rows": [[1, 2]]}'
RAW = [
    b"POST /score HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 18\r\n\r\n" + BODY,
    b"GET /model HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"POST /score?t=0,1 HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
]


@cache
def server(model: Path) -> int:
    """Start a service for the model, which ends with this process; return its port."""
    command = [sys.executable, "-m", "centrality.apps.cli", "serve", str(model), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    mine = os.getpid()
    atexit.register(lambda: process.kill() if os.getpid() == mine else None)
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.search(r"http://[\d.]+:(\d+)", line):
            return int(found[1])
    raise AssertionError("the service did not start")


@cache
def _connection(port: int, process: int) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", port, timeout=60)


def post(port: int, path: str, content: bytes, kind: str) -> None:
    """Send a request; whatever it holds, the answer is not a server error."""
    connection = _connection(port, os.getpid())
    try:
        connection.request("POST", path, content, {"Content-Type": kind})
        answer = connection.getresponse()
        said = answer.read()
    except (http.client.HTTPException, OSError):
        connection.close()  # it may have had enough of this connection, but not of all
        require_alive(port)
        return
    assert answer.status < 500, (answer.status, said[:500])


def send_raw(models: Callable[[], tuple[Path, Path]]) -> Callable[[bytes], None]:
    """Return what sends bytes as they are, takes what comes, and sees that the service lives."""

    def run(content: bytes) -> None:
        port = server(models()[0])
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=60) as stream:
            stream.sendall(content)
            stream.shutdown(socket.SHUT_WR)
            said = stream.recv(1 << 16)
            assert not re.match(rb"HTTP/1\.\d 5", said), said[:500]
        require_alive(port)

    return run


def require_alive(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/model")
    assert connection.getresponse().status == 200
    connection.close()
