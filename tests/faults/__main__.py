"""Run the faults: `python -m tests.faults [--short] [--seed N] [--record]`; `make faults` records the results."""

import argparse
import csv
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import provenance

import centrality.apps.service  # noqa: F401  (before any child is forked: faults shall hit the work, not the imports)
from tests.faults import served
from tests.faults.harness import INT, KILL, TERM, BrokenError, Trial, disturb, kills
from tests.faults.jobs import CLUSTER, JOBS

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "faults.csv"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.faults")
    parser.add_argument("--short", action="store_true", help="what `make test` runs: a kill or two a job")
    parser.add_argument("--seed", type=int, default=None, help="the moments of all faults follow from it")
    parser.add_argument("--only", default="", help="jobs whose name holds this")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results/faults.csv")
    arguments = parser.parse_args()
    seed = time.time_ns() % 100_000 if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    results, broken = list[tuple[str, str, int]](), 0
    for job in [job for job in JOBS if arguments.only in job.name]:
        if arguments.short and job.name not in ("fit", "score folder, workers"):
            continue
        faults = kills(3, KILL, TERM, INT) if arguments.short else kills(18, KILL, KILL, TERM, KILL, KILL, INT)
        others = [Trial.fill_disk, Trial.cut_input, Trial.lose_folder]
        faults += others[:1] if arguments.short else others * 3
        broken += _disturbed(job, seed, faults, results)
        if arguments.record:  # after each: whoever stops it has what is done
            _record(results, seed)
    if not arguments.short and arguments.only in CLUSTER.name:
        broken += _disturbed(CLUSTER, seed, kills(6, KILL, KILL, INT), results)
    if arguments.only in "serve":
        results += [("serve", what, times) for what, times in served.disturb(seed, 1 if arguments.short else 12)]
    if arguments.record:
        _record(results, seed)
    killed = sum(times for _, what, times in results if what.startswith("SIG"))
    print(f"{killed} kills, {sum(times for *_, times in results) - killed} other things, {broken} broken")
    return 1 if broken else 0


def _record(results, seed: int) -> None:
    with RESULTS.open("w", newline="") as file:
        rows = [("job", "what", "times", "seed"), *((*row, seed) for row in results)]
        csv.writer(file, lineterminator="\n").writerows(rows)
    provenance.note(RESULTS)


def _disturbed(job, seed, faults, results) -> int:
    """Disturb one job, note what came of it, and return 1 if it broke: its folder is then kept."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    try:
        tally = disturb(job, folder, seed, faults)
    except BrokenError as error:
        print(f"BROKEN {error}\nkept: {folder}", flush=True)
        return 1
    shutil.rmtree(folder)
    results += [(job.name, what, times) for what, times in sorted(tally.items())]
    print(f"{job.name}: {dict(sorted(tally.items()))}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
