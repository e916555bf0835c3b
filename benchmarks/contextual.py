"""Compare detectors on rows that are odd for their kind only: `python -m benchmarks.contextual [METHOD ...]`.

It scores the tables of contextual_dev, fitted on and scored for all rows, and writes results/contextual.csv (AUC-ROC,
average precision and seconds of one core, for each set and method; it goes on where it stopped) and their means,
results/contextual_means.csv, of the methods that are through.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks import provenance
from benchmarks._results import RESULTS, data, save
from benchmarks.cells import Lines, measure_unknown
from centrality import FUSE

Matrix = NDArray[np.float64]
Cell: TypeAlias = tuple[str, str]  # set, method
GROUPS = 8  # for one model a group where the context is no category
NOISE_COLUMNS = 10
FOLDS = 5
MEASURES = ("auc", "ap", "seconds")
TREES = 100  # of a quantile regression forest


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
    return _beyond(z, *(_out_of_fold(z, c, loss="quantile", quantile=level) for level in (0.1, 0.9)))


def quantile_forest(x: Matrix, c: Matrix) -> Matrix:
    """Do the same by a quantile regression forest: of each tree, one training row of the leaf that a row falls into."""
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.model_selection import KFold

    z, rng = _scaled(x), np.random.default_rng(0)
    low, high = np.zeros_like(z), np.zeros_like(z)
    for learned, left in KFold(FOLDS, shuffle=True, random_state=0).split(c):
        forest = RandomForestRegressor(TREES, min_samples_leaf=5, random_state=0).fit(c[learned], z[learned].squeeze())
        there, here = forest.apply(c[learned]), forest.apply(c[left])
        told = np.empty((TREES, len(left), z.shape[1]))
        for tree in range(TREES):
            order = rng.permutation(len(learned))
            leaves, first = np.unique(there[order, tree], return_index=True)
            told[tree] = z[learned][order[first]][np.searchsorted(leaves, here[:, tree])]
        low[left], high[left] = np.quantile(told, [0.1, 0.9], axis=0)
    return _beyond(z, low, high)


def _beyond(z: Matrix, low: Matrix, high: Matrix) -> Matrix:
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
    "FUSE given": given,
    "FUSE given, 10 noise columns": given_with_noise,
    "residuals": residuals,
    "FUSE pooled": pooled,
    "IForest": isolation_forest,
    "quantile residuals": quantile_residuals,
    "quantile forest": quantile_forest,
    "FUSE per group": per_group,
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


class Known:
    """What was found in each set by each method, in a file."""

    def __init__(self) -> None:
        self._lines = Lines(RESULTS / "contextual.csv", ("set", "method", *MEASURES))
        read = self._lines.read()
        self.found = {(line["set"], line["method"]): [float(line[name]) for name in MEASURES] for line in read}

    def knows(self, cell: Cell) -> bool:
        return cell in self.found

    def keep(self, cell: Cell, found: list[float]) -> None:
        self.found[cell] = found
        self._lines.append((*cell, *(f"{number:.4f}" for number in found)))


def measure(cell: Cell) -> list[float]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    (x, c, y), began = tables()[cell[0]], time.process_time()
    odd = METHODS[cell[1]](x, c)
    seconds = time.process_time() - began
    return [float(roc_auc_score(y, odd)), float(average_precision_score(y, odd)), seconds]


def main(methods: list[str]) -> None:
    from tqdm.auto import tqdm

    names, known = list(tables()), Known()
    cells = [(name, method) for method in methods for name in names]
    with tqdm(total=sum(not known.knows(cell) for cell in cells), unit="cell") as bar:
        measure_unknown(cells, measure, known, bar)
    provenance.note(RESULTS / "contextual.csv")
    whole = [method for method in METHODS if all(known.knows((name, method)) for name in names)]
    save("contextual_means", [_mean(method, known.found, names) for method in whole])


def _mean(method: str, found: dict[Cell, list[float]], names: list[str]) -> dict[str, Any]:
    own, peer = (np.array([found[name, each] for name in names]) for each in (method, "residuals"))
    return {
        "method": method,
        **dict(zip(MEASURES, own.mean(0).tolist(), strict=True)),
        "worst against residuals": float((own[:, 0] - peer[:, 0]).min()),
    }


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # some sets hold copies, of which a fit warns
    main(sys.argv[1:] or list(METHODS))
