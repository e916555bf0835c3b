"""How bad a row is: one in how many ordinary rows is as odd.

Among the calibration rows that number is counted: it is 1 / p. Below the lowest of them nothing can be counted, so a
tail is fitted to the scores of the lowest calibration rows. Whatever the distribution, what lies beyond a far threshold
follows nearly a generalised Pareto law (Pickands; Balkema and de Haan): a share (1 + shape * x / scale)^(-1 / shape)
lies beyond the distance x. The law is fitted to as many of the lowest rows as it suits: Anderson and Darling's test
must not reject it. A severity is an average over all such laws, each weighted by how well it fits these rows and by a
prior.

The prior prefers tails that fall slowly. Beyond the range of the training rows scores fall faster, but there are too
few calibration rows to show it. So the prior is chosen such that severities err on the low side (figures:
benchmarks/certainty.py).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CAP = 10  # times as many rows as there are calibration rows: farther out, tails that fit equally well disagree
TAIL_SHARE = 0.03  # of the rows that a tail is fitted to
MOST = 500  # of these rows
FEWEST = 15
LARGEST_SHARE = 0.1  # share used at most, to reach FEWEST rows in small samples
STEP = 0.7  # each try keeps this share of the previous tail's rows
REJECTED = 0.8  # Anderson and Darling's statistic that a Pareto tail exceeds once in ten (20 to 500 rows, simulated)
SHAPE_MEAN = 0.4  # of the prior; 12 settings were tried on ten worlds
SHAPE_SPREAD = 0.2
SHAPES = np.linspace(-0.5, 1.0, 31)
SCALES = np.linspace(-6.0, 6.0, 21)  # log-deviations from a first guess, in units of its standard error, 1 / sqrt(rows)
NEGLIGIBLE = 1e-6  # weights below this are left out

Scores = NDArray[np.float64]


@dataclass(frozen=True)
class Tail:
    """A weighted mixture of Pareto laws for scores below `start`; a share `beyond` of ordinary rows lies there."""

    start: float
    beyond: float
    shapes: Scores  # (k,) of laws that fit
    scales: Scores  # (k,)
    weights: Scores  # (k,) how well each law fits; they sum to 1

    @classmethod
    def of(cls, scores: Scores) -> "Tail | None":
        """Fit a tail to the lowest of these rising scores; None where there are too few of them, or all are equal."""
        size = min(max(int(TAIL_SHARE * len(scores)), FEWEST), int(LARGEST_SHARE * len(scores)), MOST)
        tail = None
        while size >= FEWEST:
            start = float(scores[size])
            excesses = start - scores[:size][::-1]
            if excesses[0] < 0 or excesses[len(excesses) // 2] <= 0:  # many rows tie
                return tail
            tail = cls(start, size / len(scores), *_laws(excesses))
            # How far the falling shares of these rows are from those of a uniform sample.
            rising = np.clip(1 - tail.shares(excesses), 1e-12, 1 - 1e-12)
            odd = 2 * np.arange(1, size + 1) - 1
            anderson_darling = -size - (odd * (np.log(rising) + np.log1p(-rising[::-1]))).mean()
            if anderson_darling <= REJECTED:
                return tail
            size = int(STEP * size)
        return tail

    def shares(self, distances: Scores) -> Scores:
        """Return which share of the rows below `start` lies at least so far below it."""
        growth = np.maximum(1 + self.shapes[:, None] * distances / self.scales[:, None], 0.0)
        with np.errstate(divide="ignore"):  # a law of negative shape ends somewhere: nothing lies beyond
            return np.asarray(self.weights @ np.exp(-np.log(growth) / self.shapes[:, None]))


def _laws(excesses: Scores) -> tuple[Scores, Scores, Scores]:
    """Return shapes, scales and weights of the Pareto laws that fit these distances: the posterior, on a grid."""
    shapes = np.where(SHAPES == 0, 1e-6, SHAPES)
    median_of_unit_scale = np.expm1(shapes * np.log(2)) / shapes
    first = np.median(excesses) / median_of_unit_scale
    scales = first[:, None] * np.exp(SCALES / np.sqrt(len(excesses)))  # (shapes, scales)
    growth = 1 + shapes[:, None, None] * excesses / scales[:, :, None]
    possible = (growth > 0).all(2)
    logs = np.log(np.where(possible[:, :, None], growth, 1.0)).sum(2)
    fit = -len(excesses) * np.log(scales) - (1 + 1 / shapes[:, None]) * logs
    fit = np.where(possible, fit - 0.5 * np.square((shapes[:, None] - SHAPE_MEAN) / SHAPE_SPREAD), -np.inf)
    weights = np.exp(fit - fit.max())
    shape, scale = np.nonzero(weights > NEGLIGIBLE)
    chosen = weights[shape, scale]
    return shapes[shape], scales[shape, scale], chosen / chosen.sum()


def severity(inliers: Scores, scores: Scores, tail: Tail | None) -> Scores:
    """Return one in how many ordinary rows scores as low as each of these; `inliers` rise.

    Up to m + 1, the number of calibration rows and one, it is 1 / p. What is larger is extrapolated, and at most
    10 (m + 1); a row without a score (NaN) has none.

    >>> ordinary = np.sort(-np.random.default_rng(0).exponential(size=999))
    >>> severity(ordinary, np.array([-1.0, -2.0, -30.0]), Tail.of(ordinary)).round(1).tolist()
    [2.6, 7.6, 10000.0]
    """
    m = len(inliers)
    counted = (m + 1) / (1 + np.searchsorted(inliers, scores, side="right"))
    odder = scores < inliers[0]
    if tail is not None and odder.any():
        with np.errstate(divide="ignore"):
            one_in = 1 / (tail.beyond * tail.shares(tail.start - scores[odder]))
        counted[odder] = np.clip(one_in, m + 1, CAP * (m + 1))
    return np.where(np.isnan(scores), np.nan, counted)


def in_words(severity: float, calibration_rows: int) -> str:
    """Write a severity as people say it.

    >>> in_words(40.2, 999), in_words(4321.0, 999), in_words(10_000.0, 999)
    ('1 in 40', '1 in 4,300 (extrapolated)', 'less than 1 in 10,000 (extrapolated)')
    """
    if np.isnan(severity):
        return "unknown"
    if severity <= calibration_rows + 1:
        return f"1 in {severity:,.0f}" if severity >= 10 else f"1 in {severity:.2g}"
    rounded = round(severity, 1 - int(np.log10(severity)))
    least = "less than " if severity >= CAP * (calibration_rows + 1) else ""
    return f"{least}1 in {rounded:,.0f} (extrapolated)"
