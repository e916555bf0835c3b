"""Choose the learner of a network: the engine for our own on a CPU, torch for a user's encoder or a GPU."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional
from centrality.engine import engine
from centrality.network.devices import is_cpu
from centrality.network.network import Network
from centrality.training.batches import Batch, BatchSizes, DrawnSteps
from centrality.training.history import Losses
from centrality.training.noise import RowScales
from centrality.training.plan import Task

MEAN_DECAY, SQUARE_DECAY, SMALLEST_ROOT = 0.9, 0.999, 1e-8  # Adam's usual β₁, β₂ and ε

State = dict[str, NDArray[Any]]


class Learner(Protocol):
    """Trains a network, one step after another."""

    losses: Losses  # of the steps that `take_steps` took last

    def running(self) -> AbstractContextManager[object]:
        """Prepare for training, and clean up after it."""

    def take_steps(
        self, drawn: DrawnSteps, sizes: BatchSizes, row_scales: RowScales, rates: NDArray[np.float64]
    ) -> Iterator[int]:
        """Take the steps of our schedule, both heads in each, and yield how many were taken since the last time.

        `rates` are the learning rates of these steps.
        """

    def take_step(self, batch: Batch, rate: float) -> Losses:
        """Take one step, and return the losses before it: 0 for a head that has no rows."""  # (2,)

    def renew(self) -> None:
        """Update what depends on the rows held, which have just been replaced by others."""

    def state(self) -> State:
        """Return a copy of everything that a step changes, by name."""

    def restore(self, state: State) -> None:
        """Set everything that a step changes to this state."""

    def finish(self) -> Network:
        """Return the network with the weights it has now."""


def learner_for(task: Task, *, balance: float) -> Learner:
    """Return the learner of this task's network; `balance` is the weight of the global loss beside the local one."""
    if task.network.layout.standard and is_cpu(task.device):
        from centrality.training.engine_learner import EngineLearner

        return EngineLearner(task, engine(), balance=balance)
    optional("torch", "torch")
    from centrality.training.torch_learner import TorchLearner  # brings torch

    return TorchLearner(task, balance=balance)


def corrected(learning_rates: NDArray[np.float64], first: int = 1) -> NDArray[np.float32]:
    """Return the learning rates of steps `first`, `first` + 1, ... with Adam's bias correction."""
    step = np.arange(first, first + len(learning_rates))
    correction = np.sqrt(1 - SQUARE_DECAY**step) / (1 - MEAN_DECAY**step)
    return np.asarray(learning_rates * correction, dtype=np.float32)
