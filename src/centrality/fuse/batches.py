"""Choose the rows that each step sees, and draw their noise: on the host, before the step is taken.

Our schedule draws many steps at once, in an order that depends only on the seed. The paper's draws them one at a time:
an epoch's comparisons, then its noise passes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from centrality.fuse.comparisons import NamedMetric, preference
from centrality.fuse.config import Task
from centrality.fuse.schemes import Index, Partition

Positions = tuple[Index, ...]  # arrays of equal length, one entry of each for a step
OPPONENTS_PER_CANDIDATE = 4  # second candidates that each first one is compared with: comparisons are cheaper than rows
BATCHES_CUT_AT_ONCE = 32  # from a partition, which draws anchors for them in one call
NOISE_DRAWN_AHEAD = 1 << 20  # values: 4 MiB
SHARE_DRAWN_AHEAD = 10  # of the steps, no more than the tenth part: their losses are looked at in between


@dataclass(frozen=True)
class RowScales:
    """Hold the noise scale and the weight of each noised row of a batch; potential i mod k is trained on row i."""

    eta: NDArray[np.float32]  # (r,)
    weight: NDArray[np.float32]  # (r,) how much the row counts
    potentials: int  # k

    @classmethod
    def assign(cls, scales: Sequence[float], rows: int, *, balanced: bool) -> "RowScales":
        """Give each of so many rows one of the noise scales, one scale after another, again and again.

        `balanced` weighs each row by η², so that all scales, and the global loss, count alike.
        """
        eta = np.resize(np.asarray(scales, dtype=np.float32), rows)
        return cls(eta, np.square(eta) if balanced else np.ones_like(eta), len(scales))


@dataclass(frozen=True)
class Batches:
    """Hold the batches of some steps, for every member: rows by their positions among those held, and noise."""

    positions: NDArray[np.int64]  # (steps, members, 2b + r + m): first candidates, second ones, rows to noise, anchors
    candidates: int  # b first candidates, and as many second ones; 0: the global head learns nothing
    comparisons_per_candidate: int  # s second candidates that each first one is compared with: i with i, i + 1, ...
    preferences: NDArray[np.float32] | None  # (steps, members, s, b) π̂ of these; None: a step finds it by its anchors
    noise: NDArray[np.float32]  # (steps, members, r, p) standard normal
    row_scales: RowScales  # of the r rows to noise; where there are none, the local head learns nothing

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def noised(self) -> int:
        """Return r, the number of rows to noise in a step."""
        return int(self.noise.shape[2])


class BatchSampler:
    """Draws the batches of our schedule, a number of steps at a time; in each step both heads learn."""

    def __init__(self, task: Task) -> None:
        self._task, self._noise, self._members = task, task.noise, task.network.members
        members = range(self._members)
        plan, scales = task.plan, len(task.plan.noise_scales)
        learned = [len(self._positions(member)) for member in members]
        # For 4 noised rows, one first candidate and one second, if rows allow: each is compared several times.
        self.candidates = max(1, min(plan.batch_size // 4, task.scheme.candidates(min(learned))))
        self.comparisons_per_candidate = min(OPPONENTS_PER_CANDIDATE, self.candidates)
        self.noised = -(-plan.batch_size // scales) * scales  # each noise scale has as many rows as any other
        self.rows_per_step = self._members * (2 * self.candidates + self.noised)
        self._most_anchors = min(map(task.scheme.anchors, learned))  # members must have equally many
        self._row_scales = RowScales.assign(plan.noise_scales, self.noised, balanced=True)
        self._pairs = [_Queue(self._endless_pairs(member)) for member in members]
        self._noised_rows = [_Queue(self._endless_noised_rows(member)) for member in members]

    def steps_at_once(self, budget: int) -> int:
        """Return the number of steps to draw batches for at once."""
        rows = self._task.rows
        until_renewed = budget if rows.holds_all else len(rows) // self.rows_per_step
        by_memory = NOISE_DRAWN_AHEAD // (self._members * self.noised * rows.width)
        return max(1, min(by_memory, budget // SHARE_DRAWN_AHEAD, until_renewed))

    def draw(self, steps: int) -> Batches:
        """Return the batches of the next steps."""
        task = self._task
        pairs = [queue.take(steps) for queue in self._pairs]
        noised = [queue.take(steps) for queue in self._noised_rows]
        candidates, anchors = (np.stack(part, axis=1) for part in zip(*pairs, strict=True))
        to_noise = np.stack([rows for (rows,) in noised], axis=1)
        preferred = None
        if not isinstance(task.comparison, NamedMetric):
            each = zip(candidates, anchors, strict=True)
            preferred = np.stack([preference(task.comparison, *step, self.comparisons_per_candidate) for step in each])
        return Batches(
            np.concatenate([candidates, to_noise, anchors], axis=2).astype(np.int64),
            self.candidates,
            self.comparisons_per_candidate,
            preferred,
            _standard_normal(self._noise, steps, self._members, self.noised, task.rows.width),
            self._row_scales,
        )

    def _positions(self, member: int) -> NDArray[np.intp]:
        """Return the positions of the rows held that this member may learn from."""
        return self._task.rows.without(self._task.plan.left_out_by(member))

    def _endless_pairs(self, member: int) -> Iterator[Positions]:  # (batches, 2b), (batches, m)
        """Yield candidates, and the anchors that they are compared by, from one partition of the rows after another."""
        task = self._task
        while True:
            allowed = self._positions(member)
            partition = Partition(len(allowed), task.scheme, task.rng)
            for matching in partition.matchings(self.candidates):
                for start in range(0, len(matching), BATCHES_CUT_AT_ONCE):
                    batches = matching[start : start + BATCHES_CUT_AT_ONCE]
                    anchors = task.comparison.fixed_anchors(task.plan.anchors, task.rng)
                    if anchors is None:
                        drawn = partition.draw_anchors(task.plan.anchors, len(batches))
                        anchors = allowed[drawn[:, : self._most_anchors]]
                    yield (
                        self._partly_made(allowed[batches], member),
                        np.broadcast_to(anchors, (len(batches), anchors.shape[-1])),
                    )

    def _partly_made(self, candidates: NDArray[np.intp], member: int) -> NDArray[np.intp]:  # (batches, 2b)
        """Replace some candidates by made rows, if there are made rows and enough candidates."""
        task, every = self._task, self._task.rows.synthetic_every
        made = task.rows.made_without(task.plan.left_out_by(member))
        if len(made) and self.candidates >= 2 * every:
            some = candidates[:, ::every]
            some[:] = made[task.rng.integers(len(made), size=some.shape)]
        return candidates

    def _endless_noised_rows(self, member: int) -> Iterator[Positions]:  # (batches, r)
        """Yield full batches from one shuffle of the rows after another; a batch may span several."""
        size, waiting = self.noised, np.empty(0, dtype=np.intp)
        while True:
            waiting = np.concatenate([waiting, self._task.rng.permutation(self._positions(member))])
            full = len(waiting) - len(waiting) % size
            if full:
                yield (waiting[:full].reshape(-1, size),)
                waiting = waiting[full:]


class _Queue:
    """Takes any number of entries from arrays that come in blocks of another length."""

    def __init__(self, blocks: Iterator[Positions]) -> None:
        self._blocks, self._waiting = blocks, next(blocks)

    def take(self, count: int) -> Positions:
        """Return the next `count` entries of every array."""
        parts, missing = [], count
        while missing:
            parts.append(tuple(part[:missing] for part in self._waiting))
            missing -= len(parts[-1][0])
            self._waiting = tuple(part[len(parts[-1][0]) :] for part in self._waiting)
            if not len(self._waiting[0]):
                self._waiting = next(self._blocks)
        return tuple(np.concatenate(part) for part in zip(*parts, strict=True))


def batches_of_epoch(task: Task) -> Iterator[Batches]:
    """Yield the steps of an epoch of the paper's schedule, each for one head: comparisons, then the noise passes."""
    members = range(task.network.members)
    yield from _compared(task, [Partition(len(task.rows), task.scheme, task.rng) for _ in members])
    for _ in range(task.plan.resamples):
        yield from _noised(task)


