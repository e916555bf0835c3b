"""Table 3: outliers of Breastw and Ionosphere, with the protocol and the grids of the Supplement.

Five folds: fold k is the test set, fold k + 1 chooses the hyperparameters by AUC-PRC (ties by AUC-ROC), the other
three train. A seed is a shuffle of the folds, whose mean is its result. Raw features, because only those give the
paper's numbers. "default" has no grid and never sees a label: t = 0.5 is FUSE, 0 and 1 are Global and Local.
"""

import warnings
from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.ensemble import IsolationForest
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.svm import OneClassSVM

from centrality import datasets
from paper.lab import Bar, Cell, Found, Row, gains, gap, speed
from paper.models import SEEDS, fuse, trained

TITLE = "Table 3: outliers of Breastw and Ionosphere"
MINUTES = 25.0
WHY = """
Features are taken raw although the text says standardised: only so do the baselines come out as printed. The paper
does not say of how many shuffles its numbers are the mean; ours move by the standard deviations shown. The defaults
see no label, neither to choose η nor t. Our schedule's Global is worse than the paper's here, and closer to what it
is meant to be: "Global, exact" counts the comparisons that define it, on the same folds, instead of learning them. The
paper's schedule stops far from that (its noise passes overwrite the encoder), which happens to suit these two sets. Nor
is it slower here: for 210 and 410 rows, 30 epochs are 510 and 1,020 steps of one loss each; ours are 500 of both.
"""
SETS = ("Breastw", "Ionosphere")
NOISE, METRICS, DIAL = (0.1, 0.2, 0.5, 1.0, 2.0), ("manhattan", "euclidean"), np.arange(1, 10) / 10
METHODS = ("Global", "Local", "FUSE", "IF", "LOF", "OCSVM", "KDE")
EXACT = "Global, exact"  # what the global head's comparisons define, counted instead of learned
_ROWS = {
    ("Breastw", "AUC-ROC"): (0.988, 0.987, 0.990, 0.987, 0.497, 0.962, 0.981),
    ("Breastw", "AUC-PRC"): (0.976, 0.961, 0.979, 0.971, 0.353, 0.908, 0.948),
    ("Ionosphere", "AUC-ROC"): (0.870, 0.959, 0.958, 0.853, 0.903, 0.764, 0.942),
    ("Ionosphere", "AUC-PRC"): (0.875, 0.950, 0.950, 0.810, 0.859, 0.773, 0.938),
}
PRINTED = {
    (name, method, metric): value
    for (name, metric), values in _ROWS.items()
    for method, value in zip(METHODS, values, strict=True)
}

Scores = Iterator[tuple[str, list[np.ndarray]]]  # method, its scores on each of the given sets; larger is more normal


def cells(quick: bool) -> list[Cell]:
    seeds = range(1) if quick else SEEDS
    wanted = [(name, settings, seed) for name in SETS for settings in ("paper", "ours", "default") for seed in seeds]
    fuses = [Cell(n, "FUSE", s, seed, partial(of_fuse, n, s, seed, quick)) for n, s, seed in wanted]
    peers = [
        Cell(name, peer, "paper", seed, partial(of_peer, name, peer, seed, quick))
        for name in SETS
        for peer in (*METHODS[3:], EXACT)
        for seed in seeds
    ]
    return sorted(fuses + peers, key=lambda cell: cell.seed)  # a run cut short has whole seeds


def of_fuse(name: str, settings: str, seed: int, quick: bool) -> Found:
    spent: list[float] = []

    def scores(train: np.ndarray, rest: list[np.ndarray]) -> Scores:
        grid = [("euclidean", 1.0)] if settings == "default" or quick else list(product(METRICS, NOISE))
        for metric, eta in grid:
            model, seconds = trained(
                fuse(settings, "outlier", seed, quick=quick, metric=metric, noise_scale=eta), train
            )
            spent.append(seconds)
            if settings == "default":
                for method, t in (("Global", 0.0), ("Local", 1.0), ("FUSE", 0.5)):
                    yield method, [model.set_params(t=t).score_samples(X) for X in rest]
                continue
            heads = [model.heads(X) for X in rest]
            mixed = model.fitted_.mixing
            yield "Global", [mixed(h, 0) for h in heads]
            yield "Local", [mixed(h, 1) for h in heads]
            for t in DIAL:
                yield "FUSE", [mixed(h, t) for h in heads]

    return crossvalidated(name, scores, seed, 1 if quick else 5) | {("FUSE", "train s"): np.mean(spent)}


