"""Our schedule: every step takes one batch for each head, and one update follows from the sum of their losses.

The budget of steps does not grow with the number of rows; the learning rate falls to zero over its second half.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from centrality.training.batches import BatchSampler, BatchSizes
from centrality.training.checkpoint import Checkpoint, TrainingState
from centrality.training.history import Losses, empty_history, record_stretches, require_finite
from centrality.training.learner import learner_for
from centrality.training.noise import Turns
from centrality.training.plan import Task


class Steps:
    """One run of training by steps; `history` is its result besides the trained network."""

    def __init__(self, task: Task) -> None:
        assert task.plan.max_steps is not None  # the estimator turns its default into a number
        self.planned_steps = budget = task.plan.max_steps
        self.history = empty_history()
        # The local loss is a mean over columns: what one noised row teaches the trunk gets fainter the more there are,
        # and the global head would have the trunk for itself. In the paper's schedule they never meet in a batch.
        self.learner = learner_for(task, balance=int(task.rows.learned.sum()) ** -0.5)
        self._task, self._sizes = task, BatchSizes.of(task)
        self._sampler = BatchSampler(task, self._sizes)
        self._steps_at_once = self._sampler.steps_at_once(budget)
        self._turns = Turns.over(task.plan.noise_scales, self._sizes.noised, balanced=True)
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
                yield from self.learner.take_steps(drawn, self._sizes, self._turns, self._rates[at])
                self._losses[at] = self.learner.losses
            done += count
            require_finite(self._losses[at], done, self._task.plan)
            self._renew_rows_once_used(count)
            if checkpoint is not None and begun < done < self.planned_steps:
                checkpoint.save(self._state(), done)
        record_stretches(self.history, self._losses)

    def _renew_rows_once_used(self, steps: int) -> None:
        """Hold other rows once these steps, and those before, have passed over as many rows as are held."""
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
