"""Training: two schedules that combine the two losses.

`by_steps` is ours: every step takes one batch for each head, under a budget that does not grow with the number of
rows, with a learning rate that falls to zero over the second half. `by_epochs` is Algorithm 1 of the paper: each
epoch one pass of comparisons, then R noise passes over the rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from centrality.network.devices import Recorded, threads
from centrality.network.network import Network
from centrality.training.adam import Adam, rates
from centrality.training.batches import Draws, Sampler
from centrality.training.comparisons import Comparison, preference
from centrality.training.gradients import ClosedForm
from centrality.training.losses import Autograd, Batch, Noise
from centrality.training.rows import Rows, take
from centrality.training.schemes import SCHEMES, Partition

ENTRIES = 50  # lines a budget of steps leaves in the history
WEIGHTS_PER_THREAD = 40_000  # below this, threads wait for each other longer than they work (measured on 16 cores)

History = dict[str, list[float]]


class Checkpoint(Protocol):
    """Where a long run's state is kept; `_checkpoint` has the real one."""

    def restore(self, training: "Training") -> int:
        """Bring the training to where it was; the number of steps taken until then."""

    def save(self, training: "Training", done: int) -> None:
        """Keep the state after `done` steps, now and then."""


@dataclass(frozen=True)
class Plan:
    """Everything about training that the user can choose, already checked."""

    noise_scales: tuple[float, ...]
    scheme: int
    anchors: int
    resamples: int
    epochs: int | None
    max_steps: int | None
    batch_size: int
    learning_rate: float
    weight_decay: float
    progress: bool

    def rows_used(self) -> int | None:
        """How many rows the budget of steps can look at: to hold more would be in vain. None is no limit."""
        return None if self.epochs is not None or self.max_steps is None else 2 * self.batch_size * self.max_steps


