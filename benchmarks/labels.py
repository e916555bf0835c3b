"""Compare ways to find wrong labels: `python -m benchmarks.labels`; it writes results/labels.csv.

A tenth of the labels of each set is replaced by another class at random, three times over. `wrong_labels` orders rows
by the mean of what a regression and a forest say of their label; its peers, the self-confidence of cleanlab, by one of
the two; the last by how typical a row is of its class and of the best other one, by p-values of a FUSE for each class.
Average precision, area under the ROC curve, and the share of wrong labels among as many first rows as there are wrong
ones; the standard error is that of the difference to `wrong_labels` in average precision.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks._results import save
from benchmarks.pick import labelled
from centrality import FUSE, wrong_labels

NOISE = 0.1
ROWS = 800
SEEDS = 3
SETS = ("digits", "tweets, MiniLM", "adult")

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


def ours(X: Floats, labels: Codes, seed: int) -> Floats:
    """Return how doubtful each label is."""
    found = wrong_labels(X, labels, top=len(X), random_state=seed)
    doubt = np.empty(len(X))
    doubt[found["row"].to_numpy()] = 1 - found["p_label"].to_numpy()
    return doubt


def self_confidence(classifier: Any, X: Floats, labels: Codes, seed: int) -> Floats:
    """Return 1 - the out-of-fold probability of each label."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    p = cross_val_predict(classifier, X, labels, cv=folds, method="predict_proba")
    return np.asarray(1 - p[np.arange(len(X)), np.searchsorted(np.unique(labels), labels)])


def regression(X: Floats, labels: Codes, seed: int) -> Floats:
    return self_confidence(make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000)), X, labels, seed)


def forest(X: Floats, labels: Codes, seed: int) -> Floats:
    return self_confidence(RandomForestClassifier(100, random_state=seed), X, labels, seed)


def typical(X: Floats, labels: Codes, seed: int) -> Floats:
    """Return by how much a row is more typical of another class than of its own."""
    p = np.column_stack([FUSE(random_state=seed).fit(X[labels == c]).p_values(X) for c in np.unique(labels)])
    at = np.arange(len(X)), np.searchsorted(np.unique(labels), labels)
    own = p[at]
    p[at] = 0
    return np.asarray(np.log(p.max(1)) - np.log(own))


WAYS: dict[str, Callable[[Floats, Codes, int], Floats]] = {
    "wrong_labels": ours,
    "self-confidence, regression": regression,
    "self-confidence, forest": forest,
    "typical of a class": typical,
}


def measured(X: Floats, y: Codes, seed: int, way: str) -> dict[str, float]:
    """Make some labels wrong, and return how well they are found."""
    rng = np.random.default_rng(seed)
    chosen = rng.choice(len(X), min(len(X), ROWS), replace=False)
    X, y = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
    is_wrong = rng.random(len(y)) < NOISE
    labels = np.where(is_wrong, (y + rng.integers(1, y.max() + 1, len(y))) % (y.max() + 1), y)
    began = time.process_time()
    doubt = WAYS[way](X, labels, seed)
    seconds = time.process_time() - began
    first = np.argsort(-doubt, kind="stable")[: is_wrong.sum()]
    found = {"ap": average_precision_score(is_wrong, doubt), "auc": roc_auc_score(is_wrong, doubt)}
    return found | {"precision": is_wrong[first].mean(), "cpu_s": seconds}


def main() -> None:
    rows: list[dict[str, object]] = []
    for name, X, y in (each for each in labelled() if each[0] in SETS):
        best: Floats | None = None
        for way in WAYS:
            seeds = range(1 if way == "typical of a class" else SEEDS)  # the last takes minutes
            found = [measured(X, y, seed, way) for seed in seeds]
            aps = np.array([each["ap"] for each in found])
            best = aps if best is None else best
            row: dict[str, object] = {"set": name, "rows": ROWS, "classes": len(np.unique(y)), "way": way}
            row |= {"seeds": len(found)} | {key: float(np.mean([each[key] for each in found])) for key in found[0]}
            behind = best[: len(aps)] - aps
            se = float(behind.std(ddof=1) / np.sqrt(len(aps))) if len(aps) > 1 else ""
            rows.append(row | {"behind": float(behind.mean()), "s.e.": se})
            save("labels", rows)  # way by way: a run may be stopped


if __name__ == "__main__":
    main()
