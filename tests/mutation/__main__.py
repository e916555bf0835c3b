"""Mutation testing: does a test fail when the code is wrong?

    python -m tests.mutation                     all modules, results into benchmarks/results/
    python -m tests.mutation metrics regions     these only, printed

A mutant is the module with one small fault; it is killed if a test fails. What may live is listed in `excused.py`
with the reason. mutmut passes over decorated functions and constants, cosmic-ray starts a process (and imports torch)
for each mutant: hence a tool of our own.
"""

import csv
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.mutation.excused import EXCUSED
from tests.mutation.harness import Harness

RESULTS = Path("benchmarks/results")
# The quickest tests that say what the module promises.
TESTS = {
    "scores.calibration": [
        "tests/scores/test_calibrated_heads.py",
        "tests/scores/test_calibration.py",
        "tests/model/test_explanations.py::test_slope_times_change_is_the_change_of_the_heads_across_every_kink",
        "tests/model/test_explanations.py::test_where_nothing_changes_slopes_are_derivatives",
    ],
    "scores.conformal": ["tests/scores/test_thresholds.py", "tests/scores/test_conformal.py"],
    "training.comparisons": [
        "tests/training/test_comparisons.py",
        "tests/training/test_ties.py",
        "tests/training/test_dissimilarities.py",
    ],
    "training.schemes": ["tests/training/test_comparisons.py", "tests/training/test_schemes.py"],
    "training.losses": ["tests/training/test_losses.py"],
    "model_file": ["tests/test_model_format.py", "tests/test_model_file.py"],
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
    rows: list[list[object]] = []
    living: list[list[object]] = []
    for name in names or list(TESTS):
        start = time.perf_counter()
        harness = tried(name)
        if not harness.count:
            return 1
        rows.append([name, *_counted(harness.count, len(harness.killed))])
        reasons = EXCUSED[name]
        living += [[name, str(mutant), reasons.get(str(mutant), "")] for mutant in harness.survivors]
        print(*rows[-1], f"{time.perf_counter() - start:.0f} s", flush=True)
        for mutant in harness.survivors:
            print("   ", mutant, "--", reasons.get(str(mutant), "UNEXCUSED"))
        for mutant in reasons.keys() - set(map(str, harness.survivors)):
            print("    no longer lives:", mutant)
    if not names:
        mutants, killed = (sum(int(str(row[k])) for row in rows) for k in (1, 2))
        rows.append(["all", *_counted(mutants, killed)])
        _write("mutation.csv", ["module", "mutants", "killed", "survived", "score"], rows)
        _write("mutation_survivors.csv", ["module", "mutant", "why it may live"], living)
    return int(any(not why for *_, why in living))


def _counted(mutants: int, killed: int) -> list[object]:
    return [mutants, killed, mutants - killed, f"{killed / mutants:.3f}"]


def _write(name: str, header: list[str], rows: list[list[object]]) -> None:
    with (RESULTS / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
