"""Draw the batches of our training schedule: which rows a step sees, and the noise that is added to them.

The batches of many steps are drawn together, before the steps are taken. Their order depends only on the seed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality.fuse.comparisons import Comparison, NamedMetric, preference
from centrality.fuse.config import FitConfig
from centrality.fuse.data import Index, TrainingData
from centrality.fuse.paper import Partition

Positions = tuple[Index, ...]  # arrays of equal length, with one entry for each step
OPPONENTS = 4  # second candidates per first candidate: more comparisons are cheap, more rows are not
BATCHES_PER_DRAW = 32  # batches whose anchors are drawn in one call
NOISE_VALUES = 1 << 20  # drawn together at most: 4 MiB
DRAWS = 10  # a training is split into at least this many draws; losses are checked after each


@dataclass(frozen=True)
class RowScales:
    """The noise scale and the loss weight of each noised row of a batch. Row i trains potential i mod k."""

    eta: NDArray[np.float32]  # (r,)
    weight: NDArray[np.float32]  # (r,)
    potentials: int  # k

    @classmethod
    def assign(cls, scales: Sequence[float], rows: int, *, balanced: bool) -> "RowScales":
        """Assign the noise scales to the rows in turn.

        With `balanced` a row weighs η²: then the losses at all noise scales are of one size, which is that of the
        global loss.
        """
        eta = np.resize(np.asarray(scales, dtype=np.float32), rows)
        return cls(eta, np.square(eta) if balanced else np.ones_like(eta), len(scales))


@dataclass(frozen=True)
class Batches:
    """The batches of several steps, for every member: rows by their positions in the training data, and noise."""

    positions: NDArray[np.int64]  # (steps, members, 2b + r + m): first candidates, second ones, rows to noise, anchors
    candidates: int  # b, the number of first candidates, and of second ones; 0: the global head learns nothing
    opponents: int  # s: first candidate i is compared with the second ones i, i + 1, ..., i + s - 1
    preferences: NDArray[np.float32] | None  # (steps, members, s, b) π̂; None: a step computes it from its anchors
    noise: NDArray[np.float32]  # (steps, members, r, p) standard normal
    row_scales: RowScales  # of the r rows to noise; r = 0: the local head learns nothing

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def noised(self) -> int:
        """Return r, the number of rows that a step adds noise to."""
        return int(self.noise.shape[2])


class BatchSampler:
    """Draws the batches of our schedule. Both heads learn in each step."""

    def __init__(self, data: TrainingData, comparison: Comparison, config: FitConfig, rng: np.random.Generator) -> None:
        self._data = data
        self._comparison = comparison
        self._config = config
        self._rng = rng
        self._rng_of_noise = np.random.default_rng(config.noise_seed)
        self._members = config.layout.members
        members = range(self._members)
        rows_learned = [len(data.learned_by(member)) for member in members]
        # A quarter as many first candidates as noised rows, if there are enough rows: each is compared several times.
        self.candidates = max(1, min(config.batch_size // 4, config.scheme.candidates(min(rows_learned))))
        self.opponents = min(OPPONENTS, self.candidates)
        scales = len(config.noise_scales)
        self.noised = -(-config.batch_size // scales) * scales  # each noise scale has as many rows as any other
        self.rows_per_step = self._members * (2 * self.candidates + self.noised)
        self._anchors_per_batch = min(map(config.scheme.anchors, rows_learned))  # every member must have equally many
        self._row_scales = RowScales.assign(config.noise_scales, self.noised, balanced=True)
        self._pairs = [_Queue(self._endless_pairs(member)) for member in members]
        self._noised_rows = [_Queue(self._endless_noised_rows(member)) for member in members]

    def steps_at_once(self, budget: int) -> int:
        """Return for how many of `budget` steps to draw the batches together."""
        data = self._data
        steps_per_refill = budget if data.holds_all else len(data) // self.rows_per_step
        by_memory = NOISE_VALUES // (self._members * self.noised * data.width)
        return max(1, min(by_memory, budget // DRAWS, steps_per_refill))

    def draw(self, steps: int) -> Batches:
        """Return the batches of the next steps."""
        pairs = [queue.take(steps) for queue in self._pairs]
        noised = [queue.take(steps) for queue in self._noised_rows]
        candidates = np.stack([of_member for of_member, _ in pairs], axis=1)
        anchors = np.stack([of_member for _, of_member in pairs], axis=1)
        to_noise = np.stack([rows for (rows,) in noised], axis=1)
        preferences = None
        if not isinstance(self._comparison, NamedMetric):
            preferences = np.stack(
                [
                    preference(self._comparison, of_step, anchors_of_step, self.opponents)
                    for of_step, anchors_of_step in zip(candidates, anchors, strict=True)
                ]
            )
        shape = (steps, self._members, self.noised, self._data.width)
        return Batches(
            np.concatenate([candidates, to_noise, anchors], axis=2).astype(np.int64),
            self.candidates,
            self.opponents,
            preferences,
            self._rng_of_noise.standard_normal(shape, dtype=np.float32),
            self._row_scales,
        )

    def _endless_pairs(self, member: int) -> Iterator[Positions]:  # (batches, 2b), (batches, m)
        """Yield a member's candidates, and their anchors, from one partition of its rows after another."""
        every = self._data.synthetic_every
        while True:
            rows = self._data.learned_by(member)
            partition = Partition(len(rows), self._config.scheme, self._rng)
            for matching in full_batches(partition, self.candidates):
                for start in range(0, len(matching), BATCHES_PER_DRAW):
                    candidates = rows[matching[start : start + BATCHES_PER_DRAW]]
                    anchors = self._comparison.fixed_anchors(self._config.anchors, self._rng)
                    if anchors is None:
                        window = partition.draw_anchors(self._config.anchors, (len(candidates),))
                        anchors = rows[window[:, : self._anchors_per_batch]]
                    synthetic = self._data.synthetic_for(member)
                    if len(synthetic) and self.candidates >= 2 * every:
                        replaced = candidates[:, ::every]
                        replaced[:] = synthetic[self._rng.integers(len(synthetic), size=replaced.shape)]
                    yield candidates, np.broadcast_to(anchors, (len(candidates), anchors.shape[-1]))

    def _endless_noised_rows(self, member: int) -> Iterator[Positions]:  # (batches, r)
        """Yield full batches from one shuffle of a member's rows after another; a batch may span two shuffles."""
        waiting = np.empty(0, dtype=np.intp)
        while True:
            waiting = np.concatenate([waiting, self._rng.permutation(self._data.learned_by(member))])
            full = len(waiting) - len(waiting) % self.noised
            if full:
                yield (waiting[:full].reshape(-1, self.noised),)
                waiting = waiting[full:]


