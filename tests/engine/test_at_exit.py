"""At the end of a program that still holds models, nothing is printed."""

import http.client
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlparse

import numpy as np
import pytest

from centrality.apps.explorer.server import Explorer
from centrality.apps.explorer.view import view_of
from tests.conftest import quick
from tests.foreground import foreground
from tests.present import present

SCRIPT = """
import threading, time
import numpy as np
from centrality import FUSE
X = np.random.default_rng(0).normal(size=(100, 2))
model = FUSE(random_state=0, max_steps=10).fit(X)
model.centrality(X)
threading.Thread(target=lambda held: time.sleep(100), args=(model,), daemon=True).start()
"""


@pytest.mark.slow
def test_a_model_in_a_thread_that_never_ends_is_no_leak():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.fixture
def folder(tmp_path, blob):
    quick().fit(blob).save(tmp_path / "m.safetensors")
    np.savetxt(tmp_path / "rows.csv", blob[:50], delimiter=",", header="x0,x1", comments="")
    return tmp_path


@pytest.mark.slow
def test_explore_ends_in_silence_while_a_browser_keeps_its_connection(folder):
    command = [
        sys.executable,
        "-m",
        "centrality",
        "explore",
        "m.safetensors",
        "rows.csv",
        "--port",
        "0",
        "--no-browser",
    ]
    pipe = subprocess.PIPE
    with foreground():
        server = subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, bufsize=1)
    address = next(line for line in present(server.stdout) if line.startswith("Explorer: ")).removeprefix("Explorer: ")
    connection = http.client.HTTPConnection(urlparse(address).netloc)
    connection.request("GET", f"/?{urlparse(address.strip()).query}")
    first = connection.getresponse()
    first.read()
    cookie = str(first.headers["Set-Cookie"]).partition(";")[0]
    connection.request("GET", "/data", headers={"Cookie": cookie})  # answered when the rows are scored
    connection.getresponse().read()
    server.send_signal(signal.SIGINT)
    _, err = server.communicate(timeout=15)
    connection.close()
    assert (server.returncode, err) == (0, "")


def test_no_thread_holds_the_view_of_an_explorer_that_is_closed(blob):
    model = quick().fit(blob)
    with Explorer(view_of(model, blob[:20]), port=0) as server:
        serving = threading.Thread(target=server.serve_forever, daemon=True)
        serving.start()
        before = set(threading.enumerate())
        silent = socket.create_connection(("127.0.0.1", server.server_port))  # as a browser keeps one for later
        while not (answering := set(threading.enumerate()) - before):
            time.sleep(0.01)
        server.shutdown()
    serving.join()
    silent.close()
    assert not any(thread.is_alive() for thread in answering)
