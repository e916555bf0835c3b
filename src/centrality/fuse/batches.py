"""Which rows each step of our schedule sees, and their noise: drawn on the host, before the steps are taken.

Batches of many steps are drawn at once, in an order that depends only on the seed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality.fuse.comparisons import Comparison, NamedMetric, preference
from centrality.fuse.config import FitConfig
from centrality.fuse.data import Index, TrainingData
from centrality.fuse.paper import Partition

Positions = tuple[Index, ...]  # arrays of equal length, one entry of each for a step
COMPARISONS_PER_CANDIDATE = 4  # second candidates for each first one: comparisons are cheaper than rows
BATCHES_CUT_AT_ONCE = 32  # from a partition, which draws anchors for them in one call
NOISE_DRAWN_AHEAD = 1 << 20  # values: 4 MiB
SHARE_DRAWN_AHEAD = 10  # of the steps, no more than the tenth part: their losses are looked at in between


@dataclass(frozen=True)
class RowScales:
    """Noise scale and loss weight of each noised row of a batch; potential i mod k is trained on row i."""

    eta: NDArray[np.float32]  # (r,)
    weight: NDArray[np.float32]  # (r,)
    potentials: int  # k

    @classmethod
    def assign(cls, scales: Sequence[float], rows: int, *, balanced: bool) -> "RowScales":
        """Assign the noise scales to rows in turn.

        `balanced` weighs each row by η², so that all scales, and the global loss, count alike.
        """
        eta = np.resize(np.asarray(scales, dtype=np.float32), rows)
        return cls(eta, np.square(eta) if balanced else np.ones_like(eta), len(scales))


@dataclass(frozen=True)
class Batches:
    """The batches of some steps, for every member: rows by their positions in the training data, and noise."""

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

    def __init__(self, data: TrainingData, comparison: Comparison, config: FitConfig, rng: np.random.Generator) -> None:
        self._data, self._comparison, self._config, self._rng = data, comparison, config, rng
        self._noise = np.random.default_rng(config.noise_seed)
        self._members = config.layout.members
        members = range(self._members)
        learned = [len(data.learned_by(member)) for member in members]
        # For 4 noised rows, one first candidate and one second, if rows allow: each is compared several times.
        self.candidates = max(1, min(config.batch_size // 4, config.scheme.candidates(min(learned))))
        self.comparisons_per_candidate = min(COMPARISONS_PER_CANDIDATE, self.candidates)
        scales = len(config.noise_scales)
        self.noised = -(-config.batch_size // scales) * scales  # each noise scale has as many rows as any other
        self.rows_per_step = self._members * (2 * self.candidates + self.noised)
        self._most_anchors = min(map(config.scheme.anchors, learned))  # members must have equally many
        self._row_scales = RowScales.assign(config.noise_scales, self.noised, balanced=True)
        self._pairs = [_Queue(self._endless_pairs(member)) for member in members]
        self._noised_rows = [_Queue(self._endless_noised_rows(member)) for member in members]

    def steps_at_once(self, budget: int) -> int:
        """Return the number of steps to draw batches for at once."""
        data = self._data
        until_redrawn = budget if data.holds_all else len(data) // self.rows_per_step
        by_memory = NOISE_DRAWN_AHEAD // (self._members * self.noised * data.width)
        return max(1, min(by_memory, budget // SHARE_DRAWN_AHEAD, until_redrawn))

    def draw(self, steps: int) -> Batches:
        """Return the batches of the next steps."""
        pairs = [queue.take(steps) for queue in self._pairs]
        noised = [queue.take(steps) for queue in self._noised_rows]
        candidates = np.stack([of_member for of_member, _ in pairs], axis=1)
        anchors = np.stack([of_member for _, of_member in pairs], axis=1)
        to_noise = np.stack([rows for (rows,) in noised], axis=1)
        preferences = None
        if not isinstance(self._comparison, NamedMetric):
            steps_drawn = zip(candidates, anchors, strict=True)
            s = self.comparisons_per_candidate
            preferences = np.stack([preference(self._comparison, *step, s) for step in steps_drawn])
        shape = (steps, self._members, self.noised, self._data.width)
        return Batches(
            np.concatenate([candidates, to_noise, anchors], axis=2).astype(np.int64),
            self.candidates,
            self.comparisons_per_candidate,
            preferences,
            self._noise.standard_normal(shape, dtype=np.float32),
            self._row_scales,
        )

    def _endless_pairs(self, member: int) -> Iterator[Positions]:  # (batches, 2b), (batches, m)
        """Yield candidates, and the anchors that they are compared by, from one partition of the rows after another."""
        while True:
            learned = self._data.learned_by(member)
            partition = Partition(len(learned), self._config.scheme, self._rng)
            for matching in partition.matchings(self.candidates):
                for start in range(0, len(matching), BATCHES_CUT_AT_ONCE):
                    batches = matching[start : start + BATCHES_CUT_AT_ONCE]
                    anchors = self._comparison.fixed_anchors(self._config.anchors, self._rng)
                    if anchors is None:
                        window = partition.draw_anchors(self._config.anchors, len(batches))
                        anchors = learned[window[:, : self._most_anchors]]
                    candidates = self._with_synthetic_rows(learned[batches], member)
                    yield candidates, np.broadcast_to(anchors, (len(batches), anchors.shape[-1]))

    def _with_synthetic_rows(self, candidates: Index, member: int) -> Index:  # (batches, 2b)
        """Replace some candidates by synthetic rows, if there are any and enough candidates."""
        every = self._data.synthetic_every
        synthetic = self._data.synthetic_for(member)
        if len(synthetic) and self.candidates >= 2 * every:
            replaced = candidates[:, ::every]
            replaced[:] = synthetic[self._rng.integers(len(synthetic), size=replaced.shape)]
        return candidates

    def _endless_noised_rows(self, member: int) -> Iterator[Positions]:  # (batches, r)
        """Yield full batches from one shuffle of the rows after another; a batch may span several."""
        waiting = np.empty(0, dtype=np.intp)
        while True:
            waiting = np.concatenate([waiting, self._rng.permutation(self._data.learned_by(member))])
            full = len(waiting) - len(waiting) % self.noised
            if full:
                yield (waiting[:full].reshape(-1, self.noised),)
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
