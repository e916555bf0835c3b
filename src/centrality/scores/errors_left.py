"""Estimate how many outliers are left among rows that nobody has marked yet, with an interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NEXT = 100  # rows that the estimate is about: those that would be looked at next
COVERAGE = 0.9  # of the interval
OFF = 2.0  # log-odds by which all chances may be off together, before any mark
DRIFT = 1.5  # log-odds by which they may be off more for unmarked rows than for marked ones
FEW = 0.05  # where at most this share of the next rows are outliers, by the upper end, looking on is hardly worth it
GRID = np.linspace(-6, 6, 61)

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class ErrorsLeft:
    """Hold how many of the next `rows` are likely outliers: about `about`, between `low` and `high` nine times of ten.

    >>> print(ErrorsLeft(100, 3.2, 0, 8))
    Of the next 100 rows, about 3 are outliers (0 to 8).
    """

    rows: int
    about: float
    low: int
    high: int

    @property
    def enough(self) -> bool:
        """Say whether one may stop marking: even the upper end leaves hardly any outlier among the next rows."""
        return self.high <= FEW * self.rows

    def __str__(self) -> str:
        if not self.rows:
            return "All rows are marked."
        text = f"Of the next {self.rows:,} rows, about {self.about:.0f} are outliers ({self.low} to {self.high})."
        return f"{text} You may stop here." if self.enough else text


def errors_left(log_odds: Matrix, judged: Matrix, outlier: NDArray[np.bool_]) -> ErrorsLeft:
    """Return how many of the rows with these log-odds are likely outliers.

    `judged` are log-odds of the marked rows by the other marks alone: they show a common error of all log-odds.
    """
    if not len(log_odds):
        return ErrorsLeft(0, 0.0, 0, 0)
    off = -0.5 * (GRID / OFF) ** 2
    off = off - np.logaddexp(0, np.where(outlier, -1.0, 1.0) * (judged + GRID[:, None])).sum(1)
    weights = np.exp(off - off.max())
    weights = np.exp(-0.5 * ((GRID[:, None] - GRID) / DRIFT) ** 2) @ (weights / weights.sum())
    chances = 1 / (1 + np.exp(-np.clip(log_odds + GRID[:, None], -50, 50)))  # (grid, n)
    counts = weights / weights.sum() @ _counts(chances)
    below = np.cumsum(counts)
    tail = (1 - COVERAGE) / 2
    low, high = np.searchsorted(below, [tail, 1 - tail])
    return ErrorsLeft(len(log_odds), float(counts @ np.arange(len(counts))), int(low), int(high))


def _counts(chances: Matrix) -> Matrix:  # (g, n) -> (g, n + 1)
    """Return the chance of each number of outliers among n rows that are outliers independently."""
    counts = np.zeros((len(chances), chances.shape[1] + 1))
    counts[:, 0] = 1.0
    for chance in chances.T[:, :, None]:
        counts[:, 1:] = counts[:, 1:] * (1 - chance) + counts[:, :-1] * chance
        counts[:, :1] *= 1 - chance
    return counts
