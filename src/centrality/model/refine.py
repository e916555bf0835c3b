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
from centrality.analysis.odd_share import most_odd
from centrality.model.fitted import SAME_ROWS, FittedModel, map_valid_rows
from centrality.network.refinement import LearnedRefinement, ScoredRows, learn

NEXT = 100  # rows that the estimate is about: those that would be looked at next
COVERAGE = 0.9  # of the interval
OFF = 2.0  # log-odds by which all chances may be off together, before any mark
DRIFT = 1.5  # log-odds by which they may be off more for unmarked rows than for marked ones
FEW = 0.05  # where at most this share of the next rows are outliers, by the upper end, looking on is hardly worth it
GRID = np.linspace(-6, 6, 61)
MARKS = ("outlier", "fine")  # marks to learn from; "later", nothing, None and NaN say nothing of a row
UNSAID = ("later", "", None)
MOST = 250  # marks of each kind to learn from, evenly spaced among more: so learning takes a second at most
SURE = 2  # marked outliers from which on the queue follows the corrected scores alone

Matrix = NDArray[np.float64]
Marks = Sequence[str | None]


@dataclass(frozen=True)
class RemainingOutliers:
    """How many of the next `rows` are likely outliers: about `about`, between `low` and `high` nine times of ten.

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


def errors_left(
    log_odds: Matrix, of_marked: Matrix, outlier: NDArray[np.bool_], most: int | None = None
) -> RemainingOutliers:
    """Return how many of the rows with these log-odds are likely outliers.

    `of_marked` are log-odds of the marked rows by the other marks alone: they show a common error of all log-odds. At
    `most` so many can be outliers.
    """
    if not len(log_odds):
        return RemainingOutliers(0, 0.0, 0, 0)
    sign = np.where(outlier, -1.0, 1.0)
    posterior = -0.5 * (GRID / OFF) ** 2 - np.logaddexp(0, sign * (of_marked + GRID[:, None])).sum(1)
    of_marks = np.exp(posterior - posterior.max())
    weights = np.exp(-0.5 * ((GRID[:, None] - GRID) / DRIFT) ** 2) @ (of_marks / of_marks.sum())
    chances = 1 / (1 + np.exp(-np.clip(log_odds + GRID[:, None], -50, 50)))  # (grid, n)
    counts = weights / weights.sum() @ _counts(chances)
    if most is not None:
        counts[max(most, 0) + 1 :] = 0.0
        counts /= counts.sum()
    tail = (1 - COVERAGE) / 2
    low, high = np.searchsorted(np.cumsum(counts), [tail, 1 - tail])
    return RemainingOutliers(len(log_odds), float(counts @ np.arange(len(counts))), int(low), int(high))


def _counts(chances: Matrix) -> Matrix:  # (g, n) -> (g, n + 1)
    """Return the chance of each number of outliers among n rows that are outliers independently."""
    counts = np.zeros((len(chances), chances.shape[1] + 1))
    counts[:, 0] = 1.0
    for chance in chances.T[:, :, None]:
        counts[:, 1:] = counts[:, 1:] * (1 - chance) + counts[:, :-1] * chance
        counts[:, :1] *= 1 - chance
    return counts


@dataclass(frozen=True)
class Review:
    """Which rows to look at next, and how many outliers are likely left among them.

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
    lesson = _Lesson.of(fitted, vectors, marks, t)
    if lesson is None:
        return fitted
    learned = lesson.learned
    refined = replace(fitted, refinement=learned.refinement, offset=learned.threshold, offset_at_t=t, offsets=None)
    shift = map_valid_rows(vectors, refined.shift)
    shift[lesson.marked[lesson.used]] = learned.leave_one_out  # no row is judged by its own mark
    calibration = _calibration_rows(fitted, vectors, lesson.scores, lesson.marked[~lesson.outlier], t)
    if calibration is None:
        heads = fitted.calibration.mixing.squeeze(map_valid_rows(vectors, refined.units))
        return replace(refined, inliers=None, training_scores=_with_heads(fitted, heads))
    rows, scores = calibration
    scores = scores + shift[rows][:, None]
    inlier = ~np.isin(rows, lesson.marked[lesson.outlier])
    heads = fitted.calibration.mixing.squeeze(scores)
    inliers = CalibrationRows(scores[inlier]) if inlier.any() else None
    return replace(refined, inliers=inliers, training_scores=_with_heads(fitted, heads))


def review(fitted: FittedModel, vectors: CheckedRows, marks: Marks, t: float) -> Review:
    """Return which of these vectors' rows to look at next, and how many outliers are likely left."""
    lesson = _Lesson.of(fitted, vectors, marks, t)
    if lesson is None:
        scores = map_valid_rows(vectors, lambda rows: fitted.scores(rows, t))
        return Review(_ranked(scores, np.array([], dtype=np.intp)), None, None)
    learned = lesson.learned
    shift = map_valid_rows(vectors, replace(fitted, refinement=learned.refinement).shift)
    log_odds = learned.log_odds(lesson.scores + shift)
    order = _ranked(lesson.scores + shift, lesson.marked)
    if lesson.outlier.sum() < SURE:
        order = alternate(order, _ranked(lesson.scores, lesson.marked))
    of_marked = learned.log_odds(lesson.scores[lesson.marked[lesson.used]] + learned.leave_one_out)
    # Marks of outliers alone do not say where outliers end: then scores must, and there may be as many again.
    found = len(lesson.marked)
    most = max(most_odd(lesson.scores) - found, found) if lesson.outlier.all() else None
    left = errors_left(log_odds[order[:NEXT]], of_marked + lesson.prior_log_odds, lesson.outlier[lesson.used], most)
    return Review(order, 0.5 * (1 + np.tanh(0.5 * log_odds)), left)