def _compared(task: Task, partitions: list[Partition]) -> Iterator[Batches]:
    """Yield one pass over the pairs of these partitions, one for each member."""
    plan = task.plan
    no_noise = np.empty((1, len(partitions), 0, task.rows.width), dtype=np.float32)
    no_scales = RowScales.assign(plan.noise_scales, 0, balanced=False)
    for pairs in zip(*(partition.pairs(plan.batch_size) for partition in partitions), strict=True):
        candidates = _stacked([np.concatenate(pair) for pair in pairs])
        # Each pair has anchors of its own, unless it is compared by all of them.
        own = () if task.scheme.all_anchors else (len(pairs[0][0]),)
        anchors = _stacked([partition.draw_anchors(plan.anchors, *own) for partition in partitions])
        preferred = preference(task.comparison, candidates, anchors, literal=plan.literal)
        yield Batches(candidates[None], preferred.shape[2], 1, preferred[None], no_noise, no_scales)


def _noised(task: Task) -> Iterator[Batches]:
    """Yield one pass over all rows, each with new noise."""
    n, size = len(task.rows), task.plan.batch_size
    orders = [task.rng.permutation(n) for _ in range(task.network.members)]
    for start in range(0, n, size):
        rows = _stacked([order[start : start + size] for order in orders])
        noise = _standard_normal(task.noise, *rows.shape, task.rows.width)
        row_scales = RowScales.assign(task.plan.noise_scales, rows.shape[1], balanced=False)
        if task.plan.literal:  # the losses take the mean over columns
            row_scales = replace(row_scales, weight=row_scales.weight * task.rows.width)
        yield Batches(rows[None], 0, 0, None, noise[None], row_scales)


def _stacked(positions: Sequence[Index]) -> NDArray[np.int64]:
    return np.stack(positions).astype(np.int64)


def _standard_normal(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    return rng.standard_normal(shape, dtype=np.float32)
