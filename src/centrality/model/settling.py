"""Make a fitted model of a trained network: everything that follows from its scores of the training rows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from centrality._estimator import CheckedRows
from centrality.model.blocks import in_blocks
from centrality.model.explanations import centre_of
from centrality.model.fitted import OFFSET_STEPS, Fitted, History
from centrality.model.replay import Memory
from centrality.network.network import Network
from centrality.network.scaling import Scaling
from centrality.network.scorer import Scorer
from centrality.scores.calibration import Calibration, blend
from centrality.scores.drift import TrainingScores
from centrality.scores.report import examine


@dataclass(frozen=True)
class Trained:
    """Hold what training leaves behind."""

    network: Network
    scaling: Scaling
    noise_scale: tuple[float, ...]
    history: History
    replay: Memory
    names: Sequence[str] | None  # of the columns


def settled(
    trained: Trained, seen: CheckedRows, *, calibration: str, t: float, share_of_outliers: float, level_is_open: bool
) -> Fitted:
    """Return the fitted model, its quantiles set by the rows `seen`.

    `level_is_open`: comparisons say nothing about the level of g, so the median row is given 1/2. The paper's schedule
    leaves g where training ended.
    """
    by_row = in_blocks(Scorer(trained.network), trained.scaling, seen, lambda outputs: np.moveaxis(outputs, 0, 1))
    outputs = np.moveaxis(by_row, 1, 0)  # (members, n, 1 + k)
    if level_is_open:
        level = np.median(outputs[:, :, 0], axis=1)
        outputs[:, :, 0] -= level[:, None]
        trained.network.shift_logit(-level)
    fixed = Calibration.fit(calibration, outputs)
    raw = fixed.raw(outputs)
    heads, unbounded, steps = fixed.heads(raw), fixed.unbounded(raw), np.linspace(0, 1, OFFSET_STEPS + 1)
    return Fitted(
        network=trained.network,
        scaling=trained.scaling,
        calibration=fixed,
        noise_scale=trained.noise_scale,
        offset=float(np.quantile(blend(unbounded, t), share_of_outliers)),
        offset_at_t=float(t),
        offsets=np.array([np.quantile(blend(unbounded, at), share_of_outliers) for at in steps]),
        history=trained.history,
        replay=trained.replay,
        names=None if trained.names is None else tuple(map(str, trained.names)),
        training_scores=TrainingScores.of(heads),
        center=centre_of(seen, blend(heads, t), trained.scaling),
    )


def examined(fitted: Fitted, X: CheckedRows, *, held_aside: int, weights: Sequence[float]) -> Fitted:
    """Return the model with a report on how its fit to the rows X went.

    `weights` are those of the local losses, one for each noise scale. Knowing nothing is a coin toss for the global
    head, and a score of zero for the local one.
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
    )
    return replace(fitted, report=report)
