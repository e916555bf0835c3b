"""Train a model again on parts of its rows, to see what depends on the random numbers of a fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from centrality._internal.input import CheckedRows
from centrality.analysis.stability import REFITS, SHARE, Stability
from centrality.model.fitted import FittedModel, map_valid_rows

if TYPE_CHECKING:
    from centrality.model.interface import CentralityModel

Matrix = NDArray[np.float64]


def refit_on_parts(
    model: CentralityModel, training: CheckedRows, scored: CheckedRows, t: float, rng: np.random.Generator
) -> Stability:
    """Return what eight fits, each to another four fifths of the vectors `training`, say of the vectors `scored`."""
    if isinstance(training, np.ndarray):
        training = training[~np.isnan(training).any(1)]
    fuse: Any = getattr(model, "model_", model)  # a chain holds one
    representation = getattr(model, "representation_", None)
    n = training.shape[0]
    by_refits = []
    for _ in range(REFITS):
        part = np.sort(rng.permutation(n)[: max(3, int(SHARE * n))])
        refit: Any = clone(fuse)
        members = fuse.fitted_.network.members
        refit.set_params(ensemble=members, random_state=int(rng.integers(2**31)), progress=False)
        if representation is not None:
            refit._is_measurement = representation.measurements()  # noqa: SLF001  (it is made like the first one)
            refit._feature_map = representation.origins()  # noqa: SLF001
        refit._fit(training[part], None)  # noqa: SLF001
        by_refits.append(_scores_and_p_values(refit.fitted_, scored, t))
    refits, refit_p_values = np.stack(by_refits, axis=1)
    scores, p_values = _scores_and_p_values(model.fitted_, scored, t)
    count = model.fitted_.calibration_count(t)
    if not count or np.isnan(refit_p_values).all():
        return Stability(scores, refits, None, None, 0)
    return Stability(scores, refits, p_values, refit_p_values, count)


def _scores_and_p_values(fitted: FittedModel, vectors: CheckedRows, t: float) -> Matrix:  # (2, n)
    """Return the centrality of rows, and their p-values, which are NaN without calibration rows."""
    scores = map_valid_rows(vectors, lambda rows: fitted.scores(rows, t))
    if fitted.inliers is None:
        p_values = np.full(len(scores), np.nan)
    else:
        p_values = fitted.inliers.p_values(fitted.mixing, t, scores)
    return np.stack([fitted.mixing.squeeze(scores), p_values])
