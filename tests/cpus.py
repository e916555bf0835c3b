"""The numerical tests as on other CPUs: `python -m tests.cpus [--record]`, or `make test-cpus`; `make test` runs a few.

Libraries are told by environment variables to use only what an older CPU has. Under each emulation the tests marked
`numbers` run that are not `slow`, and the same saved models score the same rows: how far from exact arithmetic, and
from one another.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from benchmarks import provenance
from threadpoolctl import threadpool_info

from centrality.engine import engine_name
from tests.promise import Exact
from tests.properties.test_promise import KINDS, SAVED, file_of, model_of, places

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results" / "cpus.csv"
FLAGS = {"sse": "sse4_2", "avx2": "avx2", "avx512": "avx512f"}
ENGINE = "CENTRALITY_ENGINE"
COMPUTED_BY = {  # name: what the CPU must have, and the variables
    "as it is": ("sse", {}),
    "two threads": ("sse", {"OMP_NUM_THREADS": "2"}),
    "engine portable": ("sse", {ENGINE: "portable"}),
    "engine AVX2": ("avx2", {ENGINE: "avx2"}),
    "engine AVX512": ("avx512", {ENGINE: "avx512"}),
}
OLDER = {  # what only numpy and torch go by: scaling, calibration, users' encoders
    "ATen default": ("sse", {"ATEN_CPU_CAPABILITY": "default"}),
    "oneDNN SSE4.1": ("sse", {"ONEDNN_MAX_CPU_ISA": "SSE41"}),
    "MKL compatible": ("sse", {"MKL_CBWR": "COMPATIBLE"}),
    "OpenBLAS Haswell": ("avx2", {"OPENBLAS_CORETYPE": "Haswell"}),
    "OpenBLAS SkylakeX": ("avx512", {"OPENBLAS_CORETYPE": "SkylakeX"}),
    "all of the oldest": (
        "sse",
        {
            ENGINE: "portable",
            "ATEN_CPU_CAPABILITY": "default",
            "ONEDNN_MAX_CPU_ISA": "SSE41",
            "MKL_CBWR": "COMPATIBLE",
        },
    ),
}
EMULATIONS = COMPUTED_BY | OLDER
SHORT = ("all of the oldest", "engine AVX2")  # of which `make test` runs the most telling tests
MOST_TELLING = ("tests/golden/test_golden.py", "tests/properties/test_promise.py")
SEEN = ("engine", "torch", "OpenBLAS", "threads")
VARIABLES = sorted({name for _, variables in EMULATIONS.values() for name in variables})


@dataclass
class Run:
    """What came of one emulation."""

    name: str
    seconds: float = 0.0
    tests: str = ""  # pytest's last line
    failed: bool = False
    seen: dict[str, str] = field(default_factory=dict)  # by the libraries themselves
    heads: np.ndarray | None = None  # (rows of all models, 2)
    off: float = float("nan")  # the largest distance of a head from exact arithmetic


def cpu() -> tuple[str, set[str]]:
    """This machine's CPU: its name and its flags."""
    info = Path("/proc/cpuinfo")
    lines = [line.partition(":") for line in info.read_text().splitlines()] if info.exists() else []
    facts = {key.strip(): value.strip() for key, _, value in lines}
    model = f"{facts.get('model name', 'unknown')} (family {facts.get('cpu family')}, model {facts.get('model')})"
    return model, set(facts.get("flags", "").split())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", action="store_true", help=f"write what was seen to {RESULTS.name}")
    parser.add_argument("--jobs", type=int, default=2, help="emulations at a time")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        return _measure()
    name, flags = cpu()
    print(name)
    possible = {}
    for one, (needs, variables) in EMULATIONS.items():
        if FLAGS[needs] in flags:
            possible[one] = variables
        else:
            print(f"{one}: skipped, this CPU has no {needs}")
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.jobs) as pool:
        for kind in KINDS:
            model_of(kind).save(file_of(kind, Path(folder)))
        files = numerical_files()
        runs = list(pool.map(lambda one: _run(one, possible[one], Path(folder), files), possible))
    _show(runs)
    if options.record:
        _record(name, runs)
    return int(any(run.failed for run in runs))


