"""Train networks: our schedule, and the trainers that take its steps.

In each step of our schedule both heads have a batch, and the weights are updated by the sum of their losses. The number
of steps does not grow with the number of rows. The paper's schedule is in `paper.py`.

On a CPU the compiled engine takes the steps (`engine/training.h`); torch takes those of encoders and on GPUs
(`torch_trainer.py`). Each member of an ensemble can be trained on a thread of its own, and so can each head that has
its own encoder: they share no weights, so threads change no bit of the result.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import optional
from centrality._internal.devices import count_threads
from centrality.engine import Engine, engine
from centrality.fuse.batches import Batches, BatchSampler, RowScales
from centrality.fuse.comparisons import Comparison, NamedMetric
from centrality.fuse.config import FitConfig
from centrality.fuse.data import Index, TrainingData
from centrality.model.fitted import History
from centrality.network.engine_backend import background_in
from centrality.network.network import Network

HISTORY_LINES = 50  # of a history, however many steps there are
MEAN_DECAY = 0.9  # Adam's usual β₁,
SQUARE_DECAY = 0.999  # β₂
EPSILON = 1e-8  # and ε

Losses = NDArray[np.float32]  # (steps, 2) global, local


def train(
    network: Network, data: TrainingData, comparison: Comparison, config: FitConfig, rng: np.random.Generator
) -> tuple[Network, History]:
    """Train a copy of the network; return it, and the history of its losses."""
    trainer = make_trainer(
        network,
        data,
        comparison,
        # The local loss is a mean over columns, so its gradient becomes smaller with more columns. The global loss
        # is scaled down as much; otherwise it would dominate the encoder that both heads share.
        balance=int(data.learned_columns.sum()) ** -0.5,
        weight_decay=config.weight_decay,
        device=config.device,
        seed=config.noise_seed,
    )
    sampler = BatchSampler(data, comparison, config, rng)
    rates = decayed_learning_rates(config.learning_rate, config.steps)
    losses: Losses = np.zeros((config.steps, 2), dtype=np.float32)
    rows_used = 0  # since the rows in memory were drawn
    steps_at_once = sampler.steps_at_once(config.steps)
    with trainer.running(config.steps, progress=config.progress):
        for start in range(0, config.steps, steps_at_once):
            stop = min(start + steps_at_once, config.steps)
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
    """Return a history without lines; a line has the number of a step, and both heads' mean losses up to it."""
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
        f"steps. Try a smaller learning_rate than {config.learning_rate} (of PaperFUSE), or a larger noise_scale than "
        f"{config.noise_scales}; scaling='auto' evens out columns of unlike scale."
    )


class Trainer(ABC):
    """Trains a copy of a network, step by step.

    `balance` is the weight of the global loss beside the local one; `weight_decay` is Adam's.
    """

    def __init__(
        self, start: Network, data: TrainingData, comparison: Comparison, *, balance: float, weight_decay: float
    ) -> None:
        self._start = start
        self._data = data
        self._comparison = comparison
        self._balance = balance
        self._weight_decay = weight_decay
        self._taken = 0  # steps so far
        self._advance: Callable[[int], object] = lambda steps: None  # moves the bar
        self.members = start.members
        self.width = data.width

    @contextmanager
    def running(self, steps: int, *, progress: bool) -> Iterator[None]:
        """Show a bar of so many steps while the block runs, if `progress`."""
        from tqdm import tqdm  # here: only a fit needs it

        with tqdm(total=steps, disable=not progress, desc="FUSE", unit="step", leave=False) as bar:
            self._advance = bar.update
            yield

    @abstractmethod
    def take_steps(self, batches: Batches, rates: NDArray[np.float64]) -> Losses:
        """Take a step for each batch, by its learning rate; return the losses before each, averaged over members.

        A head that has no rows has a loss of 0.
        """

    @abstractmethod
    def network(self) -> Network:
        """Return the network with the weights it has now."""

    def reload(self) -> None:
        """Use the rows that the training data holds now. The engine reads them where they are: it has nothing to do."""
        return

    def global_step(self, candidates: Index, preferences: NDArray[np.float32], rate: float) -> float:
        """Take a step for the global head alone, and return its loss.

        Candidates (members, 2b) are b first ones, then b second ones; preferences (members, 1, b) are π̂ of their pairs.
        """
        no_noise = np.empty((1, self.members, 0, self.width), dtype=np.float32)
        no_scales = RowScales.assign([1.0] * self._start.layout.potentials, 0, balanced=False)
        b = preferences.shape[2]
        batch = Batches(candidates[None].astype(np.int64), b, 1, preferences[None], no_noise, no_scales)
        return float(self.take_steps(batch, np.array([rate]))[0, 0])

    def local_step(
        self, rows: Index, noise: NDArray[np.float32], scales: Sequence[float], rate: float, factor: int = 1
    ) -> float:
        """Take a step for the local head alone, on rows (members, r) with noise (members, r, p); return its loss."""
        row_scales = RowScales.assign(scales, rows.shape[1], balanced=False)
        row_scales = replace(row_scales, weight=row_scales.weight * factor)
        batch = Batches(rows[None].astype(np.int64), 0, 0, None, noise[None], row_scales)
        return float(self.take_steps(batch, np.array([rate]))[0, 1])


