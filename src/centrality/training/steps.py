"""Our schedule: every step takes one batch for each head, and one update follows from the sum of their losses.

The budget of steps does not grow with the number of rows; the learning rate falls to zero over its second half.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from centrality.network.devices import Recorded
from centrality.training.adam import rates
from centrality.training.batches import BatchSampler, BatchSizes, DrawnSteps
from centrality.training.checkpoint import Checkpoint, TrainingState
from centrality.training.comparisons import preference
from centrality.training.history import empty_history, record_stretches, require_finite
from centrality.training.learner import Learner
from centrality.training.losses import Batch, Noise
from centrality.training.plan import Task
from centrality.training.rows import take


class Steps:
    """One run of training by steps; `history` is its result besides the trained network."""

    def __init__(self, task: Task) -> None:
        assert task.plan.max_steps is not None  # the estimator turns its default into a number
        self.planned_steps = budget = task.plan.max_steps
        self.history = empty_history()
        # The local loss is a mean over columns: what one noised row teaches the trunk gets fainter the more there are,
        # and the global head would have the trunk for itself. In the paper's schedule they never meet in a batch.
        self.learner = Learner(task.network, balance=task.rows.width**-0.5, weight_decay=task.plan.weight_decay)
        self._task, self._sizes = task, BatchSizes.of(task)
        self._sampler = BatchSampler(task, self._sizes)
        self._steps_at_once = self._sampler.steps_at_once(budget)
        self._noise = Noise.in_turns(task.noise_scales(), self._sizes.noised, balanced=True)
        self._rates = rates(falling(task.plan.learning_rate, budget)).to(task.device)
        self._losses = torch.zeros(budget, 2, device=task.device)
        self._number = torch.zeros(1, dtype=torch.int64, device=task.device)  # of the step, counted on the device
        self._position = torch.zeros_like(self._number)  # of the step, among those drawn
        self._drawn: DrawnSteps | None = None  # the first ones' memory holds all that follow
        self._rows_used = 0  # since other rows were held

    def run(self, checkpoint: Checkpoint | None) -> Iterator[int]:
        """Train, and yield how many steps were taken since the last time."""
        begun = 0 if checkpoint is None else checkpoint.restore(self._state())
        self._number.fill_(begun)
        take_step = Recorded(self._take_step, self._task.device, able=self._task.network.standard)
        done = 0
        while done < self.planned_steps:
            count = min(self._steps_at_once, self.planned_steps - done)
            if done < begun:
                self._sampler.skip(count)
                yield count
            else:
                self._keep(self._sampler.draw(count))
                for _ in range(count):
                    take_step()
                    yield 1
            done += count
            require_finite(self._losses[done - count : done], done, self._task.plan)
            self._renew_rows_once_used(count)
            if checkpoint is not None and begun < done < self.planned_steps:
                checkpoint.save(self._state(), done)
        record_stretches(self.history, self._losses)

    def _keep(self, drawn: DrawnSteps) -> None:
        if self._drawn is None:
            self._drawn = drawn
            return
        self._drawn.overwrite_with(drawn)
        self._position.zero_()

    def _take_step(self) -> None:
        """Learn from the next batch: all it needs lies on the device, and nothing is asked of the host."""
        assert self._drawn is not None
        task, noised_from = self._task, 2 * self._sizes.candidates
        anchors_from = noised_from + self._sizes.noised
        positions, noise, preferred = self._drawn.step(self._position)
        if preferred is None:
            candidates, anchors = positions[:, :noised_from], positions[:, anchors_from:]
            preferred = preference(task.comparison, candidates, anchors, self._sizes.opponents)
        rows = take(task.rows.z, positions[:, :anchors_from])  # (members, 2b + r, p)
        rows[:, noised_from:].addcmul_(self._noise.eta, noise)
        rate = self._rates.index_select(0, self._number)
        losses = self.learner.learn(Batch(rows, preferred, noise, self._noise), rate)
        self._losses.index_copy_(0, self._number, losses[None])
        self._number.add_(1)
        self._position.add_(1)

    def _renew_rows_once_used(self, steps: int) -> None:
        """Hold other rows once these steps, and those before, have passed over as many rows as are held."""
        task = self._task
        self._rows_used += steps * self._sizes.rows_per_step
        if self._rows_used >= len(task.rows) and not task.rows.holds_all:
            self._rows_used = 0
            task.rows.renew()
            task.comparison.renew()

    def _state(self) -> TrainingState:
        # Rows are drawn ahead, so `rng` is ahead of the steps taken: an interrupted run skips its draws instead.
        return TrainingState.of(self._task, self.learner, self.history, losses=self._losses, resumed_rng=None)


def falling(learning_rate: float, steps: int) -> Tensor:
    """Return a learning rate for each step: constant over the first half, then falling to zero as a parabola."""
    return learning_rate * (2 - 2 * torch.arange(steps) / steps).clamp(max=1).square()
