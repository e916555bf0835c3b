"""What a score means: conformal p-values, and who is called an outlier at a stated error rate.

Fresh inliers, which the model has not been trained on, are scored beside the rows in question. If a row is one of
their kind, its rank among them is uniform: the share of them that is no more central is a p-value, whatever the
data and however good or bad the model. Only the training rows must not serve as inliers: the model knows them.

Ties count against the row (`<=`), so that a p-value is never too small, P(p <= a) <= a, and the same rows always get
the same p-values. Breaking ties by lot instead makes them exactly uniform.
"""

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from centrality._checks import positive
from centrality.scores.calibration import blend, checked_t

CALIBRATION_ROWS = 20_000  # fresh inliers kept, 320 kB in the model's file: p-values down to 0.00005
ROUNDING = 1 + 1e-12  # what is equal in exact arithmetic must not miss a bound by a bit
Scores = NDArray[np.float64]


def p_values(inliers: Scores, scores: Scores, rng: np.random.Generator | None = None) -> Scores:
    """(1 + how many of the m inliers score no more) / (m + 1), for each score; `rng` breaks ties by lot.

    >>> p_values(np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.1, 0.4, 0.9]))
    array([0.2, 0.6, 1. ])
    """
    if rng is not None:
        # Every point, inlier or not, gets a lot of its own, which decides among those of equal score.
        level = np.unique(np.concatenate([inliers, scores]), return_inverse=True)[1]
        drawn = level + rng.random(len(level))
        inliers, scores = drawn[: len(inliers)], drawn[len(inliers) :]
    return np.asarray((1 + np.searchsorted(np.sort(inliers), scores, side="right")) / (len(inliers) + 1))


def benjamini_hochberg(p: Scores, fdr: float) -> NDArray[np.bool_]:
    """Which hypotheses to reject so that on average a share of at most `fdr` of the rejected is true.

    >>> benjamini_hochberg(np.array([0.03, 0.5, 0.01, 0.02]), fdr=0.05)
    array([ True, False,  True,  True])
    """
    return np.asarray(p <= _last_rejected(p, fdr))


def threshold_by_fdr(inliers: Scores, scores: Scores, fdr: float) -> float:
    """The score below which Benjamini and Hochberg reject; minus infinity if they reject none."""
    needed = int(np.ceil(1 / _share("fdr", fdr) - 1e-9)) - 1
    if len(inliers) < needed:
        raise ValueError(
            f"fdr={fdr:g} needs at least {needed} calibration rows, got {len(inliers)}: with fewer, no p-value can be "
            "small enough. Calibrate on more rows, or ask for a larger fdr."
        )
    p = p_values(inliers, scores)
    level = _last_rejected(p, fdr)
    beyond = int((scores < inliers.min()).sum())
    if level == 0 and beyond:
        enough = int(np.ceil(len(scores) / (fdr * beyond) - 1e-9)) - 1
        warnings.warn(
            f"No outliers at fdr={fdr:g}, for want of calibration rows: {beyond} of {len(scores)} rows are less "
            f"central than all {len(inliers)} of them, which would be enough with {enough} or more.",
            stacklevel=4,
        )
    return _below_which(inliers, level)


def threshold_by_false_positives(inliers: Scores, scores: Scores, expected: float) -> float:
    """The score below which at most `expected` of these rows would lie on average, were they all inliers."""
    level = positive("false_positives", expected) / len(scores)
    needed = int(np.ceil(1 / level - 1e-9)) - 1
    if len(inliers) < needed:
        raise ValueError(
            f"false_positives={expected:g} among {len(scores)} rows needs at least {needed} calibration rows, got "
            f"{len(inliers)}. Calibrate on more rows, or allow more false positives."
        )
    return _below_which(inliers, level)


def threshold_by_contamination(scores: Scores, share: float) -> float:
    """The score below which this share of these rows lies."""
    return float(np.quantile(scores, _share("contamination", share)))


