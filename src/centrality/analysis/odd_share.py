"""What share of some rows is odd, without marks: what low scores are too many for ordinary rows.

Compared with calibration rows that are clean, ordinary rows have p-values that are uniform; odd rows have small ones. A
bound of how many ordinary rows there are at most leaves the others: the certificate of all rows, which holds in 95% of
all cases. The estimate is Storey's: rows with p-values above .1 are taken as ordinary, and as nine tenths of those that
are.

Nothing bounds the share from above: odd rows may score as ordinary ones do, and then no score tells them. And nothing
can be told where the calibration rows are the rows themselves: their p-values are 1/n, 2/n, ... whatever they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality.analysis.certificate import most_ordinary
from centrality.analysis.conformal import TAIL_FROM, TAIL_TO

SMALL = 0.1  # p-values above it are those of ordinary rows
FAR, ROUNDS = 0.5, 20  # share of the ordinary rows of the tail that lie beyond; rounds until the bound stays
BEYOND = 1.64  # standard deviations by which ordinary rows may be fewer than their tail lets expect


@dataclass(frozen=True)
class OddShare:
    """What share of some rows is odd, as far as scores tell.

    >>> print(OddShare(rows=1000, at_least=48, about=61.3, confidence=0.95))
    At least 4.8% of 1,000 rows are odd (95% sure), by an estimate 6.1%; odd rows that look ordinary are not counted.
    >>> print(OddShare(rows=1000, at_least=None, about=None, confidence=0.95))
    What share of the 1,000 rows is odd cannot be told from them alone: compare with rows that are fine.
    """

    rows: int
    at_least: int | None  # rows; None: it cannot be told
    about: float | None  # rows
    confidence: float

    def __str__(self) -> str:
        if self.at_least is None or self.about is None:
            return (
                f"What share of the {self.rows:,} rows is odd cannot be told from them alone: compare with rows that "
                "are fine."
            )
        estimate = f"by an estimate {100 * max(self.about, self.at_least) / self.rows:.2g}%"
        if not self.at_least:
            return (
                f"It cannot be told that any of the {self.rows:,} rows is odd ({self.confidence:.0%} sure), {estimate}."
            )
        return (
            f"At least {100 * self.at_least / self.rows:.2g}% of {self.rows:,} rows are odd ({self.confidence:.0%} "
            f"sure), {estimate}; odd rows that look ordinary are not counted."
        )


def odd_share(ranks: NDArray[np.int64], calibration_rows: int, confidence: float) -> OddShare:
    """Return what share of rows with these ranks is odd: how many calibration rows score no higher than each."""
    n = len(ranks)
    p = (1 + ranks) / (calibration_rows + 1)
    ordinary = (p > SMALL).sum() / (1 - SMALL)
    return OddShare(
        n,
        n - most_ordinary(ranks, ranks, calibration_rows, confidence),
        float(max(0.0, n - ordinary)),
        confidence,
    )


def most_odd(scores: NDArray[np.float64]) -> int:
    """Return how many of the rows with these scores may be odd at most, as far as low scores tell.

    From the lowest quarter to the lowest 8%, an exponential tail begins; ordinary rows go on so, or have a heavier one.
    What lies beyond a score besides, and somewhat more, may be odd.

    >>> ordinary = np.random.default_rng(0).normal(size=1000)
    >>> 30 <= most_odd(np.append(ordinary, np.full(30, -9.0))) <= 60
    True
    """
    scores = np.sort(scores[~np.isnan(scores)])
    tail = int(TAIL_TO * len(scores))
    if tail < 1:
        return len(scores)
    median = np.median(scores)
    start, end = median - np.quantile(scores, [TAIL_FROM, TAIL_TO])
    if start <= 0 or end <= start:
        return len(scores)
    steepness = np.log(TAIL_FROM / TAIL_TO) / (end - start)
    share = np.exp(-steepness * (median - scores[:tail] - end))  # of the ordinary rows below the 8% quantile
    far = np.flatnonzero(share <= FAR)
    odd = 0.0
    for _ in range(ROUNDS):  # odd rows are below that quantile, too: the more they are, the fewer ordinary ones
        ordinary = (tail - odd) * share[far]
        odd = max(odd, float((far + 1 - ordinary + BEYOND * np.sqrt(ordinary)).max(initial=0.0)))
    return int(np.ceil(min(odd, tail)))
