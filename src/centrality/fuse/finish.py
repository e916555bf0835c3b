"""Turn trained networks into a fitted model: calibrate on rows that they were not trained on, and report on the fit."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import evenly_spaced
from centrality._internal.checks import warn_caller
from centrality._internal.input import CheckedRows
from centrality.analysis.conformal import CALIBRATION_ROWS, CalibrationRows, outliers_apart, subsample_evenly
from centrality.analysis.drift import TrainingScores
from centrality.analysis.drift_columns import TrainingColumns
from centrality.analysis.report import Report, build_report
from centrality.fuse.config import FitConfig
from centrality.model.explain import ScoreField, typical_points
from centrality.model.fitted import OFFSET_STEPS, FittedModel, History, map_blocks, scorer_for
from centrality.model.reservoir import Reservoir
from centrality.network.calibration import SOFT, Calibration
from centrality.network.context import Context, ContextCalibration
from centrality.network.engine_backend import NetworkScorer
from centrality.network.folds import Folds, Records
from centrality.network.network import Network
from centrality.network.scaling import Scaling, dense, leave_one_out_range

MEMORIZATION_ROWS = 1000  # rows that `memorization_gap` scores

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FitRows:
    """The rows of a fit, in the user's units or relative to their context, and which network learned which rows."""

    X: CheckedRows  # (n, p)
    as_new: CheckedRows  # (n, p) the same rows, encoded as new rows would be
    folds: Folds | None = None  # None: every network learned from all rows
    holdout: CheckedRows | None = None  # rows that the user keeps aside to calibrate on


def finish_fit(
    network: Network,
    history: History,
    scaling: Scaling,
    context: Context | None,
    *,
    rows: FitRows,
    column_summary: Callable[[], TrainingColumns],
    config: FitConfig,
    rng: np.random.Generator,
    untrained_local_loss: float,
) -> FittedModel:
    """Return the fitted model, calibrated by the scores that networks give to rows they were not trained on.

    `column_summary` waits for the summary of the columns, which another thread computes. `untrained_local_loss` is the
    loss of a local head that has learned nothing.
    """
    # Calibrate on held-out rows, or on all if none are held out; on a sample if they are many.
    held_out = np.arange(rows.X.shape[0]) if rows.folds is None else rows.folds.held_out_rows()
    if len(held_out) > CALIBRATION_ROWS:
        held_out = np.sort(rng.choice(held_out, size=CALIBRATION_ROWS, replace=False))
    records = Records.of(rows.X)
    scorer = scorer_for(network, config.device)
    calibrated = calibrate_on_held_out(
        scorer, scaling, context, rows=rows, held_out=held_out, records=records, config=config
    )
    calibration = calibrated.calibration
    mixing = calibration.mixing

    # Thresholds of `predict`, at the model's t and on a grid of t: the `share_of_outliers` quantile of mixed scores.
    # With contamination="auto" the share refers to new rows, so use the scores these rows would get if unseen.
    scores = calibrated.scores_as_unseen if config.for_new_rows else calibrated.scores
    ts = [config.t, *np.linspace(0, 1, OFFSET_STEPS + 1)]
    mixtures = np.stack([mixing.mixed(scores, float(t)) for t in ts])
    offset, *offsets = np.quantile(mixtures, config.share_of_outliers, axis=-1, method="weibull")

    first_copies = records.first[held_out]  # a further copy of a record says nothing new
    inlier_scores = calibrated.scores_as_unseen[first_copies]
    soft = calibration.as_soft()  # "clip" is flat beyond its ends: no slope leads to the deepest point from there
    fitted = FittedModel(
        network=network,
        scorer=scorer,
        device=config.device,
        scaling=scaling,
        context=context,
        context_calibration=calibrated.context_calibration,
        calibration=calibration,
        noise_scale=config.noise_scales,
        members_differ=rows.folds is not None and rows.folds.members_differ,
        offset=float(offset),
        offset_at_t=config.t,
        offsets=np.array(offsets),
        history=history,
        remembered=Reservoir(None, None, rows.X.shape[0]),
        names=config.names,
        inliers=(
            None if rows.folds is None else CalibrationRows.of(inlier_scores, "auto", mixing, held_out[first_copies])
        ),
        training_scores=TrainingScores.of(mixing.squeeze(inlier_scores), columns=column_summary()),
        typical=typical_points(
            calibrated.rows,
            mixing.mixed(calibrated.scores, config.t),
            soft.units(calibrated.raw)[:, 1],
            ScoreField(scorer, soft, reach=1.0),
            scaling,
        ),
    )

    # Report on the fit, and warn if it went wrong.
    fitted = replace(fitted, report=report_on(fitted, rows, config, untrained_local_loss))
    if rows.holdout is None:
        return fitted
    change = fitted.training_scores.compare(fitted.heads(rows.holdout))
    if change.detected() and change.effect < 0:
        warn_caller(
            f"Rows held aside score lower than those learned from (effect {change.effect:+.2f}): the network knows the "
            "latter by heart, so predict will call more new rows outliers than you asked for. detect and p_values "
            "go by the rows held aside. For predict, train less: fewer max_steps, or fewer epochs of PaperFUSE."
        )
    return fitted.calibrated(fitted.units(rows.holdout), "auto")


