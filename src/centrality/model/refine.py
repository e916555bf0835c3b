"""Learn from rows that people marked: correct the scores, choose the rows to look at next, estimate what remains."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows
from centrality._internal.text import none_if_missing
from centrality.analysis.certificate import most_odd
from centrality.analysis.conformal import CalibrationRows, subsample_evenly
from centrality.analysis.drift import TrainingScores
from centrality.model.fitted import FittedModel, map_valid_rows
from centrality.network.refinement import LearnedRefinement, ScoredRows, learn

NEXT = 100  # how many rows to look at next the estimate of remaining outliers is about
COVERAGE = 0.9  # of the estimate's interval
COMMON_ERROR = 2.0  # standard deviation, before any mark, of an error that all log-odds have in common
EXTRA_ERROR = 1.5  # standard deviation of what unmarked rows have on top of the common error of marked ones
FEW = 0.05  # one may stop looking if, at most, this share of the next rows are outliers
GRID = np.linspace(-6, 6, 61)  # common errors of log-odds that are considered
MARKS = ("outlier", "fine")  # the marks to learn from
NO_MARKS = ("later", "", None)  # what else may stand in a list of marks; NaN is as None
MOST = 250  # marks of each kind to learn from, evenly spaced among more, so that learning takes a second at most
SURE = 2  # with so many marked outliers, rows to look at follow the corrected scores alone

Matrix = NDArray[np.float64]
Marks = Sequence[str | None]


@dataclass(frozen=True)
class RemainingOutliers:
    """How many of the next `rows` are outliers: `about` so many, and from `low` to `high` with probability 0.9.

    >>> print(RemainingOutliers(100, 3.2, 0, 8))
    Of the next 100 rows, about 3 are outliers (0 to 8).
    """

    rows: int
    about: float
    low: int
    high: int

    @property
    def enough(self) -> bool:
        """Say whether one may stop marking: even `high` is hardly any of the next rows."""
        return self.high <= FEW * self.rows

    def __str__(self) -> str:
        if not self.rows:
            return "All rows are marked."
        text = f"Of the next {self.rows:,} rows, about {self.about:.0f} are outliers ({self.low} to {self.high})."
        return f"{text} You may stop here." if self.enough else text


def errors_left(
    log_odds: Matrix, of_marked: Matrix, outlier: NDArray[np.bool_], limit: int | None = None
) -> RemainingOutliers:
    """Return how many of the rows with these log-odds are likely outliers.

    `of_marked` are the log-odds of each marked row by the other marks alone. Compared with the marks, in `outlier`,
    they show by how much all log-odds are too low or too high. At most `limit` of the rows can be outliers.
    """
    if not len(log_odds):
        return RemainingOutliers(0, 0.0, 0, 0)
    # How likely each common error in the grid is: after the marks, and then for rows without one.
    sign = np.where(outlier, -1.0, 1.0)
    log_posterior = -0.5 * (GRID / COMMON_ERROR) ** 2 - np.logaddexp(0, sign * (of_marked + GRID[:, None])).sum(1)
    posterior = np.exp(log_posterior - log_posterior.max())
    weights = np.exp(-0.5 * ((GRID[:, None] - GRID) / EXTRA_ERROR) ** 2) @ (posterior / posterior.sum())
    # Given that error, rows are outliers independently: their number has the distribution of a sum, row after row.
    chances = 1 / (1 + np.exp(-np.clip(log_odds + GRID[:, None], -50, 50)))  # (grid, n)
    counts_by_error = np.zeros((len(GRID), len(log_odds) + 1))
    counts_by_error[:, 0] = 1.0
    for chance in chances.T[:, :, None]:
        counts_by_error[:, 1:] = counts_by_error[:, 1:] * (1 - chance) + counts_by_error[:, :-1] * chance
        counts_by_error[:, :1] *= 1 - chance
    counts = weights / weights.sum() @ counts_by_error  # the chance of 0, 1, ..., n outliers
    if limit is not None:
        counts[max(limit, 0) + 1 :] = 0.0
        counts /= counts.sum()
    tail = (1 - COVERAGE) / 2
    low, high = np.searchsorted(np.cumsum(counts), [tail, 1 - tail])
    return RemainingOutliers(len(log_odds), float(counts @ np.arange(len(counts))), int(low), int(high))


@dataclass(frozen=True)
class Review:
    """Which rows to look at next, and how many outliers are likely left among them.

    Print it, or take the rows in their `order`: the likeliest outlier first. With fewer than two marked outliers,
    nobody knows what an outlier looks like: every other row is then taken from the ranking without marks.
    """

    order: NDArray[np.intp]  # the numbers of the rows without a mark, the one to look at next first
    chance: Matrix | None  # (n,) how likely each row is an outlier, NaN if it has no score; None without marks
    left: RemainingOutliers | None  # outliers among the first hundred in `order`; None without marks

    def __str__(self) -> str:
        return "Nothing is marked yet." if self.left is None else str(self.left)


def refine_with_marks(fitted: FittedModel, vectors: CheckedRows, marks: Marks, t: float) -> FittedModel:
    """Return the model with a correction learned from these marks; without marks, the model as it is."""
    evidence = _MarkedRows.of(fitted, vectors, marks, t)
    if evidence is None:
        return fitted
    learned = evidence.learned
    refined = replace(fitted, refinement=learned.refinement, offset=learned.threshold, offset_at_t=t, offsets=None)
    shift = map_valid_rows(vectors, refined.shift)
    shift[evidence.marked[evidence.used]] = learned.leave_one_out  # the shift of a marked row is by the other marks
    calibration = _calibration_rows(fitted, vectors, evidence.scores, evidence.marked[~evidence.outlier], t)
    if calibration is None:
        heads = fitted.mixing.squeeze(map_valid_rows(vectors, refined.units))
        return replace(refined, inliers=None, training_scores=_with_heads(fitted, heads))
    rows, units = calibration
    units = units + shift[rows][:, None]
    is_inlier = ~np.isin(rows, evidence.marked[evidence.outlier])
    heads = fitted.mixing.squeeze(units)
    inliers = CalibrationRows(units[is_inlier]) if is_inlier.any() else None
    return replace(refined, inliers=inliers, training_scores=_with_heads(fitted, heads))


def review(fitted: FittedModel, vectors: CheckedRows, marks: Marks, t: float) -> Review:
    """Return which of these vectors' rows to look at next, and how many outliers are likely left."""
    evidence = _MarkedRows.of(fitted, vectors, marks, t)
    if evidence is None:
        scores = map_valid_rows(vectors, lambda rows: fitted.scores(rows, t))
        return Review(_ranked(scores, np.array([], dtype=np.intp)), None, None)
    learned = evidence.learned
    shift = map_valid_rows(vectors, replace(fitted, refinement=learned.refinement).shift)
    log_odds = learned.log_odds(evidence.scores + shift)
    order = _ranked(evidence.scores + shift, evidence.marked)
    if evidence.outlier.sum() < SURE:
        order = alternate(order, _ranked(evidence.scores, evidence.marked))
    of_marked = learned.log_odds(evidence.scores[evidence.marked[evidence.used]] + learned.leave_one_out)
    # Marks of outliers alone do not say where outliers end: scores do, though as many again may always remain.
    marked = len(evidence.marked)
    limit = max(most_odd(evidence.scores) - marked, marked) if evidence.outlier.all() else None
    of_marked = of_marked + evidence.prior_log_odds
    left = errors_left(log_odds[order[:NEXT]], of_marked, evidence.outlier[evidence.used], limit)
    return Review(order, 0.5 * (1 + np.tanh(0.5 * log_odds)), left)


