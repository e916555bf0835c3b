"""The settings that are compared, and the paper's names for the classical depths."""

from time import perf_counter
from typing import Any

import numpy as np

from centrality import FUSE, PaperFUSE
from centrality.depths import Depth, Halfspace, KernelDensity, Mahalanobis, Potential, Projection, Spatial
from centrality.network.calibration import LINEAR, SOFT, Mixing

SETTINGS = {
    "paper": "the paper's settings: Algorithm 1 for 30 epochs, its network, raw features, clipping",
    "ours": "our schedule and soft calibration, the rest as in the paper: its network, η, raw features",
    "default": "`FUSE()`: our schedule and network, scaling and noise scales chosen without labels",
}
TS = (0.0, 0.25, 0.5, 0.75, 1.0)
SEEDS = range(5)


def fuse(settings: str, experiment: str, seed: int, *, quick: bool = False, **changes: Any) -> FUSE:
    """FUSE for one of the paper's experiments ("synthetic", "real", "outlier") with one of the SETTINGS.

    `changes` are what the experiment itself says, such as its metric; a noise scale among them is not for "default",
    which finds its own. `quick` trains for a moment.
    """
    if quick:
        changes["max_steps"] = 300 if settings == "paper" else 120  # ours take both losses in every step
    if settings == "paper":
        return FUSE.as_in_paper(experiment, random_state=seed, **changes)
    if settings == "ours":
        hidden = FUSE.as_in_paper(experiment).hidden
        return PaperFUSE(**({"hidden": hidden, "noise_scale": 1.0, "scaling": "none", "random_state": seed} | changes))
    changes.pop("noise_scale", None)
    return PaperFUSE(random_state=seed, **changes)


def mixing(settings: str) -> Mixing:
    """How the heads of such a model, clipped in the paper and soft in ours, are mixed."""
    return LINEAR if settings == "paper" else SOFT


def trained(model: FUSE, X: np.ndarray) -> tuple[FUSE, float]:
    """The fitted model and the seconds it took."""
    start = perf_counter()
    model.fit(X)
    return model, perf_counter() - start


def per_sample(score: Any, X: np.ndarray, times: int = 3) -> float:
    """Microseconds for each row of X, the quickest of some calls."""
    spent = []
    for _ in range(times):
        start = perf_counter()
        score(X)
        spent.append(perf_counter() - start)
    return 1e6 * min(spent) / len(X)


def depths(seed: int) -> dict[str, Depth]:
    """As the Supplement describes them, with its number of random directions.

    It does not say how KDE's bandwidth was chosen; 1, scikit-learn's default, is nearer to the print than Scott's rule.
    """
    return {
        "KDE": KernelDensity(bandwidth=1.0),
        "MAH": Mahalanobis(),
        "POT": Potential(),
        "PRO": Projection(directions="paper", random_state=seed),
        "SPA": Spatial(),
        "Tukey": Halfspace(directions="paper", random_state=seed),
    }
