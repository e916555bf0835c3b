"""Mutation testing: does a test fail when the code is wrong?

    python -m tests.mutation                     all modules
    python -m tests.mutation metrics regions     these only

A mutant is the module with one small fault; it is killed if a test fails. What may live is listed in `excused.py`
with the reason. mutmut passes over decorated functions and constants, cosmic-ray starts a process (and imports torch)
for each mutant: hence a tool of our own. Results go to benchmarks/results/.
"""

import csv
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest
from benchmarks import provenance

from tests.mutation.excused import EXCUSED
from tests.mutation.harness import Harness

SCORES = Path("benchmarks/results/mutation.csv")
SURVIVORS = Path("benchmarks/results/mutation_survivors.csv")
# The quickest tests that say what the module promises.
TESTS = {
    "network.calibration": ["tests/network/test_calibration.py", "tests/reference/test_algorithm.py"],
    "analysis.conformal": ["tests/analysis/test_thresholds.py", "tests/analysis/test_conformal.py"],
    "fuse.comparisons": [
        "tests/fuse/test_comparisons.py",
        "tests/fuse/test_comparisons_dissimilarities.py",
    ],
    "fuse.paper": ["tests/reference", "tests/fuse/test_paper.py"],
    "torch.networks": ["tests/torch/test_networks_losses.py"],
    "_internal.model_file": ["tests/_internal/test_model_file.py"],
    "regions": ["tests/test_regions_by_hand.py", "tests/test_regions.py"],
    "metrics": ["tests/test_metrics.py"],
}
SLOW = ("over_500_repetitions", "on_average_no_more", "never_unpickles", "holdout_works_for_frames", "small_and_holds")


def tried(name: str) -> Harness:
    """Run one module's tests on its mutants."""
    harness = Harness(f"centrality.{name}")
    with tempfile.TemporaryDirectory() as folder:
        quiet = ["-qq", "--no-header", "--no-summary", "--tb=no", "-p", "no:cacheprovider"]
        unselected = " and ".join(f"not {slow}" for slow in SLOW)
        options = [f"--basetemp={folder}/tests", "--hypothesis-profile=mutation", "-k", unselected]
        pytest.main([*quiet, *options, *TESTS[name]], plugins=[harness])
    return harness


def main(names: list[str]) -> int:
    unexcused = 0
    for name in names or list(TESTS):
        start = time.perf_counter()
        harness = tried(name)
        if not harness.count:
            return 1
        reasons = EXCUSED[name]
        living = [[name, str(mutant), reasons.get(str(mutant), "UNEXCUSED")] for mutant in harness.survivors]
        print(f"{name}: {harness.count} mutants, {len(living)} survived, {time.perf_counter() - start:.0f} s")
        for _, mutant, why in living:
            print(f"    {mutant}  -- {why}")
        for mutant in sorted(reasons.keys() - {mutant for _, mutant, _ in living}):
            print(f"    excused, but does not live: {mutant}")
        sys.stdout.flush()
        _record(name, harness.count, living)
        unexcused += sum(why == "UNEXCUSED" for *_, why in living)
    return int(unexcused > 0)


def _record(name: str, mutants: int, living: list[list[str]]) -> None:
    """Put one module's results in the place of its earlier ones, and add up all modules anew."""
    survivors = [row for row in _read(SURVIVORS) if row[0] != name] + living
    counts = {row[0]: int(row[1]) for row in _read(SCORES) if row[0] in TESTS} | {name: mutants}
    rows = [(module, n, sum(row[0] == module for row in survivors)) for module, n in counts.items()]
    rows.append(("all", sum(counts.values()), len(survivors)))
    order = [*TESTS, "all"]
    rows.sort(key=lambda row: order.index(row[0]))
    survivors.sort(key=lambda row: order.index(row[0]))
    scores = [[module, n, n - lives, lives, f"{1 - lives / n:.3f}"] for module, n, lives in rows]
    _write(SCORES, ["module", "mutants", "killed", "survived", "score"], scores)
    _write(SURVIVORS, ["module", "mutant", "why it may live"], survivors)


def _read(path: Path) -> list[list[str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.reader(file))[1:]


def _write(path: Path, header: list[str], rows: list[list[Any]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    provenance.note(path)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