def _read_marks(marks: Iterable[object], vectors: CheckedRows) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the numbers of the marked rows that have a vector, and which of them are marked as outliers."""
    if isinstance(marks, str) or not isinstance(marks, Iterable):
        raise InputError(f"marks must be a list of {', '.join(map(repr, MARKS))} or None for each row, got {marks!r}.")
    words = [none_if_missing(mark) for mark in marks]
    if len(words) != vectors.shape[0]:
        raise InputError(
            f"marks must say something, or None, of each of the {vectors.shape[0]} rows, got {len(words)}."
        )
    unknown = [mark for mark in words if mark not in (*MARKS, *NO_MARKS)]
    if unknown:
        raise InputError(f"marks must be {', '.join(map(repr, MARKS))} or None for each row, got {unknown[0]!r}.")
    marked = np.array([row for row, mark in enumerate(words) if mark in MARKS], dtype=np.intp)
    if isinstance(vectors, np.ndarray):
        marked = marked[~np.isnan(vectors[marked]).all(1)]
    return marked, np.array([words[row] == "outlier" for row in marked], dtype=bool)


@dataclass(frozen=True)
class _MarkedRows:
    """The marked rows among all rows, and what was learned from them."""

    marked: NDArray[np.intp]  # (m,) numbers of the marked rows
    outlier: NDArray[np.bool_]  # (m,) which of them are marked as outliers
    used: NDArray[np.intp]  # places, in `marked`, of those that were learned from
    prior_log_odds: float  # log-odds of outliers among those, less that among all marked rows
    scores: Matrix  # (n,) of all rows, without the correction
    learned: LearnedRefinement

    @classmethod
    def of(cls, fitted: FittedModel, vectors: CheckedRows, marks: Marks, t: float) -> _MarkedRows | None:
        """Learn from the marks of these rows; return None if there are none."""
        marked, outlier = _read_marks(marks, vectors)
        if not len(marked):
            return None
        if fitted.refinement is not None:
            raise InputError("This model has learned marks already: teach the model as it was fitted, with all marks.")
        if fitted.calibration.kind != "soft":
            raise InputError("A model learns marks on a score without ends: fit it with calibration='soft'.")
        scores = map_valid_rows(vectors, lambda rows: fitted.scores(rows, t))

        def rows_at(numbers: NDArray[np.intp]) -> ScoredRows:
            return ScoredRows(fitted.scaling.apply(vectors[numbers]).astype(np.float64), scores[numbers])

        # Use all marks of a kind, or evenly spaced ones of many.
        odd = np.flatnonzero(outlier)
        fine = np.flatnonzero(~outlier)
        odd_used = subsample_evenly(odd, MOST)
        fine_used = subsample_evenly(fine, MOST)
        share_of_odd = len(odd_used) / max(len(odd), 1) or 1.0
        share_of_fine = len(fine_used) / max(len(fine), 1) or 1.0
        prior_log_odds = float(np.log(share_of_odd / share_of_fine))
        used = np.sort(np.concatenate([odd_used, fine_used]))
        # If only outliers are marked, take as many central rows as fine. Else a value that nearly all rows have would
        # be blamed, since most of the marked rows have it too.
        with_score = np.flatnonzero(~np.isnan(scores))
        assumed_fine = with_score[:0]
        if not len(fine):
            central = np.flatnonzero(scores >= np.nanmedian(scores))
            assumed_fine = subsample_evenly(np.setdiff1d(central, marked), len(used))
        learned = learn(
            rows_at(subsample_evenly(with_score)),
            rows_at(np.concatenate([marked[used], assumed_fine])),
            np.concatenate([outlier[used], np.zeros(len(assumed_fine), dtype=bool)]),
            prior_log_odds,
        )
        learned = replace(learned, leave_one_out=learned.leave_one_out[: len(used)])
        return cls(marked, outlier, used, prior_log_odds, scores, learned)


def _ranked(scores: Matrix, marked: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the numbers of the rows that have a score and no mark, the lowest score first."""
    rows = np.setdiff1d(np.flatnonzero(~np.isnan(scores)), marked)
    return np.asarray(rows[np.argsort(scores[rows], kind="stable")])


