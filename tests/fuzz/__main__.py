"""Fuzz every way in: `python -m tests.fuzz [--cases N] [--seed S] [--only NAME] [--record]`.

Every target runs in a process of its own, which may take a gigabyte more than it begins with, and ten seconds a case.
A crash, a hang, a foreign exception or a lack of memory is a finding; its case is written down, and follows from the
seed.
"""

import argparse
import csv
import mmap
import os
import random
import resource
import signal
import struct
import sys
import time
import warnings
from collections import Counter
from math import ceil
from pathlib import Path

from benchmarks import provenance

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "fuzz.csv"
MEMORY = 1 << 30  # bytes beyond those that the process begins with
SECONDS = 10  # of the process's own time, a case
CASES_OF_ROUND = 10_000


class TooSlowError(BaseException):
    """Says that a case took too long; nothing may catch it."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz")
    parser.add_argument("--cases", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="", help="targets whose name holds this")
    parser.add_argument("--record", action="store_true", help="write benchmarks/results/fuzz.csv")
    arguments = parser.parse_args()
    seed = time.time_ns() % 100_000 if arguments.seed is None else arguments.seed
    print(f"seed {seed}", flush=True)
    from tests.fuzz.targets import TARGETS, folder, models, run_main

    warnings.simplefilter("ignore")
    for target in TARGETS:  # before the clock runs: imports take seconds
        for seed_content in target.seeds()[:1]:
            target.run(seed_content)
    run_main(["score", str(models()[1]), str(folder() / "seed.parquet"), "-o", str(folder() / "warm.csv")])
    run_main(["explore", str(models()[0]), str(folder() / "seed.csv"), "--export", str(folder() / "warm.html")])
    chosen = [target for target in TARGETS if arguments.only in target.name]
    done, found = Counter[str](), Counter[str]()
    rounds = ceil(arguments.cases / CASES_OF_ROUND)
    for round_ in range(rounds):  # all targets, again and again: whoever stops it has some of each
        for target in chosen:
            cases = ceil(arguments.cases * target.share / sum(one.share for one in chosen) / rounds)
            found[target.name] += _in_a_process(target, range(round_ * cases, (round_ + 1) * cases), seed)
            done[target.name] += cases
        print(f"{done.total():,} cases, {found.total()} findings", flush=True)
        if arguments.record:
            _record([(name, done[name], found[name], seed) for name in done])
    return 1 if found.total() else 0


def _record(lines: list[tuple[str, int, int, int]]) -> None:
    with RESULTS.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([("target", "cases", "findings", "seed"), *lines])
    provenance.note(RESULTS)


def _in_a_process(target, cases: range, seed: int) -> int:
    """Run the cases in a child, and in another from the next case on if one ends it; return the findings."""
    findings, first = 0, cases.start
    shared = mmap.mmap(-1, 16)  # the case that runs, and how many were found
    while first < cases.stop and findings < 20:
        shared[:] = struct.pack("<qq", first, 0)
        pid = os.fork()
        if pid == 0:
            try:
                _run(target, range(first, cases.stop), seed, shared)
                os._exit(0)
            except BaseException as error:
                print(f"the harness itself: {error!r}", flush=True)
                os._exit(3)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        case, found = struct.unpack("<qq", shared[:])
        findings += found
        if status == 0:
            break
        findings += 1
        _note(target, seed, case, f"the process ended with {status}")
        first = case + 1
    return findings


def _run(target, cases: range, seed: int, shared: mmap.mmap) -> None:
    """Be the child: run every case under the limits."""
    from tests.fuzz.targets import ALLOWED

    signal.signal(signal.SIGVTALRM, _too_slow)
    here = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (here + MEMORY, here + MEMORY))
    for case in cases:
        shared[:8] = struct.pack("<q", case)
        content = target.case(random.Random(f"{seed} {target.name} {case}"))
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            target.run(content)
        except ALLOWED:
            pass
        except BaseException as error:
            shared[8:] = struct.pack("<q", struct.unpack("<q", shared[8:])[0] + 1)
            _note(target, seed, case, f"{type(error).__name__}: {str(error)[-1500:]}", error)
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def _too_slow(*_: object) -> None:
    raise TooSlowError(f"more than {SECONDS} s")


def _note(target, seed: int, case: int, what: str, error: BaseException | None = None) -> None:
    import traceback

    content = target.case(random.Random(f"{seed} {target.name} {case}"))
    where = "".join(traceback.format_tb(error.__traceback__)[-3:]) if error is not None else ""
    print(f"FOUND {target.name}, seed {seed}, case {case}: {what}\n{where}{content[:300]!r}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
