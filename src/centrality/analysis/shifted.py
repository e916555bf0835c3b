"""Calibration rows for a world that has shifted: some kinds of rows have become more frequent than they were.

Let w(x) be in proportion to how much more frequent rows like x are now. Each calibration row is drawn with the chance
w(x) / max w: what is drawn is distributed as ordinary rows are now (von Neumann's rejection), so that p-values, error
rates and certificates hold as they do without weights. The price is that fewer rows are left.
"""

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, warn_caller

FEW = 100  # rows: with fewer, p-values end above .01
FOLDS = 5  # of the classifier that estimates weights
FARTHEST = 3.0  # deviations that the classifier looks at: outliers should not decide
LARGEST = 0.99  # quantile of the estimated weights above which they are cut: a few would leave no other row

Matrix = NDArray[np.float64]


def checked_weights(weights: object, rows: int) -> Matrix:
    """Return weights of so many rows as an array; raise if they are none."""
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (rows,) or not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise InputError(f"weights must be {rows:,} numbers from 0 on, one for each calibration row, got {weights!r}.")
    return values


def drawn(weights: Matrix, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows with chances in proportion to their weights; warn if few are left.

    >>> drawn(np.repeat([0.0, 1.0], 200), np.random.default_rng(0)).tolist() == list(range(200, 400))
    True
    """
    rows = np.flatnonzero(rng.random(len(weights)) < weights / weights.max())
    if len(rows) < min(FEW, len(weights)):
        warn_caller(
            f"Few rows carry the weight: {len(rows):,} of {len(weights):,} calibration rows are left, so no p-value is "
            f"below {1 / (len(rows) + 1):.2g}. Calibrate on more rows of the kinds that are frequent now."
        )
    return rows


def estimated_weights(calibration: Matrix, new: Matrix, rng: np.random.Generator) -> Matrix:
    """Estimate how much more frequent rows like each calibration row are among the new rows, by a classifier.

    It tells new rows from calibration rows by their numbers and the squares of these; each row is judged by a
    classifier that has not seen it.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.preprocessing import StandardScaler

    if min(len(calibration), len(new)) < 2 * FOLDS:
        raise InputError(f"like wants at least {2 * FOLDS} rows on each side, got {len(calibration)} and {len(new)}.")
    rows = np.concatenate([calibration, new])
    is_new = np.arange(len(rows)) >= len(calibration)
    scaled = np.clip(StandardScaler().fit_transform(rows), -FARTHEST, FARTHEST)
    classifier = LogisticRegression(max_iter=1000)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    log_odds = cross_val_predict(
        classifier, np.hstack([scaled, scaled**2]), is_new, cv=folds, method="decision_function"
    )[: len(calibration)]
    weights = np.exp(np.clip(log_odds, -50, 50))
    return np.asarray(np.minimum(weights, np.quantile(weights, LARGEST)))