def of_peer(name: str, peer: str, seed: int, quick: bool) -> Found:
    def scores(train: np.ndarray, rest: list[np.ndarray]) -> Scores:
        for model in grid(peer, seed)[: 1 if quick else None]:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="Solver terminated early")  # OCSVM at the paper's max_iter
                model.fit(train)
            # Beyond the reach of a compact kernel the density is 0: finite, and below every other.
            yield peer, [np.nan_to_num(model.score_samples(X), neginf=-1e9) for X in rest]

    return crossvalidated(name, scores, seed, 1 if quick else 5)


class Comparisons:
    """How often a row is nearer to a training row than another training row is."""

    def __init__(self, metric: str) -> None:
        self.metric = {"manhattan": "cityblock"}.get(metric, metric)

    def fit(self, X: np.ndarray) -> "Comparisons":
        self.X, self.sorted = X, np.sort(cdist(X, X, self.metric), axis=0)
        return self

    def score_samples(self, X: np.ndarray) -> np.ndarray:
        near = zip(cdist(X, self.X, self.metric).T, self.sorted.T, strict=True)  # one judge after another
        lost = [sum(np.searchsorted(own, d, side) for side in ("left", "right")) for d, own in near]
        return -np.mean(lost, axis=0)


def grid(peer: str, seed: int) -> list:
    if peer == EXACT:
        return [Comparisons(metric) for metric in METRICS]
    if peer == "IF":
        sizes = product((100, 200, 400), (1.0, 0.75, 0.5))
        return [IsolationForest(n_estimators=n, max_features=share, random_state=seed) for n, share in sizes]
    if peer == "LOF":
        return [LocalOutlierFactor(n_neighbors=k, p=p, novelty=True) for k, p in product((10, 20, 35, 50), (1, 2))]
    if peer == "OCSVM":
        shapes = product(("scale", "auto", 1e-3, 1e-2, 1e-1), (0.01, 0.05, 0.1, 0.2))
        return [OneClassSVM(gamma=gamma, nu=nu, max_iter=100_000) for gamma, nu in shapes]
    widths = product(("gaussian", "epanechnikov"), (0.1, 0.2, 0.5, 1.0, 2.0))
    return [KernelDensity(kernel=kernel, bandwidth=width) for kernel, width in widths]


def crossvalidated(name: str, scores, seed: int, count: int) -> Found:
    """Mean over (the first `count`) folds of what the choice by the validation fold reaches on the test fold."""
    X, y = outliers(name)
    reached: dict[str, list[tuple[float, float]]] = {}
    for train, validation, test in list(folds(y, seed))[:count]:
        best: dict[str, tuple[tuple[float, float], tuple[float, float]]] = {}
        for method, (on_validation, on_test) in scores(X[train], [X[validation], X[test]]):
            choice = quality(y[validation], on_validation)
            if method not in best or choice > best[method][0]:
                best[method] = choice, quality(y[test], on_test)
        for method, (_, found) in best.items():
            reached.setdefault(method, []).append(found)
    means = {method: np.mean(found, axis=0) for method, found in reached.items()}
    return {(m, metric): mean[k] for m, mean in means.items() for k, metric in enumerate(("AUC-PRC", "AUC-ROC"))}


def outliers(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(datasets.fetch(name.lower())) as archive:
        return archive["X"].astype(np.float64), archive["y"].ravel().astype(int)


def folds(y: np.ndarray, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    parts = [test for _, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(y, y)]
    for k in range(5):
        validation = (k + 1) % 5
        yield np.concatenate([parts[j] for j in range(5) if j not in (k, validation)]), parts[validation], parts[k]


def quality(y: np.ndarray, normal: np.ndarray) -> tuple[float, float]:
    return float(average_precision_score(y, -normal)), float(roc_auc_score(y, -normal))


def bars(rows: list[Row]) -> list[Bar | None]:
    def printed(*methods: str) -> dict[tuple[str, str, str], float]:
        return {key: value for key, value in PRINTED.items() if key[1] in methods}

    return [
        gap(rows, printed("Local", "FUSE"), 0.015, "the paper's settings: FUSE and Local within .015 of the printed"),
        gap(rows, printed(*METHODS[3:]), 0.02, "baselines within .02 of the printed"),
        gains(rows, printed(*METHODS[:3])),
        speed(rows, SETS),
    ]
