"""How soon `centrality explore` shows a picture: from the command to a page that is drawn and answers.

Rows have eight numbers and a category; the model is a file. Up to 200,000 rows a process of its own makes a better map
meanwhile. Seconds that Python and the browser were computing stand beside those on the clock: on a busy machine only
these say something.

    python -m benchmarks.explorer_start [--rows 1200]     (of these rows alone it is only printed)
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.browser import opened

from benchmarks._results import save
from benchmarks.explorer import measured
from centrality import FUSE

WANTED = {1200: 3, 10_000: 3, 100_000: 6, 1_000_000: 15}  # seconds
COLUMNS = [f"x{k}" for k in range(8)]


def rows(n: int) -> pa.Table:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, len(COLUMNS))) + 4 * rng.integers(0, 3, size=(n, 1))
    kind = np.array(["red", "green", "blue"])[rng.integers(0, 3, size=n)]
    return pa.table({**dict(zip(COLUMNS, X.T, strict=True)), "kind": kind})


def start(browser: Any, model: Path, data: Path) -> tuple[float, float]:
    """Seconds until the page is ready, on the clock and of computing."""
    command = [
        sys.executable,
        "-m",
        "centrality.apps.cli",
        "explore",
        str(model),
        str(data),
        "--no-browser",
        "--port",
        "0",
    ]
    tab = browser.new_page(viewport={"width": 1400, "height": 900})
    servers = []

    def until_ready() -> None:
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        servers.append(server)
        assert server.stdout is not None
        url = next(line.split()[1] for line in server.stdout if line.startswith("Explorer: "))
        tab.goto(url)
        tab.wait_for_selector("[data-ready]", timeout=300_000)

    found = measured(until_ready)
    tab.close()
    servers[0].terminate()
    servers[0].communicate(timeout=60)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, choices=list(WANTED), help="of a page of so many rows alone, not saved")
    only = parser.parse_args().rows
    found: list[dict[str, object]] = []
    with tempfile.TemporaryDirectory() as name, opened() as browser:
        model, data = Path(name) / "model.safetensors", Path(name) / "rows.parquet"
        FUSE(random_state=0).fit(rows(10_000).select(COLUMNS)).save(model)
        for n, wanted in WANTED.items():
            if only not in (None, n):
                continue
            pq.write_table(rows(n), data)
            clock, computing = start(browser, model, data)
            line = {"rows": n, "ready_s": clock, "computing_s": computing, "wanted_s": wanted}
            found.append(line | {"load": round(os.getloadavg()[0], 1)})
            print(found[-1], flush=True)
    if only is None:
        save("explorer_start", found)


if __name__ == "__main__":
    main()