@dataclass(frozen=True)
class Calibrated:
    """The held-out rows with their scores, and the calibration that these have set."""

    rows: CheckedRows  # (n, p)
    calibration: Calibration
    context_calibration: ContextCalibration | None
    raw: Matrix  # (n, 2) scores before calibration
    scores: Matrix  # (n, 2) head scores as the model gives them
    scores_as_unseen: Matrix  # (n, 2) as it would give them if no network had been trained on the row


def calibrate_on_held_out(
    scorer: NetworkScorer,
    scaling: Scaling,
    context: Context | None,
    *,
    rows: FitRows,
    held_out: NDArray[np.intp],
    records: Records,
    config: FitConfig,
) -> Calibrated:
    """Score the held-out rows, and calibrate by the scores of networks that were not trained on the row."""
    X = rows.X
    folds = rows.folds
    members_differ = folds is not None and folds.members_differ

    # Score the held-out rows.
    X_held_out = X if len(held_out) == X.shape[0] else X[held_out]
    outputs = network_outputs(scorer, scaling, X_held_out)  # (members, n, 1 + k)

    # Some held-out rows have an advantage over new ones: they set the range of a column, or the representation was
    # fitted on them. Score these again without it.
    outputs_as_new = outputs
    if folds is not None:
        leave_one_out_scaling = scaling
        has_advantage = np.zeros(X.shape[0], dtype=bool)
        if members_differ:  # else no held-out row has set a range
            # Keep one of each set of copies: leaving one out changes nothing while another still sets the range.
            distinct = X if records.first.all() else X[records.first]
            leave_one_out_scaling, sets_range = leave_one_out_range(scaling, distinct)
            has_advantage = sets_range[records.of_row]
        if rows.as_new is not X:
            has_advantage |= (np.asarray(rows.as_new) != np.asarray(X)).any(1)
        places = np.flatnonzero(has_advantage[held_out])
        if len(places):
            outputs_as_new = outputs.copy()
            outputs_as_new[:, places] = network_outputs(scorer, leave_one_out_scaling, rows.as_new[held_out[places]])

    # Ignore a network on the rows it was trained on, except for rows so common that new rows will repeat them.
    unseen = np.ones((scorer.members, len(held_out)), dtype=bool)
    if folds is not None:
        unseen = folds.unseen(held_out)
        if members_differ:
            unseen |= records.common[held_out]

    # Fit quantiles of these scores; given a context, also how they differ from context to context.
    calibration, raw_as_unseen = Calibration.fit(
        config.calibration,
        outputs_as_new,
        unseen,
        clean=config.clean,
        members_differ=members_differ,
        center_logit=config.center_logit,
        has_context=context is not None,
    )
    raw = calibration.raw(outputs)
    scores = calibration.units(raw)
    scores_as_unseen = calibration.units(raw_as_unseen)
    context_calibration = None
    if context is not None and config.calibration == "soft":
        fit_rows = held_out
        fit_scores = scores_as_unseen
        if folds is not None and not members_differ:
            # Too few rows are held out to tell contexts apart. Other rows show just as well how scores differ by
            # context, so add them.
            others = subsample_evenly(np.setdiff1d(np.arange(X.shape[0]), held_out))
            scores_of_others = calibration.units(calibration.raw(network_outputs(scorer, scaling, X[others])))
            fit_rows = np.concatenate([held_out, others])
            fit_scores = np.concatenate([scores_as_unseen, scores_of_others])
        context_calibration, shifted = calibrate_by_context(context, X, fit_rows, fit_scores)
        scores_as_unseen = shifted[: len(held_out)]
        scores = context_calibration(scores, dense(X_held_out))
    return Calibrated(X_held_out, calibration, context_calibration, raw, scores, scores_as_unseen)


