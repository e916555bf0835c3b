"""Keep the losses of a run of training, and raise when they are no longer finite."""

import numpy as np
from numpy.typing import NDArray

from centrality.training.plan import Plan

HISTORY_LINES = 50  # that a budget of steps leaves, however many steps it has

Losses = NDArray[np.float32]  # (steps, 2) global, local
History = dict[str, list[float]]


def empty_history() -> History:
    """Return a history without lines: the number of a step, and the mean losses of both heads up to it."""
    return {"step": [], "global": [], "local": []}


def record(history: History, step: int, losses: Losses) -> None:
    """Add one line to the history."""  # losses: (2,) global, local
    for column, value in zip(history.values(), (step, *losses.tolist()), strict=True):
        column.append(value)


def record_stretches(history: History, losses: Losses) -> None:
    """Add the first step's losses, those of the untrained network, then means over equal stretches of steps."""
    ends = np.unique(np.linspace(0, len(losses), min(HISTORY_LINES, len(losses)) + 1).astype(int)[1:])
    record(history, 1, losses[0])
    for start, end in zip([0, *ends], ends, strict=False):
        if end > 1:
            record(history, int(end), losses[start:end].mean(0))


def require_finite(losses: Losses, step: int, plan: Plan) -> None:
    """Raise a FloatingPointError that says what to do if training has diverged."""  # losses: (steps, 2)
    bad = ~np.isfinite(losses)
    if not bad.any():
        return
    row = int(np.flatnonzero(bad.any(1))[0])
    column = 0 if bad[row, 0] else 1
    raise FloatingPointError(
        f"Training diverged: the {('global', 'local')[column]} loss is {float(losses[row, column])} after {step} "
        f"steps. A smaller learning_rate than {plan.learning_rate} (of PaperFUSE) or a larger noise_scale than "
        f"{plan.noise_scales} was wanted; scaling='auto' evens out columns of unlike scale."
    )
