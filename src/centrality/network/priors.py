"""List the kinds of prior; a new one is a line here."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from centrality.network.mixture import Mixture
from centrality.network.prior import Prior

PRIORS: dict[str, type[Prior]] = {
    "mixture": Mixture,
}
FOR_CLEAN_ROWS = "mixture"  # the kind that `FUSE(novelty=True)` starts from


def fit_prior(z: NDArray[np.float32], scales: Sequence[float], rng: np.random.Generator) -> Prior:
    """Return the prior that training on these clean rows, scaled, starts from."""
    return PRIORS[FOR_CLEAN_ROWS].fitted(z, scales, rng)


def prior_for_weights(weights: Mapping[str, Tensor], *, width: int, scales: int) -> Prior | None:
    """Return an empty prior that can hold these saved weights; None if no kind knows them."""
    laid_out = (kind.for_weights(weights, width=width, scales=scales) for kind in PRIORS.values())
    return next((prior for prior in laid_out if prior is not None), None)
