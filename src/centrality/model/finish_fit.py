"""Finish a fit: from a trained network and its scores of the training rows to the fitted model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._checks import tell
from centrality._estimator import CheckedRows
from centrality.model.blocks import block_by_block, in_blocks
from centrality.model.explanations import Field
from centrality.model.fitted import OFFSET_STEPS, Fitted, History
from centrality.model.remembered_rows import RememberedRows
from centrality.model.scorers import scorer_for
from centrality.model.typical import typical_points
from centrality.network.context import Context
from centrality.network.ends import by_others
from centrality.network.folds import Split, Units
from centrality.network.kinds import Kinds
from centrality.network.network import Network
from centrality.network.scaling import Scaling, dense, rows_per_block
from centrality.network.scorer import NetworkScorer
from centrality.scores.calibration import Calibration, Outputs
from centrality.scores.conformal import Inliers, evenly_spaced, outliers_apart
from centrality.scores.drift import TrainingScores
from centrality.scores.drift_columns import TrainingColumns
from centrality.scores.examine import examine
from centrality.scores.mixing import SOFT, Mixing

Matrix = NDArray[np.float64]
Origins: TypeAlias = tuple[Sequence[str], NDArray[np.intp]]  # names of features, and for each column whose it is
HEART_ROWS = 1000  # rows that `_by_heart` scores


@dataclass(frozen=True)
class Trained:
    """Hold the results of training that the fitted model is made from."""

    network: Network
    device: str
    scaling: Scaling
    noise_scale: tuple[float, ...]
    history: History
    remembered: RememberedRows
    names: Sequence[str] | None  # of the columns
    context: Context | None  # the rows are relative to their kinds; None: as they are
    split: Split | None  # None: all members were trained on all rows
    columns: Callable[[], TrainingColumns]  # waits for what is remembered of the columns


def finish_fit(
    trained: Trained,
    X: CheckedRows,
    X_as_new: CheckedRows,
    judged: NDArray[np.intp],
    *,
    calibration: str,
    t: float,
    share_of_outliers: float,
    of_new_rows: bool,
    clean: bool,
    level_is_open: bool,
) -> Fitted:
    """Return the fitted model, its quantiles set by the scores that networks give to rows they were not trained on.

    These are the rows `judged` of X, by their vectors in `X_as_new`, which know nothing of the row itself. `predict`
    calls a `share_of_outliers` of them outliers, or of new rows like them.
    `level_is_open`: comparisons say nothing about the level of g, which is then set to 0 at the median row.
    """
    units = Units.of(X)
    found = _judge(
        trained,
        X,
        X_as_new,
        judged=judged,
        units=units,
        kind=calibration,
        clean=clean,
        level_is_open=level_is_open,
    )
    independent = units.first[judged]  # copies of one row say no more than the row itself
    mixing, split = found.calibration.mixing, trained.split
    about = mixing, found.new if of_new_rows else found.own, share_of_outliers
    return Fitted(
        network=trained.network,
        scorer=found.scorer,
        device=trained.device,
        scaling=trained.scaling,
        context=trained.context,
        kinds=found.kinds,
        calibration=found.calibration,
        noise_scale=trained.noise_scale,
        halves=split is not None and split.apart,
        offset=float(_offsets(*about, [t])[0]),
        offset_at_t=float(t),
        offsets=_offsets(*about, np.linspace(0, 1, OFFSET_STEPS + 1).tolist()),
        history=trained.history,
        remembered=trained.remembered,
        names=None if trained.names is None else tuple(map(str, trained.names)),
        inliers=None if split is None else Inliers.of(found.new[independent], "auto", mixing, judged[independent]),
        training_scores=TrainingScores.of(mixing.squeeze(found.new[independent]), columns=trained.columns()),
        typical=found.typical_points(t, trained.scaling),
    )


@dataclass(frozen=True)
class _Judged:
    """Hold the rows judged, the calibration that they have set, and their units."""

    scorer: NetworkScorer
    rows: CheckedRows
    calibration: Calibration
    kinds: Kinds | None
    raw: Matrix  # (n, 2)
    own: Matrix  # (n, 2) as the model scores them
    new: Matrix  # (n, 2) as it would score them if no network had been trained on them

    def typical_points(self, t: float, scaling: Scaling) -> Matrix:
        """Return the deepest point at t, and those of further regions, in the user's units."""
        soft = self.calibration.softened()
        scores, local = self.calibration.mixing.mixed(self.own, float(t)), soft.units(self.raw)[:, 1]
        return typical_points(self.rows, scores, local, Field(self.scorer, soft, reach=1.0), scaling)


