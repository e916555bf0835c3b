"""Learn from marks: review order, refinement, how many outliers remain."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows
from centrality._internal.text import none_if_missing
from centrality.analysis.conformal import CalibrationRows, subsample_evenly
from centrality.analysis.drift import TrainingScores
from centrality.model.fitted import FittedModel, map_valid_rows
from centrality.network.refinement import LearnedRefinement, ScoredRows, learn

NEXT = 100  # rows that the estimate is about: those that would be looked at next
COVERAGE = 0.9  # of the interval
OFF = 2.0  # log-odds by which all chances may be off together, before any mark
DRIFT = 1.5  # log-odds by which they may be off more for unmarked rows than for marked ones
FEW = 0.05  # where at most this share of the next rows are outliers, by the upper end, looking on is hardly worth it
GRID = np.linspace(-6, 6, 61)

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class RemainingOutliers:
    """Hold how many of the next `rows` are likely outliers: about `about`, between `low` and `high` nine times of ten.

    >>> print(RemainingOutliers(100, 3.2, 0, 8))
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


def errors_left(log_odds: Matrix, judged: Matrix, outlier: NDArray[np.bool_]) -> RemainingOutliers:
    """Return how many of the rows with these log-odds are likely outliers.

    `judged` are log-odds of the marked rows by the other marks alone: they show a common error of all log-odds.
    """
    if not len(log_odds):
        return RemainingOutliers(0, 0.0, 0, 0)
    off = -0.5 * (GRID / OFF) ** 2
    off = off - np.logaddexp(0, np.where(outlier, -1.0, 1.0) * (judged + GRID[:, None])).sum(1)
    weights = np.exp(off - off.max())
    weights = np.exp(-0.5 * ((GRID[:, None] - GRID) / DRIFT) ** 2) @ (weights / weights.sum())
    chances = 1 / (1 + np.exp(-np.clip(log_odds + GRID[:, None], -50, 50)))  # (grid, n)
    counts = weights / weights.sum() @ _counts(chances)
    below = np.cumsum(counts)
    tail = (1 - COVERAGE) / 2
    low, high = np.searchsorted(below, [tail, 1 - tail])
    return RemainingOutliers(len(log_odds), float(counts @ np.arange(len(counts))), int(low), int(high))


def _counts(chances: Matrix) -> Matrix:  # (g, n) -> (g, n + 1)
    """Return the chance of each number of outliers among n rows that are outliers independently."""
    counts = np.zeros((len(chances), chances.shape[1] + 1))
    counts[:, 0] = 1.0
    for chance in chances.T[:, :, None]:
        counts[:, 1:] = counts[:, 1:] * (1 - chance) + counts[:, :-1] * chance
        counts[:, :1] *= 1 - chance
    return counts


MARKS = ("outlier", "fine")  # marks to learn from; "later", nothing, None and NaN say nothing of a row
UNSAID = ("later", "", None)
MOST = 250  # marks of each kind to learn from, evenly spaced among more: so learning takes a second at most
SURE = 2  # marked outliers from which on the queue follows the corrected scores alone
SAME_ROWS = 0.5  # rank correlation above which rows are those that a model was calibrated on, in the same order
Marks = Sequence[str | None]


@dataclass(frozen=True)
class Review:
    """Hold which rows to look at next, and how many outliers are likely left among them.

    Print it, or take the rows in their `order`: the likeliest outlier first. As long as nearly all marks are "fine",
    nobody knows what an outlier looks like: every other row is then the next one by the ranking without marks.
    """

    order: NDArray[np.intp]  # numbers of the rows that are not marked, the next one first
    chance: Matrix | None  # (n,) that each row is an outlier; None without marks, and NaN for rows without a score
    left: RemainingOutliers | None  # among the next hundred of them; None without marks

    def __str__(self) -> str:
        return "Nothing is marked yet." if self.left is None else str(self.left)


def refine_with_marks(fitted: FittedModel, vectors: CheckedRows, marks: Marks, t: float) -> FittedModel:
    """Return the model with the correction learned from these marks of the rows; the same model without marks."""
    marked, outlier = _marked(marks, vectors)
    if not len(marked):
        return fitted
    scores, refined, learned, _ = _refined(fitted, vectors, marked, outlier, t)
    moved = replace(fitted, refinement=refined.refinement, offset=refined.threshold, offset_at_t=t, offsets=None)
    shift = map_valid_rows(vectors, moved.shift)
    shift[marked[learned]] = refined.leave_one_out  # no row is judged by its own mark
    known = _calibration_rows(fitted, vectors, scores, marked[~outlier], t)
    if known is None:
        heads = fitted.calibration.mixing.squeeze(map_valid_rows(vectors, moved.units))
        return replace(moved, inliers=None, training_scores=_of(fitted, heads))
    rows, units = known
    units = units + shift[rows][:, None]
    kept = ~np.isin(rows, marked[outlier])
    heads = fitted.calibration.mixing.squeeze(units)
    inliers = CalibrationRows(units[kept]) if kept.any() else None
    return replace(moved, inliers=inliers, training_scores=_of(fitted, heads))


