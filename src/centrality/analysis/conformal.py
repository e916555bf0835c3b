"""Say what a score means: conformal p-values, and who is called an outlier at a stated error rate.

Fresh inliers, which the model has not been trained on, are scored beside the rows in question. If a row is
itself an inlier, its rank among them is uniform: the share of them that is no more central is a p-value, whatever the
data and however good or bad the model. Training rows cannot serve as inliers: the model knows them.

Ties count against the row (`<=`), so that a p-value is never too small, P(p <= a) <= a, and the same rows always get
the same p-values. Breaking ties at random instead makes them exactly uniform.

Outliers among the calibration rows make p-values larger than necessary, so that outliers are missed. If at most a
share e of them are outliers, the e least central ones can be left out (`CalibrationRows`): P(p <= a) is then at most
a + e (1 - a), and at most a if those left out were the outliers. So of n inliers among the rows in question, the
rule's limit is exceeded by at most e n on average. (The p-value e + (1 - e) p would keep the whole promise,
but is never below e, so that nothing would be found.)

Right after `fit` the calibration rows are training rows, and nobody has said how many of those are outliers. Only a
group that lies apart from the rest is left out (`count_separated_outliers`): more rows far out than the tail of the
others can explain, assuming the tail gets no heavier farther out. Clean rows are almost never left out, so what
holds for them holds as before. Outliers that form no such group stay, and hide others.

If a file's rows are compared with one another, p-values are 1/n, 2/n, ... whatever is in it: no rule that looks at
ranks alone can call any of them. So `count_apart` asks whether the tail of the others explains the lowest scores.

Some kinds of rows may have become more frequent than they were. Let w(x) be in proportion to how much more frequent
rows like x are now. Each calibration row is drawn with the chance w(x) / max w: what is drawn is distributed as
ordinary rows are now (von Neumann's rejection), so that p-values, error rates and certificates hold as they do without
weights. The price is that fewer rows are left (`draw_rows`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal import arrays
from centrality._internal.arrays import FrozenArrays
from centrality._internal.checks import InputError, fraction, positive, warn_caller
from centrality._internal.text import rounded_up
from centrality.analysis.severity import Tail, severity
from centrality.network.calibration import Mixing

CALIBRATION_ROWS = 20_000  # fresh inliers kept, 320 kB in the model's file: p-values down to 0.00005
TAIL_FROM = 0.25  # quantile where the measurement of a tail's slope begins
TAIL_TO = 0.08  # and where it ends
APART_LEVEL = 0.05  # chance of a false group
APART_LEAST = 3  # rows of a group
APART_RANKS = 100  # sizes of a tail that are tried
SPACE_LEVEL = 0.01  # nominal chance of a false gap; at .05, a sixth of clean samples of two kinds had one (measured)
MOST_ALONE = 10  # at most so many of the lowest rows are left out when the tail is fitted
EXPECTED = 0.03  # number of such low rows that a file may be expected to have, for each of ten numbers left out
FEW = 100  # rows that carry the weight: with fewer, the smallest p-value is above .01
FOLDS = 5  # of the classifier that estimates weights
FARTHEST = 3.0  # deviations that the classifier looks at: outliers should not decide
LARGEST = 0.99  # quantile at which weights are capped, since a few huge ones would reject all other rows
USUAL_FDR = 0.05  # of `detect` without a rule
ROUNDING = 1 + 1e-12  # tolerance of comparisons, so that rounding does not decide between equal numbers
Scores = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CalibrationRows(FrozenArrays):
    """The head scores of calibration rows, at most a share `contamination` of which are outliers."""

    units: NDArray[np.float64]  # (m, 2)
    contamination: float = 0.0
    rows: NDArray[np.int64] | None = None  # (m,) which of the training rows these are, rising; None: not training rows

    @classmethod
    def of(
        cls,
        units: NDArray[np.float64],
        contamination: float | str,
        mixing: Mixing,
        rows: NDArray[np.intp] | None = None,
    ) -> Self:
        """Keep these head scores, evenly spaced ones if there are many; rows without scores (NaN) are left out.

        With "auto", a group at the low end that lies apart from the rest at t = 1/2 is left out too, as outliers.
        `rows` are their numbers among the training rows, if they are training rows.
        """
        chosen = subsample_evenly(np.flatnonzero(~np.isnan(units).any(1)))
        if contamination == "auto":
            chosen = chosen[~outliers_apart(units[chosen], mixing)]
        share = fraction("contamination", contamination) if contamination and contamination != "auto" else 0.0
        return cls(units[chosen], share, None if rows is None else rows[chosen].astype(np.int64))

    def scores(self, mixing: Mixing, t: float) -> Scores:
        """Return the rising scores at t of those rows that count as inliers: all but the least central."""
        scores = np.sort(mixing.mixed(self.units, t))
        return scores[int(self.contamination * len(scores)) :]

    def tail(self, mixing: Mixing, t: float) -> Tail | None:
        """Return the low end of the `scores` at t, from which severities are extrapolated."""
        if t not in self._tails:
            self._tails[t] = Tail.of(self.scores(mixing, t))
        return self._tails[t]

    def p_values(self, mixing: Mixing, t: float, scores: Scores, rng: np.random.Generator | None = None) -> Scores:
        """Return the p-value at t of rows with these scores; `rng` breaks ties at random."""
        return p_values(self.scores(mixing, t), scores, rng)

    def severity(self, mixing: Mixing, t: float, scores: Scores) -> Scores:
        """Return for each row the N such that one in N ordinary rows is as odd at t."""
        return severity(self.scores(mixing, t), scores, self.tail(mixing, t))

    @cached_property
    def _tails(self) -> dict[float, Tail | None]:
        return {}

    def quantile(self, level: float) -> NDArray[np.float64]:  # (2,)
        """Return a quantile of each head score over the rows that count as inliers."""
        return np.asarray(np.quantile(self.units, self.contamination + level * (1 - self.contamination), axis=0))


def outliers_apart(units: NDArray[np.float64], mixing: Mixing) -> NDArray[np.bool_]:
    """Say which of these rows are outliers that form a group apart from the rest at t = 1/2; there may be none."""
    scores = mixing.mixed(units, 0.5)
    order = np.argsort(scores, kind="stable")
    apart = np.zeros(len(scores), dtype=bool)
    apart[order[: count_separated_outliers(scores[order])]] = True
    return apart


def count_separated_outliers(scores: Scores) -> int:
    """Count the outliers that form a group at the low end of these rising scores: often none.

    Let d be the distance of a score below the median. In the lower tail of one group of rows, log d rises with
    -log(share of rows beyond d), and it does so the more slowly the farther out. The rise from the lowest quarter to
    the lowest 8% is called `tail_slope`. So of the j rows from d_j on, at most a share (d_i / d_j)^(-1 / tail_slope)
    lies beyond d_i. Pairs i < j are tested: if i of those j rows lie that far out, and Chernoff's bound gives this a
    chance below 1/20 over all i and j, the i rows are too many.

    The tails of clean rows of several kinds get heavier farther out, and would pass this test, too. So a gap must part
    the group from the other rows. In one tail, i log(d_i / d_(i + 1)) is exponential, and its mean is the rise of log d
    at that place; the chance of so wide a gap must be below one in a hundred over all i. The rise is the largest of
    three: `tail_slope`, the slope over the next i rows on the bulk side of the gap, and the slope over the inner
    half of the group. Equal scores count once: where columns are coarse, the gaps between them mean nothing.

    >>> inliers, outliers = np.random.default_rng(0).normal(size=1000), np.linspace(-30, -20, 40)
    >>> count = count_separated_outliers
    >>> count(np.sort(inliers)), count(np.sort(np.concatenate([inliers, outliers])))
    (0, 40)
    """
    scores, counts = np.unique(scores, return_counts=True)
    largest = int(TAIL_TO * len(scores))
    if largest <= APART_LEAST:
        return 0
    median = np.median(scores)
    start, end = median - np.quantile(scores, [TAIL_FROM, TAIL_TO])
    if start <= 0 or end <= start:
        return 0
    tail_slope = np.log(end / start) / np.log(TAIL_FROM / TAIL_TO)
    distance = median - scores

    # Where is a gap wide enough?
    sizes = np.arange(APART_LEAST, largest)
    gap = np.log(distance[sizes - 1] / distance[sizes])
    slope_bulk_side = np.log(distance[sizes] / distance[2 * sizes]) / np.log(2)
    slope_group_side = np.log(distance[sizes // 2 - 1] / distance[sizes - 1]) / np.log(sizes / (sizes // 2))
    rise = np.maximum(tail_slope, np.maximum(slope_bulk_side, slope_group_side))
    apart = sizes[sizes * gap / rise >= np.log(len(sizes) / SPACE_LEVEL)]

    # Are there more rows beyond such a gap than the tail explains?
    tail_sizes = np.unique(np.geomspace(APART_LEAST, largest, APART_RANKS).round().astype(np.intp))
    i = np.repeat(apart, len(tail_sizes))
    j = np.tile(tail_sizes, len(apart))
    smaller = i < j
    i = i[smaller]
    j = j[smaller]
    if not len(i):
        return 0
    expected = np.minimum((distance[i - 1] / distance[j - 1]) ** (-1 / tail_slope), 1 - 1e-9)
    share = i / j
    log_chance = -j * (share * np.log(share / expected) + (1 - share) * np.log((1 - share) / (1 - expected)))
    log_chance[share <= expected] = 0.0
    best = int(log_chance.argmin())
    if log_chance[best] + np.log(len(tail_sizes)) > np.log(APART_LEVEL):
        return 0
    return int(counts[: i[best]].sum())


def count_apart(scores: NDArray[np.float64]) -> int:
    """Count the rows that stand apart at the low end of these rising scores: often none.

    A tail is fitted to all rows but the j lowest. If by that tail fewer than three files in a hundred have a j-th
    lowest score as low, these j rows stand apart. Larger groups are found by the gap before them.

    >>> ordinary = np.random.default_rng(0).normal(size=1000)
    >>> count_apart(np.sort(ordinary)), count_apart(np.sort(np.append(ordinary, [-40.0, -50.0])))
    (0, 2)
    """
    group = count_separated_outliers(scores)
    for alone in range(MOST_ALONE, group, -1):
        tail = Tail.of(scores[alone:])
        if tail is None:
            continue
        distance = tail.start - scores[alone - 1 : alone]
        if len(scores) * tail.beyond * tail.shares(distance)[0] <= EXPECTED:
            return alone
    return group


def p_values(inliers: Scores, scores: Scores, rng: np.random.Generator | None = None) -> Scores:
    """Return (1 + how many of the m inliers score no more) / (m + 1) for each score; `rng` breaks ties at random.

    A row without a score (NaN) has no p-value either.

    >>> p_values(np.array([0.2, 0.4, 0.6, 0.8]), np.array([0.1, 0.4, 0.9]))
    array([0.2, 0.6, 1. ])
    """
    unscored = np.isnan(scores)
    if rng is not None:
        # Every row, inlier or not, gets a random number, which decides among those of equal score.
        rank = np.unique(np.concatenate([inliers, scores]), return_inverse=True)[1]
        tie_free = rank + rng.random(len(rank))
        scores = tie_free[len(inliers) :]
        inliers = tie_free[: len(inliers)]
    p = (1 + np.searchsorted(np.sort(inliers), scores, side="right")) / (len(inliers) + 1)
    return np.where(unscored, np.nan, p)


def p_value_intervals(p: Scores, calibration_rows: int, confidence: float) -> Scores:  # (n,) -> (n, 2)
    """Return exact confidence intervals of the share of ordinary rows that score no higher (Clopper and Pearson).

    Of m calibration rows, k = p (m + 1) - 1 score no higher: k is binomial, and this is for its success probability.

    >>> p_value_intervals(np.array([1 / 901, 0.5]), 900, 0.95).round(4).tolist()
    [[0.0, 0.0041], [0.4657, 0.5321]]
    """
    from scipy.special import betaincinv

    k = np.round(p * (calibration_rows + 1)) - 1
    tail = (1 - confidence) / 2
    with np.errstate(invalid="ignore"):
        low = np.where(k > 0, betaincinv(np.maximum(k, 1), calibration_rows - k + 1, tail), 0.0)
        high = np.where(k < calibration_rows, betaincinv(k + 1, np.maximum(calibration_rows - k, 1), 1 - tail), 1.0)
    return np.where(np.isnan(p)[:, None], np.nan, np.column_stack([low, high]))


def largest_rejected(p: Scores, fdr: float) -> float:
    """Return the largest p-value that Benjamini and Hochberg reject, or 0 if they reject none.

    On average, a share of at most `fdr` of the rejected hypotheses is true.

    >>> largest_rejected(np.array([0.03, 0.5, 0.01, 0.02]), fdr=0.05)
    0.03
    """
    from scipy.stats import false_discovery_control  # 40 MiB that scoring alone does not need

    share = fraction("fdr", fdr)
    rejected = p[false_discovery_control(p) <= share * ROUNDING] if len(p) else p
    return float(rejected.max(initial=0.0))


def threshold_by_fdr(inliers: Scores, scores: Scores, fdr: float) -> float:
    """Return the score below which Benjamini and Hochberg reject; minus infinity if they reject none."""
    needed = int(np.ceil(1 / fraction("fdr", fdr) - 1e-9)) - 1
    if len(inliers) < needed:
        raise InputError(
            f"fdr={fdr:g} needs at least {needed} calibration rows, got {len(inliers)}: with fewer, no p-value can be "
            "small enough. Calibrate on more rows, or ask for a larger fdr."
        )
    p = p_values(inliers, scores)
    level = largest_rejected(p, fdr)
    beyond = int((scores < inliers.min()).sum())
    if level == 0 and beyond:
        enough = int(np.ceil(len(scores) / (fdr * beyond) - 1e-9)) - 1
        oddest = f"{beyond:,} oddest are outliers" if beyond > 1 else "oddest is an outlier"
        warn_caller(
            f"Nothing can be called an outlier at fdr={fdr:g} yet: {len(inliers):,} calibration rows are too few for "
            f"{len(scores):,} new rows. About {rounded_up(enough):,} would do if the {oddest}; or raise fdr."
        )
    return threshold_of_level(inliers, level)


def threshold_by_false_positives(inliers: Scores, scores: Scores, expected: float) -> float:
    """Return the score below which at most `expected` of these rows lie on average if all are inliers."""
    level = positive("false_positives", expected) / len(scores)
    needed = int(np.ceil(1 / level - 1e-9)) - 1
    if len(inliers) < needed:
        raise InputError(
            f"false_positives={expected:g} among {len(scores)} rows needs at least {needed} calibration rows, got "
            f"{len(inliers)}. Calibrate on more rows, or allow more false positives."
        )
    return threshold_of_level(inliers, level)


def threshold_by_contamination(scores: Scores, share: float) -> float:
    """Return the score below which this share of these rows lies."""
    return float(np.quantile(scores, fraction("contamination", share)))


@dataclass(frozen=True)
class Rule:
    """Set the threshold between inliers and outliers by one of the rules that `RULES` lists, or by `contamination`."""

    name: str
    value: float

    @classmethod
    def chosen(cls, **values: float | None) -> Self:
        """Return the one rule that has a value."""
        rules = [cls(name, value) for name, value in values.items() if value is not None]
        if len(rules) != 1:
            values_given = " and ".join(f"{rule.name}={rule.value!r}" for rule in rules) or "none"
            *first, last = values
            raise InputError(f"Give exactly one of {', '.join(first)} and {last}, got {values_given}.")
        return rules[0]

    @classmethod
    def chosen_or_usual(cls, **values: float | None) -> Self:
        """Return the rule that has a value, or a false discovery rate of 5% if none has."""
        if all(value is None for value in values.values()):
            return cls("fdr", USUAL_FDR)
        return cls.chosen(**values)

    @property
    def needs_inliers(self) -> bool:
        """Say whether the rule needs calibration rows."""
        return self.name != "contamination"

    def threshold(self, scores: Scores, inliers: Scores | None) -> float:
        """Return the score below which rows are outliers; rows without a score do not count."""
        scores = scores[~np.isnan(scores)]
        if inliers is None:
            return threshold_by_contamination(scores, self.value)
        return RULES[self.name](inliers, scores, self.value)


RULES: dict[str, Callable[[Scores, Scores, float], float]] = {
    "fdr": threshold_by_fdr,
    "false_positives": threshold_by_false_positives,
}


def checked_weights(weights: object, rows: int) -> Scores:
    """Return weights of so many rows as an array; raise if they are not."""
    values = np.asarray(weights, dtype=np.float64)
    if values.shape != (rows,) or not np.isfinite(values).all() or (values < 0).any() or not values.any():
        raise InputError(f"weights must be {rows:,} non-negative numbers, one a calibration row, got {weights!r}.")
    return values


def draw_rows(weights: Scores, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw rows with chances in proportion to their weights; warn if few are left.

    >>> draw_rows(np.repeat([0.0, 1.0], 200), np.random.default_rng(0)).tolist() == list(range(200, 400))
    True
    """
    rows = np.flatnonzero(rng.random(len(weights)) < weights / weights.max())
    if len(rows) < min(FEW, len(weights)):
        warn_caller(
            f"Few rows carry the weight: {len(rows):,} of {len(weights):,} calibration rows are left, so no p-value is "
            f"below {1 / (len(rows) + 1):.2g}. Calibrate on more rows of the kinds that are frequent now."
        )
    return rows


