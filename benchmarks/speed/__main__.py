"""python -m benchmarks.speed: ratios of time, all of one run, on one thread and on all cores.

Fits: against the paper's own way (benchmarks/speed/reference.py), and IsolationForest's. Scoring, p = 32: against
detectors, kernel densities and depths, and against the floor, which is the same matrix products and activations and
nothing else. The better of a few repetitions counts, alternately of ours and theirs. Then memory.

Each of the two settings is a process of its own, since libraries fix their threads when they are imported.

--check compares with the ratios in benchmarks/results/speed.csv, and fails where one is lost by more than a fifth.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks._results import RESULTS, save

Row = dict[str, object]
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
N, P = 10_000, 32
ALLOWED = 0.8  # of a ratio on record: machines and moments differ


def main() -> None:
    if sys.argv[1:] == ["--check"]:
        check()
        return
    if len(sys.argv) > 1:  # the process that measures
        print("\n" + json.dumps(globals()[sys.argv[1]]()))
        return
    cores = str(os.cpu_count())
    rows = [dict(threads=threads, **row) for threads in ("1", cores) for row in measured("everything", threads)]
    save("speed", rows)
    save("speed_memory", memory())


def check() -> None:
    """Measure on one thread, and exit with an error if a ratio is below four fifths of the one that is on record."""
    with (RESULTS / "speed.csv").open(newline="") as file:
        known = {
            (row["what"], row["against"]): float(row["ratio"]) for row in csv.DictReader(file) if row["threads"] == "1"
        }
    lost = []
    for row in measured("everything", "1"):
        before, now = known.get((str(row["what"]), str(row["against"]))), float(str(row["ratio"]))
        print(f"{row['what']}, against {row['against']}: {now:.3g}, on record {before}")
        if before is not None and now < ALLOWED * before:
            lost.append(f"{row['what']}, against {row['against']}: {now:.3g}, was {before:.3g}")
    if lost:
        raise SystemExit("Slower than on record by more than a fifth:\n" + "\n".join(lost))


def measured(what: str, threads: str) -> list[Row]:
    environment = os.environ | dict.fromkeys(THREADS, threads)
    command = [sys.executable, "-m", "benchmarks.speed", what]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return found


def everything() -> list[Row]:
    return [*fits(), *clean_fits(), *scoring(), *one_row(), *growth(), *starts()]


def quickest(*calls: Callable[[], Any], times: int = 3) -> list[float]:
    """Seconds of each call, the better of several, in turn."""
    found = [float("inf")] * len(calls)
    for _ in range(times):
        for k, call in enumerate(calls):
            start = perf_counter()
            call()
            found[k] = min(found[k], perf_counter() - start)
    return found


def ratio(what: str, against: str, ours: float, theirs: float, bar: str, note: str = "") -> Row:
    return {
        "what": what,
        "against": against,
        "ours_s": f"{ours:.3g}",
        "theirs_s": f"{theirs:.3g}",
        "ratio": f"{theirs / ours:.3g}",
        "bar": bar,
        "note": note,
    }


def fits() -> list[Row]:
    from scipy.spatial.distance import cdist
    from scipy.stats import spearmanr
    from sklearn.ensemble import IsolationForest

    from benchmarks.speed import reference
    from centrality import FUSE, datasets

    rows = []
    for n, p, width, wanted in ((5000, 2, 32, 60), (N, P, 128, 80)):
        mixture = datasets.random_clusters(5, p, random_state=0)
        X, queries, others = (mixture.sample(size, random_state=[1, size]) for size in (n, 2000, 4000))
        depth, density = -cdist(queries, others).mean(1), mixture.log_density(queries, noise=1.0)

        def agreement(raw: Any, depth: Any = depth, density: Any = density) -> str:
            return f"{spearmanr(raw[:, 0], depth)[0]:.3f} / {spearmanr(raw[:, 1], density)[0]:.3f}"

        import torch

        # On all cores, a few epochs stand for all: they take equally long. On one thread, its quality is of interest.
        epochs = reference.EPOCHS if torch.get_num_threads() == 1 else 3
        start = perf_counter()
        plain = reference.fit(X, width, 1.0, seed=0, epochs=epochs)
        theirs = (perf_counter() - start) * reference.EPOCHS / epochs
        known = ""
        if epochs == reference.EPOCHS:
            with torch.no_grad():
                known = agreement(plain(torch.tensor(queries, dtype=torch.float32)).numpy())
        shape = f"n={n:,} p={p}"
        for name, settings, bar in (("one noise scale", {"noise_scale": 1.0}, wanted), ("default", {}, wanted)):
            model = FUSE(random_state=0, scaling="none", **settings)
            (ours,) = quickest(lambda model=model, X=X: model.fit(X), times=2)
            note = f"Spearman global / local {agreement(model.raw(queries))}" + (
                f", the paper's way {known}" if known else ""
            )
            rows.append(ratio(f"fit, {name}, {shape}", "the paper's way", ours, theirs, f">= {bar}", note))
    X = np.random.default_rng(0).normal(size=(N, P))
    for n, p in ((5000, 2), (N, P)):
        some = X[:n, :p]
        ours, theirs = quickest(
            lambda some=some: FUSE(random_state=0).fit(some),
            lambda some=some: IsolationForest(random_state=0).fit(some),
        )
        rows.append(ratio(f"fit, default, n={n:,} p={p}", "IsolationForest", ours, theirs, ">= 1/3"))
    return rows


def clean_fits() -> list[Row]:
    from centrality import FUSE

    X = np.random.default_rng(0).normal(size=(20_000, 64))
    models = FUSE(random_state=0), FUSE(novelty=True, random_state=0)
    plain, clean = quickest(lambda: models[0].fit(X), lambda: models[1].fit(X), times=2)
    scored = quickest(lambda: models[0].score_samples(X), lambda: models[1].score_samples(X))
    return [
        ratio("fit, novelty, n=20,000 p=64", "a default fit", clean, plain, ">= 1/3"),
        ratio("score, novelty, p=64", "a default model", scored[1], scored[0], ">= 1/3"),
    ]


def peers(X: np.ndarray) -> dict[str, tuple[Callable[[np.ndarray], Any], int]]:
    """Name: (fitted scorer, how many rows it is given: its time grows evenly with them)."""
    from pyod.models.copod import COPOD
    from pyod.models.ecod import ECOD
    from pyod.models.knn import KNN
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import KernelDensity, LocalOutlierFactor
    from sklearn.svm import OneClassSVM

    found: dict[str, tuple[Callable[[np.ndarray], Any], int]] = {
        "IsolationForest": (IsolationForest(random_state=0).fit(X).score_samples, 10_000),
        "ECOD": (ECOD().fit(X).decision_function, 10_000),
        "COPOD": (COPOD().fit(X).decision_function, 10_000),
        "kNN": (KNN().fit(X).decision_function, 1000),
        "LOF": (LocalOutlierFactor(novelty=True).fit(X).score_samples, 1000),
        "OneClassSVM": (OneClassSVM().fit(X).score_samples, 1000),
        "KernelDensity": (KernelDensity().fit(X).score_samples, 200),
    }
    try:
        from depth.model.multivariate import mahalanobis, spatial
    except ModuleNotFoundError:
        return found
    found["data-depth Mahalanobis"] = (lambda Q: mahalanobis(Q, X), 200)
    found["data-depth spatial"] = (lambda Q: spatial(Q, X), 20)
    return found


def scoring() -> list[Row]:
    from centrality import FUSE, PaperFUSE

    bars = {
        "paper's network": {"IsolationForest": 7, "ECOD": 17, "kNN": 60, "KernelDensity": 1300, "the floor": "1/1.1"},
        "default": {"IsolationForest": 7, "ECOD": 17, "kNN": 60, "KernelDensity": 1300, "the floor": "1/1.1"},
    }
    X = np.random.default_rng(0).normal(size=(N, P))
    many = np.random.default_rng(1).normal(size=(100_000, P))
    models = {
        "paper's network": PaperFUSE(noise_scale=1.0, shared_encoder=True, random_state=0, max_steps=50).fit(X),
        "default": FUSE(random_state=0, max_steps=50).fit(X),
        "novelty": FUSE(novelty=True, random_state=0, max_steps=50).fit(X),
    }
    rows, theirs = [], {}
    for name, (score, count) in peers(X).items():
        theirs[name] = quickest(lambda score=score, count=count: score(many[:count]), times=2)[0] / count
    for model_name, model in models.items():
        ours, bare = (
            seconds / len(many) for seconds in quickest(lambda m=model: m.score_samples(many), floor(model, many))
        )
        for name, seconds in (theirs | {"the floor": bare}).items():
            wanted = bars.get(model_name, {}).get(name)
            bar = f">= {wanted}" if wanted else ""
            rows.append(ratio(f"score, {model_name}, p={P}, a row", name, ours, seconds, bar))
    return rows


def floor(model: Any, many: np.ndarray) -> Callable[[], None]:
    """The same network by torch's own products and activations, in blocks as ours, and nothing else."""
    from concurrent.futures import ThreadPoolExecutor

    import torch

    from centrality.network.devices import cores
    from centrality.network.scaling import rows_per_block
    from centrality.torch.networks import to_score

    blocks = torch.from_numpy(many.astype(np.float32)).split(rows_per_block(many.shape[1]))
    score = to_score(model.fitted_.network, "cpu")
    score.trunks.float()
    torch.set_num_threads(1)

    def run() -> None:
        with ThreadPoolExecutor(cores()) as pool:
            list(pool.map(score, blocks))

    return run


