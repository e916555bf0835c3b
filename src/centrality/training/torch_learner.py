"""Teach with torch: on a GPU, with a user's encoder, and where there is no engine."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.network.devices import is_cpu
from centrality.network.modules import as_module, weights_of
from centrality.network.network import Network
from centrality.network.threads import threads
from centrality.training.adam import Adam
from centrality.training.batches import BatchSizes, DrawnSteps
from centrality.training.gradients import ClosedForm
from centrality.training.history import Losses
from centrality.training.learner import Lesson, State
from centrality.training.losses import Autograd, Batch, Noise
from centrality.training.noise import Turns
from centrality.training.plan import Task
from centrality.training.recorded import Recorded
from centrality.training.torch_comparison import TorchComparison, take

WEIGHTS_PER_THREAD = 40_000  # below this, threads wait for each other longer than they work (measured on 16 cores)


class TorchLearner:
    """Teaches any network on any device."""

    def __init__(self, task: Task, *, balance: float) -> None:
        self._task, self._device = task, torch.device(task.device)
        self._module = as_module(task.network, task.device)
        self._gradients: ClosedForm | Autograd = (
            ClosedForm(self._module, balance) if self._module.standard else Autograd(self._module, balance)
        )
        self._optimizer = Adam(self._gradients.parameters, task.plan.weight_decay)
        self._generator = torch.Generator(self._device).manual_seed(task.seed)  # draws noise, where not the host does
        self._rows = torch.empty(task.rows.all.shape, device=self._device)
        self._comparison = TorchComparison.of(task.comparison, self._device)
        self._steps: _Steps | None = None
        self.losses: Losses = np.zeros((0, 2), dtype=np.float32)
        self.renew()

    @property
    def width(self) -> int:
        """Return how many columns rows have."""
        return self._task.rows.width

    @contextmanager
    def running(self) -> Iterator[None]:
        """Use as many threads as pay. A user's encoder may hold dropout, which draws from torch's global generator."""
        own = not self._module.standard
        weights = sum(parameter.numel() for parameter in self._module.parameters()) // self._module.members
        with ExitStack() as stack:
            stack.enter_context(threads(weights // WEIGHTS_PER_THREAD))
            stack.enter_context(torch.random.fork_rng(enabled=own))
            if own:
                torch.manual_seed(self._task.seed)
            self._module.train()
            yield

    def take_steps(
        self, drawn: DrawnSteps, sizes: BatchSizes, turns: Turns, rates: NDArray[np.float32]
    ) -> Iterator[int]:
        """Take the steps of our schedule, one at a time."""
        if self._steps is None:
            self._steps = _Steps(self, sizes, turns)
        yield from self._steps.take(drawn, rates)
        self.losses = self._steps.losses(len(drawn))

    def learn(self, lesson: Lesson, rate: float) -> Losses:
        """Take one step, and return the losses before it."""
        rows, drawn, noise = take(self._rows, self.there(lesson.positions)), None, None
        if lesson.drawn is not None and lesson.turns is not None:
            drawn, noise = self.there(lesson.drawn), as_noise(lesson.turns, self._device)
            rows[:, 2 * lesson.candidates :].addcmul_(noise.eta, drawn)
        preferred = None if lesson.preferred is None else self.there(lesson.preferred)
        losses = self.teach(Batch(rows, preferred, drawn, noise), torch.tensor([rate], device=self._device))
        return np.asarray(losses.cpu().numpy())

    def teach(self, batch: Batch, rate: Tensor) -> Tensor:
        """Take one step at this rate, and return the losses before it."""  # -> (2,) global, local
        losses = self._gradients.losses(batch)
        self._optimizer.step(rate)
        return losses

    def batch(
        self, positions: Tensor, noise: Tensor, preferred: Tensor | None, sizes: BatchSizes, turns: Noise
    ) -> Batch:
        """Put a step's rows together; nothing is asked of the host."""
        noised_from = 2 * sizes.candidates
        anchors_from = noised_from + sizes.noised
        if preferred is None:
            assert self._comparison is not None  # else the host has found it
            candidates, anchors = positions[:, :noised_from], positions[:, anchors_from:]
            preferred = self._comparison.preference(candidates, anchors, sizes.opponents)
        rows = take(self._rows, positions[:, :anchors_from])  # (members, 2b + r, p)
        rows[:, noised_from:].addcmul_(turns.eta, noise)
        return Batch(rows, preferred, noise, turns)

    def noise(self, *shape: int) -> Tensor:
        """Draw noise: on a CPU as the engine does, to the same result; elsewhere on the device."""
        if is_cpu(self._task.device):
            return torch.from_numpy(self._task.standard_normal(*shape))
        return torch.randn(shape, generator=self._generator, device=self._device)

    def there(self, array: NDArray[np.generic]) -> Tensor:
        """Bring an array to the device."""
        return torch.from_numpy(np.ascontiguousarray(array)).to(self._device)

    def recorded(self, step: "_Steps") -> Recorded:
        """Return a step that a GPU records once and replays."""
        return Recorded(step.one, self._device, able=self._module.standard)

    def renew(self) -> None:
        """Take over the rows that training holds now, where a recorded step looks for them."""
        self._rows.copy_(torch.from_numpy(self._task.rows.all))
        if self._comparison is not None:
            self._comparison.renew()

    def state(self) -> State:
        """Return a copy of everything that a step changes, by name."""
        found = {name: tensor.detach().cpu().numpy().copy() for name, tensor in self._tensors().items()}
        found["generator"] = self._generator.get_state().numpy().copy()
        if not self._module.standard:
            found["global_generator"] = torch.random.get_rng_state().numpy().copy()
        return found

    def restore(self, state: State) -> None:
        """Go on from this state."""
        with torch.no_grad():
            for name, tensor in self._tensors().items():
                tensor.copy_(torch.from_numpy(state[name]).view_as(tensor))
        self._generator.set_state(torch.from_numpy(state["generator"]))
        if not self._module.standard:
            torch.random.set_rng_state(torch.from_numpy(state["global_generator"]))

    def _tensors(self) -> dict[str, Tensor]:
        lists: dict[str, list[Tensor]] = {"parameter": list(self._gradients.parameters), **self._optimizer.moments()}
        found = {f"{kind}.{place}": tensor for kind, tensors in lists.items() for place, tensor in enumerate(tensors)}
        return found | {f"buffer.{name}": buffer for name, buffer in self._module.named_buffers()}

    def finish(self) -> Network:
        """Return the network with the weights it has now."""
        self._gradients.finish()
        return replace(self._task.network, weights=weights_of(self._module.eval(), self._task.network))