def make_trainer(
    start: Network,
    data: TrainingData,
    comparison: Comparison,
    *,
    balance: float,
    weight_decay: float,
    device: str,
    seed: int,
) -> Trainer:
    """Return the trainer of this network: the engine for our own on a CPU, torch for an encoder or a GPU.

    `seed` is that of an encoder's random numbers, such as dropout.
    """
    if start.layout.standard and device == "cpu":
        return EngineTrainer(start, data, comparison, engine(), balance=balance, weight_decay=weight_decay)
    optional("torch", "torch")
    from centrality.fuse.torch_trainer import TorchTrainer  # brings torch

    return TorchTrainer(start, data, comparison, balance=balance, weight_decay=weight_decay, device=device, seed=seed)


class EngineTrainer(Trainer):
    """Trains our own networks on a CPU."""

    def __init__(
        self,
        start: Network,
        data: TrainingData,
        comparison: Comparison,
        engine: Engine,
        *,
        balance: float,
        weight_decay: float,
    ) -> None:
        super().__init__(start, data, comparison, balance=balance, weight_decay=weight_decay)
        weights = [start.weights[name].reshape(start.members, -1) for name in start.layout.shapes()]
        self._engine = engine
        self._weights = np.concatenate(weights, axis=1)  # (members, ..) all weights of a member, one after another
        self._mean = np.zeros_like(self._weights)  # Adam's moments
        self._square = np.zeros_like(self._weights)
        self._background = background_in(engine, start)
        self._threads = count_threads()

    def take_steps(self, batches: Batches, rates: NDArray[np.float64]) -> Losses:
        """Take a step for each batch: each member, and each head that shares nothing, on a thread of its own."""
        corrected = bias_corrected(rates, self._taken + 1)
        losses = np.zeros((self.members, len(batches), 2), dtype=np.float32)
        self._taken += len(batches)
        has_both_heads = batches.noised > 0 and batches.candidates > 0
        # The local head has most of the work. It comes first, so that no thread begins with it when others are done.
        heads = ("local", "global") if self._start.layout.trunks == 2 and has_both_heads else ("both",)
        members = [member for _ in heads for member in range(self.members)]
        heads_of_members = [head for head in heads for _ in range(self.members)]
        train = partial(self._train_member, batches=batches, rates=corrected, losses=losses)
        if self._threads == 1 or len(members) == 1:
            list(map(train, members, heads_of_members))
        else:
            with ThreadPoolExecutor(min(self._threads, len(members))) as pool:
                list(pool.map(train, members, heads_of_members))
        self._advance(len(batches))
        return np.asarray(np.mean(losses, axis=0, dtype=np.float64), dtype=np.float32)

    def _train_member(
        self, member: int, heads: str, batches: Batches, *, rates: NDArray[np.float32], losses: Losses
    ) -> None:
        """Train these heads of a member, "both" or one that has a trunk of its own, and fill in losses[member]."""
        row_scales = batches.row_scales
        named = self._comparison if isinstance(self._comparison, NamedMetric) else None
        self._engine.train(
            values=self._weights[member],
            mean=self._mean[member],
            square=self._square[member],
            hidden=list(self._start.layout.hidden),
            trunks=self._start.layout.trunks,
            rows=self._data.candidates,
            vectors=self._data.candidates if named is None else named.vectors,
            metric="given" if named is None else named.kernel,
            tie=0.0 if named is None else named.tie,
            positions=np.ascontiguousarray(batches.positions[:, member]),
            noise=np.ascontiguousarray(batches.noise[:, member]),
            preferred=None if batches.preferences is None else np.ascontiguousarray(batches.preferences[:, member]),
            candidates=batches.candidates,
            opponents=batches.opponents,
            potentials=row_scales.potentials,
            eta=row_scales.eta,
            weight=row_scales.weight,
            learned=self._data.learned_columns,
            balance=self._balance,
            weight_decay=self._weight_decay,
            mean_decay=MEAN_DECAY,
            square_decay=SQUARE_DECAY,
            smallest_root=EPSILON,
            rates=rates,
            losses=losses[member],
            background=self._background,
            member=member,
            heads=heads,
        )

    def network(self) -> Network:
        """Return the network with the weights it has now."""
        weights = {}
        start = 0
        for name, shape in self._start.layout.shapes().items():
            stop = start + int(np.prod(shape[1:]))
            weights[name] = self._weights[:, start:stop].reshape(shape).copy()
            start = stop
        return replace(self._start, weights=weights)


def bias_corrected(learning_rates: NDArray[np.float64], first: int = 1) -> NDArray[np.float32]:
    """Return the learning rates of steps `first`, `first` + 1, ... with Adam's bias correction."""
    step = np.arange(first, first + len(learning_rates))
    correction = np.sqrt(1 - SQUARE_DECAY**step) / (1 - MEAN_DECAY**step)
    return np.asarray(learning_rates * correction, dtype=np.float32)