def _marked(marks: Iterable[object], vectors: CheckedRows) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the numbers of the marked rows that have a vector, and which of them are marked as outliers."""
    if isinstance(marks, str) or not isinstance(marks, Iterable):
        raise InputError(f"marks must be a list of {', '.join(map(repr, MARKS))} or None for each row, got {marks!r}.")
    words = [none_if_missing(mark) for mark in marks]
    if len(words) != vectors.shape[0]:
        raise InputError(
            f"marks must say something, or None, of each of the {vectors.shape[0]} rows, got {len(words)}."
        )
    unknown = [mark for mark in words if mark not in (*MARKS, *UNSAID)]
    if unknown:
        raise InputError(f"marks must be {', '.join(map(repr, MARKS))} or None for each row, got {unknown[0]!r}.")
    marked = np.array([row for row, mark in enumerate(words) if mark in MARKS], dtype=np.intp)
    if isinstance(vectors, np.ndarray):
        marked = marked[~np.isnan(vectors[marked]).all(1)]
    return marked, np.array([words[row] == "outlier" for row in marked], dtype=bool)


@dataclass(frozen=True)
class _Lesson:
    """What was learned from marks, and from which."""

    marked: NDArray[np.intp]  # (m,) numbers of the marked rows
    outlier: NDArray[np.bool_]  # (m,)
    used: NDArray[np.intp]  # which of the marks it was learned from
    prior_log_odds: float  # by how much outliers are more frequent among these than among all marks
    scores: Matrix  # (n,) of all rows, uncorrected
    learned: LearnedRefinement

    @classmethod
    def of(cls, fitted: FittedModel, vectors: CheckedRows, marks: Marks, t: float) -> _Lesson | None:
        """Learn from the marks of these rows; None if there are none."""
        marked, outlier = _marked(marks, vectors)
        if not len(marked):
            return None
        if fitted.refinement is not None:
            raise InputError("This model has learned marks already: teach the model as it was fitted, with all marks.")
        if fitted.calibration.kind != "soft":
            raise InputError("A model learns marks on a score without ends: fit it with calibration='soft'.")
        scores = map_valid_rows(vectors, lambda rows: fitted.scores(rows, t))

        def scored(at: NDArray[np.intp]) -> ScoredRows:
            return ScoredRows(fitted.scaling.apply(vectors[at]).astype(np.float64), scores[at])

        # All marks, or evenly spaced ones of each kind where there are many.
        odd = np.flatnonzero(outlier)
        fine = np.flatnonzero(~outlier)
        odd_used = subsample_evenly(odd, MOST)
        fine_used = subsample_evenly(fine, MOST)
        share_of_odd = len(odd_used) / max(len(odd), 1) or 1.0
        share_of_fine = len(fine_used) / max(len(fine), 1) or 1.0
        prior_log_odds = float(np.log(share_of_odd / share_of_fine))
        used = np.sort(np.concatenate([odd_used, fine_used]))
        with_score = np.flatnonzero(~np.isnan(scores))
        assumed = with_score[:0] if len(fine) else _central_rows(scores, marked, len(used))
        learned = learn(
            scored(subsample_evenly(with_score)),
            scored(np.concatenate([marked[used], assumed])),
            np.concatenate([outlier[used], np.zeros(len(assumed), dtype=bool)]),
            prior_log_odds,
        )
        learned = replace(learned, leave_one_out=learned.leave_one_out[: len(used)])
        return cls(marked, outlier, used, prior_log_odds, scores, learned)


def _central_rows(scores: Matrix, marked: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    """Return so many evenly spaced rows of the central half that are not marked: taken as fine, where no mark is.

    With marks of outliers alone, a value that all rows have would be to blame, for most of those marked have it too.
    """
    central = np.flatnonzero(scores >= np.nanmedian(scores))
    return subsample_evenly(np.setdiff1d(central, marked), count)


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
    """Return the numbers of the calibration rows among these rows, and their head scores; None if others were fitted.

    Rows marked as `fine` that the fit had left out, as a group of outliers, are added.
    """
    inliers = fitted.inliers
    present = np.flatnonzero(~np.isnan(scores))
    if inliers is None or inliers.rows is None or len(present) != fitted.remembered.seen:
        return None
    rows = present[inliers.rows]
    both = np.column_stack([fitted.calibration.mixing.mixed(inliers.units, t), scores[rows]])
    ranks = both.argsort(0).argsort(0)
    if not np.asarray(np.corrcoef(ranks.T))[0, 1] > SAME_ROWS:
        return None
    left_out = np.setdiff1d(fine, rows)
    if not len(left_out) or not fitted.members_differ:  # one network has learned from most rows outside `rows`
        return rows, inliers.units
    more = map_valid_rows(vectors[left_out], fitted.units)
    return np.append(rows, left_out), np.concatenate([inliers.units, more])


def _with_heads(fitted: FittedModel, heads: Matrix) -> TrainingScores:
    """Return the model's summary of its training rows with the quantiles of these heads; columns stay the same."""
    quantiles = TrainingScores.of(heads[~np.isnan(heads).any(1)]).quantiles
    return replace(fitted.training_scores, quantiles=quantiles)
