"""Rows made odd in ways that break detectors, and orders and explanations that one cell must not own.

Run by `benchmarks.fresh_rows`, whose page says how; the parts are

odd        A far, dense group; one column of 50; outliers behind wilder ones; wild cells; log-normal columns.
digits     The ten oddest digits, any one pixel set to its median: how far up the order does that take them?
seeds      Spearman correlation of the local centrality of wine's rows between fits with different seeds.
explained  One column shifted in a row of the smaller of two clusters: how often is it blamed first?
diamonds   23 rows with sizes that no diamond has: how many are among the 23 least central?
time       Default fit of 10,000 rows of 32 columns against another checkout's, one thread, in turn.
"""

import itertools
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_digits, load_wine
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

from benchmarks._results import save
from centrality import FUSE

SEEDS = range(3)
DIAL = (0.0, 0.5, 1.0)
Rows = tuple[np.ndarray, np.ndarray]  # rows, and labels: 1 for outliers, 0 for inliers, -1 for what does not count


def group(k: int, p: int, rng: np.random.Generator) -> Rows:
    """k of 1000 rows in a tight group, 8 deviations off."""
    X, way = rng.normal(size=(1000, p)), rng.normal(size=p)
    X[:k] = 8 * way / np.linalg.norm(way) + 0.05 * rng.normal(size=(k, p))
    return X, np.arange(1000) < k


def one_column(rng: np.random.Generator) -> Rows:
    X = rng.normal(size=(1000, 50))
    X[:20, 0] = 7
    return X, np.arange(1000) < 20


def masked(rng: np.random.Generator) -> Rows:
    """1% at a million, which must not hide 2% at 8 deviations."""
    X = rng.normal(size=(2000, 5))
    X[:20, 0], X[20:60, 0] = 1e6, 8
    return X, np.repeat([-1, 1, 0], [20, 40, 1940])


def wild(value: float, columns: slice, rng: np.random.Generator) -> Rows:
    """One wild row, which must not hide ten rows at 8 deviations."""
    X = rng.normal(size=(2000, 4))
    X[:10, 0], X[10, columns] = 8, value
    return X, np.repeat([1, -1, 0], [10, 1, 1989])


def log_normal(sigma: float, rng: np.random.Generator) -> Rows:
    """1% whose logarithms all lie about 4 deviations off."""
    z = rng.normal(size=(2000, 4))
    z[:20] = 4 * np.sign(z[:20]) + 0.3 * z[:20]
    return np.exp(sigma * z), np.arange(2000) < 20


CASES: dict[str, Callable[[np.random.Generator], Rows]] = {
    **{
        f"group of {k} in 1000, 8 deviations off, p = {p}": partial(group, k, p)
        for k, p in itertools.product((50, 150), (2, 5, 10))
    },
    "one of 50 columns off by 7": one_column,
    "2% at 8 behind 1% at 1e6": masked,
    "ten at 8, a cell of 1e4": partial(wild, 1e4, slice(1, 2)),
    "ten at 8, a cell of 99999": partial(wild, 99999, slice(1, 2)),
    "ten at 8, a row of 99999": partial(wild, 99999, slice(None)),
    "ten at 8, a row of 1e9": partial(wild, 1e9, slice(None)),
    **{f"log-normal, sigma {sigma}": partial(log_normal, sigma) for sigma in (2, 4, 6)},
}


def odd() -> None:
    rows: list[dict[str, object]] = []
    for name, make in CASES.items():
        found, theirs = [], []
        for seed in SEEDS:
            X, y = make(np.random.default_rng(seed))
            counts = y >= 0
            scores = FUSE(random_state=seed).fit(X).centrality(X, DIAL)[counts]
            found.append([roc_auc_score(y[counts], -score) for score in scores.T])
            forest = IsolationForest(random_state=seed).fit(X).score_samples(X)[counts]
            theirs.append(roc_auc_score(y[counts], -forest))
        row: dict[str, object] = {"case": name}
        for t, each in zip(DIAL, zip(*found, strict=True), strict=True):
            row |= {f"AUC at t = {t:g}": float(np.mean(each)), f"least at t = {t:g}": float(np.min(each))}
        rows.append(row | {"IForest": float(np.mean(theirs)), "IForest least": float(np.min(theirs))})
        print(rows[-1], flush=True)
    save("fresh_rows_odd", rows)


def digits() -> None:
    """The row with a pixel changed is a new row: it is ranked among the training rows, itself left out."""
    X, rows = load_digits().data, []
    middle = np.median(X, axis=0)
    for seed in SEEDS:
        model = FUSE(random_state=seed).fit(X)
        scores = model.score_samples(X)
        order = np.argsort(scores)
        rank_of_87 = int(np.flatnonzero(order == 87)[0]) + 1
        for rank, row in enumerate(order[:10], 1):
            changed = np.where(np.eye(X.shape[1], dtype=bool), middle, X[row])
            others = np.sort(np.delete(scores, row))
            ranks = np.searchsorted(others, model.score_samples(changed)) + 1
            pixel = int(ranks.argmax())
            found: dict[str, object] = {"seed": seed, "row": int(row), "rank": rank, "pixel": pixel}
            found |= {"value": X[row, pixel], "median": float(middle[pixel]), "rank then": int(ranks.max())}
            rows.append(found | {"rank of row 87": rank_of_87})
    save("fresh_rows_digits", rows)


