"""Figure "forda": 3601 engine-noise series by their catch22 features, standardised, Euclidean distances.

The text's claims as numbers: Global is nearly flat, flatter than Local (the range that holds the middle half of the
scores, each head in [0, 1]); Local aligns better with the two classes (how far the AUC-ROC of one class against the
other is from chance).
"""

from functools import lru_cache, partial
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler

from centrality import datasets, maps, plots
from centrality.representations import Series
from paper.figures import save
from paper.lab import Cell, Found
from paper.models import SEEDS, TS, fuse, mixing, trained

TITLE = "Figure 6: FordA from global to local"
MINUTES = 2.0
WHY = """
Where we differ: Global is flatter than Local, as the text says, though hardly "nearly flat". By this measure the
classes are separated better by Global than by Local, against the text: one class lies in clusters of its own, far
from the middle.
"""
FLAT, APART = "interquartile range", "class separation, distance of AUC from 1/2"
PRINTED = {("FordA", "Local minus Global", FLAT): "> 0", ("FordA", "Local minus Global", APART): "> 0"}


def cells(quick: bool) -> list[Cell]:
    n, seeds = (300, range(1)) if quick else (3601, SEEDS)
    return [
        Cell("FordA", "FUSE", settings, seed, partial(measure, settings, n, seed, quick))
        for seed in seeds
        for settings in ("paper", "ours", "default")
    ]


def measure(settings: str, n: int, seed: int, quick: bool) -> Found:
    X, label = features(n)
    model, seconds = trained(fuse(settings, "real", seed, quick=quick), X)
    heads = model.heads(X)
    flat = np.subtract(*np.quantile(heads, [0.75, 0.25], axis=0))
    apart = [abs(roc_auc_score(label, head) - 0.5) for head in heads.T]
    found: Found = {
        ("Global", FLAT): flat[0],
        ("Local", FLAT): flat[1],
        ("Local minus Global", FLAT): flat[1] - flat[0],
        ("Global", APART): apart[0],
        ("Local", APART): apart[1],
        ("Local minus Global", APART): apart[1] - apart[0],
        ("FUSE", "train s"): seconds,
    }
    return found | ({"heads": heads, "points": embedded(n, quick), "labels": label} if seed == 0 else {})


@lru_cache
def features(n: int) -> tuple[np.ndarray, np.ndarray]:
    with np.load(datasets.fetch("forda")) as archive:
        series, label = archive["X_train"][:n], archive["y_train"][:n]
    return StandardScaler().fit_transform(Series("catch22").fit_transform(series)), label


@lru_cache
def embedded(n: int, quick: bool) -> np.ndarray:
    return maps.embed(features(n)[0], method="pca" if quick else "umap", random_state=0)


def draw(found: dict[Cell, Found], folder: Path, quick: bool) -> None:
    for cell, f in found.items():
        if cell.seed == 0 and cell.settings != "ours":
            names = np.where(f["labels"] == 1, "class 1", "class −1")
            figure = plots.homotopy_map(f["points"], mixing(cell.settings)(f["heads"], TS), TS, labels=names, columns=3)
            save(figure, folder / f"forda_{cell.settings}.png")
