"""Train networks by torch: users' encoders, and any network on a GPU.

Batches, noise and preferences are drawn and computed on the CPU, the same as for the engine.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.fuse.batches import Batches, RowScales
from centrality.fuse.comparisons import Comparison, preference
from centrality.fuse.data import TrainingData
from centrality.fuse.train import EPSILON, MEAN_DECAY, SQUARE_DECAY, Losses, Trainer, bias_corrected
from centrality.network.network import Network
from centrality.torch.networks import Noise, global_loss, local_loss, to_train, weights_of

WARM_UP = 3  # steps that are taken before one is recorded: libraries set themselves up in them

Step = Callable[[Noise | None, Tensor, Tensor | None, Tensor | None], Tensor]


class RecordedStep:
    """Takes the first steps normally, records one as a CUDA graph, and replays it for batches of the same shape."""

    def __init__(self, step: Step) -> None:
        self._step = step
        self._taken = 0
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._graph: torch.cuda.CUDAGraph | None = None
        self._noise: Noise | None = None
        self._inputs: list[Tensor] = []
        self._losses = torch.empty(0)

    def __call__(self, noise: Noise | None, *inputs: Tensor) -> Tensor:
        """Take one step with these inputs, and return its losses."""
        shapes = [tensor.shape for tensor in inputs]
        if self._graph is not None and (noise is not self._noise or shapes != [x.shape for x in self._inputs]):
            self._graph = None
            self._taken = 0
        if self._graph is None and self._taken < WARM_UP:
            self._taken += 1
            current = torch.cuda.current_stream()
            self._stream.wait_stream(current)
            with torch.cuda.stream(self._stream):  # CUDA requires another stream for the steps before the recorded one
                losses = self._step(noise, *inputs)
            current.wait_stream(self._stream)
            return losses
        if self._graph is None:  # a step is recorded without being taken; it will read its inputs from `_inputs`
            self._noise = noise
            self._inputs = [tensor.clone() for tensor in inputs]
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._losses = self._step(noise, *self._inputs)
        for place, tensor in zip(self._inputs, inputs, strict=True):
            place.copy_(tensor)
        self._graph.replay()
        return self._losses.clone()


class TorchTrainer(Trainer):
    """Trains any network on any device."""

    def __init__(
        self,
        start: Network,
        data: TrainingData,
        comparison: Comparison,
        *,
        balance: float,
        weight_decay: float,
        device: str,
        seed: int,
    ) -> None:
        super().__init__(start, data, comparison, balance=balance, weight_decay=weight_decay)
        self._device = device
        self._seed = seed
        self._module = to_train(start, device)
        self._parameters = [parameter for parameter in self._module.parameters() if parameter.requires_grad]
        for parameter in self._parameters:
            parameter.grad = torch.zeros_like(parameter)  # a head without rows has a gradient of 0, as in the engine
        self._means = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._squares = [torch.zeros_like(parameter) for parameter in self._parameters]
        self._rate = torch.zeros((), device=device)
        on_gpu = device.startswith("cuda")
        self._recorded = RecordedStep(self._step) if on_gpu and start.layout.standard else None
        self._noise_of: tuple[RowScales, Noise] | None = None  # the scales that were used last, on the device
        self.reload()

    @contextmanager
    def running(self, steps: int, *, progress: bool) -> Iterator[None]:
        """Seed torch's global generator while training, for encoders with dropout, and restore it afterwards."""
        devices = [self._device] if self._device.startswith("cuda") else []
        with super().running(steps, progress=progress), torch.random.fork_rng(devices):
            torch.manual_seed(self._seed)
            self._module.train()
            yield

    def take_steps(self, batches: Batches, rates: NDArray[np.float64]) -> Losses:
        """Take a step for each batch, one after another."""
        losses = []
        count = 2 * batches.candidates + batches.noised
        for step, rate in enumerate(rates):
            self._taken += 1
            self._rate.fill_(float(bias_corrected(np.array([rate]), self._taken)[0]))
            preferences = None
            if batches.candidates and batches.preferences is not None:
                preferences = self._to_device(batches.preferences[step])
            elif batches.candidates:  # π̂ is computed from anchors
                candidates, _, anchors = np.split(batches.positions[step], [2 * batches.candidates, count], axis=1)
                preferences = self._to_device(preference(self._comparison, candidates, anchors, batches.opponents))
            noise = None
            epsilon = None
            if batches.noised:
                noise = self._noise(batches.row_scales)
                epsilon = self._to_device(batches.noise[step] * self._data.learned_columns)
            rows = self._rows[self._to_device(batches.positions[step, :, :count])]  # (members, 2b + r, p)
            if self._recorded is not None and epsilon is not None and preferences is not None:
                losses.append(self._recorded(noise, rows, preferences, epsilon))
            else:
                losses.append(self._step(noise, rows, preferences, epsilon))
            self._advance(1)
        return np.asarray(torch.stack(losses).cpu().numpy())  # together: the GPU need not wait after each

    def _step(self, noise: Noise | None, rows: Tensor, preferences: Tensor | None, epsilon: Tensor | None) -> Tensor:
        """Compute the losses and their gradients, update the weights, and return the members' mean losses."""
        losses = rows.new_zeros(2, len(rows))
        candidates = 0 if preferences is None else 2 * preferences.shape[2]
        for parameter in self._parameters:
            parameter.grad.zero_()  # type: ignore[union-attr]
        if preferences is not None:
            losses[0] = global_loss(self._module, rows[:, :candidates], preferences)
        if noise is not None and epsilon is not None:
            noise = replace(noise, drawn=epsilon)
            losses[1] = local_loss(self._module, rows[:, candidates:] + noise.eta * epsilon, noise)
        torch.autograd.backward((self._balance * losses[0] + losses[1]).sum())
        self._update()
        return losses.detach().mean(1)

    @torch.no_grad()
    def _update(self) -> None:
        """Update by Adam as the engine does: torch's own adds ε elsewhere, and its rate cannot change once recorded."""
        decay = self._weight_decay
        for parameter, mean, square in zip(self._parameters, self._means, self._squares, strict=True):
            assert parameter.grad is not None
            gradient = parameter.grad + decay * parameter if decay else parameter.grad
            mean.lerp_(gradient, 1 - MEAN_DECAY)
            square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1 - SQUARE_DECAY)
            parameter.sub_(self._rate * mean / (square.sqrt() + EPSILON))

    def _noise(self, row_scales: RowScales) -> Noise:
        """Return the noise scales of the rows on the device, cached: they are the same in every step of a run."""
        if self._noise_of is None or self._noise_of[0] is not row_scales:
            places = np.arange(len(row_scales.eta)) % row_scales.potentials
            learned = self._data.learned_columns
            noise = Noise(
                torch.empty(0, device=self._device),
                self._to_device(row_scales.eta)[:, None],
                self._to_device(row_scales.weight)[:, None],
                self._to_device(np.eye(row_scales.potentials, dtype=np.float32)[places]),
                None if learned.all() else self._to_device(learned),
            )
            self._noise_of = row_scales, noise
        return self._noise_of[1]

    def _to_device(self, array: NDArray[np.generic]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def reload(self) -> None:
        """Copy the rows that are in memory now to the device."""
        self._rows = self._to_device(self._data.candidates)

    def network(self) -> Network:
        """Return the network with the weights it has now."""
        return replace(self._start, weights=weights_of(self._module, self._start))
