"""python -m benchmarks.speed: what fits and scores cost in CPU seconds, on one thread, against others in the same run.

CPU seconds, since a machine is seldom quiet: each figure is the median of five repetitions, all methods in turn, and a
ratio comes with the smallest and the largest one of a turn. Writes results/cost.csv (seconds), speed.csv (ratios of
them), speed_parts.csv (where a fit spends them), speed_threads.csv (ratios of the clock's seconds on two threads) and
speed_memory.csv. `python -m benchmarks.speed paper` compares fits with the paper's own way (reference.py
beside this file, about ten minutes), and writes speed_paper.csv.

--check compares with the ratios in results/speed.csv, and fails where one is lost by more than a fifth.
"""

import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks._results import RESULTS, save

Row = dict[str, object]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
N, P = 10_000, 32
TIMES = 5
ALLOWED = 0.8  # of a ratio on record: machines and moments differ


def main() -> None:
    asked = sys.argv[1:]
    if asked == ["--check"]:
        check()
    elif asked == ["paper"]:
        save("speed_paper", measured("paper"))
    elif asked:  # the process that measures
        print("\n" + json.dumps(globals()[asked[0]]()))
    else:
        seconds = {str(row["what"]): row["seconds"] for row in measured("seconds")}
        save("cost", costs(seconds))
        save("speed", ratios(seconds))
        save("speed_parts", measured("parts"))
        save("speed_threads", measured("by_the_clock", threads=2))
        save("speed_memory", [*measured("peak_of_fit"), *measured("peak_of_score")])


def check() -> None:
    """Exit with an error if a ratio is below four fifths of the one that is on record."""
    with (RESULTS / "speed.csv").open(newline="") as file:
        known = {(row["what"], row["against"]): float(row["ratio"]) for row in csv.DictReader(file)}
    lost = []
    for row in ratios({str(row["what"]): row["seconds"] for row in measured("seconds")}):
        before, now = known.get((str(row["what"]), str(row["against"]))), float(str(row["ratio"]))
        print(f"{row['what']}, against {row['against']}: {now:.3g}, on record {before}")
        if before is not None and now < ALLOWED * before:
            lost.append(f"{row['what']}, against {row['against']}: {now:.3g}, was {before:.3g}")
    if lost:
        raise SystemExit("Slower than on record by more than a fifth:\n" + "\n".join(lost))


def measured(what: str, threads: int = 1) -> list[Row]:
    """Measure in a process of its own: libraries fix their threads when they are imported."""
    command = [sys.executable, "-m", "benchmarks.speed", what]
    environment = os.environ | dict.fromkeys(THREADS, str(threads))
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return found


def alternately(
    *calls: Callable[[], Any], times: int = TIMES, clock: Callable[[], float] = process_time
) -> list[list[float]]:
    """Return the CPU seconds of each call, or those of another clock, several times, in turn."""
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(times):
        for call, seconds in zip(calls, found, strict=True):
            start = clock()
            call()
            seconds.append(clock() - start)
    return found


def rows_of(n: int, p: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, p))


def detectors() -> dict[str, tuple[Any, str, int]]:
    """Return what is compared: an unfitted detector, what it scores by, and how many rows it is given to score."""
    from pyod.models.ecod import ECOD
    from pyod.models.knn import KNN
    from sklearn.ensemble import IsolationForest

    from centrality import FUSE

    return {
        "FUSE": (FUSE(random_state=0), "score_samples", 20_000),
        "FUSE, novelty=True": (FUSE(novelty=True, random_state=0), "score_samples", 20_000),
        "IsolationForest": (IsolationForest(random_state=0), "score_samples", 10_000),
        "ECOD": (ECOD(), "decision_function", 10_000),
        "kNN": (KNN(), "decision_function", 1000),
    }


