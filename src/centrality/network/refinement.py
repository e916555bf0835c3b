"""Learn a correction of the model's score from rows that people marked as outliers or as fine.

The corrected score is score + shift(row). The shift is a sum of functions, one of each column, given by their values
at a few knots. So each column's part in it is known, and no marked row is stored.

It is learned from a model of the marks: the log-odds that a row is an outlier are s times how low its score is, plus a
level, plus the columns' functions, which are Gaussian processes over the columns' ranks (`REACH`). No setting says how
much to trust the score, s, and how much the columns, the functions' variance. Each pair of both has a probability given
the marks (Laplace's approximation), and the result is the mean over all pairs. Measured in benchmarks/marks.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays, safe_divide

KNOTS = 17  # of a column's function, at every sixteenth of the rows
REACH = 0.2  # the correlation length of a column's function, as a share of the rows
SCORE_WEIGHTS = (0.25, 0.5, 1.0, 2.0, 4.0)  # log-odds for each spread of the score: from hardly any trust in it to much
VARIANCES = (3.0, 30.0)  # of the columns' functions together, in log-odds
LEVEL_VARIANCE = 4.0  # of the level: its mean, 0, gives even odds to the score at TAIL
TAIL = 0.05  # the spread of a score is from its median to this quantile
STEPS = 50  # of Newton's method at most; it ends
CLOSE = 1e-6  # when no log-odds would change by more
LEAST_CURVATURE = 1e-12
SHARES_OF_A_STEP = tuple(0.5**k for k in range(20))

Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Refinement(FrozenArrays):
    """The shift of a score, column by column: piecewise linear between the knots, flat beyond them."""

    knots: Matrix  # (p, k) rising along each column, in scaled units
    values: Matrix  # (p, k) what is added to the score there

    def parts(self, scaled: Matrix) -> Matrix:  # (n, p) -> (n, p)
        """Return what each column adds to the score of these scaled rows."""
        columns = zip(scaled.T, self.knots, self.values, strict=True)
        return np.column_stack([np.interp(column, knots, values) for column, knots, values in columns])

    def shift(self, scaled: Matrix) -> Matrix:  # (n, p) -> (n,)
        """Return what is added to the score of these scaled rows."""
        return np.asarray(self.parts(scaled).sum(1))

    def slopes(self) -> Matrix:  # (p, k - 1)
        """Return the slope between one knot and the next; 0 where two are equal."""
        width = np.diff(self.knots)
        return safe_divide(np.diff(self.values), width)

    def slope(self, scaled: Matrix) -> Matrix:  # (n, p) -> (n, p)
        """Return the derivative of the shift by each column of these scaled rows."""
        flat = np.pad(self.slopes(), ((0, 0), (1, 1)))  # beyond the knots nothing changes
        columns = zip(scaled.T, self.knots, flat, strict=True)
        return np.column_stack([slopes[np.searchsorted(knots, column)] for column, knots, slopes in columns])


class ScoredRows(NamedTuple):
    """Rows in scaled units, (n, p), and their scores, (n,)."""

    scaled: Matrix
    scores: Matrix


@dataclass(frozen=True)
class LearnedRefinement:
    """The correction learned from marks, its threshold, and each marked row's shift by the other marks alone."""

    refinement: Refinement
    threshold: float  # the corrected score at which a row is as likely an outlier as not
    odds: float  # by how much the log-odds of being one rise as the corrected score falls by one
    leave_one_out: Matrix  # (m,) the shift of each marked row if it were not marked

    def log_odds(self, scores: Matrix) -> Matrix:
        """Return the log-odds that rows with these corrected scores are outliers."""
        return self.odds * (self.threshold - scores)


def learn(
    rows: ScoredRows, marked: ScoredRows, outlier: NDArray[np.bool_], prior_log_odds: float = 0.0
) -> LearnedRefinement:
    """Learn a correction from the marks of the rows `marked`; `rows` give the distribution of columns and scores.

    Where these are a part of all marks, `prior_log_odds` is by how much the log-odds of an outlier are higher in it.
    """
    columns = [find_knots(np.sort(column)) for column in rows.scaled.T]
    knots = np.stack([of_column for of_column, _ in columns])  # (p, KNOTS)
    ranks_of_knots = np.stack([of_knots for _, of_knots in columns])
    ranks = Refinement(knots, ranks_of_knots).parts(marked.scaled)  # (m, p)
    middle, low = np.quantile(rows.scores, [0.5, TAIL])
    spread = max(middle - low, np.finfo(float).tiny)
    posterior = mean_posterior(ranks, (low - marked.scores) / spread, outlier, prior_log_odds)
    correlation = np.exp(-np.abs(ranks_of_knots[:, :, None] - ranks.T[:, None]) / REACH)  # (p, k, m)
    to_score = -spread / posterior.score_weight
    values = to_score * (correlation @ posterior.mark_weights) / len(knots)
    # The median row of each column gets no shift, so that typical rows keep their scores.
    center = np.median(Refinement(knots, values).parts(rows.scaled), axis=0)
    return LearnedRefinement(
        Refinement(knots, values - center[:, None]),
        threshold=float(low - to_score * posterior.level - center.sum()),
        odds=float(posterior.score_weight / spread),
        leave_one_out=to_score * (posterior.leave_one_out - posterior.level) - center.sum(),
    )