def one_row() -> list[Row]:
    from sklearn.ensemble import IsolationForest

    from centrality import FUSE

    X = np.random.default_rng(0).normal(size=(N, P))
    model, forest = FUSE(random_state=0, max_steps=50).fit(X), IsolationForest(random_state=0).fit(X)

    def hundred(score: Callable[[np.ndarray], Any]) -> Callable[[], None]:
        return lambda: [score(X[k : k + 1]) for k in range(100)] and None

    ours, theirs = (s / 100 for s in quickest(hundred(model.score_samples), hundred(forest.score_samples)))
    return [ratio("score one row", "IsolationForest", ours, theirs, ">= 150")]


def growth() -> list[Row]:
    from centrality import FUSE

    rng = np.random.default_rng(0)
    small, large = rng.normal(size=(10_000, 64)), rng.normal(size=(1_000_000, 64))
    few, many = quickest(lambda: FUSE(random_state=0).fit(small), lambda: FUSE(random_state=0).fit(large), times=2)
    return [ratio("fit, n=1,000,000 p=64", "n=10,000", many, few, ">= 1/1.2")]


def starts() -> list[Row]:
    """How long a user waits before anything happens: whole processes."""
    import tempfile
    from pathlib import Path

    from centrality import FUSE

    with tempfile.TemporaryDirectory() as folder:
        X = np.random.default_rng(0).normal(size=(500, 5))
        np.savetxt(rows := Path(folder, "rows.csv"), X, delimiter=",", header="a,b,c,d,e", comments="")
        FUSE(random_state=0, max_steps=50).fit(X).save(model := Path(folder, "model.safetensors"))

        def process(*arguments: object) -> Callable[[], Any]:
            command = [sys.executable, *map(str, arguments)]
            return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        theirs, imported, scored = quickest(
            process("-c", "import sklearn.ensemble"),
            process("-c", "from centrality import FUSE"),
            process("-m", "centrality", "score", model, rows, "-o", Path(folder, "scores.csv")),
            times=5,
        )
    against = "import sklearn.ensemble"
    return [
        ratio("from centrality import FUSE", against, imported, theirs, ">= 1/1.1"),
        ratio("centrality score, 500 rows", against, scored, theirs, ">= 1/1.4"),
    ]


