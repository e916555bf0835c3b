"""Makes the pictures of internals/heads.md: what each head estimates, and what it does not. `make pictures`."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from PIL import Image
from scipy.stats import spearmanr

from centrality import FUSE, datasets, maps, plots

FOLDER = Path(__file__).parent / "pictures"
TS = (0.0, 0.5, 1.0)


class WithoutLevels(FUSE):
    """FUSE whose regions have the levels that chance gave them."""

    def _completed(self, network, *_):  # type: ignore[no-untyped-def]
        return network


class WithoutMadeRows(FUSE):
    """FUSE that compares training rows only."""

    def _compares_off_support(self, dissimilarity: object) -> bool:
        return False


def clusters() -> None:
    """Four equal groups: where the levels of separate groups come from."""
    mixture = datasets.four_clusters()
    X, fresh = mixture.sample(4000, random_state=0), mixture.sample(2000, random_state=1)
    figure = Figure(figsize=(9, 6), dpi=120, layout="constrained")
    panels = figure.subplots(2, 3)
    for row, (name, kind) in enumerate({"levels left to chance": WithoutLevels, "levels closed": FUSE}.items()):
        model = kind(random_state=0).fit(X)
        x, y, f = maps.grid(model, X, TS)
        for k, t in enumerate(TS):
            panel, agreed = panels[row, k], spearmanr(model.centrality(fresh, t), mixture.log_density(fresh))[0]
            panel.contourf(x, y, f[:, :, k], levels=12, cmap=plots._style.COLOUR_MAP)
            panel.set(xticks=[], yticks=[], title=f"t = {t:g} (Spearman {agreed:.2f})")
        panels[row, 0].set_ylabel(name)
    _save(figure, "heads_clusters")


def zeros() -> None:
    """A column of zeros and amounts: what lies left of all data."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((1000, 5)) < 0.9, 0.0, rng.lognormal(size=(1000, 5)))
    along = np.linspace(-20, 20, 401)
    rows = np.zeros((len(along), 5))
    rows[:, 0] = along
    figure = Figure(figsize=(8, 3), dpi=120, layout="constrained")
    for panel, t in zip(figure.subplots(1, 2, sharey=True), (0.0, 0.5), strict=True):
        for name, kind in {"training rows compared": WithoutMadeRows, "made rows too": FUSE}.items():
            panel.plot(along, kind(random_state=0).fit(X).centrality(rows, t), label=name)
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
    zeros()
    narrow()
