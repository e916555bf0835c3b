"""Train by one of two schedules that combine the two losses: ours, by steps, or the paper's, by epochs.

Ours: every step takes one batch for each head, and one update follows from the sum of their losses. The budget of steps
does not grow with the number of rows; the learning rate falls to zero over its second half.

The paper's, Algorithm 1: each epoch is one pass of comparisons, then R noise passes over the rows. Each batch belongs
to one head only and is an update of its own.

One step is followed from here to `batches` (the rows it sees), to `engine_learner`, and into `engine/training.h`.
"""

from collections.abc import Callable
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import optional
from centrality._internal.devices import is_cpu
from centrality.engine import engine
from centrality.fuse.batches import BatchSampler, batches_of_epoch
from centrality.fuse.config import History, Losses, Plan, Task
from centrality.fuse.engine_trainer import EngineTrainer
from centrality.network.network import Network

if TYPE_CHECKING:
    from centrality.fuse.torch_trainer import TorchTrainer

Learner: TypeAlias = "EngineTrainer | TorchTrainer"
Advance = Callable[[int], object]  # told how many steps were taken since the last time

HISTORY_LINES = 50  # that a budget of steps leaves, however many steps it has


def train(task: Task) -> tuple[Network, History]:
    """Train a copy of the task's network as planned; return it, and the history of its losses."""
    from tqdm import tqdm  # here: only a fit needs it

    ours = task.plan.epochs is None
    # The local loss is a mean over columns: the more columns, the smaller a noised row's gradient in the trunk, until
    # the global loss alone would shape it. In the paper's schedule the two never share a batch.
    learner = learner_for(task, balance=int(task.rows.learned.sum()) ** -0.5 if ours else 1.0)
    steps = planned_steps(task)
    with (
        learner.running(),
        tqdm(total=steps, disable=not task.plan.progress, desc="FUSE", unit="step", leave=False) as bar,
    ):
        history = (train_by_steps if ours else train_as_printed)(task, learner, steps, bar.update)
    return learner.finish(), history


def learner_for(task: Task, *, balance: float) -> Learner:
    """Return the learner of this task's network: the engine for our own on a CPU, torch for an encoder or a GPU.

    `balance` is the weight of the global loss beside the local one.
    """
    if task.network.layout.standard and is_cpu(task.device):
        return EngineTrainer(task, engine(), balance=balance)
    optional("torch", "torch")
    from centrality.fuse.torch_trainer import TorchTrainer  # brings torch

    return TorchTrainer(task, balance=balance)


def planned_steps(task: Task) -> int:
    """Return the number of steps: the budget, or fewer where the paper's epochs have fewer."""
    plan, n = task.plan, len(task.rows)
    if plan.epochs is None:
        assert plan.max_steps is not None  # `Plan.of` makes a number of the default
        return plan.max_steps
    of_pairs, of_noise = -(-task.scheme.pairs(n) // plan.batch_size), -(-n // plan.batch_size)
    steps = plan.epochs * (of_pairs + plan.resamples * of_noise)
    return min(steps, plan.max_steps or steps)


def train_by_steps(task: Task, learner: Learner, steps: int, advance: Advance) -> History:
    """Take so many steps of our schedule, and return the history of their losses."""
    sampler, rates = BatchSampler(task), decayed_learning_rates(task.plan.learning_rate, steps)
    losses: Losses = np.zeros((steps, 2), dtype=np.float32)
    history, rows_used = empty_history(), 0  # since the rows held were drawn
    at_once = sampler.steps_at_once(steps)
    for start in range(0, steps, at_once):
        end = min(start + at_once, steps)
        losses[start:end] = learner.take_steps(sampler.draw(end - start), rates[start:end], advance)
        require_finite(losses[start:end], end, task.plan)
        rows_used += (end - start) * sampler.rows_per_step
        if not task.rows.holds_all and rows_used >= task.rows.size:
            rows_used = 0
            task.rows.renew()
            task.comparison.renew()
            learner.renew()
    append_mean_losses(history, losses)
    return history


def decayed_learning_rates(learning_rate: float, steps: int) -> NDArray[np.float64]:
    """Return a learning rate for each step: constant over the first half, then falling to zero as a parabola."""
    return np.asarray(learning_rate * np.square(np.minimum(2 - 2 * np.arange(steps) / steps, 1.0)))


def train_as_printed(task: Task, learner: Learner, steps: int, advance: Advance) -> History:
    """Train for the paper's epochs, or until the budget of steps is used up; return a history of a line an epoch."""
    plan, history = task.plan, empty_history()
    assert plan.epochs is not None
    rate, taken = np.array([plan.learning_rate]), 0
    for _ in range(plan.epochs):
        seen = []
        for batch in islice(batches_of_epoch(task), steps - taken):
            losses = learner.take_steps(batch, rate, advance)[0]
            seen.append([*losses, batch.candidates > 0, batch.noised > 0])
        taken += len(seen)
        total = np.asarray(seen, dtype=np.float64).sum(0)  # both losses, and how many batches each head had
        require_finite(total[None, :2], taken, plan)
        with np.errstate(invalid="ignore"):  # a head without batches has no loss
            record(history, taken, total[:2] / total[2:])
        if taken == steps:
            break
    return history


def empty_history() -> History:
    """Return a history without lines: the number of a step, and the mean losses of both heads up to it."""
    return {"step": [], "global": [], "local": []}


def record(history: History, step: int, losses: Losses) -> None:
    """Add one line to the history."""  # losses: (2,) global, local
    for column, value in zip(history.values(), (step, *losses.tolist()), strict=True):
        column.append(value)


def append_mean_losses(history: History, losses: Losses) -> None:
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