def seconds() -> list[Row]:
    """Measure all: fits of 10,000 x 32 and scores of a million such rows (from fewer), then fits of other sizes."""
    from centrality import FUSE
    from centrality.onnx import Scorer

    FUSE(random_state=0, max_steps=5).fit(rows_of(200, 2))  # libraries load what they load
    X, many = rows_of(N, P), rows_of(20_000, P)
    every = detectors()
    fits = alternately(*(lambda each=each: each.fit(X) for each, *_ in every.values()))
    found = {f"fit, {name}": fit for name, fit in zip(every, fits, strict=True)}
    scores = {name: (getattr(each, method), count) for name, (each, method, count) in every.items()}
    with tempfile.TemporaryDirectory() as folder:
        every["FUSE"][0].to_onnx(path := Path(folder, "model.onnx"))
        scores["FUSE by ONNX Runtime"] = (Scorer(path).heads, 20_000)
    scored = alternately(*(lambda score=score, k=k: score(many[:k]) for score, k in scores.values()))
    for (name, (_, count)), each in zip(scores.items(), scored, strict=True):
        found[f"score, {name}"] = [s * 1e6 / count for s in each]
    twenty = [X[k : k + 1] for k in range(20)]
    both = ("FUSE", "IsolationForest")
    one_by_one = alternately(*(lambda score=scores[name][0]: [score(row) for row in twenty] for name in both))
    found |= {f"one row, {name}": [s / 20 for s in each] for name, each in zip(both, one_by_one, strict=True)}
    few, large = rows_of(1000, P), _large()
    sizes = alternately(*(lambda rows=rows: FUSE(random_state=0).fit(rows) for rows in (few, large[:N].copy(), large)))
    found |= dict(zip((f"fit, 1,000 x {P}", "fit, 10,000 x 64", "fit, 1,000,000 x 64"), sizes, strict=True))
    return [{"what": what, "seconds": each} for what, each in found.items()]


def parts() -> list[Row]:
    """Measure where a default fit spends its CPU seconds."""
    from benchmarks.speed.parts import parts as of_fit
    from centrality import FUSE

    X = rows_of(N, P)
    FUSE(random_state=0).fit(X)  # libraries load what they load
    return of_fit(lambda: FUSE(random_state=0).fit(X), TIMES)


def by_the_clock() -> list[Row]:
    """Measure fits on two threads in seconds of the clock, which say something on a quiet machine alone."""
    from sklearn.ensemble import IsolationForest

    from centrality import FUSE

    X, few = rows_of(N, P), rows_of(1000, P)
    FUSE(random_state=0).fit(few)
    fits = {
        "fit, IsolationForest": lambda: IsolationForest(random_state=0).fit(X),
        "fit, FUSE": lambda: FUSE(random_state=0).fit(X),
        f"fit, 1,000 x {P}": lambda: FUSE(random_state=0).fit(few),
    }
    found = dict(zip(fits, alternately(*fits.values(), clock=perf_counter), strict=True))
    compared = (("fit, FUSE", "fit, IsolationForest", ">= 1/1.8"), (f"fit, 1,000 x {P}", "fit, FUSE", ">= 1"))
    return [ratio(what, against, found[what], found[against], bar) for what, against, bar in compared]


def costs(seconds: dict[str, Any]) -> list[Row]:
    """Return the table of costs: medians, and the least and the most of all repetitions."""

    def told(what: str) -> str:
        each = seconds.get(what)
        return f"{statistics.median(each):.3g} ({min(each):.3g} to {max(each):.3g})" if each else ""

    names = [what.removeprefix("score, ") for what in seconds if what.startswith("score, ")]
    return [{"method": name, "fit_s": told(f"fit, {name}"), "score_s": told(f"score, {name}")} for name in names]


