"""Makes the pictures of internals/heads.md and method.md: what heads and network do, and do not. `make pictures`."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.network_worth import fitted
from benchmarks.network_worth import rolled as of_sheet

from centrality import FUSE, datasets, maps, plots

FOLDER = Path(__file__).parent / "pictures"
TS = (0.0, 0.5, 1.0)


def clusters() -> None:
    """Four equal groups: slopes alone leave to chance which of them is denser; the background knows."""
    mixture = datasets.four_clusters()
    X, fresh = mixture.sample(4000, random_state=0), mixture.sample(2000, random_state=1)
    models = {
        "the paper's network alone": FUSE.as_in_paper("synthetic", noise_scale=0.25, calibration="soft"),
        "with a background": FUSE(),
    }
    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    panels = figure.subplots(2, 3)
    for row, (name, model) in enumerate(models.items()):
        model.set_params(random_state=0).fit(X)
        x, y, f = maps.grid(model, X, TS)
        for k, t in enumerate(TS):
            panel, agreed = panels[row, k], spearmanr(model.centrality(fresh, t), mixture.log_density(fresh))[0]
            panel.contourf(x, y, f[:, :, k], levels=12, cmap=plots.figures.COLOUR_MAP)
            panel.set(xticks=[], yticks=[], title=f"t = {t:g} (Spearman {agreed:.2f})")
        panels[row, 0].set_ylabel(name)
    _save(figure, "heads_clusters")


def rolled() -> None:
    """A sheet rolled up in three columns: what the network adds to its background, in a slice across the roll."""
    rng = np.random.default_rng(0)
    everything = of_sheet(7000, rng)
    X, fresh, mixed = everything[:5000], everything[5000:6000], everything[6000:]
    mixed = np.stack([rng.permutation(column) for column in mixed.T], 1)  # each column of another row
    labels = np.repeat([0, 1], [len(fresh), len(mixed)])
    ends = np.linspace(-1.7, 1.7, 240)
    x, z = np.meshgrid(ends, ends)
    slice_ = np.stack([x.ravel(), np.zeros(x.size), z.ravel()], 1)
    near = X[np.abs(X[:, 1]) < 0.1]
    figure = Figure(figsize=(8, 3.9), dpi=120, layout="constrained")
    panels = figure.subplots(1, 3, width_ratios=(1, 1, 0.02))
    panels[2].axis("off")
    for panel, alone in zip(panels, (True, False), strict=False):
        model = fitted(X, 0, clean=False, whole=not alone).set_params(t=1.0)
        found = roc_auc_score(labels, -model.score_samples(np.concatenate([fresh, mixed])))
        panel.contourf(x, z, model.centrality(slice_).reshape(x.shape), levels=12, cmap=plots.figures.COLOUR_MAP)
        panel.plot(near[:, 0], near[:, 2], ".", ms=2, color="black", alpha=0.6)
        name = "background alone" if alone else "background and network"
        panel.set(xticks=[], yticks=[], title=f"{name}: AUC {found:.2f}")
    _save(figure, "network_adds")


def zeros() -> None:
    """A column of zeros and amounts: what lies left of all data."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((1000, 5)) < 0.9, 0.0, rng.lognormal(size=(1000, 5)))
    along = np.linspace(-20, 20, 401)
    rows = np.zeros((len(along), 5))
    rows[:, 0] = along
    figure = Figure(figsize=(8, 3), dpi=120, layout="constrained")
    for panel, t in zip(figure.subplots(1, 2, sharey=True), (0.0, 0.5), strict=True):
        # A function of the user's own is asked of training rows only.
        for name, metric in {"training rows compared": cdist, "synthetic rows too": "euclidean"}.items():
            panel.plot(along, FUSE(metric=metric, random_state=0).fit(X).centrality(rows, t), label=name)
        panel.axvspan(0, X[:, 0].max(), color="0.9", lw=0)
        panel.set(title=f"t = {t:g}", xlabel="the first column (data: grey)", ylim=(0, 1))
    panel.legend(frameon=False)
    _save(figure, "heads_zeros")


def narrow() -> None:
    """Correlated columns: round noise hides narrow directions."""
    figure = Figure(figsize=(8, 3), dpi=120, layout="constrained")
    for panel, p in zip(figure.subplots(1, 2), (10, 50), strict=True):
        X, fresh = _correlated(1000, p, seed=0), _correlated(1000, p, seed=1)
        inverse = np.linalg.inv(_covariance(p))
        density = -0.5 * np.einsum("ij,jk,ik->i", fresh, inverse, fresh)
        f = FUSE(random_state=0).fit(X).centrality(fresh, 1.0)
        panel.plot(density, f, ".", ms=3, alpha=0.5)
        panel.set(title=f"p = {p}: Spearman {spearmanr(density, f)[0]:.2f}", xlabel="log-density", ylabel="f at t = 1")
    _save(figure, "heads_correlated")


def _covariance(p: int) -> NDArray[np.float64]:
    return 0.9 ** np.abs(np.subtract.outer(np.arange(p), np.arange(p)))


def _correlated(n: int, p: int, seed: int) -> NDArray[np.float64]:
    return np.random.default_rng(seed).multivariate_normal(np.zeros(p), _covariance(p), size=n)


def _save(figure: Figure, name: str) -> None:
    figure.savefig(FOLDER / f"{name}.png")
    with Image.open(FOLDER / f"{name}.png") as picture:
        picture.convert("RGB").quantize(96).save(FOLDER / f"{name}.png", optimize=True)


if __name__ == "__main__":
    clusters()
    rolled()
    zeros()
    narrow()
