"""Choose what teaches a network: the engine for our own on a CPU, torch for a user's encoder or a GPU."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.engine import engine
from centrality.network.devices import is_cpu
from centrality.network.network import Network
from centrality.training.batches import BatchSizes, DrawnSteps
from centrality.training.history import Losses
from centrality.training.noise import Turns
from centrality.training.plan import Task

State = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Lesson:
    """The rows of one step for one head, or for both: candidates, then rows that are noised; either may be missing."""

    positions: NDArray[np.int64]  # (members, 2b + r) first candidates, second ones, rows to be noised
    preferred: NDArray[np.float32] | None = None  # (members, s, b) π̂ of first i against second i, i + 1, ...
    drawn: NDArray[np.float32] | None = None  # (members, r, p) standard normal
    turns: Turns | None = None

    @property
    def candidates(self) -> int:
        """Return b, how many first candidates there are."""
        return 0 if self.preferred is None else self.preferred.shape[2]


class Learner(Protocol):
    """Teaches a network one step after another."""

    losses: Losses  # of the steps that `take_steps` took last

    def running(self) -> AbstractContextManager[object]:
        """Prepare for training, and clean up after it."""

    def take_steps(
        self, drawn: DrawnSteps, sizes: BatchSizes, turns: Turns, rates: NDArray[np.float64]
    ) -> Iterator[int]:
        """Take the steps of our schedule, both heads in each, and yield how many were taken since the last time.

        `rates` are the learning rates of these steps.
        """

    def learn(self, lesson: Lesson, rate: float) -> Losses:
        """Take one step, and return the losses before it: 0 for a head that has no rows."""  # (2,)

    def renew(self) -> None:
        """Take note that training holds other rows now."""

    def state(self) -> State:
        """Return a copy of everything that a step changes, by name."""

    def restore(self, state: State) -> None:
        """Go on from this state."""

    def finish(self) -> Network:
        """Return the network with the weights it has now."""


def learner_for(task: Task, *, balance: float) -> Learner:
    """Return what teaches this task's network; `balance` weighs the global loss against the local one."""
    if task.network.layout.standard and is_cpu(task.device):
        from centrality.training.engine_learner import EngineLearner

        return EngineLearner(task, engine(), balance=balance)
    optional("torch", "torch")
    from centrality.training.torch_learner import TorchLearner  # brings torch

    return TorchLearner(task, balance=balance)
