"""Turn trained networks into a fitted model, and remember rows for further training.

It never goes into a file.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._internal.checks import warn_caller
from centrality._internal.input import CheckedRows
from centrality.analysis.conformal import CalibrationRows, outliers_apart, subsample_evenly
from centrality.analysis.drift import TrainingScores
from centrality.analysis.drift_columns import TrainingColumns
from centrality.analysis.report import build_report
from centrality.model.explain import ScoreField, typical_points
from centrality.model.fitted import OFFSET_STEPS, FittedModel, History, block_by_block, map_blocks, scorer_for
from centrality.network.calibration import SOFT, Calibration, Mixing, Outputs
from centrality.network.context import Context, ContextCalibration
from centrality.network.engine_backend import NetworkScorer
from centrality.network.folds import LEARNED_BY_ALL, Folds, Units
from centrality.network.network import Network
from centrality.network.scaling import Scaling, dense, leave_one_out_range, rows_per_block

REMEMBERED_VALUES = 1 << 18  # 2 MiB in float64
FEWEST_REMEMBERED = 256  # rows, however wide they are
MOST_KNOWN = 0.5  # above what chance gives: of rows of equally frequent whole numbers, at most 37% look known
MOST_COMPARED = 20_000  # rows
HYPERGEOMETRIC_ROWS = 10**9  # numpy's hypergeometric draw takes fewer rows than this, old or new


@dataclass(frozen=True)
class Reservoir:
    """A sample of the rows trained on so far; a loaded model has none of them, for a file holds no rows."""

    rows: CheckedRows | None  # in the user's units
    folds: NDArray[np.int8] | None  # for each of those rows, the networks that were not trained on it and never may be
    seen: int  # how many rows it stands for

    @classmethod
    def of(cls, X: CheckedRows, folds: NDArray[np.int8] | None, rng: np.random.Generator) -> "Reservoir":
        """Sample rows of X, taken as all rows that the model was trained on."""
        n, capacity = X.shape[0], _capacity(X)
        kept = np.arange(n) if n <= capacity else _some(n, capacity, rng)
        return cls(X[kept], None if folds is None else folds[kept], n)

    def with_new(self, X: CheckedRows, folds: NDArray[np.int8] | None, rng: np.random.Generator) -> "Reservoir":
        """Return a sample of the old and the new rows together, in which every row seen is equally likely to be."""
        n = X.shape[0]
        seen = self.seen + n
        if self.rows is None:
            return replace(Reservoir.of(X, folds, rng), seen=seen)
        remembered = self.rows.shape[0]
        size = min(_capacity(X), remembered + n)
        # A model loaded from a file has lost its sample: fewer old rows are left than the draw may ask for.
        new = max(_new_among(size, new=n, old=self.seen, rng=rng), size - remembered)
        old, fresh = _some(remembered, size - new, rng), _some(n, new, rng)
        together = _together(self.rows[old], X[fresh])
        if folds is None:
            return Reservoir(together, None, seen)
        of_old = np.full(len(old), LEARNED_BY_ALL, dtype=np.int8) if self.folds is None else self.folds[old]
        return Reservoir(together, np.concatenate([of_old, folds[fresh]]), seen)

    def with_its_copies(self, X: CheckedRows, folds: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the folds of new rows, with those that copy remembered rows in the folds of these."""
        if self.rows is None or self.folds is None:
            return folds
        units, old = Units.of(_together(self.rows, X)), self.rows.shape[0]
        first = np.flatnonzero(units.first)[units.of_row[old:]]
        return np.where(first < old, self.folds[np.minimum(first, old - 1)], folds)

    def warn_of_known(self, rows: CheckedRows | None) -> None:
        """Warn if the sample shows that most of these rows, which should be new, were already trained on."""
        if (share := self.estimated_overlap(rows)) > MOST_KNOWN:
            warn_caller(
                f"About {share:.0%} of these rows are training rows, which the networks have seen: p-values would be "
                "too small, and too many rows would be called outliers. Call calibrate with other rows, or without any."
            )

    def estimated_overlap(self, rows: CheckedRows | None) -> float:
        """Estimate from the sample which share of these rows the model was trained on.

        Only rows that occur once on both sides count: new rows of a few repeated values would look known.
        """
        if not isinstance(rows, np.ndarray) or not isinstance(self.rows, np.ndarray):
            return 0.0
        some = rows[:: max(1, len(rows) // MOST_COMPARED)]
        once = np.intersect1d(unique_rows(some), unique_rows(self.rows), assume_unique=True)
        return min(1.0, len(once) / len(some) * self.seen / len(self.rows))


def _together(old: CheckedRows, new: CheckedRows) -> CheckedRows:
    """Return old rows with new ones below them."""
    if sparse.issparse(new):
        return cast(CheckedRows, sparse.vstack([old, new], format="csr"))
    return np.concatenate([np.asarray(old), np.asarray(new)])


def unique_rows(rows: NDArray[np.generic]) -> NDArray[np.void]:
    """Return the rows that occur once, each packed into one value."""
    values = np.ascontiguousarray(rows, dtype=np.float64) + 0.0  # which makes 0 of -0
    keys, counts = np.unique(values.view(np.dtype((np.void, values.shape[1] * 8))).ravel(), return_counts=True)
    return np.asarray(keys[counts == 1])


def _capacity(X: CheckedRows) -> int:
    """Return the largest number of rows of this width in the sample."""
    return max(FEWEST_REMEMBERED, REMEMBERED_VALUES // int(X.shape[1]))


def _new_among(size: int, *, new: int, old: int, rng: np.random.Generator) -> int:
    """Draw how many of `size` rows are new, if they are chosen at random from new and old rows without repetition."""
    if max(new, old) < HYPERGEOMETRIC_ROWS:
        return int(rng.hypergeometric(new, old, size))
    # Of so many rows hardly any is chosen twice: to allow that changes the variance by less than 0.03%.
    return min(new, int(rng.binomial(size, new / (new + old))))


def _some(n: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return so many of n row numbers, chosen at random without repetition, in their order."""
    return np.sort(rng.choice(n, count, replace=False))


Matrix = NDArray[np.float64]
Origins: TypeAlias = tuple[Sequence[str], NDArray[np.intp]]  # names of features, and for each column whose it is
HEART_ROWS = 1000  # rows that `memorization_gap` scores


@dataclass(frozen=True)
class Trained:
    """Hold the results of training that the fitted model is made from."""

    network: Network
    device: str
    scaling: Scaling
    noise_scale: tuple[float, ...]
    history: History
    remembered: Reservoir
    names: Sequence[str] | None  # of the columns
    context: Context | None  # the rows are relative to their kinds; None: as they are
    split: Folds | None  # None: all members were trained on all rows
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
) -> FittedModel:
    """Return the fitted model, its quantiles set by the scores that networks give to rows they were not trained on.

    These are the rows `judged` of X, by their vectors in `X_as_new`, which know nothing of the row itself. `predict`
    calls a `share_of_outliers` of them outliers, or of new rows like them.
    `level_is_open`: comparisons say nothing about the level of g, which is then set to 0 at the median row.
    """
    units = Units.of(X)
    found = calibrate_on_held_out(
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
    return FittedModel(
        network=trained.network,
        scorer=found.scorer,
        device=trained.device,
        scaling=trained.scaling,
        context=trained.context,
        kinds=found.kinds,
        calibration=found.calibration,
        noise_scale=trained.noise_scale,
        independent_halves=split is not None and split.members_differ,
        offset=float(_offsets(*about, [t])[0]),
        offset_at_t=float(t),
        offsets=_offsets(*about, np.linspace(0, 1, OFFSET_STEPS + 1).tolist()),
        history=trained.history,
        remembered=trained.remembered,
        names=None if trained.names is None else tuple(map(str, trained.names)),
        inliers=None
        if split is None
        else CalibrationRows.of(found.new[independent], "auto", mixing, judged[independent]),
        training_scores=TrainingScores.of(mixing.squeeze(found.new[independent]), columns=trained.columns()),
        typical=found.typical_points(t, trained.scaling),
    )


@dataclass(frozen=True)
class _Judged:
    """Hold the rows judged, the calibration that they have set, and their units."""

    scorer: NetworkScorer
    rows: CheckedRows
    calibration: Calibration
    kinds: ContextCalibration | None
    raw: Matrix  # (n, 2)
    own: Matrix  # (n, 2) as the model scores them
    new: Matrix  # (n, 2) as it would score them if no network had been trained on them

    def typical_points(self, t: float, scaling: Scaling) -> Matrix:
        """Return the deepest point at t, and those of further regions, in the user's units."""
        soft = self.calibration.as_soft()
        scores, local = self.calibration.mixing.mixed(self.own, float(t)), soft.units(self.raw)[:, 1]
        return typical_points(self.rows, scores, local, ScoreField(self.scorer, soft, reach=1.0), scaling)


def calibrate_on_held_out(
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
    apart, given = trained.split is not None and trained.split.members_differ, trained.context is not None
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
) -> tuple[ContextCalibration, Matrix]:
    """Fit how scores differ by kind, and return that with the units of the rows judged, shifted as for new rows.

    Where a single network left few rows out of training, the fit uses training rows too: the network has
    learned all kinds equally well.
    """
    rows = judged
    if trained.split is not None and not trained.split.members_differ:
        others = subsample_evenly(np.setdiff1d(np.arange(X.shape[0]), judged))
        rows, units = np.concatenate([judged, others]), np.concatenate([units, score(X[others])])
    context = trained.context
    assert context is not None
    things = [levels.columns for levels in context.levels]
    usual = ~outliers_apart(units, SOFT)
    kinds, as_new = ContextCalibration.fit(dense(X[rows[usual]]), units[usual], context.given, things, seed=len(rows))
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
    if (
        trained.split.members_differ
    ):  # else no row judged was used to set a column's end; a copy of the row is no other row
        scaling, ends_change = leave_one_out_range(trained.scaling, X if units.first.all() else X[units.first])
        changed = ends_change[units.of_row]
    if X_as_new is not X:
        changed = changed | (np.asarray(X_as_new) != np.asarray(X)).any(1)
    places = np.flatnonzero(changed[judged])
    if not len(places):
        return outputs
    found = outputs.copy()
    found[:, places] = _outputs(replace(trained, scaling=scaling), scorer, X_as_new[judged[places]])
    return found


def _unseen(split: Folds | None, judged: NDArray[np.intp], units: Units, members: int) -> NDArray[np.bool_]:
    """Say which networks score which rows judged: those not trained on the row, or all if it comes very often."""
    if split is None:
        return np.ones((members, len(judged)), dtype=bool)
    unseen = split.unseen(judged)
    return unseen | units.common[judged] if split.members_differ else unseen


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
    fitted: FittedModel, X: CheckedRows, *, held_aside: int, weights: Sequence[float], origins: Origins | None = None
) -> FittedModel:
    """Return the model with a report on its fit to the rows X; give the report's alarms as warnings.

    `origins` are the features that the columns of X belong to, where these are not the user's own columns.

    `weights` are those of the local losses, one for each noise scale. They give the losses of a head that has learned
    nothing: a coin toss (global), or a score of zero (local).
    """
    nothing = {"global": float(np.log(2)), "local": 0.5 * float(np.mean(weights))}
    report = build_report(
        X,
        fitted.heads,
        held_aside=held_aside,
        history=fitted.history,
        nothing=nothing,
        names=fitted.names,
        center=fitted.scaling.center,
        scaled=fitted.scaling.scaled,
        by_heart=memorization_gap(fitted, X),
    )
    if fitted.kinds is not None:
        report = replace(report, kinds=fitted.kinds.count_categories())
    if origins is not None:
        report = report.of_features(*origins)
    for text in report.alarms:
        warn_caller(text)
    return replace(fitted, report=report)


def calibrated_on(held: CheckedRows, fitted: FittedModel) -> FittedModel:
    """Return the model calibrated on the rows held aside; warn if it scores them lower than its training rows."""
    found = fitted.training_scores.compare(fitted.heads(held))
    if found.detected() and found.effect < 0:
        warn_caller(
            f"Rows held aside score lower than those learned from (effect {found.effect:+.2f}): the network knows the "
            "latter by heart, so predict calls more than the share asked for of new rows outliers. detect and p_values "
            "go by the rows held aside; to mend predict, train for fewer epochs, or leave out `epochs`."
        )
    return fitted.calibrated(fitted.units(held), "auto")


def memorization_gap(fitted: FittedModel, X: CheckedRows) -> float:
    """Return the median rise of training rows' local scores when networks trained on them count as much as others."""
    if not fitted.independent_halves:
        return 0.0
    some = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], HEART_ROWS)).astype(np.intp)]
    calibration = fitted.calibration

    def mean_and_lowest(outputs: Outputs) -> Matrix:  # (n, 2, 2)
        return np.stack([calibration.of_members(outputs).mean(0), calibration.raw(outputs)], axis=1)

    raw = map_blocks(fitted.scorer, fitted.scaling, some, mean_and_lowest)
    by_mean, by_lowest = (calibration.units(raw[:, place])[:, 1] for place in (0, 1))
    return float(np.median(by_mean - by_lowest))
