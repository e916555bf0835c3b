"""Train with torch and its autograd: users' encoders on any device, our own networks on a GPU.

Batches, noise and preferences are drawn and computed on the host, the same as for the engine.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.network.network import Network
from centrality.torch.losses import Noise, global_loss, local_loss
from centrality.torch.networks import to_train, weights_of
from centrality.torch.recording import Recorded
from centrality.training.batches import Batches, RowScales
from centrality.training.comparisons import preference
from centrality.training.engine_learner import MEAN_DECAY, SMALLEST_ROOT, SQUARE_DECAY, corrected
from centrality.training.plan import Losses, Task


class TorchLearner:
    """Trains any network on any device."""

    def __init__(self, task: Task, *, balance: float) -> None:
        self._task, self._balance = task, balance
        self._module = to_train(task.network, task.device)
        self._parameters = [parameter for parameter in self._module.parameters() if parameter.requires_grad]
        for parameter in self._parameters:
            parameter.grad = torch.zeros_like(parameter)  # a batch for one head is a step of both, as in the engine
        self._means, self._squares = ([torch.zeros_like(each) for each in self._parameters] for _ in range(2))
        self._taken, self._rate = 0, torch.zeros((), device=task.device)
        on_gpu = task.device.startswith("cuda")
        self._recorded = Recorded(self._step) if on_gpu and task.network.layout.standard else None
        self._noise_of: tuple[RowScales, Noise] | None = None  # the scales that were used last, on the device
        self.renew()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Seed torch's global generator while training, for encoders with dropout, and restore it afterwards."""
        devices = [self._task.device] if self._task.device.startswith("cuda") else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(self._task.seed)
            self._module.train()
            yield

    def take_steps(self, batches: Batches, rates: NDArray[np.float64], advance: Callable[[int], object]) -> Losses:
        """Take a step for each batch, by its learning rate; return the losses before it, the mean of the members'.

        A head that has no rows has a loss of 0. `advance` is told of each step that was taken.
        """
        losses = []
        for step, rate in enumerate(rates):
            losses.append(self._take_step(batches, step, rate))
            advance(1)
        return np.asarray(torch.stack(losses).cpu().numpy())  # together: the GPU need not wait after each

    def _take_step(self, batches: Batches, step: int, rate: float) -> Tensor:  # -> (2,) global and local loss
        self._taken += 1
        self._rate.fill_(float(corrected(np.array([rate]), self._taken)[0]))
        noise, drawn, preferred = None, None, self._preferred(batches, step)
        if batches.noised:
            noise = self._noise(batches.row_scales)
            drawn = self._there(batches.noise[step] * self._task.rows.learned)
        seen = 2 * batches.candidates + batches.noised
        rows = self._rows[self._there(batches.positions[step, :, :seen])]  # (members, 2b + r, p)
        if self._recorded is not None and drawn is not None and preferred is not None:
            return self._recorded(noise, rows, preferred, drawn)
        return self._step(noise, rows, preferred, drawn)

    def _preferred(self, batches: Batches, step: int) -> Tensor | None:
        """Return π̂ of the step's candidates, computed by its anchors unless the batch has it; None: there are none."""
        if not batches.candidates:
            return None
        if batches.preferred is not None:
            return self._there(batches.preferred[step])
        candidates, _, anchors = np.split(
            batches.positions[step], [2 * batches.candidates, 2 * batches.candidates + batches.noised], axis=1
        )
        return self._there(preference(self._task.comparison, candidates, anchors, batches.opponents))

    def _step(self, noise: Noise | None, rows: Tensor, preferred: Tensor | None, drawn: Tensor | None) -> Tensor:
        """Compute the losses and their gradients, update the weights, and return the members' mean losses."""
        compared, losses = 0 if preferred is None else 2 * preferred.shape[2], rows.new_zeros(2, len(rows))
        for parameter in self._parameters:
            parameter.grad.zero_()  # type: ignore[union-attr]
        if preferred is not None:
            losses[0] = global_loss(self._module, rows[:, :compared], preferred)
        if noise is not None and drawn is not None:
            noise = replace(noise, drawn=drawn)
            losses[1] = local_loss(self._module, rows[:, compared:] + noise.eta * drawn, noise)
        torch.autograd.backward((self._balance * losses[0] + losses[1]).sum())
        self._update()
        return losses.detach().mean(1)

    @torch.no_grad()
    def _update(self) -> None:
        """Update by Adam as the engine does: torch's own adds ε elsewhere, and when recorded cannot change its rate."""
        decay = self._task.plan.weight_decay
        for parameter, mean, square in zip(self._parameters, self._means, self._squares, strict=True):
            assert parameter.grad is not None
            gradient = parameter.grad + decay * parameter if decay else parameter.grad
            mean.lerp_(gradient, 1 - MEAN_DECAY)
            square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1 - SQUARE_DECAY)
            parameter.sub_(self._rate * mean / (square.sqrt() + SMALLEST_ROOT))

    def _noise(self, row_scales: RowScales) -> Noise:
        """Return the noise scales of the rows on the device; they are cached, being the same in every step of a run."""
        if self._noise_of is None or self._noise_of[0] is not row_scales:
            eta, weight = (self._there(part)[:, None] for part in (row_scales.eta, row_scales.weight))
            places = np.arange(len(row_scales.eta)) % row_scales.potentials
            owner = self._there(np.eye(row_scales.potentials, dtype=np.float32)[places])
            learned = self._task.rows.learned
            none = torch.empty(0, device=self._task.device)
            noise = Noise(none, eta, weight, owner, None if learned.all() else self._there(learned))
            self._noise_of = row_scales, noise
        return self._noise_of[1]

    def _there(self, array: NDArray[np.generic]) -> Tensor:
        """Copy an array to the device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._task.device)

    def renew(self) -> None:
        """Copy the rows that are held now to the device."""
        self._rows = self._there(self._task.rows.all)

    def finish(self) -> Network:
        """Return the network with the weights it has now."""
        return replace(self._task.network, weights=weights_of(self._module, self._task.network))
