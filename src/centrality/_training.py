"""Training: two schedules that combine the two losses.

`by_epochs` is Algorithm 1 of the paper: each epoch one pass of comparisons, then R noise passes over the rows.
`by_steps` is ours: every step takes one batch for each head, under a budget that does not grow with the
number of rows, with a learning rate that falls to zero over the second half.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from centrality._closed_form import ClosedForm
from centrality._device import threads
from centrality._losses import Autograd, Noised, Pairs
from centrality._network import Network
from centrality._pairs import SCHEMES, Comparison, Partition, preference
from centrality._rows import Rows

ENTRIES = 50  # lines a budget of steps leaves in the history
WEIGHTS_PER_THREAD = 40_000  # below this, threads wait for each other longer than they work (measured on 16 cores)

History = dict[str, list[float]]


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
    ) -> None:
        self.network, self.rows, self.comparison, self.plan = network, rows, comparison, plan
        self.rng, self.generator = rng, generator
        self.scales = torch.tensor(plan.noise_scales, dtype=torch.float32, device=rows.device)
        turns = torch.arange(plan.batch_size, device=rows.device) % len(self.scales)
        self._turns = turns[:, None]  # rows take turns over the noise scales
        self.step = ClosedForm(network) if network.standard else Autograd(network)
        self.optimizer = torch.optim.Adam(
            self.step.parameters,
            lr=plan.learning_rate,
            weight_decay=plan.weight_decay,
            fused=rows.device.type in ("cpu", "cuda"),
        )
        self.history: History = {"step": [], "global": [], "local": []}
        self._since: dict[str, list[Tensor]] = {"global": [], "local": []}
        self._steps = 0

    def run(self) -> History:
        self.network.train()
        weights = sum(parameter.numel() for parameter in self.network.parameters())
        with threads(weights // WEIGHTS_PER_THREAD), _bar(self.planned_steps(), self.plan.progress) as bar:
            for _ in self.by_epochs() if self.plan.epochs is not None else self.by_steps():
                bar.update()
                if self._steps == self.plan.max_steps:
                    break
        self._record()
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

    def by_steps(self) -> Iterator[None]:
        """One batch for each head in every step, one update from their sum."""
        plan, budget = self.plan, self.planned_steps()
        entry = max(1, budget // ENTRIES)
        pairs, batches = self._endless_pairs(), self._endless_rows()
        for step in range(budget):
            self.optimizer.param_groups[0]["lr"] = plan.learning_rate * min(1.0, 2.0 * (1.0 - step / budget))
            first, second, partition = next(pairs)
            anchors = self.comparison.panel(plan.anchors, self.rng)
            if anchors is None:
                anchors = partition.judges(plan.anchors, None)  # (m,): the batch shares them
            self._update(self._pairs(first, second, anchors), self._noised(next(batches), balanced=True))
            if step % entry == 0:
                self._record()
            yield

    def by_epochs(self) -> Iterator[None]:
        """Algorithm 1: R noise passes follow one pass over the pairs, each batch an update of its own."""
        plan, n = self.plan, len(self.rows)
        assert plan.epochs is not None
        for _ in range(plan.epochs):
            partition = Partition(n, SCHEMES[plan.scheme], self.rng)
            for first, second in partition.pairs(plan.batch_size):
                anchors = partition.judges(plan.anchors, len(first))  # (b, m): each pair has its own
                self._update(self._pairs(first, second, anchors), None)
                yield
            for _ in range(plan.resamples):
                for batch in _batches(self.rng.permutation(n), plan.batch_size):
                    self._update(None, self._noised(batch, balanced=False))
                    yield
            self._record()

    def _pairs(self, first: Any, second: Any, anchors: Any) -> Pairs:
        preferred = preference(self.comparison, first, second, anchors).to(self.rows.device, torch.float32)
        return Pairs(self.rows.take(first), self.rows.take(second), preferred)

    def _noised(self, batch: Any, *, balanced: bool) -> Noised:
        """`balanced` weighs each noise scale by η², so that all of them, and the global loss, count alike."""
        z = self.rows.take(batch)
        noise = torch.randn(z.shape, generator=self.generator).to(z.device)
        which = self._turns[: len(z)]  # (b, 1)
        eta = self.scales[which]
        return Noised(z, noise, eta, which, eta.square() if balanced else torch.ones_like(eta))

    def _update(self, pairs: Pairs | None, noised: Noised | None) -> None:
        for head, loss in self.step.losses(pairs, noised).items():
            self._since[head].append(loss)
        self.optimizer.step()
        self._steps += 1

    def _record(self) -> None:
        """Close a line of the history: the mean losses since the last one."""
        if not any(self._since.values()):
            return
        self.history["step"].append(self._steps)
        for head, seen in self._since.items():
            loss = float(torch.stack(seen).mean()) if seen else np.nan
            if seen and not np.isfinite(loss):
                raise FloatingPointError(
                    f"Training diverged: the {head} loss is {loss} after {self._steps} steps. A smaller "
                    f"learning_rate than {self.plan.learning_rate} or a larger noise_scale than "
                    f"{self.plan.noise_scales} was wanted; scaling='auto' evens out columns of unlike scale."
                )
            self.history[head].append(loss)
            seen.clear()

    def _endless_pairs(self) -> Iterator[tuple[Any, Any, Partition]]:
        while True:
            partition = Partition(len(self.rows), SCHEMES[self.plan.scheme], self.rng)
            for first, second in partition.pairs(self.plan.batch_size):
                yield first, second, partition

    def _endless_rows(self) -> Iterator[Any]:
        """Full batches from one shuffle of the rows after another; a batch may span several."""
        size = self.plan.batch_size
        waiting = np.empty(0, dtype=np.intp)
        while True:
            waiting = np.concatenate([waiting, self.rng.permutation(len(self.rows))])
            while len(waiting) >= size:
                yield waiting[:size]
                waiting = waiting[size:]


def _batches(order: Any, size: int) -> Iterator[Any]:
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _bar(total: int, visible: bool) -> Any:
    from tqdm import tqdm  # here: only a fit needs it

    return tqdm(total=total, disable=not visible, desc="FUSE", unit="step", leave=False)
