"""Kill the service while it answers: no request is answered half, its model is untouched, and the next one starts."""

import http.client
import json
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from tests.faults.harness import BrokenError
from tests.faults.jobs import prepare
from tests.foreground import foreground

SIGNALS = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]


def disturb(seed: int, times: int) -> list[tuple[str, int]]:
    """Start the service, ask it things, and kill it at some moment, so many times."""
    chosen, tally = random.Random(f"{seed} serve"), Counter[str]()
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        prepare(folder)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for k in range(times):
            _once(folder, SIGNALS[k % len(SIGNALS)], chosen.uniform(0, 1.0), tally)
        if {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} != before:
            raise BrokenError("serve: files changed, or were left behind")
    print(f"serve: {dict(sorted(tally.items()))}", flush=True)
    return sorted(tally.items())


def _once(folder: Path, number: int, after: float, tally: Counter) -> None:
    command = [sys.executable, "-m", "centrality.apps.cli", "serve", str(folder / "model.safetensors"), "--port", "0"]
    with foreground():
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert server.stdout is not None
    found = None
    while found is None:
        line = server.stdout.readline()
        if not line:
            raise BrokenError(f"serve: it did not start, {server.wait()}")
        found = re.search(r"http://[\d.]+:(\d+)", line)
    client = threading.Thread(target=_ask, args=(int(found[1]), tally), daemon=True)
    client.start()
    time.sleep(after)
    server.send_signal(number)
    try:
        said, _ = server.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        server.kill()
        raise BrokenError(f"serve: it did not end after signal {number}") from None
    client.join(30)
    wanted = (-signal.SIGKILL,) if number == signal.SIGKILL else (0, 128 + number, -number)
    if server.returncode not in wanted or "Traceback" in said:
        raise BrokenError(f"serve: it ended with {server.returncode} after signal {number}\n{said[-2000:]}")
    tally[f"{signal.Signals(number).name}: ended"] += 1


def _ask(port: int, tally: Counter) -> None:
    """Ask until nobody answers; an answer is complete, or there is none."""
    body = json.dumps({"rows": [[0.1, 0.2, 0.3, 0.4]] * 100})
    while True:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
            connection.request("POST", "/score", body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            return
        if answer.status == 200 and len(json.loads(content)["centrality"]) != 100:
            tally["half answers"] += 1
        tally["answers"] += answer.status == 200
