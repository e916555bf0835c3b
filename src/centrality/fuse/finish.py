"""From trained networks to a fitted model: calibrate on rows that they were not trained on, and report on the fit."""

from collections.abc import Callable, Sequence
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
from centrality.network.calibration import SOFT, Calibration, Mixing
from centrality.network.context import Context, ContextCalibration
from centrality.network.engine_backend import NetworkScorer
from centrality.network.folds import Folds, Units
from centrality.network.network import Network
from centrality.network.scaling import Scaling, dense, leave_one_out_range

MEMORIZATION_ROWS = 1000  # rows that `memorization_gap` scores

Matrix = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class FitRows:
    """The rows of a fit, in the user's units or relative to their context: who learned them, and who did not."""

    X: CheckedRows  # (n, p)
    as_new: CheckedRows  # (n, p) the same rows, encoded by a representation that does not know them
    folds: Folds | None = None  # None: every network learned from all rows
    holdout: CheckedRows | None = None  # rows that the user keeps aside to calibrate on


def finish_fit(
    network: Network,
    history: History,
    scaling: Scaling,
    context: Context | None,
    *,
    rows: FitRows,
    summary: Callable[[], TrainingColumns],
    config: FitConfig,
    rng: np.random.Generator,
    untrained_local_loss: float,
) -> FittedModel:
    """Return the fitted model, its quantiles set by the scores that networks give to rows they were not trained on.

    `summary` waits for the summary of the columns. `untrained_local_loss` is that of a head that has learned nothing.
    """
    # Score held-out rows, or all if none are; a sample of them if they are many.
    held_out = np.arange(rows.X.shape[0]) if rows.folds is None else rows.folds.held_out_rows()
    if len(held_out) > CALIBRATION_ROWS:
        held_out = np.sort(rng.choice(held_out, size=CALIBRATION_ROWS, replace=False))
    units = Units.of(rows.X)
    backend = scorer_for(network, config.device)
    calibrated = calibrate_on_held_out(
        network, backend, scaling, context, rows=rows, held_out=held_out, units=units, config=config
    )
    mixing = calibrated.calibration.mixing
    independent = units.first[held_out]  # copies of one row say no more than the row itself
    as_new = calibrated.as_new[independent]

    # The threshold of `predict` at every t: the quantile of held-out scores at the share of outliers, of scores as new
    # rows get them for "auto", as training rows get them otherwise.
    judged = calibrated.as_new if config.for_new_rows else calibrated.scores
    own, *along = thresholds(mixing, judged, config.share_of_outliers, [config.t, *np.linspace(0, 1, OFFSET_STEPS + 1)])
    fitted = FittedModel(
        network=network,
        scorer=backend,
        device=config.device,
        scaling=scaling,
        context=context,
        kinds=calibrated.context_calibration,
        calibration=calibrated.calibration,
        noise_scale=config.noise_scales,
        independent_halves=rows.folds is not None and rows.folds.members_differ,
        offset=float(own),
        offset_at_t=config.t,
        offsets=np.array(along),
        history=history,
        remembered=Reservoir(None, None, rows.X.shape[0]),
        names=config.names,
        inliers=None if rows.folds is None else CalibrationRows.of(as_new, "auto", mixing, held_out[independent]),
        training_scores=TrainingScores.of(mixing.squeeze(as_new), columns=summary()),
        typical=calibrated.typical_points(config.t, scaling),
    )

    # Report on the fit, and warn if it went wrong.
    fitted = replace(fitted, report=report_on(fitted, rows, config, untrained_local_loss))
    if rows.holdout is None:
        return fitted
    change = fitted.training_scores.compare(fitted.heads(rows.holdout))
    if change.detected() and change.effect < 0:
        warn_caller(
            f"Rows held aside score lower than those learned from (effect {change.effect:+.2f}): the network knows the "
            "latter by heart, so predict calls more than the share asked for of new rows outliers. detect and p_values "
            "go by the rows held aside; to mend predict, train for fewer epochs, or leave out `epochs`."
        )
    return fitted.calibrated(fitted.units(rows.holdout), "auto")


@dataclass(frozen=True)
class HeldOutScores:
    """Held-out rows, the calibration that they have set, and their head scores."""

    backend: NetworkScorer
    rows: CheckedRows
    calibration: Calibration
    context_calibration: ContextCalibration | None
    raw: Matrix  # (n, 2)
    scores: Matrix  # (n, 2) head scores as the model gives them
    as_new: Matrix  # (n, 2) as it would give them if no network had been trained on the row

    def typical_points(self, t: float, scaling: Scaling) -> Matrix:
        """Return the deepest point at t, and those of further regions, in the user's units."""
        soft = self.calibration.as_soft()
        mixtures, local = self.calibration.mixing.mixed(self.scores, t), soft.units(self.raw)[:, 1]
        return typical_points(self.rows, mixtures, local, ScoreField(self.backend, soft, reach=1.0), scaling)