def full_batches(partition: Partition, b: int) -> Iterator[Index]:  # (batches, 2b) each
    """Yield batches of b pairs: first candidates, then the second candidates paired with them.

    A matching pairs every first candidate with one second. All batches are full: pairs that are left over at the end of
    a matching are not compared.
    """
    count = len(partition.first)
    full = count - count % b
    first = partition.first[:full].reshape(-1, b)
    for shift in partition.shifts:
        second = partition.second[(np.arange(full) + shift) % count].reshape(-1, b)
        yield np.concatenate([first, second], axis=1)


class _Queue:
    """Re-chunks a stream: it takes blocks of any length, and hands out as many entries as are asked for."""

    def __init__(self, blocks: Iterator[Positions]) -> None:
        self._blocks = blocks
        self._waiting = next(blocks)

    def take(self, count: int) -> Positions:
        """Return the next `count` entries of every array."""
        parts: list[list[Index]] = [[] for _ in self._waiting]  # of each array, what has been taken
        missing = count
        while missing:
            size = min(missing, len(self._waiting[0]))
            for part, waiting in zip(parts, self._waiting, strict=True):
                part.append(waiting[:size])
            missing -= size
            self._waiting = tuple(waiting[size:] for waiting in self._waiting)
            if not len(self._waiting[0]):
                self._waiting = next(self._blocks)
        return tuple(map(np.concatenate, parts))
