"""Draw the batches of our schedule: on the host, for many steps at once, used one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality.training.comparisons import NamedMetric, preference
from centrality.training.noise import RowScales
from centrality.training.plan import Task
from centrality.training.schemes import Partition

Arrays = tuple[NDArray[Any], ...]
OPPONENTS_PER_CANDIDATE = 4  # second candidates that each first one is compared with: comparisons are cheaper than rows
BATCHES_CUT_AT_ONCE = 32  # from a partition, which draws anchors for them in one call
NOISE_DRAWN_AHEAD = 1 << 20  # values: 4 MiB
SHARE_DRAWN_AHEAD = 10  # of the steps, no more than the tenth part: their losses are looked at in between


@dataclass(frozen=True)
class BatchSizes:
    """Hold the numbers of rows of each kind in a step of one member."""

    members: int
    candidates: int  # b first candidates, and as many second ones
    opponents: int  # second candidates that each first one is compared with
    noised: int  # r, for the local head

    @classmethod
    def of(cls, task: Task) -> "BatchSizes":
        """Return the sizes of a batch: for 4 noised rows, one first candidate and one second, if rows allow."""
        batch_size, scales = task.plan.batch_size, len(task.plan.noise_scales)
        # Half as many candidates as noised rows: each of them is compared several times.
        candidates = max(1, min(batch_size // 4, task.scheme.candidates(task.fewest_positions())))
        return cls(
            members=task.network.members,
            candidates=candidates,
            opponents=min(OPPONENTS_PER_CANDIDATE, candidates),
            noised=-(-batch_size // scales) * scales,  # each noise scale has as many rows as any other
        )

    @property
    def rows_per_step(self) -> int:
        return self.members * (2 * self.candidates + self.noised)


@dataclass(frozen=True)
class DrawnSteps:
    """Hold the rows that some steps use, by their positions among the rows held."""

    positions: NDArray[np.int64]  # (steps, members, 2b + r + m): first candidates, second ones, rows to noise, anchors
    preferred: NDArray[np.float32] | None  # (steps, members, opponents, b); None: by a named metric, a step finds it

    def __len__(self) -> int:
        return len(self.positions)


@dataclass(frozen=True)
class Batch:
    """Hold the rows of one step: candidates for the global head, rows to noise for the local, or one of the two."""

    positions: NDArray[np.int64]  # (members, 2b + r) first candidates, second ones, rows to be noised
    preferred: NDArray[np.float32] | None = None  # (members, s, b) π̂ of first i against second i, i + 1, ...
    noise: NDArray[np.float32] | None = None  # (members, r, p) standard normal
    row_scales: RowScales | None = None  # of the rows to be noised

    @property
    def candidates(self) -> int:
        """Return b, the number of first candidates."""
        return 0 if self.preferred is None else self.preferred.shape[2]


class BatchSampler:
    """Draws the batches of one run of training, in an order that depends only on its seed."""

    def __init__(self, task: Task, sizes: BatchSizes) -> None:
        self._task, self._sizes = task, sizes
        self._pairs = [_Queue(self._endless_pairs(member)) for member in range(sizes.members)]
        self._noised = [_Queue(self._endless_noised_rows(member)) for member in range(sizes.members)]

    def steps_at_once(self, budget: int) -> int:
        """Return the number of steps to draw batches for at once."""
        rows, sizes = self._task.rows, self._sizes
        until_renewed = budget if rows.holds_all else len(rows) // sizes.rows_per_step
        by_memory = NOISE_DRAWN_AHEAD // (sizes.members * sizes.noised * rows.width)
        return max(1, min(by_memory, budget // SHARE_DRAWN_AHEAD, until_renewed))

    def skip(self, steps: int) -> None:
        """Draw these steps and drop them, as an interrupted run has already used them."""
        self._next_positions(steps)

    def draw(self, steps: int) -> DrawnSteps:
        """Draw everything that the next steps need except their noise."""
        task = self._task
        pairs, noised = self._next_positions(steps)
        candidates, anchors = (np.stack(part, axis=1) for part in zip(*pairs, strict=True))
        batch = np.stack([rows for (rows,) in noised], axis=1)
        preferred = None
        if not isinstance(task.comparison, NamedMetric):
            each = zip(candidates, anchors, strict=True)
            preferred = np.stack([preference(task.comparison, *step, self._sizes.opponents) for step in each])
        return DrawnSteps(np.concatenate([candidates, batch, anchors], axis=2).astype(np.int64), preferred)

    def _next_positions(self, steps: int) -> tuple[list[Arrays], list[Arrays]]:
        return [queue.take(steps) for queue in self._pairs], [queue.take(steps) for queue in self._noised]

    def _endless_pairs(self, member: int) -> Iterator[Arrays]:  # (batches, 2b), (batches, m)
        """Yield candidates, and the anchors that they are compared by, from one partition of the rows after another."""
        task = self._task
        most = task.fewest_anchors()  # members must have equally many
        while True:
            allowed = task.positions(member)
            partition = Partition(len(allowed), task.scheme, task.rng)
            for matching in partition.matchings(self._sizes.candidates):
                for start in range(0, len(matching), BATCHES_CUT_AT_ONCE):
                    batches = matching[start : start + BATCHES_CUT_AT_ONCE]
                    anchors = task.comparison.fixed_anchors(task.plan.anchors, task.rng)
                    if anchors is None:
                        anchors = allowed[partition.draw_anchors(task.plan.anchors, len(batches))[:, :most]]
                    yield (
                        self._partly_made(allowed[batches], member),
                        np.broadcast_to(anchors, (len(batches), anchors.shape[-1])),
                    )

    def _partly_made(self, candidates: NDArray[np.intp], member: int) -> NDArray[np.intp]:  # (batches, 2b)
        """Replace some candidates by made rows, if there are made rows and enough candidates."""
        task = self._task
        made, every = task.made(member), task.rows.every_made
        if len(made) and self._sizes.candidates >= 2 * every:
            some = candidates[:, ::every]
            some[:] = made[task.rng.integers(len(made), size=some.shape)]
        return candidates

    def _endless_noised_rows(self, member: int) -> Iterator[Arrays]:  # (batches, r)
        """Yield full batches from one shuffle of the rows after another; a batch may span several."""
        size, waiting = self._sizes.noised, np.empty(0, dtype=np.intp)
        while True:
            waiting = np.concatenate([waiting, self._task.rng.permutation(self._task.positions(member))])
            full = len(waiting) - len(waiting) % size
            if full:
                yield (waiting[:full].reshape(-1, size),)
                waiting = waiting[full:]


class _Queue:
    """Takes any number of entries from arrays that come in blocks of another length."""

    def __init__(self, blocks: Iterator[Arrays]) -> None:
        self._blocks, self._waiting = blocks, next(blocks)

    def take(self, count: int) -> Arrays:
        """Return the next `count` entries of every array."""
        parts, missing = [], count
        while missing:
            parts.append(tuple(part[:missing] for part in self._waiting))
            missing -= len(parts[-1][0])
            self._waiting = tuple(part[len(parts[-1][0]) :] for part in self._waiting)
            if not len(self._waiting[0]):
                self._waiting = next(self._blocks)
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))