def memory() -> list[Row]:
    """What a fit and a bulk score add at their peak to a process that holds the data and, of a score, the result."""
    cores = str(os.cpu_count())
    return [
        {"what": f"{what}, n=1,000,000 p=64", "MiB": measured(f"peak_of_{what}", cores)[0]["MiB"], "bar": "<= 64"}
        for what in ("fit", "score")
    ]


def peak_of_fit() -> list[Row]:
    from centrality import FUSE

    large = _large()
    FUSE(random_state=0, max_steps=5).fit(large[:1000])  # libraries load what they load
    return _added(lambda: FUSE(random_state=0).fit(large), 0)


def peak_of_score() -> list[Row]:
    from centrality import FUSE

    large = _large()
    model = FUSE(random_state=0, max_steps=5).fit(large[:1000])
    model.score_samples(large[:20_000])
    return _added(lambda: model.score_samples(large), 8 * len(large))


def _large() -> np.ndarray:
    large = np.empty((1_000_000, 64), dtype=np.float32)
    np.random.default_rng(0).standard_normal(out=large, dtype=np.float32)
    return large


def _added(call: Callable[[], Any], result: int) -> list[Row]:
    from pathlib import Path

    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark of memory begins anew
    before = _memory("VmRSS")
    call()
    return [{"MiB": f"{(_memory('VmHWM') - before - result) / 2**20:.1f}"}]


def _memory(field: str) -> int:
    from pathlib import Path

    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(field))


if __name__ == "__main__":
    main()