def alternate(rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.intp]:
    """Merge two orders of the same rows, taking the next row from each in turn."""
    merged = np.column_stack([rows, others]).ravel()
    return np.asarray(merged[np.sort(np.unique(merged, return_index=True)[1])])


def _calibration_rows(
    fitted: FittedModel, vectors: CheckedRows, scores: Matrix, fine: NDArray[np.intp], t: float
) -> tuple[NDArray[np.intp], Matrix] | None:
    """Return the numbers of the calibration rows and their head scores; None if these are not the rows of the fit.

    Rows marked as `fine` that the fit took for a group of outliers are among them.
    """
    rows = fitted.calibration_row_numbers(scores, t)
    if rows is None:
        return None
    units = fitted.calibration_rows().units
    left_out = np.setdiff1d(fine, rows)
    # A single network was trained on most rows that are not calibration rows, so none of those can be added.
    if not len(left_out) or not fitted.members_differ:
        return rows, units
    units_of_left_out = map_valid_rows(vectors[left_out], fitted.units)
    return np.append(rows, left_out), np.concatenate([units, units_of_left_out])


def _with_heads(fitted: FittedModel, heads: Matrix) -> TrainingScores:
    """Return the model's summary of its training rows, with quantiles of these heads in place of the old ones."""
    quantiles = TrainingScores.of(heads[~np.isnan(heads).any(1)]).quantiles
    return replace(fitted.training_scores, quantiles=quantiles)
