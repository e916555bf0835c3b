"""How much scores and p-values would change with other random numbers and other training rows.

Networks are trained again, each on another four fifths of the training rows. Two such networks differ by the draws of
their training, as two fits to all rows do, and by a fifth of the rows; benchmarks/certainty.py compares their spread
with that of fits to fresh rows.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from centrality.analysis.conformal import p_value_intervals

REFITS = 8
SHARE = 0.8  # of the training rows, that each network is trained on
SURE = 2.0  # standard deviations of a difference, from which on it is no chance

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Stability:
    """How stable the scores of some rows are: print it, or take the numbers row by row."""

    centrality: Matrix  # (n,) by the model
    refits: Matrix  # (k, n) the same by each of the networks trained again
    p_values: Matrix | None  # (n,) by the model; None where it has no calibration rows
    refit_p_values: Matrix | None  # (k, n)
    calibration_rows: int

    @cached_property
    def standard_error(self) -> Matrix:  # (n,)
        """Return how much the centrality of each row changes from fit to fit."""
        return np.asarray(self.refits.std(axis=0, ddof=1))

    def places(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:  # (r, 2)
        """Return the first and the last place that each of these rows may have, 1 being the oddest of all.

        Rows whose order is not the same in nearly all fits may swap: they tie.
        """
        places = []
        for row in rows.tolist():
            difference = self.refits - self.refits[:, [row]]
            mean = self.centrality - self.centrality[row]
            spread = SURE * difference.std(axis=0, ddof=1)
            places.append((1 + int((mean < -spread).sum()), len(mean) - int((mean > spread).sum())))
        return np.array(places, dtype=np.intp).reshape(len(rows), 2)

    def p_value_intervals(self, confidence: float = 0.95) -> Matrix | None:  # (n, 2)
        """Return between which values each p-value lies, whatever the random numbers of the fit; None without any.

        The interval of `model.p_value_intervals`, which is about the calibration rows, is widened by the spread of
        p-values from fit to fit.
        """
        if self.p_values is None or self.refit_p_values is None:
            return None
        m = self.calibration_rows
        rest = 1 / (2 * (m + 1))
        low, high = p_value_intervals(self.p_values, m, confidence).T
        at = logit(np.clip(self.p_values, rest, 1 - rest))
        deviation = logit(np.clip(self.refit_p_values, rest, 1 - rest)).std(0, ddof=1)
        quantile = stdtrit(len(self.refit_p_values) - 1, (1 + confidence) / 2)  # of the t-distribution
        spread = quantile * np.sqrt(2) * deviation  # of two fits
        below = np.hypot(at - logit(np.maximum(low, 0)), spread)  # no lower end where none of the rows scores lower
        above = np.hypot(logit(np.minimum(high, 1)) - at, spread)
        return np.column_stack([expit(at - below), expit(at + above)])

    def __str__(self) -> str:
        error = f"{np.nanmedian(self.standard_error):.2g}"
        text = f"By {len(self.refits)} further fits, the standard error of centrality is {error} (the median row)."
        scored = np.flatnonzero(~np.isnan(self.centrality))
        if not len(scored):
            return text
        oddest = scored[np.argmin(self.centrality[scored])]
        last = int(self.places(np.array([oddest]))[0, 1])
        ties = "No other row may be as odd." if last == 1 else f"Row {oddest:,} ties with {last - 1:,} others."
        return f"{text} Row {oddest:,} is the oddest. {ties}"