def ratios(seconds: dict[str, Any]) -> list[Row]:
    """Return the table of ratios: above 1, ours is the cheaper."""
    compared = [
        ("fit, FUSE", "fit, IsolationForest", ">= 1/3"),
        (f"fit, 1,000 x {P}", "fit, FUSE", ">= 1/2"),
        ("fit, 1,000,000 x 64", "fit, 10,000 x 64", ">= 1/1.2"),
        ("fit, FUSE, novelty=True", "fit, FUSE", ">= 1/2.5"),
        ("score, FUSE, novelty=True", "score, FUSE", ">= 1/2"),
        ("score, FUSE", "score, IsolationForest", ">= 7"),
        ("score, FUSE", "score, ECOD", ">= 17"),
        ("score, FUSE", "score, kNN", ">= 60"),
        ("score, FUSE", "score, FUSE by ONNX Runtime", ""),
        ("one row, FUSE", "one row, IsolationForest", ">= 150"),
    ]
    return [ratio(what, against, seconds[what], seconds[against], bar) for what, against, bar in compared]


def ratio(what: str, against: str, ours: list[float], theirs: list[float], bar: str) -> Row:
    """Return a line of the table of ratios."""
    pairs = [b / a for a, b in zip(ours, theirs, strict=True)]
    return {
        "what": what,
        "against": against,
        "ratio": f"{statistics.median(pairs):.3g}",
        "least": f"{min(pairs):.3g}",
        "most": f"{max(pairs):.3g}",
        "bar": bar,
    }


def paper() -> list[Row]:
    """Compare fits with the paper's own way: its CPU seconds, and what either learns of a known mixture."""
    import torch
    from scipy.spatial.distance import cdist
    from scipy.stats import spearmanr

    from benchmarks.speed import reference
    from centrality import FUSE, datasets

    rows = []
    for n, p, width, bar in ((5000, 2, 32, ">= 60"), (N, P, 128, ">= 80")):
        mixture = datasets.random_clusters(5, p, random_state=0)
        X, queries, others = (mixture.sample(size, random_state=[1, size]) for size in (n, 2000, 4000))
        depth, density = -cdist(queries, others).mean(1), mixture.log_density(queries, noise=1.0)
        start = process_time()
        plain = reference.fit(X, width, 1.0, seed=0)
        theirs = process_time() - start
        (ours,) = alternately(lambda X=X: FUSE(random_state=0, scaling="none").fit(X))
        model = FUSE(random_state=0, scaling="none").fit(X)
        with torch.no_grad():
            learned = {"ours": model.raw(queries), "paper": plain(torch.tensor(queries, dtype=torch.float32)).numpy()}
        row = ratio(f"fit, n={n:,} p={p}", "the paper's way", ours, [theirs] * len(ours), bar)
        for name, raw in learned.items():
            row[f"{name}_global"] = f"{spearmanr(raw[:, 0], depth)[0]:.3f}"
            row[f"{name}_local"] = f"{spearmanr(raw[:, 1], density)[0]:.3f}"
        rows.append(row)
    return rows


def peak_of_fit() -> list[Row]:
    from centrality import FUSE

    large = _large()
    FUSE(random_state=0, max_steps=5).fit(large[:1000])  # libraries load what they load
    return _added("fit, n=1,000,000 p=64", lambda: FUSE(random_state=0).fit(large), 0)


def peak_of_score() -> list[Row]:
    from centrality import FUSE

    large = _large()
    model = FUSE(random_state=0, max_steps=5).fit(large[:1000])
    model.score_samples(large[:20_000])
    return _added("score, n=1,000,000 p=64", lambda: model.score_samples(large), 8 * len(large))


def _large() -> np.ndarray:
    large = np.empty((1_000_000, 64), dtype=np.float32)
    np.random.default_rng(0).standard_normal(out=large, dtype=np.float32)
    return large


def _added(what: str, call: Callable[[], Any], result: int) -> list[Row]:
    """Return what a call adds at its peak to a process that holds the data and, of a score, the result."""
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark of memory begins anew
    before = _memory("VmRSS")
    call()
    return [{"what": what, "MiB": f"{(_memory('VmHWM') - before - result) / 2**20:.1f}", "bar": "<= 64"}]


def _memory(field: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    main()