def calibrate_on_held_out(
    network: Network,
    backend: NetworkScorer,
    scaling: Scaling,
    context: Context | None,
    *,
    rows: FitRows,
    held_out: NDArray[np.intp],
    units: Units,
    config: FitConfig,
) -> HeldOutScores:
    """Score the held-out rows, and calibrate scores by those of networks that were not trained on the row."""
    X, folds = rows.X, rows.folds
    members_differ = folds is not None and folds.members_differ

    # Score the held-out rows.
    X_held_out = X if len(held_out) == X.shape[0] else X[held_out]
    outputs = network_outputs(backend, scaling, X_held_out)  # (members, n, 1 + k)

    # Some held-out rows have an advantage over new ones: they set the range of a column, or the representation was
    # fitted on them. Score these again without it.
    as_new = outputs
    if folds is not None:
        others, changed = scaling, np.zeros(X.shape[0], dtype=bool)
        if members_differ:  # else no held-out row has set a range; a copy of the row is no other row
            others, extreme = leave_one_out_range(scaling, X if units.first.all() else X[units.first])
            changed = extreme[units.of_row]
        if rows.as_new is not X:
            changed |= (np.asarray(rows.as_new) != np.asarray(X)).any(1)
        places = np.flatnonzero(changed[held_out])
        if len(places):
            as_new = outputs.copy()
            as_new[:, places] = network_outputs(backend, others, rows.as_new[held_out[places]])

    # A network that was trained on a row does not judge it, unless the row comes so often that new rows equal it too.
    unseen = np.ones((network.members, len(held_out)), dtype=bool)
    if folds is not None:
        unseen = folds.unseen(held_out)
        if members_differ:
            unseen |= units.common[held_out]

    # Fit quantiles of these scores; given a context, also how scores differ from one to another.
    calibration, raw_as_new = Calibration.fit(
        config.calibration,
        as_new,
        unseen,
        clean=config.clean,
        independent_halves=members_differ,
        center_logit=config.center_logit,
        has_context=context is not None,
    )
    raw = calibration.raw(outputs)
    scores, new_scores, context_calibration = calibration.units(raw), calibration.units(raw_as_new), None
    if context is not None and config.calibration == "soft":
        fit_rows, fit_scores = held_out, new_scores
        if folds is not None and not members_differ:  # it holds few rows out, and has learned all contexts alike
            trained_on = subsample_evenly(np.setdiff1d(np.arange(X.shape[0]), held_out))
            more = calibration.units(calibration.raw(network_outputs(backend, scaling, X[trained_on])))
            fit_rows, fit_scores = np.concatenate([held_out, trained_on]), np.concatenate([new_scores, more])
        context_calibration, shifted = calibrate_by_context(context, X, fit_rows, fit_scores)
        new_scores = shifted[: len(held_out)]
        scores = context_calibration(scores, dense(X_held_out))
    return HeldOutScores(backend, X_held_out, calibration, context_calibration, raw, scores, new_scores)


def calibrate_by_context(
    context: Context, X: CheckedRows, rows: NDArray[np.intp], scores: Matrix
) -> tuple[ContextCalibration, Matrix]:
    """Fit how head scores of these rows of X differ by context; return that, and the scores shifted as for new rows."""
    categories = [levels.columns for levels in context.levels]
    inliers = ~outliers_apart(scores, SOFT)
    calibration, as_new = ContextCalibration.fit(
        dense(X[rows[inliers]]), scores[inliers], context.given, categories, seed=len(rows)
    )
    shifted = calibration(scores, dense(X[rows]))
    shifted[inliers] = as_new
    return calibration, shifted


def network_outputs(backend: NetworkScorer, scaling: Scaling, rows: CheckedRows) -> Matrix:  # (members, n, 1 + k)
    """Return the outputs of each network for each row; raise if one is not finite: it would make every quantile NaN."""
    by_row = map_blocks(lambda block: np.moveaxis(backend.of_rows(block, scaling), 0, 1), rows, backend.device)
    outputs = np.moveaxis(by_row, 1, 0).astype(np.float64)
    lost = int((~np.isfinite(outputs)).any(axis=(0, 2)).sum())
    if lost:
        raise FloatingPointError(
            f"{lost} of {outputs.shape[1]} training rows have scores that are no finite numbers, though losses were: "
            "extreme values, or an encoder that is not made for them. Look at the largest rows; scaling='auto' bends "
            "far values, a smaller learning_rate (of PaperFUSE) keeps weights small."
        )
    return outputs


def thresholds(mixing: Mixing, scores: Matrix, share: float, ts: Sequence[float]) -> Matrix:
    """Estimate for each t the score below which this share of new rows with such head scores lies."""
    mixtures = np.stack([mixing.mixed(scores, float(t)) for t in ts])
    return np.asarray(np.quantile(mixtures, share, axis=-1, method="weibull"))


def report_on(fitted: FittedModel, rows: FitRows, config: FitConfig, untrained_local_loss: float) -> Report:
    """Return a report on the fit; give its alarms as warnings."""
    report = build_report(
        rows.X,
        fitted.heads,
        held_aside=0 if rows.holdout is None else rows.holdout.shape[0],
        history=fitted.history,
        nothing={"global": float(np.log(2)), "local": untrained_local_loss},  # a coin toss, a score of zero
        names=fitted.names,
        center=fitted.scaling.center,
        scaled=fitted.scaling.scaled,
        by_heart=memorization_gap(fitted, rows.X),
    )
    if fitted.kinds is not None:
        report = replace(report, kinds=fitted.kinds.count_categories())
    if config.feature_map is not None:
        report = report.of_features(*config.feature_map)
    for text in report.alarms:
        warn_caller(text)
    return report


def memorization_gap(fitted: FittedModel, X: CheckedRows) -> float:
    """Return the median rise of training rows' local scores when networks trained on them count as much as others."""
    if not fitted.independent_halves:
        return 0.0
    sample = X[evenly_spaced(X.shape[0], MEMORIZATION_ROWS)]
    calibration = fitted.calibration

    def mean_and_lowest(block: CheckedRows) -> Matrix:  # (n, 2, 2)
        outputs = fitted.scorer.of_rows(block, fitted.scaling)
        return np.stack([calibration.of_members(outputs).mean(0), calibration.raw(outputs)], axis=1)

    raw = map_blocks(mean_and_lowest, sample, fitted.device)
    by_mean, by_lowest = (calibration.units(raw[:, place])[:, 1] for place in (0, 1))
    return float(np.median(by_mean - by_lowest))
