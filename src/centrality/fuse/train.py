"""Our schedule of training: a step takes one batch for each head, and one update follows from the sum of the losses.

The number of steps does not grow with the number of rows. The paper's schedule is in `paper.py`.
"""

import numpy as np
from numpy.typing import NDArray

from centrality.fuse.batches import BatchSampler
from centrality.fuse.comparisons import Comparison
from centrality.fuse.config import FitConfig
from centrality.fuse.data import TrainingData
from centrality.fuse.trainer import Losses, make_trainer
from centrality.model.fitted import History
from centrality.network.network import Network

HISTORY_LINES = 50  # that a budget of steps leaves, however many steps it has


def train(
    network: Network, data: TrainingData, comparison: Comparison, config: FitConfig, rng: np.random.Generator
) -> tuple[Network, History]:
    """Train a copy of the network; return it, and the history of its losses."""
    trainer = make_trainer(
        network,
        data,
        comparison,
        # The local loss is a mean over columns: the more columns, the smaller a noised row's gradient in the trunk,
        # until the global loss alone would shape it.
        balance=int(data.learned_columns.sum()) ** -0.5,
        weight_decay=config.weight_decay,
        device=config.device,
        seed=config.noise_seed,
    )
    sampler = BatchSampler(data, comparison, config, rng)
    rates = decayed_learning_rates(config.learning_rate, config.steps)
    losses: Losses = np.zeros((config.steps, 2), dtype=np.float32)
    rows_used = 0  # since rows were drawn into memory
    at_once = sampler.steps_at_once(config.steps)
    with trainer.running(config.steps, progress=config.progress):
        for start in range(0, config.steps, at_once):
            stop = min(start + at_once, config.steps)
            losses[start:stop] = trainer.take_steps(sampler.draw(stop - start), rates[start:stop])
            require_finite_losses(losses[start:stop], stop, config)
            rows_used += (stop - start) * sampler.rows_per_step
            if not data.holds_all and rows_used >= len(data):
                rows_used = 0
                data.redraw()
                comparison.reload()
                trainer.reload()
    history = empty_history()
    append_mean_losses(history, losses)
    return trainer.network(), history


def decayed_learning_rates(learning_rate: float, steps: int) -> NDArray[np.float64]:
    """Return a learning rate for each step: constant over the first half, then falling to zero as a parabola."""
    return np.asarray(learning_rate * np.square(np.minimum(2 - 2 * np.arange(steps) / steps, 1.0)))


def empty_history() -> History:
    """Return a history without lines: the number of a step, and the mean losses of both heads up to it."""
    return {"step": [], "global": [], "local": []}


def append_line(history: History, step: int, of_global: float, of_local: float) -> None:
    """Append one line to the history."""
    history["step"].append(step)
    history["global"].append(of_global)
    history["local"].append(of_local)


def append_mean_losses(history: History, losses: Losses) -> None:
    """Append the first step's losses, those of the untrained network, then means over equal stretches of steps."""
    stops = np.unique(np.linspace(0, len(losses), min(HISTORY_LINES, len(losses)) + 1).astype(int)[1:])
    append_line(history, 1, *losses[0].tolist())
    for start, stop in zip([0, *stops], stops, strict=False):
        if stop > 1:
            append_line(history, int(stop), *losses[start:stop].mean(0).tolist())


def continued(before: History, later: History) -> History:
    """Return two histories as one; the steps of the second count on from the end of the first."""
    last = before["step"][-1]
    steps = [*before["step"], *(last + step for step in later["step"])]
    return {name: steps if name == "step" else [*before[name], *later[name]] for name in before}


def require_finite_losses(losses: Losses, step: int, config: FitConfig) -> None:
    """Raise a FloatingPointError that says what to do if training has diverged."""  # losses: (steps, 2)
    bad = ~np.isfinite(losses)
    if not bad.any():
        return
    row = int(np.flatnonzero(bad.any(1))[0])
    column = 0 if bad[row, 0] else 1
    raise FloatingPointError(
        f"Training diverged: the {('global', 'local')[column]} loss is {float(losses[row, column])} after {step} "
        f"steps. A smaller learning_rate than {config.learning_rate} (of PaperFUSE) or a larger noise_scale than "
        f"{config.noise_scales} was wanted; scaling='auto' evens out columns of unlike scale."
    )
