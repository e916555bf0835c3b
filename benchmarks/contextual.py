"""Compare detectors on rows that are odd for their kind only: `python -m benchmarks.contextual [sets|scenarios]`.

`sets` scores the tables of contextual_dev, fitted on and scored for all rows, and writes results/contextual.csv (a row
for each set, AUC-ROC and average precision) and results/contextual_means.csv. `scenarios` writes
results/contextual_scenarios.csv: markets by the day, a spread that grows with the context, two branches.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks._results import data, save
from centrality import FUSE

Matrix = NDArray[np.float64]
GROUPS = 8  # for one model a group where the context is no category
NOISE_COLUMNS = 10
FOLDS = 5


def tables() -> dict[str, tuple[Matrix, Matrix, Matrix]]:
    """Return behaviour, context and labels of each set."""
    import pandas as pd

    found = {}
    for name, columns in json.loads(data("contextual_dev", "contexts.json").read_text()).items():
        frame = pd.read_csv(data("contextual_dev", f"{name}.csv"))
        y = frame.pop("outlier").to_numpy()
        found[name] = frame.drop(columns=columns).to_numpy(float), frame[columns].to_numpy(float), y
    return found


# Each method gives odd rows large numbers.


def isolation_forest(x: Matrix, c: Matrix) -> Matrix:
    from sklearn.ensemble import IsolationForest

    both = np.hstack([x, c])
    return np.asarray(-IsolationForest(random_state=0).fit(both).score_samples(both))


def pooled(x: Matrix, c: Matrix) -> Matrix:
    both = np.hstack([x, c])
    return np.asarray(-FUSE(random_state=0).fit(both).score_samples(both))


def per_group(x: Matrix, c: Matrix) -> Matrix:
    """Fit one FUSE for each of some groups of like contexts, by k-means."""
    from sklearn.cluster import KMeans
    from sklearn.preprocessing import StandardScaler

    group = KMeans(GROUPS, n_init=3, random_state=0).fit_predict(StandardScaler().fit_transform(c))
    odd = np.zeros(len(x))
    for each in range(GROUPS):
        own = group == each
        if own.sum() >= 10 and np.ptp(x[own], axis=0).any():
            odd[own] = -FUSE(random_state=0).fit(x[own]).score_samples(x[own])
    return odd


def residuals(x: Matrix, c: Matrix) -> Matrix:
    """Sum the squares of out-of-fold residuals of gradient boosting, in units of a predicted size."""
    off = np.abs(_scaled(x) - _out_of_fold(_scaled(x), c))
    size = _out_of_fold(np.minimum(off, 8 * np.median(off, axis=0) + 1e-12), c)
    return np.asarray(np.square(off / np.maximum(size, 0.1 * np.median(size, axis=0) + 1e-9)).sum(1))


def quantile_residuals(x: Matrix, c: Matrix) -> Matrix:
    """Sum how far rows lie beyond the 10th and 90th percentile that boosting predicts, in units of their distance."""
    z = _scaled(x)
    low, high = (_out_of_fold(z, c, loss="quantile", quantile=level) for level in (0.1, 0.9))
    width = np.maximum(high - low, 0.1 * np.median(high - low, axis=0) + 1e-9)
    return np.asarray((np.maximum(np.maximum(low - z, z - high), 0) / width).sum(1))


def given(x: Matrix, c: Matrix) -> Matrix:
    both = np.hstack([x, c])
    model = FUSE(random_state=0, given=list(range(x.shape[1], both.shape[1]))).fit(both)
    return np.asarray(-model.score_samples(both))


def given_with_noise(x: Matrix, c: Matrix) -> Matrix:
    """Do the same with columns in the context that have nothing to do with the rows."""
    return given(x, np.hstack([c, np.random.default_rng(0).normal(size=(len(c), NOISE_COLUMNS))]))


METHODS: dict[str, Callable[[Matrix, Matrix], Matrix]] = {
    "IForest": isolation_forest,
    "FUSE pooled": pooled,
    "FUSE per group": per_group,
    "residuals": residuals,
    "quantile residuals": quantile_residuals,
    "FUSE given": given,
    "FUSE given, 10 noise columns": given_with_noise,
}


def _scaled(x: Matrix) -> Matrix:
    spread = x.std(0)
    return np.asarray((x - x.mean(0)) / np.where(spread > 0, spread, 1))


def _out_of_fold(wanted: Matrix, c: Matrix, **how: object) -> Matrix:
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.model_selection import KFold

    found = np.zeros_like(wanted)
    for learned, left in KFold(FOLDS, shuffle=True, random_state=0).split(c):
        for column in range(wanted.shape[1]):
            model = HistGradientBoostingRegressor(max_iter=50, max_leaf_nodes=16, random_state=0, **how)
            found[left, column] = model.fit(c[learned], wanted[learned, column]).predict(c[left])
    return found


def sets() -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    rows: list[dict[str, object]] = []
    for name, (x, c, y) in tables().items():
        for method, odd in METHODS.items():
            began = time.perf_counter()
            scores = odd(x, c)
            row = {"set": name, "rows": len(x), "method": method, "auc": float(roc_auc_score(y, scores))}
            row |= {"ap": float(average_precision_score(y, scores)), "seconds": time.perf_counter() - began}
            rows.append(row)
            print(row, flush=True)
    save("contextual", rows)
    means: list[dict[str, object]] = []
    for method in METHODS:
        own = [row for row in rows if row["method"] == method]
        mean = {name: float(np.mean([row[name] for row in own])) for name in ("auc", "ap", "seconds")}  # type: ignore[misc]
        means.append({"method": method, **mean})
    save("contextual_means", means)


# Scenarios.


def markets(rng: np.random.Generator, groups: int = 90, days: int = 540) -> tuple[Matrix, list[tuple[int, int]]]:
    """Return volume, market and weekday, row by row, and two odd rows: market and day.

    On one day a market's volume falls by 80% and the others take it over, so that the total stands still; on another
    one a market's is zero.
    """
    market, day = (each.ravel() for each in np.meshgrid(np.arange(groups), np.arange(days), indexing="ij"))
    level, week = np.exp(rng.normal(8, 1.5, groups)), 1 + 0.3 * rng.random((groups, 7))
    volume = level[market] * week[market, day % 7] * np.exp(0.1 * rng.normal(size=len(market)))
    odd = [(groups // 3, days - 40), (groups // 2, days - 20)]
    fallen = (market == odd[0][0]) & (day == odd[0][1])
    lost, others = 0.8 * volume[fallen].sum(), (day == odd[0][1]) & ~fallen
    volume[others] *= 1 + lost / volume[others].sum()
    volume[fallen] *= 0.2
    volume[(market == odd[1][0]) & (day == odd[1][1])] = 0.0
    return np.column_stack([volume, market, day % 7, day]), odd


def _places(rows: Matrix, odd: Matrix, wanted: list[tuple[int, int]]) -> list[int]:
    """Return the places of the odd rows among those of their day, the oddest being 1."""
    found = []
    for market, day in wanted:
        own = rows[:, 3] == day
        found.append(1 + int((odd[own] > odd[own & (rows[:, 1] == market)]).sum()))
    return found


def _per_market(rows: Matrix) -> Matrix:
    odd = np.zeros(len(rows))
    for market in np.unique(rows[:, 1]):
        own = rows[:, 1] == market
        x = rows[own][:, [0, 2]]
        odd[own] = -FUSE(random_state=0).fit(x).score_samples(x)
    return odd


def scenarios() -> None:
    rows, wanted = markets(np.random.default_rng(0))
    found: list[dict[str, object]] = []

    def note(scenario: str, method: str, models: int, work: Callable[[], str]) -> None:
        began = time.perf_counter()
        answer = work()
        found.append({"scenario": scenario, "method": method, "models": models, "answer": answer})
        found[-1]["seconds"] = time.perf_counter() - began
        print(found[-1], flush=True)

    def at_once(**settings: object) -> str:
        model = FUSE(random_state=0, **settings).fit(rows[:, :3])  # type: ignore[arg-type]
        return str(_places(rows, -model.score_samples(rows[:, :3]), wanted))

    places = "90 markets, 540 days: places of the two odd ones of their day"
    note(places, "FUSE pooled", 1, at_once)
    note(places, "FUSE given market, weekday", 1, lambda: at_once(given=[1, 2]))
    note(places, "FUSE per market", 90, lambda: str(_places(rows, _per_market(rows), wanted)))
    spread = "x given c is N(0, c²): share of p-values up to .1, smallest and largest over tenths of c"
    note(spread, "FUSE pooled", 1, lambda: _spread())
    note(spread, "FUSE given c", 1, lambda: _spread(given=[1]))
    between = "two branches: AUC of points between them"
    note(between, "FUSE given c", 1, _between)
    save("contextual_scenarios", found)


def _spread(**settings: object) -> str:
    rng = np.random.default_rng(0)

    def draw(n: int) -> Matrix:
        c = rng.uniform(0.2, 5, n)
        return np.column_stack([c * rng.normal(size=n), c])

    model, new = FUSE(random_state=0, **settings).fit(draw(5000)), draw(50_000)  # type: ignore[arg-type]
    p, tenth = model.p_values(new), np.minimum(((new[:, 1] - 0.2) / 0.48).astype(int), 9)
    shares = [float((p[tenth == k] <= 0.1).mean()) for k in range(10)]
    return f"{min(shares):.3f} to {max(shares):.3f}"


def _between() -> str:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)

    def branches(n: int) -> tuple[Matrix, Matrix]:
        c = rng.uniform(0, 3, n)
        return np.where(rng.random(n) < 0.5, 1 + c, -1 - 0.5 * c) + 0.15 * rng.normal(size=n), c

    model, (x, c) = FUSE(random_state=0, given=[1]).fit(np.column_stack(branches(2000))), branches(500)
    rows = np.column_stack([np.concatenate([x, 0.25 * c]), np.concatenate([c, c])])
    return f"{roc_auc_score(np.repeat([0, 1], 500), -model.score_samples(rows)):.3f}"


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # some sets hold copies, of which a fit warns
    asked = sys.argv[1:] or ["sets", "scenarios"]
    for name in asked:
        {"sets": sets, "scenarios": scenarios}[name]()
