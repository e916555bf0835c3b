"""How many of some rows are ordinary at most, in whatever way they were chosen, and what share of rows is odd.

An ordinary row and m calibration rows are exchangeable: n ordinary rows lie among the calibration rows as n draws from
Pólya's urn, whatever the data and the model. N(c), how many of them score lower than the c-th lowest calibration row,
has a known law. Bounds B(c) that all N(c) keep together with a probability of 95% hold for every choice made
afterwards: of the chosen rows, at most B(c) ordinary ones score lower than that row, and what does not may all be
ordinary. The least of these sums over c bounds the number of ordinary rows among those chosen (Blanchard, Neuvial and
Roquain, 2020; Gazin, Blanchard and Roquain, 2024).

If all rows hold at most n' ordinary ones by these bounds, the smaller bounds for n' rows hold on the same event; so
bounds are computed again until they stay.

What share of some rows is odd follows from it. Compared with calibration rows that are clean, ordinary rows have
p-values that are uniform; odd rows have small ones. The certificate of all rows bounds how many are odd from below, in
95% of all cases. The estimate is Storey's: rows with p-values above .1 are taken as ordinary, and as nine tenths of
those that are. Nothing bounds the share from above: odd rows may score as ordinary ones do, and then no score tells
them. And nothing can be said where the calibration rows are the rows themselves: their p-values are 1/n, 2/n, ...
whatever they are.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from centrality.analysis.conformal import TAIL_FROM, TAIL_TO

DRAWS = 4000  # of the urn; bounds are wider by two standard deviations of what so few draws say of a chance
WORTH_IT = 0.95  # of the rows: bounds for hardly fewer of them are hardly smaller
PLACES = 40  # values of c: more make bounds wider where they matter and little narrower elsewhere
SMALL = 0.1  # p-values above it are those of ordinary rows
FAR = 0.5  # share of the ordinary rows of the tail that lie beyond
CONFIDENCE = 0.95
ROUNDS = 20  # until the bound stays
BEYOND = 1.64  # standard deviations by which ordinary rows may be fewer than their tail lets expect

Whole = NDArray[np.int64]


@dataclass(frozen=True)
class Certificate:
    """At most how many of some chosen rows are ordinary.

    >>> print(Certificate(rows=159, at_most=9, among=3000, calibration_rows=3000, confidence=0.95))
    Of these 159 rows at most 9 are ordinary, at least 150 are odd (95% sure, however they were chosen among 3,000).
    """

    rows: int
    at_most: int  # of these are ordinary
    among: int  # the rows that they were chosen from
    calibration_rows: int
    confidence: float

    @property
    def at_least(self) -> int:
        """Return how many of the rows are odd at least."""
        return self.rows - self.at_most

    def __str__(self) -> str:
        sure = f"{self.confidence:.0%} sure, however they were chosen among {self.among:,}"
        return (
            f"Of these {self.rows:,} rows at most {self.at_most:,} are ordinary, "
            f"at least {self.at_least:,} are odd ({sure})."
        )


def most_ordinary(chosen: Whole, among: Whole, calibration_rows: int, confidence: float) -> int:
    """Return how many of the chosen rows are ordinary at most.

    Rows are given by their ranks: how many calibration rows score no higher, p (m + 1) - 1. `among` are those of all
    rows that they were chosen from; rows of which nothing is known have the rank m.
    """
    places = _places(calibration_rows)
    not_lower = len(among) - np.searchsorted(np.sort(among), places)  # than the c-th lowest calibration row
    chosen_not_lower = len(chosen) - np.searchsorted(np.sort(chosen), places)
    count = len(among)
    while True:
        bounds = ordinary_bounds(count, calibration_rows, confidence)
        fewer = int((not_lower + bounds).min())
        if fewer >= WORTH_IT * count:  # the bounds for more rows hold for fewer, too
            return int(min(len(chosen), (chosen_not_lower + bounds).min()))
        count = fewer


def certificate_of_p_values(p: NDArray[np.float64], among: int, calibration_rows: int) -> Certificate:
    """Return the certificate of rows with these p-values, chosen among so many of which nothing else is known (95%).

    >>> print(certificate_of_p_values(np.full(60, 1 / 1001), among=500, calibration_rows=1000))
    Of these 60 rows at most 5 are ordinary, at least 55 are odd (95% sure, however they were chosen among 500).
    """
    chosen = np.round(p * (calibration_rows + 1)).astype(np.int64) - 1
    pool = np.concatenate([chosen, np.full(among - len(chosen), calibration_rows)])
    return Certificate(
        len(p), most_ordinary(chosen, pool, calibration_rows, CONFIDENCE), among, calibration_rows, CONFIDENCE
    )


def _places(calibration_rows: int) -> Whole:
    return np.unique(np.geomspace(1, calibration_rows, PLACES).round().astype(np.int64))


@lru_cache(maxsize=64)
def ordinary_bounds(rows: int, calibration_rows: int, confidence: float) -> Whole:
    """Return B(c) for places c, evenly spaced by ratio: all N(c) of so many ordinary rows keep them so surely.

    Each bound is the same quantile of its N(c), the least that makes them hold together.
    """
    draws = _draws(rows, calibration_rows, _places(calibration_rows))
    counts = np.sort(draws, axis=0)
    as_large = [DRAWS - np.searchsorted(counts[:, k], draws[:, k], side="left") for k in range(draws.shape[1])]
    rarest = np.sort(np.min(as_large, axis=0))  # in how many draws a count is as large as the rarest one of this draw
    expected = (1 - confidence) * DRAWS
    violated = max(0, int(expected - 2 * np.sqrt(expected * confidence)))  # draws that may break a bound
    return np.asarray(counts[DRAWS - rarest[violated]])


def _draws(rows: int, calibration_rows: int, places: Whole) -> Whole:
    """Draw how many of so many ordinary rows score lower than each of these calibration rows."""
    rng = np.random.default_rng(0)
    # The c-th lowest of m uniform numbers, for rising c: sums of exponential gaps, divided by the sum of all m + 1.
    gaps = rng.gamma(np.diff(places, prepend=0, append=calibration_rows + 1), size=(DRAWS, len(places) + 1))
    uniform = np.cumsum(gaps, axis=1) / gaps.sum(1, keepdims=True)
    counts = np.zeros((DRAWS, len(places)), dtype=np.int64)
    left = np.full(DRAWS, rows)
    before = np.zeros(DRAWS)
    for column in range(len(places)):
        share = np.clip((uniform[:, column] - before) / np.maximum(1 - before, 1e-300), 0.0, 1.0)
        new = rng.binomial(left, share)
        left = left - new
        counts[:, column] = rows - left
        before = uniform[:, column]
    return counts


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


def odd_share(ranks: Whole, calibration_rows: int, confidence: float) -> OddShare:
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
