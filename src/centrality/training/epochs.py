"""Algorithm 1 of the paper: each epoch one pass of comparisons, then R noise passes over the rows.

Each batch belongs to one head only and is an update of its own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from centrality.training.checkpoint import Checkpoint, TrainingState
from centrality.training.comparisons import preference
from centrality.training.history import empty_history, record, require_finite
from centrality.training.learner import Lesson, learner_for
from centrality.training.noise import Turns
from centrality.training.plan import Task
from centrality.training.schemes import Index, Partition


class Epochs:
    """One run of training by epochs; `history` is its result besides the trained network."""

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
        for lesson in self._lessons():
            self._steps += 1
            losses = self.learner.learn(lesson, plan.learning_rate)
            seen.append([*losses, lesson.preferred is not None, lesson.turns is not None])
            yield 1
            if self._steps == self.planned_steps:
                break
        total = np.asarray(seen, dtype=np.float64).sum(0)  # both losses, and how many batches each head had
        require_finite(total[None, :2], self._steps, plan)
        with np.errstate(invalid="ignore"):  # a head without batches has no loss
            record(self.history, self._steps, total[:2] / total[2:])

    def _lessons(self) -> Iterator[Lesson]:
        """Yield one pass of comparisons, then the noise passes."""
        members = range(self._task.network.members)
        partitions = [Partition(len(self._task.rows), self._task.scheme, self._task.rng) for _ in members]
        yield from self._compared(partitions)
        for _ in range(self._task.plan.resamples):
            yield from self._noised()

    def _compared(self, partitions: list[Partition]) -> Iterator[Lesson]:
        task, plan = self._task, self._task.plan
        for pairs in zip(*(partition.pairs(plan.batch_size) for partition in partitions), strict=True):
            candidates = _stacked([np.concatenate(pair) for pair in pairs])
            # Each pair has anchors of its own, unless it is compared before all of them.
            own = () if task.scheme.all_anchors else (len(pairs[0][0]),)
            anchors = _stacked([partition.draw_anchors(plan.anchors, *own) for partition in partitions])
            preferred = preference(task.comparison, candidates, anchors, literal=plan.literal)
            yield Lesson(candidates, preferred)

    def _noised(self) -> Iterator[Lesson]:
        task, n, size = self._task, len(self._task.rows), self._task.plan.batch_size
        orders = [task.rng.permutation(n) for _ in range(task.network.members)]
        for start in range(0, n, size):
            rows = _stacked([order[start : start + size] for order in orders])
            drawn = task.standard_normal(*rows.shape, task.rows.width)
            turns = Turns.over(task.plan.noise_scales, rows.shape[1], balanced=False)
            if task.plan.literal:  # the losses take the mean over columns
                turns = replace(turns, weight=turns.weight * task.rows.width)
            yield Lesson(rows, drawn=drawn, turns=turns)

    def _state(self) -> TrainingState:
        # Between two epochs nothing is drawn ahead: the next one goes on from where `rng` is.
        return TrainingState.of(self._task, self.learner, self.history, losses=None, resumed_rng=self._task.rng)


def _stacked(positions: Sequence[Index]) -> NDArray[np.int64]:
    return np.stack(positions).astype(np.int64)
