"""Make a fitted model of a trained network: everything that follows from its scores of the training rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._checks import tell
from centrality._estimator import CheckedRows
from centrality.model.blocks import in_blocks
from centrality.model.explanations import Field
from centrality.model.fitted import OFFSET_STEPS, Fitted, History
from centrality.model.replay import Memory
from centrality.model.scorers import scorer_for
from centrality.model.typical import typical_points
from centrality.network.network import Network
from centrality.network.scaling import Scaling
from centrality.scores.calibration import Calibration
from centrality.scores.conformal import Inliers
from centrality.scores.drift import TrainingScores
from centrality.scores.folds import Split
from centrality.scores.report import examine

Matrix = NDArray[np.float64]
Origins: TypeAlias = tuple[Sequence[str], NDArray[np.intp]]  # names of features, and for each column whose it is
HEART_ROWS = 1000  # rows looked at to find out what networks know by heart


@dataclass(frozen=True)
class Trained:
    """Hold what training leaves behind."""

    network: Network
    device: str
    scaling: Scaling
    noise_scale: tuple[float, ...]
    history: History
    replay: Memory
    names: Sequence[str] | None  # of the columns
    split: Split | None = None  # None: all members have learned from all rows


def settled(
    trained: Trained,
    X: CheckedRows,
    judged: NDArray[np.intp],
    *,
    calibration: str,
    t: float,
    share_of_outliers: float,
    clean: bool,
    level_is_open: bool,
) -> Fitted:
    """Return the fitted model, its quantiles set by what members say of rows that they have not seen.

    These are the rows `judged` of X.

    `level_is_open`: comparisons say nothing about the level of g, nor scores about that of a potential. So members are
    put on one level, and the median row is given g = 0. The paper's schedule leaves both where training ended.
    """
    seen = X if len(judged) == X.shape[0] else X[judged]
    by_row = in_blocks(
        scorer_for(trained.network, trained.device), trained.scaling, seen, lambda outputs: np.moveaxis(outputs, 0, 1)
    )
    outputs = np.moveaxis(by_row, 1, 0).astype(np.float64)  # (members, n, 1 + k)
    _require_finite(outputs)
    if level_is_open:
        _level(trained.network, outputs, np.median(outputs, axis=1))
    if trained.split is not None:
        trained.split.folds.honest(outputs, np.arange(outputs.shape[1]), trained.split.own[judged])
    if level_is_open:
        common = np.zeros((len(outputs), outputs.shape[2]))
        common[:, 0] = np.median(outputs[:, :, 0].mean(0))
        _level(trained.network, outputs, common)
    fixed = Calibration.fit(calibration, outputs, clean=clean)
    raw = fixed.raw(outputs)
    heads, scores = fixed.heads(raw), fixed.scores(raw, t)
    by_t = (fixed.scores(raw, float(at)) for at in np.linspace(0, 1, OFFSET_STEPS + 1))
    field = Field(scorer_for(trained.network, trained.device), fixed.softened(), reach=1.0, t=1.0)
    return Fitted(
        network=trained.network,
        device=trained.device,
        scaling=trained.scaling,
        calibration=fixed,
        noise_scale=trained.noise_scale,
        offset=_quantile(scores, share_of_outliers),
        offset_at_t=float(t),
        offsets=np.array([_quantile(each, share_of_outliers) for each in by_t]),
        history=trained.history,
        replay=trained.replay,
        names=None if trained.names is None else tuple(map(str, trained.names)),
        folds=None if trained.split is None else trained.split.folds,
        inliers=None if trained.split is None else Inliers.of(heads),
        training_scores=TrainingScores.of(heads),
        typical=typical_points(seen, scores, fixed.units(raw)[:, 1], field, trained.scaling),
    )


def _require_finite(outputs: Matrix) -> None:
    """Raise a FloatingPointError if a row has no score: all quantiles would be lost with it."""
    lost = int((~np.isfinite(outputs)).any(axis=(0, 2)).sum())
    if lost:
        raise FloatingPointError(
            f"{lost} of {outputs.shape[1]} training rows have scores that are no finite numbers, though losses were: "
            "extreme values, or an encoder that is not made for them. Look at the largest rows; scaling='auto' bends "
            "far values, a smaller learning_rate keeps weights small."
        )


def _quantile(scores: Matrix, share: float) -> float:
    """Return the score below which this share of new rows lies, so far as these tell."""
    return float(np.quantile(scores, share, method="weibull"))


def _level(network: Network, outputs: Matrix, level: Matrix) -> None:
    """Take these levels, (members, 1 + k), from what the networks say, now and ever after."""
    outputs -= level[:, None]
    network.shift_logit(-level[:, 0])
    network.shift_potentials(-level[:, 1:])


def examined(
    fitted: Fitted, X: CheckedRows, *, held_aside: int, weights: Sequence[float], origins: Origins | None = None
) -> Fitted:
    """Return the model with a report on how its fit to the rows X went; warn of what must not be overlooked.

    `origins` are the features that the columns of X stand for, where these are no columns of the user's.

    `weights` are those of the local losses, one for each noise scale. A head that has learned nothing is a coin toss
    (global), or a score of zero (local).
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
    if origins is not None:
        report = report.of_features(*origins)
    for text in report.alarms:
        tell(text)
    return replace(fitted, report=report)


def measured_by(held: CheckedRows, fitted: Fitted) -> Fitted:
    """Return the model with the rows held aside as its measure; warn if it knows the rows it learned from by heart."""
    found = fitted.known_training_scores().compare(fitted.comparable_heads(held))
    if found.detected() and found.effect < 0:
        tell(
            f"Rows held aside score lower than those learned from (effect {found.effect:+.2f}): the network knows the "
            "latter by heart, so predict calls more than the share asked for of new rows outliers. detect and p_values "
            "go by the rows held aside; to mend predict, train for fewer epochs, or leave out `epochs`."
        )
    return fitted.calibrated(fitted.heads(held))


def _by_heart(fitted: Fitted, X: CheckedRows) -> float:
    """Say how much more typical members find rows that they have seen than those that have not, by the local head."""
    if fitted.folds is None or not len(fitted.folds.known):
        return 0.0
    some = X[np.linspace(0, X.shape[0] - 1, min(X.shape[0], HEART_ROWS)).astype(np.intp)]
    units = [fitted.calibration.units(raw)[:, 1] for raw in (fitted.raw_of_all(some), fitted.raw(some))]
    return float(np.median(units[0] - units[1]))
