"""Who takes part in each step of training: drawn ahead on the host for many steps at once, used on the device."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.training.comparisons import Comparison, preference
from centrality.training.rows import Rows
from centrality.training.schemes import Partition, Scheme

Arrays = tuple[NDArray[Any], ...]
MEETINGS = 4  # seconds that each first candidate of a batch is compared with: labels are cheaper than rows
BLOCK = 32  # batches cut from a partition at once
AHEAD, AHEAD_ON_GPU = 1 << 20, 1 << 26  # values of noise drawn at once: 4 MiB; more where each copy costs a wait


@dataclass(frozen=True)
class Draws:
    """Positions among the rows held, for `count` steps."""

    index: Tensor  # (count, members, 2b + r + m): first candidates, second ones, rows to be noised, judges
    noise: Tensor  # (count, members, r, p) standard normal
    preferred: Tensor  # (count, members, meetings, b), already known where the host has to find it; else empty

    def take_over(self, other: "Draws") -> None:
        """Other draws in the same memory, where a recorded step looks for them."""
        for own, new in zip(vars(self).values(), vars(other).values(), strict=True):
            own[: len(new)].copy_(new, non_blocking=True)


class Sampler:
    def __init__(
        self,
        rows: Rows,
        comparison: Comparison,
        scheme: Scheme,
        anchors: int,
        batch_size: int,
        scales: int,
        members: int,
        budget: int,
        rng: np.random.Generator,
        generator: torch.Generator,
    ) -> None:
        self.rows, self.comparison, self.scheme, self.anchors = rows, comparison, scheme, anchors
        self.members, self.rng, self.generator = members, rng, generator
        n = len(rows)
        # Half as many candidates as noised rows: each of them is compared several times.
        self.b = max(1, min(batch_size // 4, n // 3 if scheme.split else n))
        self.r = -(-batch_size // scales) * scales  # each noise scale has as many rows as any other
        self.meetings = min(MEETINGS, self.b)
        room = AHEAD if rows.device.type == "cpu" else AHEAD_ON_GPU
        passing = budget if rows.whole else len(rows) // self.rows_per_step  # then others are to be held
        self.ahead = max(1, min(room // (members * self.r * rows.width), budget // 10, passing))
        self._matches = [_Queue(self._endless_matches()) for _ in range(members)]
        self._batches = [_Queue(self._endless_batches()) for _ in range(members)]

    @property
    def rows_per_step(self) -> int:
        return self.members * (2 * self.b + self.r)

    def skip(self, count: int) -> None:
        """Go on as if these steps had been drawn; the noise is not."""
        self._taken(count)

    def _taken(self, count: int) -> tuple[list[Arrays], list[Arrays]]:
        return [queue.take(count) for queue in self._matches], [queue.take(count) for queue in self._batches]

    def draw(self, count: int) -> Draws:
        matches, batches = self._taken(count)
        candidates, judges = (self._placed(np.stack(part, axis=1)) for part in zip(*matches, strict=True))
        batch = self._placed(np.stack([rows for (rows,) in batches], axis=1))
        shape = (*batch.shape, self.rows.width)
        index = torch.cat([candidates, batch, judges], dim=2)
        noise = torch.randn(shape, generator=self.generator, device=self.generator.device).to(self.rows.device)
        preferred = torch.empty(count, 0, device=self.rows.device)
        if not self.comparison.on_device:
            each = zip(candidates, judges, strict=True)
            preferred = torch.stack([preference(self.comparison, *pair, self.meetings) for pair in each])
        return Draws(index, noise, preferred)

    def _placed(self, index: NDArray[Any]) -> Tensor:
        return torch.from_numpy(index).to(self.rows.device)

    def _endless_matches(self) -> Iterator[Arrays]:
        while True:
            partition = Partition(len(self.rows), self.scheme, self.rng)
            for matching in partition.matchings(self.b):
                for start in range(0, len(matching), BLOCK):
                    block = matching[start : start + BLOCK]
                    panel = self.comparison.panel(self.anchors, self.rng)
                    judges = partition.judges(self.anchors, len(block)) if panel is None else panel
                    yield block, np.broadcast_to(judges, (len(block), judges.shape[-1]))

    def _endless_batches(self) -> Iterator[Arrays]:
        """Full batches from one shuffle of the rows after another; a batch may span several."""
        waiting = np.empty(0, dtype=np.intp)
        while True:
            waiting = np.concatenate([waiting, self.rng.permutation(len(self.rows))])
            full = len(waiting) - len(waiting) % self.r
            if full:
                yield (waiting[:full].reshape(-1, self.r),)
                waiting = waiting[full:]


class _Queue:
    """Arrays that come in blocks, taken in any number."""

    def __init__(self, blocks: Iterator[Arrays]) -> None:
        self._blocks, self._waiting = blocks, next(blocks)

    def take(self, count: int) -> Arrays:
        parts, missing = [], count
        while missing:
            parts.append(tuple(part[:missing] for part in self._waiting))
            missing -= len(parts[-1][0])
            self._waiting = tuple(part[len(parts[-1][0]) :] for part in self._waiting)
            if not len(self._waiting[0]):
                self._waiting = next(self._blocks)
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
