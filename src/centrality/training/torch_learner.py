"""Train with torch: users' encoders anywhere, our own networks on a GPU. Autograd and torch's Adam do the work.

Batches, noise and preferences are those that the engine would be given, drawn and found on the host.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.network.network import Network
from centrality.torch.losses import Noise, global_loss, local_loss
from centrality.torch.networks import to_train, weights_of
from centrality.training.batches import Batch, BatchSizes, DrawnSteps
from centrality.training.comparisons import preference
from centrality.training.history import Losses
from centrality.training.learner import MEAN_DECAY, SMALLEST_ROOT, SQUARE_DECAY, State
from centrality.training.noise import RowScales
from centrality.training.plan import Task

MOMENTS = ("step", "exp_avg", "exp_avg_sq")  # what torch's Adam remembers of each parameter


class TorchLearner:
    """Trains any network on any device."""

    def __init__(self, task: Task, *, balance: float) -> None:
        self._task, self._balance = task, balance
        self._module = to_train(task.network, task.device)
        self._parameters = [parameter for parameter in self._module.parameters() if parameter.requires_grad]
        for parameter in self._parameters:
            parameter.grad = torch.zeros_like(parameter)  # a batch for one head is a step of both, as in the engine
        self._optimizer = torch.optim.Adam(
            self._parameters,
            betas=(MEAN_DECAY, SQUARE_DECAY),
            weight_decay=task.plan.weight_decay,
        )
        self._taken = 0  # steps so far
        self.losses: Losses = np.zeros((0, 2), dtype=np.float32)
        self.renew()

    @contextmanager
    def running(self) -> Iterator[None]:
        """Train with a generator of our own: a user's encoder may hold dropout, which draws from torch's global one."""
        devices = [self._task.device] if self._task.device.startswith("cuda") else []
        with torch.random.fork_rng(devices):
            torch.manual_seed(self._task.seed)
            self._module.train()
            yield

    def take_steps(
        self, drawn: DrawnSteps, sizes: BatchSizes, row_scales: RowScales, rates: NDArray[np.float64]
    ) -> Iterator[int]:
        """Take the steps of our schedule, one at a time."""
        task, losses = self._task, []
        noise = task.standard_normal(len(drawn), sizes.members, sizes.noised, task.rows.width)
        compared, anchors_from = 2 * sizes.candidates, 2 * sizes.candidates + sizes.noised
        for step, (positions, rate) in enumerate(zip(drawn.positions, rates, strict=True)):
            candidates, anchors = positions[:, :compared], positions[:, anchors_from:]
            preferred = (
                preference(task.comparison, candidates, anchors, sizes.opponents)
                if drawn.preferred is None
                else drawn.preferred[step]
            )
            losses.append(self._train(Batch(positions[:, :anchors_from], preferred, noise[step], row_scales), rate))
            yield 1
        self.losses = torch.stack(losses).cpu().numpy()

    def take_step(self, batch: Batch, rate: float) -> Losses:
        """Take one step, and return the losses before it."""
        return np.asarray(self._train(batch, rate).cpu().numpy())

    def _train(self, batch: Batch, rate: float) -> Tensor:  # -> (2,) the members' mean global and local loss
        rows = self._rows[self._there(batch.positions)]  # (members, 2b + r, p)
        compared, losses = 2 * batch.candidates, rows.new_zeros(2, len(rows))
        self._optimizer.zero_grad(set_to_none=False)
        if batch.preferred is not None:
            losses[0] = global_loss(self._module, rows[:, :compared], self._there(batch.preferred))
        if batch.noise is not None and batch.row_scales is not None:
            learned = self._task.rows.learned
            noise = self._noise(batch.row_scales, self._there(batch.noise * learned))
            losses[1] = local_loss(self._module, rows[:, compared:] + noise.eta * noise.drawn, noise)
        (self._balance * losses[0] + losses[1]).sum().backward()  # type: ignore[no-untyped-call]
        self._taken += 1
        # Torch adds ε to the corrected root of the squares, the engine to the root as it is.
        smallest = SMALLEST_ROOT / (1 - SQUARE_DECAY**self._taken) ** 0.5
        self._optimizer.param_groups[0] |= {"lr": float(rate), "eps": smallest}
        self._optimizer.step()
        return losses.detach().mean(1)

    def _noise(self, row_scales: RowScales, drawn: Tensor) -> Noise:
        eta, weight = (self._there(part)[:, None] for part in (row_scales.eta, row_scales.weight))
        owner = np.eye(row_scales.potentials, dtype=np.float32)[np.arange(len(row_scales.eta)) % row_scales.potentials]
        learned = self._task.rows.learned
        return Noise(drawn, eta, weight, self._there(owner), None if learned.all() else self._there(learned))

    def _there(self, array: NDArray[np.generic]) -> Tensor:
        """Bring an array to the device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._task.device)

    def renew(self) -> None:
        """Take over the rows that training holds now."""
        self._rows = self._there(self._task.rows.all)

    def state(self) -> State:
        """Return a copy of everything that a step changes, by name."""
        kept = dict(self._module.state_dict())
        for place, moments in self._optimizer.state_dict()["state"].items():
            kept |= {f"{name}.{place}": moments[name] for name in MOMENTS}
        found = {name: tensor.detach().cpu().numpy().copy() for name, tensor in kept.items()}
        return found | {"generator": torch.random.get_rng_state().numpy().copy()}

    def restore(self, state: State) -> None:
        """Go on from this state."""
        kept = {name: torch.from_numpy(array.copy()) for name, array in state.items()}
        torch.random.set_rng_state(kept.pop("generator"))
        self._module.load_state_dict({name: kept[name] for name in self._module.state_dict()})
        places = range(len(self._parameters))
        self._taken = int(kept["step.0"])
        moments = {place: {name: kept[f"{name}.{place}"] for name in MOMENTS} for place in places}
        self._optimizer.load_state_dict(self._optimizer.state_dict() | {"state": moments})

    def finish(self) -> Network:
        """Return the network with the weights it has now."""
        return replace(self._task.network, weights=weights_of(self._module, self._task.network))
