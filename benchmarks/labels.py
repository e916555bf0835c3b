"""Compare ways to find wrong labels: `python -m benchmarks.labels`; it writes results/labels.csv.

A tenth of the labels of each set is replaced by another class at random. `wrong_labels` orders rows by how many times
more typical they are of another class than of their own; its peer, the self-confidence of cleanlab, by the probability
that a logistic regression, fitted in five folds on the other rows, gives the row's label. Average precision, area under
the ROC curve, and the share of wrong labels among as many first rows as there are wrong ones.
"""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from benchmarks._results import save
from benchmarks.pick import labelled
from centrality import wrong_labels

NOISE = 0.1
ROWS = 800
SETS = ("digits", "tweets, MiniLM", "adult")

Floats = NDArray[np.float64]


def ours(X: Floats, labels: NDArray[np.intp]) -> Floats:
    """Return how doubtful each label is: 0 where no other class is more typical."""
    found = wrong_labels(X, labels)
    doubt = np.zeros(len(X))
    doubt[found["row"].to_numpy()] = np.log(found["p_suggested"].to_numpy() / found["p_label"].to_numpy())
    return doubt


def self_confidence(X: Floats, labels: NDArray[np.intp]) -> Floats:
    """Return 1 - the out-of-fold probability of each label."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classifier = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=1000))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    p = cross_val_predict(classifier, X, labels, cv=folds, method="predict_proba")
    return np.asarray(1 - p[np.arange(len(X)), np.searchsorted(np.unique(labels), labels)])


WAYS: dict[str, Callable[[Floats, NDArray[np.intp]], Floats]] = {
    "wrong_labels": ours,
    "self-confidence": self_confidence,
}


def main() -> None:
    from sklearn.metrics import average_precision_score, roc_auc_score

    rows: list[dict[str, object]] = []
    for name, X, y in (each for each in labelled() if each[0] in SETS):
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(X), min(len(X), ROWS), replace=False)
        X, y = X[chosen], np.unique(y[chosen], return_inverse=True)[1]
        is_wrong = rng.random(len(y)) < NOISE
        labels = np.where(is_wrong, (y + rng.integers(1, y.max() + 1, len(y))) % (y.max() + 1), y)
        for way, doubt_of in WAYS.items():
            began = time.process_time()
            doubt = doubt_of(X, labels)
            seconds = time.process_time() - began
            first = np.argsort(-doubt, kind="stable")[: is_wrong.sum()]
            row: dict[str, object] = {"set": name, "rows": len(X), "classes": int(y.max()) + 1, "way": way}
            row |= {"ap": float(average_precision_score(is_wrong, doubt))}
            row |= {"auc": float(roc_auc_score(is_wrong, doubt)), "precision": float(is_wrong[first].mean())}
            rows.append(row | {"cpu_s": seconds})
        save("labels", rows)  # set by set: a run may be stopped


if __name__ == "__main__":
    main()