def _judge(
    trained: Trained,
    X: CheckedRows,
    X_as_new: CheckedRows,
    *,
    judged: NDArray[np.intp],
    units: Units,
    kind: str,
    clean: bool,
    level_is_open: bool,
) -> _Judged:
    """Score the rows judged, and calibrate the scores by those of networks not trained on the row."""
    rows, scorer = X if len(judged) == X.shape[0] else X[judged], scorer_for(trained.network, trained.device)
    outputs = _outputs(trained, scorer, rows)
    unbiased = _by_others(trained, scorer, outputs, X, X_as_new, judged=judged, units=units)
    unseen = _unseen(trained.split, judged, units, len(outputs))
    apart, given = trained.split is not None and trained.split.apart, trained.context is not None
    fixed, as_new = Calibration.fit(
        kind, unbiased, unseen, clean=clean, apart=apart, level_is_open=level_is_open, given=given
    )
    raw = fixed.raw(outputs)
    own, new, kinds = fixed.units(raw), fixed.units(as_new), None
    if trained.context is not None and kind == "soft":
        kinds, new = _kinds(
            trained, X, judged, new, lambda rows: fixed.units(fixed.raw(_outputs(trained, scorer, rows)))
        )
        own = kinds(own, dense(rows))
    return _Judged(scorer, rows, fixed, kinds, raw, own, new)


def _kinds(
    trained: Trained,
    X: CheckedRows,
    judged: NDArray[np.intp],
    units: Matrix,
    score: Callable[[CheckedRows], Matrix],
) -> tuple[Kinds, Matrix]:
    """Fit how scores differ by kind, and return that with the units of the rows judged, shifted as for new rows.

    Where a single network left few rows out of training, the fit uses training rows too: the network has
    learned all kinds equally well.
    """
    rows = judged
    if trained.split is not None and not trained.split.apart:
        others = evenly_spaced(np.setdiff1d(np.arange(X.shape[0]), judged))
        rows, units = np.concatenate([judged, others]), np.concatenate([units, score(X[others])])
    context = trained.context
    assert context is not None
    things = [levels.columns for levels in context.levels]
    usual = ~outliers_apart(units, SOFT)
    kinds, as_new = Kinds.fit(dense(X[rows[usual]]), units[usual], context.given, things, seed=len(rows))
    moved = kinds(units, dense(X[rows]))
    moved[usual] = as_new
    return kinds, moved[: len(judged)]


def _outputs(trained: Trained, scorer: NetworkScorer, rows: CheckedRows) -> Matrix:  # (members, n, 1 + k)
    """Return the outputs of each network for each row; raise if one is not finite."""
    by_row = block_by_block(
        rows,
        rows_per_block(rows.shape[1]),
        lambda block: np.moveaxis(scorer.of_rows(block, trained.scaling), 0, 1),
        trained.device,
    )
    outputs = np.moveaxis(by_row, 1, 0).astype(np.float64)
    _require_finite(outputs)
    return outputs


def _by_others(
    trained: Trained,
    scorer: NetworkScorer,
    outputs: Matrix,
    X: CheckedRows,
    X_as_new: CheckedRows,
    *,
    judged: NDArray[np.intp],
    units: Units,
) -> Matrix:  # (members, n, 1 + k)
    """Return the outputs for the rows judged, each as if it were new: encoded, and scaled, by the others."""
    if trained.split is None:
        return outputs
    scaling, changed = trained.scaling, np.zeros(X.shape[0], dtype=bool)
    if trained.split.apart:  # else no row judged was used to set a column's end; a copy of the row is no other row
        scaling, ends_change = by_others(trained.scaling, X if units.first.all() else X[units.first])
        changed = ends_change[units.of_row]
    if X_as_new is not X:
        changed = changed | (np.asarray(X_as_new) != np.asarray(X)).any(1)
    places = np.flatnonzero(changed[judged])
    if not len(places):
        return outputs
    found = outputs.copy()
    found[:, places] = _outputs(replace(trained, scaling=scaling), scorer, X_as_new[judged[places]])
    return found