def review(fitted: FittedModel, vectors: CheckedRows, marks: Marks, t: float) -> Review:
    """Return which of these vectors' rows to look at next, and how many outliers are likely left."""
    marked, outlier = _marked(marks, vectors)
    if not len(marked):
        return Review(_ranked(map_valid_rows(vectors, lambda rows: fitted.scores(rows, t)), marked), None, None)
    scores, refined, learned, favoured = _refined(fitted, vectors, marked, outlier, t)
    shift = map_valid_rows(vectors, replace(fitted, refinement=refined.refinement).shift)
    log_odds = refined.log_odds(scores + shift)
    order = _ranked(scores + shift, marked)
    if outlier.sum() < SURE:
        order = alternate(order, _ranked(scores, marked))
    judged = refined.log_odds(scores[marked[learned]] + refined.leave_one_out) + favoured
    left = errors_left(log_odds[order[:NEXT]], judged, outlier[learned])
    return Review(order, 0.5 * (1 + np.tanh(0.5 * log_odds)), left)


def _marked(marks: Marks, vectors: CheckedRows) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the numbers of the marked rows that have a vector, and which of them are marked as outliers."""
    if isinstance(marks, str) or not isinstance(marks, Iterable):
        raise InputError(f"marks must be a list of {', '.join(map(repr, MARKS))} or None for each row, got {marks!r}.")
    given = [none_if_missing(mark) for mark in marks]
    if len(given) != vectors.shape[0]:
        raise InputError(
            f"marks must say something, or None, of each of the {vectors.shape[0]} rows, got {len(given)}."
        )
    strange = [mark for mark in given if mark not in (*MARKS, *UNSAID)]
    if strange:
        raise InputError(f"marks must be {', '.join(map(repr, MARKS))} or None for each row, got {strange[0]!r}.")
    marked = np.array([row for row, mark in enumerate(given) if mark in MARKS], dtype=np.intp)
    if isinstance(vectors, np.ndarray):
        marked = marked[~np.isnan(vectors[marked]).all(1)]
    return marked, np.array([given[row] == "outlier" for row in marked], dtype=bool)


def _refined(
    fitted: FittedModel, vectors: CheckedRows, marked: NDArray[np.intp], outlier: NDArray[np.bool_], t: float
) -> tuple[Matrix, LearnedRefinement, NDArray[np.intp], float]:
    """Return the rows' uncorrected scores, and the correction learned from the marks.

    Also which of the marks it was learned from, and by how much log-odds outliers are more frequent among these.
    """
    if fitted.refinement is not None:
        raise InputError("This model has learned marks already: teach the model as it was fitted, with all marks.")
    if fitted.calibration.kind != "soft":
        raise InputError("A model learns marks on a score without ends: fit it with calibration='soft'.")
    scores = map_valid_rows(vectors, lambda rows: fitted.scores(rows, t))
    usual = subsample_evenly(np.flatnonzero(~np.isnan(scores)))

    def rows(at: NDArray[np.intp]) -> ScoredRows:
        return ScoredRows(fitted.scaling.apply(vectors[at]).astype(np.float64), scores[at])

    learned, favoured = _few_of_each(outlier)
    return scores, learn(rows(usual), rows(marked[learned]), outlier[learned], favoured), learned, favoured


def _few_of_each(outlier: NDArray[np.bool_]) -> tuple[NDArray[np.intp], float]:
    """Return the marks to learn from: all, or evenly spaced ones of each kind where there are many.

    The second result is by how much log-odds outliers are more frequent among them than among all marks.
    """
    kinds = [np.flatnonzero(outlier), np.flatnonzero(~outlier)]
    kept = [subsample_evenly(kind, MOST) for kind in kinds]
    odd, fine = (len(some) / max(len(kind), 1) or 1.0 for some, kind in zip(kept, kinds, strict=True))
    return np.sort(np.concatenate(kept)), float(np.log(odd / fine))


def _ranked(scores: Matrix, marked: NDArray[np.intp]) -> NDArray[np.intp]:
    left = np.setdiff1d(np.flatnonzero(~np.isnan(scores)), marked)
    return np.asarray(left[np.argsort(scores[left], kind="stable")])


def alternate(rows: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.intp]:
    """Merge two orders of the same rows, taking the next row from each in turn."""
    both = np.column_stack([rows, others]).ravel()
    return np.asarray(both[np.sort(np.unique(both, return_index=True)[1])])


def _calibration_rows(
    fitted: FittedModel, vectors: CheckedRows, scores: Matrix, fine: NDArray[np.intp], t: float
) -> tuple[NDArray[np.intp], Matrix] | None:
    """Return the numbers of the calibration rows among these rows, and their units; None if others were fitted.

    Rows marked as `fine` that the fit had left out, as a group of outliers, are added.
    """
    inliers, present = fitted.inliers, np.flatnonzero(~np.isnan(scores))
    if inliers is None or inliers.rows is None or len(present) != fitted.remembered.seen:
        return None
    rows = present[inliers.rows]
    both = np.column_stack([fitted.calibration.mixing.mixed(inliers.units, t), scores[rows]])
    ranks = both.argsort(0).argsort(0)
    if not np.asarray(np.corrcoef(ranks.T))[0, 1] > SAME_ROWS:
        return None
    back = np.setdiff1d(fine, rows)
    if not len(back) or not fitted.independent_halves:  # one network: most rows are left out as it learned from them
        return rows, inliers.units
    return np.append(rows, back), np.concatenate([inliers.units, map_valid_rows(vectors[back], fitted.units)])


def _of(fitted: FittedModel, heads: Matrix) -> TrainingScores:
    """Return the model's summary of its training rows with the quantiles of these new heads; columns stay the same."""
    known = TrainingScores.of(heads[~np.isnan(heads).any(1)])
    return replace(fitted.training_scores, quantiles=known.quantiles)