def calibrate_by_context(
    context: Context, X: CheckedRows, rows: NDArray[np.intp], scores: Matrix
) -> tuple[ContextCalibration, Matrix]:
    """Learn how head scores of these rows of X differ by context; return that, and the scores shifted by it.

    It is fitted to inliers; each is shifted as if it were new.
    """
    is_inlier = ~outliers_apart(scores, SOFT)
    calibration, shifted_inliers = ContextCalibration.fit(
        dense(X[rows[is_inlier]]),
        scores[is_inlier],
        context.given,
        [effects.columns for effects in context.center_effects],
        seed=len(rows),  # any seed that the same rows give again
    )
    shifted = calibration(scores, dense(X[rows]))
    shifted[is_inlier] = shifted_inliers
    return calibration, shifted


def network_outputs(scorer: NetworkScorer, scaling: Scaling, rows: CheckedRows) -> Matrix:  # (members, n, 1 + k)
    """Return the outputs of each network for each row; raise if one is not finite: no quantile would be."""
    by_row = map_blocks(lambda block: np.moveaxis(scorer.of_rows(block, scaling), 0, 1), rows, scorer.device)
    outputs = np.moveaxis(by_row, 1, 0).astype(np.float64)
    bad_rows = int((~np.isfinite(outputs)).any(axis=(0, 2)).sum())
    if bad_rows:
        raise FloatingPointError(
            f"{bad_rows} of {outputs.shape[1]} training rows have scores that are not finite, although "
            "the losses were: extreme values, or an encoder that is not made for them. Look at the largest rows; "
            "scaling='auto' bends far values, a smaller learning_rate (of PaperFUSE) keeps weights small."
        )
    return outputs


def report_on(fitted: FittedModel, rows: FitRows, config: FitConfig, untrained_local_loss: float) -> Report:
    """Return a report on the fit, and warn of what it finds."""
    report = build_report(
        rows.X,
        fitted.heads,
        held_aside=0 if rows.holdout is None else rows.holdout.shape[0],
        history=fitted.history,
        untrained_losses={"global": float(np.log(2)), "local": untrained_local_loss},
        names=fitted.names,
        center=fitted.scaling.center,
        scaled=fitted.scaling.scaled,
        by_heart=memorization_gap(fitted, rows.X),
    )
    if fitted.context_calibration is not None:
        report = replace(report, kinds=fitted.context_calibration.count_categories())
    if config.feature_map is not None:
        report = report.of_features(*config.feature_map)
    for text in report.alarms:
        warn_caller(text)
    return report


def memorization_gap(fitted: FittedModel, X: CheckedRows) -> float:
    """Return by how much networks overrate rows that they were trained on.

    That is the median, over training rows, of the mean of all networks' local scores minus the lowest of them.
    """
    if not fitted.members_differ:
        return 0.0
    sample = X[evenly_spaced(X.shape[0], MEMORIZATION_ROWS)]
    calibration = fitted.calibration

    def mean_and_lowest(block: CheckedRows) -> Matrix:  # (n, 2, 2)
        outputs = fitted.scorer.of_rows(block, fitted.scaling)
        return np.stack([calibration.of_members(outputs).mean(0), calibration.raw(outputs)], axis=1)

    raw = map_blocks(mean_and_lowest, sample, fitted.device)
    mean = calibration.units(raw[:, 0])[:, 1]
    lowest = calibration.units(raw[:, 1])[:, 1]
    return float(np.median(mean - lowest))