def seeds() -> None:
    X = load_wine().data
    local = [FUSE(random_state=seed).fit(X).centrality(X, DIAL) for seed in range(3)]
    rows: list[dict[str, object]] = []
    for a, b in itertools.combinations(range(3), 2):
        agree = {f"t = {t:g}": float(spearmanr(local[a][:, k], local[b][:, k])[0]) for k, t in enumerate(DIAL)}
        rows.append({"data": "wine", "seeds": f"{a} and {b}", **agree})
    save("fresh_rows_seeds", rows)


def explained() -> None:
    """Clusters of 700 and 300 rows, 6 columns, 6 apart in each; 200 fresh rows, one column of each shifted by 5."""
    found: dict[tuple[str, float], list[tuple[float, float]]] = {}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        model = FUSE(random_state=seed).fit(np.concatenate([rng.normal(size=(700, 6)), rng.normal(size=(300, 6)) + 6]))
        for cluster, centre in (("larger", 0), ("smaller", 6)):
            Q, shifted = rng.normal(size=(200, 6)) + centre, rng.integers(6, size=200)
            Q[np.arange(200), shifted] += 5 * rng.choice([-1, 1], 200)
            for t in DIAL:
                parts = model.explain(Q, t), model.explain(Q, t, baseline=model.center_[None])
                nearest, deepest = (float((part.argmin(1) == shifted).mean()) for part in parts)
                found.setdefault((cluster, t), []).append((nearest, deepest))
    rows: list[dict[str, object]] = []
    for (cluster, t), shares in found.items():
        nearest, deepest = np.mean(shares, axis=0).tolist()
        rows.append({"cluster": cluster, "t": t, "nearest typical point": nearest, "center_": deepest})
    save("fresh_rows_explained", rows)


def diamonds(path: Path) -> None:
    from pyarrow import csv

    from centrality import Chain
    from centrality.representations import Table

    table = csv.read_csv(path)
    numbers = table.select(["carat", "depth", "table", "price", "x", "y", "z"])
    X = np.column_stack([column.to_numpy() for column in numbers.columns]).astype(np.float64)
    x, y, z = X[:, 4:].T
    impossible = (x == 0) | (y == 0) | (z == 0) | (y > 30) | (z > 30)
    rows: list[dict[str, object]] = []
    for seed, (words, made) in itertools.product(
        SEEDS, {"seven columns of numbers": X, "all ten columns": table}.items()
    ):
        fuse = FUSE(random_state=seed)
        model = fuse.fit(made) if made is X else Chain(Table(), fuse).fit(made)
        orders = {f"centrality at t = {t:g}": model.centrality(made, t) for t in DIAL}
        orders["score_samples"] = model.score_samples(made)
        lowest = {name: np.argsort(scores)[: impossible.sum()] for name, scores in orders.items()}
        of = {"rows": words, "seed": seed, "impossible": int(impossible.sum())}
        rows.append(of | {name: int(impossible[each].sum()) for name, each in lowest.items()})
        print(rows[-1], flush=True)
    save("fresh_rows_diamonds", rows)


TIMED = """
import time, numpy as np
from centrality import FUSE
X = np.random.default_rng(0).normal(size=(10_000, 32))
FUSE(random_state=0, max_steps=5).fit(X[:500])
begun = time.process_time()
FUSE(random_state=0).fit(X)
print(time.process_time() - begun)
"""


def time(before: Path) -> None:
    """CPU seconds of one thread, the least of three runs of each: others may keep the machine busy."""
    ours, taken = Path(__file__).parents[1] / "src", dict[Path, list[float]]()
    for _, source in itertools.product(range(3), (before, ours)):
        known = os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
        done = subprocess.run([sys.executable, "-c", TIMED], env=known, check=True, capture_output=True, text=True)
        taken.setdefault(source, []).append(float(done.stdout))
    least = {source: min(seconds) for source, seconds in taken.items()}
    of_pairs = sorted(b / a for a, b in zip(taken[before], taken[ours], strict=True))
    row: dict[str, object] = {"rows": 10_000, "columns": 32, "runs": 3, "times before's": least[ours] / least[before]}
    save("fresh_rows_time", [row | {"least of pairs": of_pairs[0], "most of pairs": of_pairs[-1]}])


PARTS: dict[str, Callable[[], None]] = {"odd": odd, "digits": digits, "seeds": seeds, "explained": explained}


def parts_on(table: Path | None, before: Path | None) -> dict[str, Callable[[], None]]:
    """The parts for which what they need was given."""
    found: dict[str, Callable[[], None]] = {}
    if table is not None:
        found["diamonds"] = partial(diamonds, table)
    if before is not None:
        found["time"] = partial(time, before)
    return found