class _Steps:
    """Takes steps that were drawn ahead: all they need lies on the device, in memory that stays where it is."""

    def __init__(self, learner: TorchLearner, sizes: BatchSizes, turns: Turns) -> None:
        self._learner, self._sizes = learner, sizes
        self._turns = as_noise(turns, learner.there(turns.eta).device)
        self._memory: list[Tensor] = []  # positions, noise, rates, losses, perhaps preferences
        self._position = learner.there(np.zeros(1, dtype=np.int64))  # of the step, among those drawn
        self._next = learner.recorded(self)

    def take(self, drawn: DrawnSteps, rates: NDArray[np.float32]) -> Iterator[int]:
        """Take these steps, and yield 1 for each."""
        learner, sizes = self._learner, self._sizes
        noise = learner.noise(len(drawn), *drawn.positions.shape[1:2], sizes.noised, learner.width)
        losses = torch.zeros(len(drawn), 2, device=noise.device)
        given = [learner.there(drawn.positions), noise, learner.there(rates), losses]
        given += [] if drawn.preferred is None else [learner.there(drawn.preferred)]
        if self._memory:
            for own, new in zip(self._memory, given, strict=True):
                own[: len(new)].copy_(new, non_blocking=True)
            self._position.zero_()
        else:  # the first ones' memory holds all that follow, no more of them at once
            self._memory = given
        for _ in range(len(drawn)):
            self._next()
            yield 1

    def one(self) -> None:
        """Learn from the next batch."""
        at = self._position
        positions, noise, rates, losses, *rest = self._memory
        preferred = rest[0].index_select(0, at)[0] if rest else None
        batch = self._learner.batch(
            positions.index_select(0, at)[0], noise.index_select(0, at)[0], preferred, self._sizes, self._turns
        )
        losses.index_copy_(0, at, self._learner.teach(batch, rates.index_select(0, at))[None])
        at.add_(1)

    def losses(self, steps: int) -> Losses:
        """Return the losses of the steps taken last."""
        return np.asarray(self._memory[3][:steps].cpu().numpy())


def as_noise(turns: Turns, device: torch.device) -> Noise:
    """Return the turns that noised rows take as tensors."""
    owner = torch.eye(turns.potentials, device=device).repeat(-(-len(turns.eta) // turns.potentials), 1)
    eta, weight = (torch.from_numpy(part).to(device)[:, None] for part in (turns.eta, turns.weight))
    return Noise(eta, owner[: len(turns.eta)], weight)
