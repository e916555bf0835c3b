"""Learn a correction of the model's score from rows that people marked as outliers or as fine.

The corrected score is score + shift(row), and the shift is a sum over columns of functions, each given by its values at
a few knots: so it is one more sum in the forward pass, every column's part in it can be told, and no row is kept.

How it is learned: the log-odds that a row is an outlier are s * (how low its score is) + level + columns' functions,
which are Gaussian processes over the columns' ranks (`REACH`). No setting says how far the score and how far the
columns are to be trusted: each pair of s and of the functions' variance has a probability given the marks (Laplace's
approximation), and what is used is the mean over them. Measured in benchmarks/marks.py.
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
LEVEL_VARIANCE = 4.0  # of the level: the score below which 5% of the rows lie has even odds, give or take these
TAIL = 0.05  # the spread of a score is from its median to this quantile
STEPS, CLOSE, FLOOR = 50, 1e-6, 1e-12  # of Newton's method: how many, how near, the least curvature
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
    """The correction learned from marks, its threshold, and what it would be for each marked row left out."""

    refinement: Refinement
    threshold: float  # the corrected score at which a row is as likely an outlier as not
    odds: float  # by how much the log-odds of being one rise as the corrected score falls by one
    leave_one_out: Matrix  # (m,) the shift of each marked row, had it not been marked itself

    def log_odds(self, scores: Matrix) -> Matrix:
        """Return the log-odds that rows with these corrected scores are outliers."""
        return self.odds * (self.threshold - scores)


def learn(
    rows: ScoredRows, marked: ScoredRows, outlier: NDArray[np.bool_], prior_log_odds: float = 0.0
) -> LearnedRefinement:
    """Learn a correction from the marks of the rows `marked`; `rows` give the distribution of columns and scores.

    `prior_log_odds` say by how much outliers are more frequent here than among all marks, where these are some of them.
    """
    knots, ranks_of_knots = _knots(rows.scaled)
    ranks = Refinement(knots, ranks_of_knots).parts(marked.scaled)  # (m, p)
    middle, low = np.quantile(rows.scores, [0.5, TAIL])
    spread = max(middle - low, np.finfo(float).tiny)
    posterior = _mean_posterior(ranks, (low - marked.scores) / spread, outlier, prior_log_odds)
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


def _mean_posterior(ranks: Matrix, low: Matrix, outlier: NDArray[np.bool_], prior_log_odds: float) -> _Posterior:
    """Return the mean over all score weights and variances, each by its probability given the marks."""
    correlations = [np.exp(-np.abs(column[:, None] - column) / REACH) for column in ranks.T]
    correlation = np.mean(correlations, axis=0)  # (m, m)
    posteriors = [
        _posterior(correlation, weight, weight * low + prior_log_odds, outlier, variance)
        for weight, variance in product(SCORE_WEIGHTS, VARIANCES)
    ]
    evidence = np.array([posterior.evidence for posterior in posteriors])
    chances = np.exp(evidence - evidence.max())
    weights = chances / chances.sum()
    return _Posterior(
        evidence=float(weights @ evidence),
        score_weight=float(weights @ [posterior.score_weight for posterior in posteriors]),
        level=float(weights @ [posterior.level for posterior in posteriors]),
        mark_weights=weights @ np.array([posterior.mark_weights for posterior in posteriors]),
        leave_one_out=weights @ np.array([posterior.leave_one_out for posterior in posteriors]),
    )


class _Posterior(NamedTuple):
    evidence: float  # log of the marks' probability
    score_weight: float
    level: float
    mark_weights: Matrix  # (m,) how far each mark pulls the columns' functions
    leave_one_out: Matrix  # (m,) level and functions at each marked row, by the other marks


def _posterior(
    correlation: Matrix, score_weight: float, prior: Matrix, outlier: NDArray[np.bool_], variance: float
) -> _Posterior:
    """Return the most likely level and functions, by Newton's method.

    The weights of the marks, (m,), determine them: the log-odds are prior + covariance @ weights. A step that would
    make the marks less likely is halved until it does not: where the score counted much and was wrong, whole steps
    would oscillate.
    """
    covariance = LEVEL_VARIANCE + variance * correlation
    weights, log_odds = np.zeros_like(prior), prior
    value = _log_likelihood(log_odds, outlier)
    for _ in range(STEPS):
        chance = 0.5 * (1 + np.tanh(0.5 * log_odds))
        root = np.sqrt(np.maximum(chance * (1 - chance), FLOOR))
        pull = root**2 * (log_odds - prior) + outlier - chance
        noisy = np.eye(len(prior)) + root[:, None] * covariance * root
        factor = np.asarray(np.linalg.cholesky(noisy), dtype=np.float64)
        step = pull - root * _solved(factor, root * (covariance @ pull)) - weights
        way = covariance @ step
        if np.abs(way).max() < CLOSE:
            break
        for share in SHARES_OF_A_STEP:
            next_odds = log_odds + share * way
            next_value = _log_likelihood(next_odds, outlier) - float(
                0.5 * (weights + share * step) @ (next_odds - prior)
            )
            if next_value >= value:
                break
        weights, log_odds, value = weights + share * step, next_odds, next_value
    inverse = np.diag(root[:, None] * _solved(factor, np.diag(root)))  # of covariance + 1 / root², on its diagonal
    leave_one_out = log_odds - prior + weights / root**2 - weights / inverse
    evidence = float(value - np.log(np.diag(factor)).sum())
    return _Posterior(evidence, score_weight, LEVEL_VARIANCE * weights.sum(), variance * weights, leave_one_out)


def _log_likelihood(log_odds: Matrix, outlier: NDArray[np.bool_]) -> float:
    return float(-np.logaddexp(0, np.where(outlier, -log_odds, log_odds)).sum())


def _solved(factor: Matrix, right: Matrix) -> Matrix:
    """Solve the linear system of a symmetric positive definite matrix by its Cholesky factor."""
    from scipy.linalg import cho_solve  # which scoring alone does not need

    return np.asarray(cho_solve((factor, True), right, check_finite=False))


def _knots(scaled: Matrix) -> tuple[Matrix, Matrix]:  # (p, KNOTS) each
    """Return knots of each column, and the share of the rows below each, ties counted by half.

    A column of few values has a knot at each; the last is repeated where knots are left over.
    """
    columns = [_knots_of_column(np.sort(column)) for column in scaled.T]
    return np.stack([knots for knots, _ in columns]), np.stack([ranks for _, ranks in columns])


def _knots_of_column(rising: Matrix) -> tuple[Matrix, Matrix]:
    knots = np.unique(rising)
    if len(knots) > KNOTS:
        knots = np.unique(np.quantile(rising, np.linspace(0, 1, KNOTS), method="nearest"))
    knots = np.pad(knots, (0, KNOTS - len(knots)), mode="edge")
    rank = np.searchsorted(rising, knots, side="left") + np.searchsorted(rising, knots, side="right")
    return knots, 0.5 * rank / len(rising)
