"""Train with the compiled engine.

Members share nothing, nor do the two heads of a member that have a trunk each: each is trained on its own, and so
threads change no bit of the result.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality.engine import Engine
from centrality.network.devices import cores
from centrality.network.gaussians import LOWEST
from centrality.network.network import PRIOR_PARTS, Network
from centrality.training.batches import Batch, BatchSizes, DrawnSteps
from centrality.training.comparisons import NamedMetric
from centrality.training.history import Losses
from centrality.training.learner import MEAN_DECAY, SMALLEST_ROOT, SQUARE_DECAY, State, corrected
from centrality.training.noise import RowScales
from centrality.training.plan import Task


@dataclass(frozen=True)
class _Batches:
    """Hold the batches of some steps."""

    positions: NDArray[np.int64]  # (steps, members, 2b + r + m)
    noise: NDArray[np.float32]  # (steps, members, r, p)
    preferred: NDArray[np.float32] | None  # (steps, members, opponents, b)
    candidates: int  # b
    opponents: int


class EngineLearner:
    """Trains our own networks on a CPU."""

    def __init__(self, task: Task, engine: Engine, *, balance: float) -> None:
        self._task, self._engine, self._balance = task, engine, balance
        layout, weights = task.network.layout, task.network.weights
        self._values = np.concatenate([weights[name].reshape(layout.members, -1) for name in layout.shapes()], axis=1)
        self._mean, self._square = np.zeros_like(self._values), np.zeros_like(self._values)  # Adam's moments
        self._taken = np.zeros(1, dtype=np.int64)  # steps so far
        prior = task.network.prior
        self._prior = engine.Mixture(*(prior[name] for name in PRIOR_PARTS), LOWEST) if prior else None
        self.losses: Losses = np.zeros((0, 2), dtype=np.float32)

    def running(self) -> AbstractContextManager[object]:
        """Do nothing: there is nothing to prepare."""
        return nullcontext()

    def take_steps(
        self, drawn: DrawnSteps, sizes: BatchSizes, row_scales: RowScales, rates: NDArray[np.float64]
    ) -> Iterator[int]:
        """Take the steps of our schedule, and yield their number."""
        noise = self._task.standard_normal(len(drawn), sizes.members, sizes.noised, self._task.rows.width)
        batches = _Batches(drawn.positions, noise, drawn.preferred, sizes.candidates, sizes.opponents)
        self.losses = self._train_members(batches, row_scales, rates)
        yield len(drawn)

    def take_step(self, batch: Batch, rate: float) -> Losses:
        """Take one step, and return the losses before it."""
        preferred, noise = batch.preferred, batch.noise
        if noise is None:
            noise = np.empty((self._task.network.members, 0, self._task.rows.width), dtype=np.float32)
        batches = _Batches(
            positions=batch.positions[None],
            noise=noise[None],
            preferred=None if preferred is None else preferred[None],
            candidates=batch.candidates,
            opponents=0 if preferred is None else preferred.shape[1],
        )
        row_scales = batch.row_scales or RowScales.cycled(
            np.ones(self._task.network.layout.potentials), 0, balanced=False
        )
        return np.asarray(self._train_members(batches, row_scales, np.array([rate]))[0])

    def _train_members(self, batches: _Batches, row_scales: RowScales, rates: NDArray[np.float64]) -> Losses:
        """Train every member, and return the mean of their losses."""
        layout, steps = self._task.network.layout, len(batches.positions)
        each, losses = corrected(rates, int(self._taken[0]) + 1), np.zeros((layout.members, steps, 2), dtype=np.float32)
        self._taken += len(rates)
        apart = layout.trunks == 2 and batches.noise.size > 0 and batches.candidates > 0  # else one head is trained
        # The local head has most of the work: it comes first, so that no thread begins with it when others are done.
        heads = ("local", "global") if apart else ("both",)
        jobs = [(member, head) for head in heads for member in range(layout.members)]

        def train(job: tuple[int, str]) -> None:
            self._train_member(*job, batches, row_scales, rates=each, losses=losses[job[0]])

        threads = min(cores(), len(jobs))
        if threads == 1:
            for job in jobs:
                train(job)
        else:
            with ThreadPoolExecutor(threads) as pool:
                list(pool.map(train, jobs))
        return np.asarray(np.mean(losses, axis=0, dtype=np.float64), dtype=np.float32)

    def _train_member(
        self,
        member: int,
        heads: str,
        batches: _Batches,
        row_scales: RowScales,
        *,
        rates: NDArray[np.float32],
        losses: Losses,
    ) -> None:
        """Train these heads of a member, "both" or one that has a trunk of its own, and fill in their losses."""
        task = self._task
        named = task.comparison if isinstance(task.comparison, NamedMetric) else None
        self._engine.train(
            values=self._values[member],
            mean=self._mean[member],
            square=self._square[member],
            hidden=list(task.network.layout.hidden),
            trunks=task.network.layout.trunks,
            rows=task.rows.all,
            vectors=task.rows.all if named is None else named.vectors,
            metric="given" if named is None else named.kernel,
            tie=0.0 if named is None else named.tie,
            positions=np.ascontiguousarray(batches.positions[:, member]),
            noise=np.ascontiguousarray(batches.noise[:, member]),
            preferred=None if batches.preferred is None else np.ascontiguousarray(batches.preferred[:, member]),
            candidates=batches.candidates,
            opponents=batches.opponents,
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
            prior=self._prior,
            heads=heads,
        )

    def renew(self) -> None:
        """Do nothing: rows are looked up where they are held."""

    def state(self) -> State:
        """Return a copy of everything that a step changes, by name."""
        return {name: array.copy() for name, array in self._arrays().items()}

    def restore(self, state: State) -> None:
        """Set everything that a step changes to this state."""
        for name, array in self._arrays().items():
            array[:] = state[name]

    def _arrays(self) -> State:
        return {"values": self._values, "mean": self._mean, "square": self._square, "taken": self._taken}

    def finish(self) -> Network:
        """Return the network with the weights it has now."""
        start, weights = 0, {}
        for name, shape in self._task.network.layout.shapes().items():
            count = int(np.prod(shape[1:]))
            weights[name] = self._values[:, start : start + count].reshape(shape).copy()
            start += count
        return replace(self._task.network, weights=weights)
