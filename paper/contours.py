"""Figure "unimodal": centrality over the plane from global to local, for three unimodal samples and a mixture.

What the text says of it is measured: the most central place is the mean, centrality falls outward along the level sets
of the density, and on the mixture the dial leads from one basin (the middle between the four components is central) to
the components themselves (the middle is a valley).
"""

from functools import partial
from pathlib import Path

import numpy as np

from centrality import datasets, maps, plots
from centrality.metrics import rank_correlation
from paper.figures import save
from paper.lab import Cell, Found
from paper.models import SEEDS, TS, fuse, trained

TITLE = "Figure 2: contours over the plane"
MINUTES = 4.0
N, GRID = 5000, 100
WHY = """
Where our defaults differ: their noise is much smaller than η = 1. Inside the Uniform the density is flat, and Local
with it, so that its highest place may lie anywhere; on the Normal, Local follows the ellipses more closely.
"""
SAMPLES = {
    "Normal": datasets.normal,
    "Student-t": datasets.student_t,
    "Uniform": datasets.uniform,
    "Mixture": datasets.four_clusters().sample,
}
UNIMODAL = ("Normal", "Student-t", "Uniform")
PEAK, OUTWARD, VALLEY = "distance of the peak to the mean", "fall with Mahalanobis distance", "middle above the modes"
PRINTED = {
    **{(name, f"t = {t:g}", PEAK): "< 0.5" for name in UNIMODAL for t in (0, 0.5, 1)},
    **{(name, f"t = {t:g}", OUTWARD): "> 0.8" for name in UNIMODAL for t in (0, 0.5, 1)},
    ("Mixture", "t = 0", VALLEY): "> 0",
    ("Mixture", "t = 1", VALLEY): "< 0",
}


def cells(quick: bool) -> list[Cell]:
    n, seeds = (500, range(1)) if quick else (N, SEEDS)
    return [
        Cell(name, "FUSE", settings, seed, partial(measure, name, settings, n, seed, quick))
        for seed in seeds
        for name in SAMPLES
        for settings in ("paper", "default")
    ]


def measure(name: str, settings: str, n: int, seed: int, quick: bool) -> Found:
    X = SAMPLES[name](n, random_state=seed)
    model, _ = trained(fuse(settings, "synthetic", seed, quick=quick), X)
    x, y, f = maps.grid(model, X, TS, size=GRID)
    found: Found = {}
    if name == "Mixture":
        middle, modes = model.heads([[0.0, 0.0]]), model.heads(datasets.four_clusters().means)
        for t in (0, 1):
            found[f"t = {t}", VALLEY] = float(
                model.fitted_.mixing(middle, t)[0] - model.fitted_.mixing(modes, t).mean()
            )
    else:
        places = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        far = np.sqrt(np.einsum("ij,jk,ik->i", places, np.linalg.inv(np.cov(X.T)), places))
        inside = far <= 2.5  # beyond, clipped scores tie
        for t, scores in zip(TS, f.reshape(-1, len(TS)).T, strict=True):
            if t in (0, 0.5, 1):
                found[f"t = {t:g}", PEAK] = float(np.linalg.norm(places[scores.argmax()]) / X.std())
                found[f"t = {t:g}", OUTWARD] = rank_correlation(scores[inside], -far[inside])
    if seed == 0:
        found |= {"x": x, "y": y, "f": f.astype(np.float32), "points": X[:1000].astype(np.float32)}
    return found


def draw(found: dict[Cell, Found], folder: Path, quick: bool) -> None:
    for settings in ("paper", "default"):
        first = {cell.dataset: f for cell, f in found.items() if cell.settings == settings and cell.seed == 0}
        if len(first) == len(SAMPLES):
            grids = [(f["x"], f["y"], f["f"]) for f in first.values()]
            figure = plots.contours(grids, TS, points=[f["points"] for f in first.values()], titles=list(first))
            save(figure, folder / f"contours_{settings}.png")