class Conformal:
    """For estimators with heads: p-values and detection, at every t, once calibrated on fresh inliers."""

    t: float
    _inliers: NDArray[np.float64] | None  # (m, 2) heads of the calibration rows: t mixes them as it mixes any others

    def heads(self, X: Any) -> NDArray[np.float64]:
        raise NotImplementedError

    def calibrate(self, X: Any) -> Self:
        """Take these rows, inliers that were not trained on, as the measure for `p_values` and `detect`.

        They replace any earlier ones. Of more than 20,000 rows, evenly spaced ones are kept. Outliers among
        them, as they score low, make p-values larger than they need be, so that fewer outliers are found.
        """
        self._inliers = kept(self.heads(X))
        return self

    def p_values(self, X: Any, t: float | Sequence[float] | None = None, *, random_state: Any = None) -> Scores:
        """How surprising each row would be among the calibration rows: (n,), or (n, len(t)) for a list.

        Of a new row of their kind, P(p <= a) <= a for every a. With m calibration rows the smallest is 1 / (m + 1).
        Ties count against the row; a seed in `random_state` breaks them by lot instead, and p is then exactly uniform.
        """
        t = self.t if t is None else t
        dial = checked_t(t)
        inliers, heads = self.calibration_heads(), self.heads(X)
        rng = None if random_state is None else np.random.default_rng(random_state)
        columns = [p_values(blend(inliers, at), blend(heads, at), rng) for at in np.atleast_1d(dial)]
        return columns[0] if dial.ndim == 0 else np.column_stack(columns)

    def threshold(
        self,
        X: Any,
        *,
        fdr: float | None = None,
        false_positives: float | None = None,
        contamination: float | None = None,
        t: float | None = None,
    ) -> float:
        """The centrality at t below which rows of X are to be called outliers, by one of three rules.

        fdr : of the rows called outliers, at most this share is inliers, on average (Benjamini and Hochberg).
        false_positives : at most so many inliers are called outliers, on average.
        contamination : this share of X is called outliers. It alone needs no calibration, and promises nothing.
        """
        return self._threshold(self.heads(X), fdr, false_positives, contamination, self.t if t is None else t)

    def detect(
        self,
        X: Any,
        *,
        fdr: float | None = None,
        false_positives: float | None = None,
        contamination: float | None = None,
        t: float | None = None,
    ) -> NDArray[np.bool_]:
        """(n,) True for outliers: rows less central than `threshold` says. Without a rule, fdr=0.05."""
        if fdr is None and false_positives is None and contamination is None:
            fdr = 0.05
        heads, t = self.heads(X), self.t if t is None else t
        return np.asarray(blend(heads, t) < self._threshold(heads, fdr, false_positives, contamination, t))

    def _threshold(
        self,
        heads: NDArray[np.float64],
        fdr: float | None,
        false_positives: float | None,
        contamination: float | None,
        t: float,
    ) -> float:
        given = {"fdr": fdr, "false_positives": false_positives, "contamination": contamination}
        rules = [f"{name}={value!r}" for name, value in given.items() if value is not None]
        if len(rules) != 1:
            came = " and ".join(rules) or "none"
            raise ValueError(f"One of fdr, false_positives and contamination was wanted, got {came}.")
        if checked_t(t).ndim:
            raise ValueError(f"t must be one number here, got {t!r}.")
        scores = blend(heads, t)
        if contamination is not None:
            return threshold_by_contamination(scores, contamination)
        inliers = blend(self.calibration_heads(), t)
        if fdr is not None:
            return threshold_by_fdr(inliers, scores, fdr)
        assert false_positives is not None  # one of the three was given
        return threshold_by_false_positives(inliers, scores, false_positives)

    def calibration_heads(self) -> NDArray[np.float64]:
        """(m, 2) heads of the rows kept by `calibrate` or `holdout`; an error if there are none."""
        check_is_fitted(self)
        if self._inliers is None:
            raise ValueError(
                "p-values need calibration rows: inliers that the model was not trained on. Call calibrate(C) with "
                "such rows, or fit with holdout=0.2 to keep a fifth of the training rows aside for it."
            )
        return self._inliers


def kept(heads: NDArray[np.float64], limit: int = CALIBRATION_ROWS) -> NDArray[np.float64]:
    """At most so many rows, evenly spaced: a choice that does not look at scores leaves p-values valid."""
    return heads if len(heads) <= limit else heads[np.linspace(0, len(heads) - 1, limit).astype(np.intp)]


def set_aside(holdout: Any, X: Any, dissimilarity: Any, rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Rows to train on, rows to calibrate on (None without a holdout), and the dissimilarity between the former."""
    if holdout is None:
        return X, None, dissimilarity
    n = X.shape[0]
    count = max(1, round(_share("holdout", holdout) * n))
    if n - count < 3:
        raise ValueError(f"holdout={holdout:g} of {n} rows leaves {n - count} to train on, at least 3 were wanted.")
    order = rng.permutation(n)
    learned, aside = np.sort(order[count:]), np.sort(order[:count])
    return X[learned], X[aside], _among(dissimilarity, learned, n)


def _among(dissimilarity: Any, index: NDArray[np.intp], n: int) -> Any:
    """The dissimilarity between these of n rows, which are numbered anew."""
    if dissimilarity is None:
        return None
    if callable(dissimilarity):
        return lambda i, j: dissimilarity(index[i], index[j])
    matrix = np.asarray(dissimilarity)
    if matrix.shape != (n, n):
        raise ValueError(
            f"dissimilarity must be a square matrix with one row and column for each of the {n} rows of X, "
            f"got shape {matrix.shape}."
        )
    return matrix[np.ix_(index, index)]


def _last_rejected(p: Scores, fdr: float) -> float:
    """The largest p-value that is rejected, or 0: no p-value is."""
    ordered = np.sort(p)
    small = np.flatnonzero(ordered <= _share("fdr", fdr) * np.arange(1, len(p) + 1) / len(p) * ROUNDING)
    return float(ordered[small[-1]]) if len(small) else 0.0


def _below_which(inliers: Scores, level: float) -> float:
    """The score s for which p <= level says the same as score < s."""
    rank = int(np.floor(level * (len(inliers) + 1) * ROUNDING))  # p <= level: at most rank - 1 inliers score no more
    if rank > len(inliers):
        return np.inf
    return float(np.partition(inliers, rank - 1)[rank - 1]) if rank else -np.inf


def _share(name: str, value: Any) -> float:
    if not isinstance(value, float | np.number) or not 0 < value < 1:  # between 0 and 1 there is no other number
        raise ValueError(f"{name} must be a share above 0 and below 1, got {value!r}.")
    return float(value)
