"""Train with the compiled engine.

Members share nothing, nor do the two heads of a member that have a trunk each: each is trained on its own, and so
threads change no bit of the result.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from centrality._internal.devices import cores
from centrality.engine import Engine
from centrality.fuse.batches import Batches
from centrality.fuse.comparisons import NamedMetric
from centrality.fuse.config import Losses, Task
from centrality.network.engine_backend import background_in
from centrality.network.network import Network

MEAN_DECAY, SQUARE_DECAY, SMALLEST_ROOT = 0.9, 0.999, 1e-8  # Adam's usual β₁, β₂ and ε


class EngineTrainer:
    """Trains our own networks on a CPU."""

    def __init__(self, task: Task, engine: Engine, *, balance: float) -> None:
        self._task, self._engine, self._balance = task, engine, balance
        layout, weights = task.network.layout, task.network.weights
        self._values = np.concatenate([weights[name].reshape(layout.members, -1) for name in layout.shapes()], axis=1)
        self._mean, self._square = np.zeros_like(self._values), np.zeros_like(self._values)  # Adam's moments
        self._taken = 0  # steps so far
        self._background = background_in(engine, task.network)
        self._trunks, self._threads = layout.trunks, cores()

    def running(self) -> AbstractContextManager[object]:
        """Do nothing: there is nothing to prepare."""
        return nullcontext()

    def take_steps(self, batches: Batches, rates: NDArray[np.float64], advance: Callable[[int], object]) -> Losses:
        """Take a step for each batch, by its learning rate; return the losses before it, the mean of the members'.

        A head that has no rows has a loss of 0. `advance` is told how many steps were taken.
        """
        members, steps = len(self._values), len(batches)
        each, losses = bias_corrected(rates, self._taken + 1), np.zeros((members, steps, 2), dtype=np.float32)
        self._taken += steps
        apart = self._trunks == 2 and batches.noised > 0 and batches.candidates > 0  # else one head is trained
        # The local head has most of the work: it comes first, so that no thread begins with it when others are done.
        heads = ("local", "global") if apart else ("both",)
        jobs = [(member, head) for head in heads for member in range(members)]

        def train(job: tuple[int, str]) -> None:
            self._train_member(*job, batches, rates=each, losses=losses[job[0]])

        if self._threads == 1 or len(jobs) == 1:
            for job in jobs:
                train(job)
        else:
            with ThreadPoolExecutor(min(self._threads, len(jobs))) as pool:
                list(pool.map(train, jobs))
        advance(steps)
        return np.asarray(np.mean(losses, axis=0, dtype=np.float64), dtype=np.float32)

    def _train_member(
        self, member: int, heads: str, batches: Batches, *, rates: NDArray[np.float32], losses: Losses
    ) -> None:
        """Train these heads of a member, "both" or one that has a trunk of its own, and fill in their losses."""
        task, row_scales = self._task, batches.row_scales
        named = task.comparison if isinstance(task.comparison, NamedMetric) else None
        self._engine.train(
            values=self._values[member],
            mean=self._mean[member],
            square=self._square[member],
            hidden=list(task.network.layout.hidden),
            trunks=self._trunks,
            rows=task.rows.all,
            vectors=task.rows.all if named is None else named.vectors,
            metric="given" if named is None else named.kernel,
            tie=0.0 if named is None else named.tie,
            positions=np.ascontiguousarray(batches.positions[:, member]),
            noise=np.ascontiguousarray(batches.noise[:, member]),
            preferred=None if batches.preferences is None else np.ascontiguousarray(batches.preferences[:, member]),
            candidates=batches.candidates,
            opponents=batches.comparisons_per_candidate,
            potentials=row_scales.potentials,
            eta=row_scales.eta,
            weight=row_scales.weight,
            learned=task.rows.learned,
            balance=self._balance,
            weight_decay=task.plan.weight_decay,
            mean_decay=MEAN_DECAY,
            square_decay=SQUARE_DECAY,
            smallest_root=SMALLEST_ROOT,
            rates=rates,
            losses=losses,
            background=self._background,
            member=member,
            heads=heads,
        )

    def renew(self) -> None:
        """Do nothing: rows are looked up where they are held."""

    def finish(self) -> Network:
        """Return the network with the weights it has now."""
        start, weights = 0, {}
        for name, shape in self._task.network.layout.shapes().items():
            count = int(np.prod(shape[1:]))
            weights[name] = self._values[:, start : start + count].reshape(shape).copy()
            start += count
        return replace(self._task.network, weights=weights)


def bias_corrected(learning_rates: NDArray[np.float64], first: int = 1) -> NDArray[np.float32]:
    """Return the learning rates of steps `first`, `first` + 1, ... with Adam's bias correction."""
    step = np.arange(first, first + len(learning_rates))
    correction = np.sqrt(1 - SQUARE_DECAY**step) / (1 - MEAN_DECAY**step)
    return np.asarray(learning_rates * correction, dtype=np.float32)