class Training:
    """One run of training; `history` is its result besides the trained network."""

    def __init__(
        self,
        network: Network,
        rows: Rows,
        comparison: Comparison,
        plan: Plan,
        rng: np.random.Generator,
        generator: torch.Generator,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self.network, self.rows, self.comparison, self.plan = network, rows, comparison, plan
        self.checkpoint, self.losses = checkpoint, torch.empty(0, 2)
        self.rng, self.generator, self.device = rng, generator, rows.device
        self.scales = torch.tensor(plan.noise_scales, dtype=torch.float32, device=self.device)
        # The local loss is a mean over columns: what one noised row teaches the trunk gets fainter the more there are,
        # and the global head would have the trunk for itself. In the paper's schedule they never meet in a batch.
        balance = 1.0 if plan.epochs is not None else rows.width**-0.5
        self.step = ClosedForm(network, balance) if network.standard else Autograd(network, balance)
        self.optimizer = Adam(self.step.parameters, plan.weight_decay)
        self.history: History = {"step": [], "global": [], "local": []}

    def run(self) -> History:
        self.network.train()
        weights = sum(parameter.numel() for parameter in self.network.parameters()) // self.network.members
        with threads(weights // WEIGHTS_PER_THREAD), _bar(self.planned_steps(), self.plan.progress) as bar:
            for steps in self.by_steps() if self.plan.epochs is None else self.by_epochs():
                bar.update(steps)
        self.step.finish()
        self.network.eval()
        return self.history

    def planned_steps(self) -> int:
        plan, n = self.plan, len(self.rows)
        if plan.epochs is None:
            assert plan.max_steps is not None  # the estimator turns its default into a number
            return plan.max_steps
        scheme = SCHEMES[plan.scheme]
        candidates = n // 3 if scheme.split else n
        pairs = candidates**2 - (0 if scheme.split else n) if scheme.all_pairs else candidates
        steps = plan.epochs * (-(-pairs // plan.batch_size) + plan.resamples * -(-n // plan.batch_size))
        return min(steps, plan.max_steps or steps)

    # One batch for each head in every step, one update from their sum.

    def by_steps(self) -> Iterator[int]:
        plan, budget = self.plan, self.planned_steps()
        sampler = Sampler(
            self.rows,
            self.comparison,
            SCHEMES[plan.scheme],
            plan.anchors,
            plan.batch_size,
            len(self.scales),
            self.network.members,
            budget,
            self.rng,
            self.generator,
        )
        falling = plan.learning_rate * (2 - 2 * torch.arange(budget) / budget).clamp(max=1).square()
        self._rates = rates(falling).to(self.device)
        self.losses = torch.zeros(budget, 2, device=self.device)
        begun = 0 if self.checkpoint is None else self.checkpoint.restore(self)
        self._number = torch.full((1,), begun, device=self.device)  # of the step, counted on the device
        self._drawn = torch.zeros_like(self._number)  # its number among the draws
        self._noise = self._noise_for(sampler.r, balanced=True)
        self._parts = 2 * sampler.b, sampler.r
        self._meetings = sampler.meetings
        take_step = Recorded(self._step, self.device, able=self.network.standard)
        used, done = 0, 0
        while done < budget:
            count = min(sampler.ahead, budget - done)
            if done < begun:
                sampler.skip(count)
                yield count
            else:
                self._take_draws(sampler.draw(count))
                for _ in range(count):
                    take_step()
                    yield 1
            done, used = done + count, used + count * sampler.rows_per_step
            self._require_finite(self.losses[done - count : done], done)
            if used >= len(self.rows) and not self.rows.whole:
                used = 0
                self.rows.renew()
                self.comparison.renew()
            if self.checkpoint is not None and begun < done < budget:
                self.checkpoint.save(self, done)
        self._remember(self.losses)

    def _take_draws(self, draws: Draws) -> None:
        if not hasattr(self, "_draws"):
            self._draws = draws
            return
        self._draws.take_over(draws)
        self._drawn.zero_()

    def _step(self) -> None:
        """Everything is where the last step left it, on the device; nothing is asked of the host."""
        candidates, noised = self._parts
        index, drawn, preferred = (part.index_select(0, self._drawn)[0] for part in vars(self._draws).values())
        if not preferred.numel():
            preferred = preference(
                self.comparison, index[:, :candidates], index[:, candidates + noised :], self._meetings
            )
        rows = take(self.rows.z, index[:, : candidates + noised])  # (members, 2b + r, p)
        rows[:, candidates:].addcmul_(self._noise.eta, drawn)
        losses = self.step.losses(Batch(rows, preferred, drawn, self._noise))
        self.losses.index_copy_(0, self._number, losses[None])
        self.optimizer.step(self._rates.index_select(0, self._number))
        self._number.add_(1)
        self._drawn.add_(1)

    # Algorithm 1: R noise passes follow one pass over the pairs, each batch an update of its own.

    def by_epochs(self) -> Iterator[int]:
        plan, n, members = self.plan, len(self.rows), range(self.network.members)
        assert plan.epochs is not None
        done, budget = 0 if self.checkpoint is None else self.checkpoint.restore(self), self.planned_steps()
        yield done
        for epoch in range(len(self.history["step"]), plan.epochs):
            seen: list[Tensor] = []
            for batch in self._epoch([Partition(n, SCHEMES[plan.scheme], self.rng) for _ in members]):
                losses = self.step.losses(batch)
                seen.append(
                    torch.stack([*losses, *losses.new_tensor([batch.preferred is not None, batch.noise is not None])])
                )
                done += 1
                self.optimizer.step(rates(torch.full((1,), plan.learning_rate), done).to(self.device))
                yield 1
                if done == budget:
                    break
            total = torch.stack(seen).sum(0)
            self._require_finite(total[None, :2], done)
            self._record(done, *(total[:2] / total[2:]).tolist())
            if done == budget:
                return
            if self.checkpoint is not None and epoch + 1 < plan.epochs:
                self.checkpoint.save(self, done)

    def _epoch(self, partitions: list[Partition]) -> Iterator[Batch]:
        plan, n = self.plan, len(self.rows)
        for each in zip(*(partition.pairs(plan.batch_size) for partition in partitions), strict=True):
            b = len(each[0][0])
            candidates = self._placed([np.concatenate(pair) for pair in each])
            # Each pair has anchors of its own, unless all of them judge every pair.
            own = () if SCHEMES[plan.scheme].all_anchors else (b,)
            anchors = self._placed([partition.judges(plan.anchors, *own) for partition in partitions])
            preferred = preference(self.comparison, candidates, anchors)
            yield Batch(take(self.rows.z, candidates), preferred, None, None)
        for _ in range(plan.resamples):
            orders = np.stack([self.rng.permutation(n) for _ in partitions])
            for start in range(0, n, plan.batch_size):
                z = take(self.rows.z, self._placed(orders[:, start : start + plan.batch_size]))
                drawn = torch.randn(z.shape, generator=self.generator, device=self.generator.device).to(self.device)
                noise = self._noise_for(z.shape[1], balanced=False)
                yield Batch(z.addcmul_(noise.eta, drawn), None, drawn, noise)

    def _placed(self, index: Any) -> Tensor:
        return torch.from_numpy(np.stack(index)).to(self.device)

    def _noise_for(self, rows: int, *, balanced: bool) -> Noise:
        """Scale, owner and weight of each of a batch's rows, which take turns over the noise scales.

        `balanced` weighs each scale by η², so that all of them, and the global loss, count alike.
        """
        owner = torch.eye(len(self.scales), device=self.device).repeat(-(-rows // len(self.scales)), 1)[:rows]
        eta = owner @ self.scales[:, None]
        return Noise(eta, owner, eta.square() if balanced else torch.ones_like(eta))

    # The history of losses.

    def _remember(self, losses: Tensor) -> None:
        """The first step's losses, those of the untrained network, then means over equal stretches."""
        seen = losses.cpu()
        ends = np.unique(np.linspace(0, len(seen), min(ENTRIES, len(seen)) + 1).astype(int)[1:])
        self._record(1, *seen[0].tolist())
        for start, end in zip([0, *ends], ends, strict=False):
            if end > 1:
                self._record(int(end), *seen[start:end].mean(0).tolist())

    def _record(self, step: int, of_global: float, of_local: float) -> None:
        for column, value in zip(self.history.values(), (step, of_global, of_local), strict=True):
            column.append(value)

    def _require_finite(self, losses: Tensor, step: int) -> None:
        bad = ~losses.isfinite()
        if bad.any():
            row = int(bad.any(1).nonzero()[0])
            head = "global" if bad[row, 0] else "local"
            loss = float(losses[row, 0 if bad[row, 0] else 1])
            raise FloatingPointError(
                f"Training diverged: the {head} loss is {loss} after {step} steps. A smaller "
                f"learning_rate than {self.plan.learning_rate} or a larger noise_scale than "
                f"{self.plan.noise_scales} was wanted; scaling='auto' evens out columns of unlike scale."
            )


def _bar(total: int, visible: bool) -> Any:
    from tqdm import tqdm  # here: only a fit needs it

    return tqdm(total=total, disable=not visible, desc="FUSE", unit="step", leave=False)