def mean_posterior(ranks: Matrix, low: Matrix, outlier: NDArray[np.bool_], prior_log_odds: float) -> Posterior:
    """Return the mean over all score weights and variances, each by its probability given the marks."""
    correlations = [np.exp(-np.abs(column[:, None] - column) / REACH) for column in ranks.T]
    correlation = np.mean(correlations, axis=0)  # (m, m)
    posteriors = [
        find_posterior(correlation, weight, weight * low + prior_log_odds, outlier, variance)
        for weight, variance in product(SCORE_WEIGHTS, VARIANCES)
    ]
    evidence = np.array([posterior.evidence for posterior in posteriors])
    chances = np.exp(evidence - evidence.max())
    weights = chances / chances.sum()
    return Posterior(
        evidence=float(weights @ evidence),
        score_weight=float(weights @ [posterior.score_weight for posterior in posteriors]),
        level=float(weights @ [posterior.level for posterior in posteriors]),
        mark_weights=weights @ np.array([posterior.mark_weights for posterior in posteriors]),
        leave_one_out=weights @ np.array([posterior.leave_one_out for posterior in posteriors]),
    )


class Posterior(NamedTuple):
    """What the marks say, for one score weight and one variance, or as a mean over several."""

    evidence: float  # log of the marks' probability
    score_weight: float
    level: float
    mark_weights: Matrix  # (m,) how far each mark pulls the columns' functions
    leave_one_out: Matrix  # (m,) level and functions at each marked row, by the other marks


def find_posterior(
    correlation: Matrix, score_weight: float, prior: Matrix, outlier: NDArray[np.bool_], variance: float
) -> Posterior:
    """Return the most likely level and functions, by Newton's method.

    They follow from a weight for each mark, (m,): the log-odds are prior + covariance @ weights. A step that would make
    the marks less likely is halved until it does not: where the score weighs much and is wrong, whole steps oscillate.
    """
    covariance = LEVEL_VARIANCE + variance * correlation
    weights = np.zeros_like(prior)
    log_odds = prior
    value = _log_likelihood(log_odds, outlier)
    for _ in range(STEPS):
        chance = 0.5 * (1 + np.tanh(0.5 * log_odds))
        root = np.sqrt(np.maximum(chance * (1 - chance), LEAST_CURVATURE))
        pull = root**2 * (log_odds - prior) + outlier - chance
        noisy = np.eye(len(prior)) + root[:, None] * covariance * root
        factor = np.asarray(np.linalg.cholesky(noisy), dtype=np.float64)
        step = pull - root * _solved(factor, root * (covariance @ pull)) - weights
        change = covariance @ step  # of the log-odds
        if np.abs(change).max() < CLOSE:
            break
        for share in SHARES_OF_A_STEP:
            next_weights = weights + share * step
            next_odds = log_odds + share * change
            next_value = _log_likelihood(next_odds, outlier) - float(0.5 * next_weights @ (next_odds - prior))
            if next_value >= value:
                break
        weights = next_weights
        log_odds = next_odds
        value = next_value
    inverse = np.diag(root[:, None] * _solved(factor, np.diag(root)))  # of covariance + 1 / root², on its diagonal
    leave_one_out = log_odds - prior + weights / root**2 - weights / inverse
    evidence = float(value - np.log(np.diag(factor)).sum())
    return Posterior(evidence, score_weight, LEVEL_VARIANCE * weights.sum(), variance * weights, leave_one_out)


def _log_likelihood(log_odds: Matrix, outlier: NDArray[np.bool_]) -> float:
    return float(-np.logaddexp(0, np.where(outlier, -log_odds, log_odds)).sum())


def _solved(factor: Matrix, right: Matrix) -> Matrix:
    """Solve the linear system of a symmetric positive definite matrix by its Cholesky factor."""
    from scipy.linalg import cho_solve  # here: scoring does not need it

    return np.asarray(cho_solve((factor, True), right, check_finite=False))


def find_knots(rising: Matrix) -> tuple[Matrix, Matrix]:  # (n,) -> (KNOTS,), (KNOTS,)
    """Return the knots of a column from its sorted values, and the share of the rows below each, ties counted by half.

    A column of few values has a knot at each; where knots are left over, the last is repeated.
    """
    knots = np.unique(rising)
    if len(knots) > KNOTS:
        knots = np.unique(np.quantile(rising, np.linspace(0, 1, KNOTS), method="nearest"))
    knots = np.pad(knots, (0, KNOTS - len(knots)), mode="edge")
    rank = np.searchsorted(rising, knots, side="left") + np.searchsorted(rising, knots, side="right")
    return knots, 0.5 * rank / len(rising)