def estimate_weights(
    calibration: NDArray[np.float64], new: NDArray[np.float64], rng: np.random.Generator
) -> Scores:  # (m, p), (n, p) -> (m,)
    """Estimate how much more frequent rows like each calibration row are among the new rows, by a classifier.

    It tells new rows from calibration rows by their numbers and the squares of these; each row is judged by a
    classifier that has not seen it. What share of the rows it judges alike are new is counted (isotonic regression): a
    classifier is too sure, above all of the few rows that carry the weight.
    """
    from sklearn.isotonic import IsotonicRegression
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from sklearn.preprocessing import StandardScaler

    if min(len(calibration), len(new)) < 2 * FOLDS:
        raise InputError(f"`like` needs at least {2 * FOLDS} rows on each side, got {len(calibration)} and {len(new)}.")
    rows = np.concatenate([calibration, new])
    is_new = np.arange(len(rows)) >= len(calibration)
    scaled = np.clip(StandardScaler().fit_transform(rows), -FARTHEST, FARTHEST)
    classifier = LogisticRegression(max_iter=1000)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=int(rng.integers(2**31)))
    log_odds = cross_val_predict(
        classifier, np.hstack([scaled, scaled**2]), is_new, cv=folds, method="decision_function"
    )
    least = 0.5 / len(rows)
    counted = IsotonicRegression(y_min=least, y_max=1 - least, out_of_bounds="clip").fit(log_odds, is_new)
    share_new = counted.predict(log_odds[: len(calibration)])
    weights = share_new / (1 - share_new)
    return np.asarray(np.minimum(weights, np.quantile(weights, LARGEST)))


def subsample_evenly(rows: NDArray[Any], limit: int = CALIBRATION_ROWS) -> NDArray[Any]:
    """Return at most `limit` rows, evenly spaced: a choice that does not look at scores leaves p-values valid."""
    return np.asarray(arrays.subsample_evenly(rows, limit))


def threshold_of_level(inliers: Scores, level: float) -> float:
    """Return the score s such that p <= level exactly where score < s."""
    rank = int(np.floor(level * (len(inliers) + 1) * ROUNDING))  # p <= level: at most rank - 1 inliers score no more
    if rank > len(inliers):
        return np.inf
    return float(np.partition(inliers, rank - 1)[rank - 1]) if rank else -np.inf