def _unseen(split: Split | None, judged: NDArray[np.intp], units: Units, members: int) -> NDArray[np.bool_]:
    """Say which networks score which rows judged: those not trained on the row, or all if it comes very often."""
    if split is None:
        return np.ones((members, len(judged)), dtype=bool)
    unseen = split.unseen(judged)
    return unseen | units.common[judged] if split.apart else unseen


def _require_finite(outputs: Matrix) -> None:
    """Raise a FloatingPointError if an output is not finite: one would make every quantile NaN."""
    lost = int((~np.isfinite(outputs)).any(axis=(0, 2)).sum())
    if lost:
        raise FloatingPointError(
            f"{lost} of {outputs.shape[1]} training rows have scores that are no finite numbers, though losses were: "
            "extreme values, or an encoder that is not made for them. Look at the largest rows; scaling='auto' bends "
            "far values, a smaller learning_rate (of PaperFUSE) keeps weights small."
        )


def _offsets(mixing: Mixing, units: Matrix, share: float, dial: Sequence[float]) -> Matrix:
    """Estimate for each t of the dial the score below which this share of new rows with such units lies."""
    along_dial = np.stack([mixing.mixed(units, float(t)) for t in dial])
    return np.asarray(np.quantile(along_dial, share, axis=-1, method="weibull"))


def with_report(
    fitted: Fitted, X: CheckedRows, *, held_aside: int, weights: Sequence[float], origins: Origins | None = None
) -> Fitted:
    """Return the model with a report on its fit to the rows X; give the report's alarms as warnings.

    `origins` are the features that the columns of X belong to, where these are not the user's own columns.

    `weights` are those of the local losses, one for each noise scale. They give the losses of a head that has learned
    nothing: a coin toss (global), or a score of zero (local).
    """
    nothing = {"global": float(np.log(2)), "local": 0.5 * float(np.mean(weights))}
    report = examine(
        X,
        fitted.heads,
        held_aside=held_aside,
        history=fitted.history,
        nothing=nothing,
        names=fitted.names,
        center=fitted.scaling.center,
        scaled=fitted.scaling.scaled,
        by_heart=_by_heart(fitted, X),
    )
    if fitted.kinds is not None:
        report = replace(report, kinds=fitted.kinds.measured())
    if origins is not None:
        report = report.of_features(*origins)
    for text in report.alarms:
        tell(text)
    return replace(fitted, report=report)


def calibrated_on(held: CheckedRows, fitted: Fitted) -> Fitted:
    """Return the model calibrated on the rows held aside; warn if it scores them lower than its training rows."""
    found = fitted.training_scores.compare(fitted.heads(held))
    if found.detected() and found.effect < 0:
        tell(
            f"Rows held aside score lower than those learned from (effect {found.effect:+.2f}): the network knows the "
            "latter by heart, so predict calls more than the share asked for of new rows outliers. detect and p_values "
            "go by the rows held aside; to mend predict, train for fewer epochs, or leave out `epochs`."
        )
    return fitted.calibrated(fitted.units(held), "auto")


def _by_heart(fitted: Fitted, X: CheckedRows) -> float:
    """Return the median rise of training rows' local scores when networks trained on them count as much as others."""
    if not fitted.halves:
        return 0.0
    some = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], HEART_ROWS)).astype(np.intp)]
    calibration = fitted.calibration

    def mean_and_lowest(outputs: Outputs) -> Matrix:  # (n, 2, 2)
        return np.stack([calibration.of_members(outputs).mean(0), calibration.raw(outputs)], axis=1)

    raw = in_blocks(fitted.scorer, fitted.scaling, some, mean_and_lowest)
    by_mean, by_lowest = (calibration.units(raw[:, place])[:, 1] for place in (0, 1))
    return float(np.median(by_mean - by_lowest))
