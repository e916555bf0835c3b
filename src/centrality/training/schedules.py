"""Train by one of two schedules that combine the two losses: ours, by steps, or the paper's, by epochs.

Ours: every step takes one batch for each head, and one update follows from the sum of their losses. The budget of steps
does not grow with the number of rows; the learning rate falls to zero over its second half.

The paper's, Algorithm 1: each epoch is one pass of comparisons, then R noise passes over the rows. Each batch belongs
to one head only and is an update of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality.network.network import Network
from centrality.training.batches import Batch, BatchSampler, BatchSizes
from centrality.training.checkpoint import Checkpoint, TrainingState
from centrality.training.comparisons import Comparison, preference
from centrality.training.history import History, Losses, empty_history, record, record_stretches, require_finite
from centrality.training.learner import learner_for
from centrality.training.noise import RowScales
from centrality.training.plan import Plan, Task
from centrality.training.rows import Rows
from centrality.training.schemes import Index, Partition


def train(
    network: Network,
    rows: Rows,
    comparison: Comparison,
    plan: Plan,
    *,
    rng: np.random.Generator,
    seed: int,
    device: str,
    checkpoint: Checkpoint | None = None,
) -> tuple[Network, History]:
    """Train a copy of the network on the rows as planned; return it, and the history of its losses.

    `rng` draws rows, `seed` is that of the noise. A `checkpoint` of an interrupted run makes it go on from there.
    """
    noise = np.random.default_rng(seed)
    task = Task(
        network=network, rows=rows, comparison=comparison, plan=plan, rng=rng, noise=noise, seed=seed, device=device
    )
    schedule: Steps | Epochs = Steps(task) if plan.epochs is None else Epochs(task)
    with (
        schedule.learner.running(),
        _progress_bar(schedule.planned_steps, visible=plan.progress) as bar,
    ):
        for steps in schedule.run(checkpoint):
            bar.update(steps)
    return schedule.learner.finish(), schedule.history


def _progress_bar(total: int, *, visible: bool) -> Any:
    from tqdm import tqdm  # here: only a fit needs it

    return tqdm(total=total, disable=not visible, desc="FUSE", unit="step", leave=False)


class Steps:
    """Run training by steps; `history` is a result besides the trained network."""

    def __init__(self, task: Task) -> None:
        assert task.plan.max_steps is not None  # the estimator row_scales its default into a number
        self.planned_steps = budget = task.plan.max_steps
        self.history = empty_history()
        # The local loss is a mean over columns: the more columns, the smaller a noised row's gradient in the trunk,
        # until the global loss alone would shape it. In the paper's schedule the two never share a batch.
        self.learner = learner_for(task, balance=int(task.rows.learned.sum()) ** -0.5)
        self._task, self._sizes = task, BatchSizes.of(task)
        self._sampler = BatchSampler(task, self._sizes)
        self._steps_at_once = self._sampler.steps_at_once(budget)
        self._row_scales = RowScales.cycled(task.plan.noise_scales, self._sizes.noised, balanced=True)
        self._rates = falling(task.plan.learning_rate, budget)
        self._losses: Losses = np.zeros((budget, 2), dtype=np.float32)
        self._rows_used = 0  # since other rows were held

    def run(self, checkpoint: Checkpoint | None) -> Iterator[int]:
        """Train, and yield how many steps were taken since the last time."""
        begun = 0 if checkpoint is None else checkpoint.restore(self._state())
        done = 0
        while done < self.planned_steps:
            count = min(self._steps_at_once, self.planned_steps - done)
            at = slice(done, done + count)
            if done < begun:
                self._sampler.skip(count)
                yield count
            else:
                drawn = self._sampler.draw(count)
                yield from self.learner.take_steps(drawn, self._sizes, self._row_scales, self._rates[at])
                self._losses[at] = self.learner.losses
            done += count
            require_finite(self._losses[at], done, self._task.plan)
            self._renew_rows_once_used(count)
            if checkpoint is not None and begun < done < self.planned_steps:
                checkpoint.save(self._state(), done)
        record_stretches(self.history, self._losses)

    def _renew_rows_once_used(self, steps: int) -> None:
        """Replace the rows held once the steps since the last time have used as many rows as are held."""
        task = self._task
        self._rows_used += steps * self._sizes.rows_per_step
        if self._rows_used >= len(task.rows) and not task.rows.holds_all:
            self._rows_used = 0
            task.rows.renew()
            task.comparison.renew()
            self.learner.renew()

    def _state(self) -> TrainingState:
        # Rows are drawn ahead, so `rng` is ahead of the steps taken: an interrupted run skips its draws instead.
        return TrainingState.of(self._task, self.learner, self.history, losses=self._losses, resumed_rng=None)


def falling(learning_rate: float, steps: int) -> NDArray[np.float64]:
    """Return a learning rate for each step: constant over the first half, then falling to zero as a parabola."""
    return np.asarray(learning_rate * np.square(np.minimum(2 - 2 * np.arange(steps) / steps, 1.0)))


class Epochs:
    """Run training by epochs; `history` is a result besides the trained network."""

    def __init__(self, task: Task) -> None:
        plan, n = task.plan, len(task.rows)
        assert plan.epochs is not None
        of_pairs, of_noise = -(-task.scheme.pairs(n) // plan.batch_size), -(-n // plan.batch_size)
        steps = plan.epochs * (of_pairs + plan.resamples * of_noise)
        self.planned_steps = min(steps, plan.max_steps or steps)
        self.history = empty_history()
        self.learner = learner_for(task, balance=1.0)
        self._task, self._epochs = task, plan.epochs
        self._steps = 0  # taken so far

    def run(self, checkpoint: Checkpoint | None) -> Iterator[int]:
        """Train, and yield how many steps were taken since the last time."""
        self._steps = 0 if checkpoint is None else checkpoint.restore(self._state())
        yield self._steps
        for epoch in range(len(self.history["step"]), self._epochs):
            yield from self._run_epoch()
            if self._steps == self.planned_steps:
                return
            if checkpoint is not None and epoch + 1 < self._epochs:
                checkpoint.save(self._state(), self._steps)

    def _run_epoch(self) -> Iterator[int]:
        """Train for one epoch, or until the budget of steps is used up, and add a line to the history."""
        plan, seen = self._task.plan, []
        for batch in self._batches():
            self._steps += 1
            losses = self.learner.take_step(batch, plan.learning_rate)
            seen.append([*losses, batch.preferred is not None, batch.row_scales is not None])
            yield 1
            if self._steps == self.planned_steps:
                break
        total = np.asarray(seen, dtype=np.float64).sum(0)  # both losses, and how many batches each head had
        require_finite(total[None, :2], self._steps, plan)
        with np.errstate(invalid="ignore"):  # a head without batches has no loss
            record(self.history, self._steps, total[:2] / total[2:])

    def _batches(self) -> Iterator[Batch]:
        """Yield one pass of comparisons, then the noise passes."""
        members = range(self._task.network.members)
        partitions = [Partition(len(self._task.rows), self._task.scheme, self._task.rng) for _ in members]
        yield from self._compared(partitions)
        for _ in range(self._task.plan.resamples):
            yield from self._noised()

    def _compared(self, partitions: list[Partition]) -> Iterator[Batch]:
        task, plan = self._task, self._task.plan
        for pairs in zip(*(partition.pairs(plan.batch_size) for partition in partitions), strict=True):
            candidates = _stacked([np.concatenate(pair) for pair in pairs])
            # Each pair has anchors of its own, unless it is compared by all of them.
            own = () if task.scheme.all_anchors else (len(pairs[0][0]),)
            anchors = _stacked([partition.draw_anchors(plan.anchors, *own) for partition in partitions])
            preferred = preference(task.comparison, candidates, anchors, literal=plan.literal)
            yield Batch(candidates, preferred)

    def _noised(self) -> Iterator[Batch]:
        task, n, size = self._task, len(self._task.rows), self._task.plan.batch_size
        orders = [task.rng.permutation(n) for _ in range(task.network.members)]
        for start in range(0, n, size):
            rows = _stacked([order[start : start + size] for order in orders])
            noise = task.standard_normal(*rows.shape, task.rows.width)
            row_scales = RowScales.cycled(task.plan.noise_scales, rows.shape[1], balanced=False)
            if task.plan.literal:  # the losses take the mean over columns
                row_scales = replace(row_scales, weight=row_scales.weight * task.rows.width)
            yield Batch(rows, noise=noise, row_scales=row_scales)

    def _state(self) -> TrainingState:
        # Between two epochs nothing is drawn ahead: the next one goes on from where `rng` is.
        return TrainingState.of(self._task, self.learner, self.history, losses=None, resumed_rng=self._task.rng)


def _stacked(positions: Sequence[Index]) -> NDArray[np.int64]:
    return np.stack(positions).astype(np.int64)