def _run(name: str, variables: dict[str, str], folder: Path, files: list[str]) -> Run:
    environment = emulated(variables, folder)
    run, begun = Run(name), time.monotonic()
    done = tested(environment, *files)
    run.tests = (done.stdout.strip().splitlines() or ["nothing"])[-1]
    measure = [sys.executable, "-m", "tests.cpus", "--measure"]
    measured = subprocess.run(measure, env=environment, capture_output=True, text=True, check=False)
    run.failed = bool(done.returncode or measured.returncode)
    if run.failed:
        print(f"--- {name}\n{done.stdout[-4000:]}{measured.stderr[-2000:]}", file=sys.stderr)
    if not measured.returncode:
        found = json.loads(measured.stdout.splitlines()[-1])
        run.seen, run.off, run.heads = found["seen"], found["off"], np.array(found["heads"])
    run.seconds = time.monotonic() - begun
    return run


def emulated(variables: dict[str, str], folder: Path) -> dict[str, str]:
    """The environment of an emulation, whose tests find their models in this folder."""
    environment = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    return environment | {"OMP_NUM_THREADS": "1", SAVED: str(folder)} | variables


def tested(environment: dict[str, str], *what: str) -> subprocess.CompletedProcess[str]:
    """The numerical tests of these files, run in this environment."""
    tests = [sys.executable, "-m", "pytest", "-q", "-m", "numbers and not slow", "-p", "no:cacheprovider", *what]
    return subprocess.run(tests, env=environment, capture_output=True, text=True, check=False)


def numerical_files() -> list[str]:
    """The files with numerical tests: to collect the others would take longer than to run these."""
    files = sorted(Path(__file__).parent.rglob("test_*.py"))
    return [str(file) for file in files if "mark.numbers" in file.read_text() or "sklearn_contract" in file.name]


def _measure() -> int:
    """In a process of its own, under an emulation: score the saved models' rows, many at once and one by one."""
    heads, off = [], 0.0
    for kind in KINDS:
        model, rows = model_of(kind), places(kind, 500, np.random.default_rng(5))
        many = model.heads(rows)
        few = np.vstack([model.heads(row[None]) for row in rows[:50]])
        exact = Exact(model, rows).heads
        off = max(off, np.abs(many - exact).max(), np.abs(few - exact[:50]).max())
        heads += [many, few]
    blas = {info["architecture"] for info in threadpool_info() if "architecture" in info}
    seen = {
        "engine": engine_name(),
        "torch": torch.backends.cpu.get_cpu_capability(),
        "OpenBLAS": "/".join(sorted(blas)),
        "threads": str(torch.get_num_threads()),
    }
    print(json.dumps({"seen": seen, "off": off, "heads": np.concatenate(heads).tolist()}))
    return 0


def _apart(run: Run, runs: list[Run]) -> tuple[float, bool]:
    """How far its heads are from those of any other run, and whether their bits differ from the first run's."""
    others = [other.heads for other in runs if other.heads is not None]
    if run.heads is None:
        return float("nan"), False
    return max(float(np.abs(run.heads - other).max()) for other in others), not np.array_equal(run.heads, others[0])


def _show(runs: list[Run]) -> None:
    before = f"{'emulation':20} {'engine':8} {'torch':8} {'OpenBLAS':9} {'threads':7}"
    print(f"{before} {'from exact':10} {'apart':8} {'bits':7} tests")
    for run in runs:
        apart, changed = _apart(run, runs)
        seen = [run.seen.get(key, "?") for key in SEEN]
        bits = "changed" if changed else "same"
        print(
            f"{run.name:20} {seen[0]:8} {seen[1]:8} {seen[2]:9} {seen[3]:7} {run.off:<10.1e} {apart:<8.1e} {bits:7} "
            f"{run.tests} ({run.seconds:.0f} s)"
        )


def _record(name: str, runs: list[Run]) -> None:
    with RESULTS.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(
            ["cpu", "emulation", "engine", "torch", "openblas", "threads", "from_exact", "apart", "bits_changed"]
        )
        for run in runs:
            apart, changed = _apart(run, runs)
            seen = [run.seen.get(key, "") for key in SEEN]
            table.writerow([name, run.name, *seen, f"{run.off:.2e}", f"{apart:.2e}", changed])
    provenance.note(RESULTS)


if __name__ == "__main__":
    sys.exit(main())
