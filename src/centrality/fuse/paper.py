"""Algorithm 1 of the paper and its four sampling schemes, in the paper's symbols.

Ours are only three options: a `budget` of updates, ensembles, and losses that are means over columns (not `literal`).

X_1, ..., X_n are the training rows, referred to by their positions. S0 holds anchors, S1 and S2 candidates, and S12 the
pairs of candidates that are compared. δ is the dissimilarity, g the logit and l the potential, ε noise of deviation η.
`PaperFUSE` gives its settings to this algorithm; `FUSE` uses the schemes, and a schedule of its own (`train.py`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from centrality._internal.checks import InputError
from centrality.fuse.comparisons import Comparison, preference
from centrality.fuse.data import Index

if TYPE_CHECKING:
    from centrality.fuse.train import Trainer

Loss = float | None  # None where a head has no update


@dataclass(frozen=True, kw_only=True)
class Algorithm1:
    """The settings of Algorithm 1."""

    scheme: "Scheme"
    T: int  # epochs
    R: int  # noise passes over the rows in each epoch
    m: int  # anchors of a pair, in schemes 1 and 2
    b: int  # pairs, or rows, of a batch
    eta: Sequence[float]  # η; with several, there is a potential for each
    rate: float  # the learning rate
    budget: int | None = None  # updates at most
    literal: bool = False  # the formulas to the letter: losses add up columns, and ties count against the first row

    def updates(self, n: int) -> int:
        """Return how many updates there are for n rows."""
        updates = self.T * (-(-self.scheme.pairs(n) // self.b) + self.R * -(-n // self.b))
        return min(updates, self.budget or updates)

    def train(
        self, trainer: "Trainer", n: int, delta: Comparison, rng: np.random.Generator, noise: np.random.Generator
    ) -> Iterator[tuple[int, Loss, Loss]]:
        """Train on n rows; after each epoch yield the number of updates so far, and the mean of both losses."""
        steps = 0
        budget = self.updates(n)
        for _ in range(self.T):
            losses = list(islice(self.epoch(trainer, n, delta, rng, noise), budget - steps))
            steps += len(losses)
            yield steps, mean_loss(of_global for of_global, _ in losses), mean_loss(of_local for _, of_local in losses)
            if steps == budget:
                return

    def epoch(
        self, trainer: "Trainer", n: int, delta: Comparison, rng: np.random.Generator, noise: np.random.Generator
    ) -> Iterator[tuple[Loss, Loss]]:
        """Take the updates of one epoch, and yield the loss of each. Members of an ensemble draw for themselves."""
        members = range(trainer.members)

        # The global head: π̂(X_i, X_j) is the share of anchors that are nearer to X_i, modelled by σ(g(X_i) - g(X_j)).
        partitions = [Partition(n, self.scheme, rng) for _ in members]  # S0, S1, S2
        for pairs in zip(*(partition.pairs(self.b) for partition in partitions), strict=True):  # S12
            candidates = np.stack([np.concatenate(pair) for pair in pairs])  # (members, 2b): i, then j
            # All pairs share the anchors, or each pair has its own.
            anchor_shape = () if self.scheme.all_anchors else (len(pairs[0][0]),)
            anchors = np.stack([partition.draw_anchors(self.m, anchor_shape) for partition in partitions])
            pi = preference(delta, candidates, anchors, literal=self.literal)
            yield trainer.global_step(candidates, pi, self.rate), None

        # The local head: ∇l learns to undo the noise of X + ε.
        for _ in range(self.R):
            orders = [rng.permutation(n) for _ in members]
            for start in range(0, n, self.b):
                rows = np.stack([order[start : start + self.b] for order in orders])  # (members, b)
                epsilon = noise.standard_normal((*rows.shape, trainer.width), dtype=np.float32)  # the trainer adds η ε
                factor = trainer.width if self.literal else 1  # else the loss is the mean over the columns
                yield None, trainer.local_step(rows, epsilon, self.eta, self.rate, factor)


def mean_loss(losses: Iterable[Loss]) -> Loss:
    """Return the mean of one head's losses; None if the head had no update."""
    of_head = [loss for loss in losses if loss is not None]
    return sum(of_head) / len(of_head) if of_head else None


@dataclass(frozen=True)
class Scheme:
    """Which candidates are compared with which, and by which anchors.

    See the Supplement, "Different sampling strategy investigation". A new scheme is an entry in SCHEMES.
    """

    split: bool  # anchors and candidates come from three disjoint thirds
    all_pairs: bool  # every first candidate is compared with every second one, not only its match
    all_anchors: bool  # every pair is compared by every anchor, not only by a subsample

    def candidates(self, n: int) -> int:
        """Return how many of n rows are first candidates; as many are second ones."""
        return n // 3 if self.split else n

    def anchors(self, n: int) -> int:
        """Return how many of n rows are anchors."""
        return n - 2 * (n // 3) if self.split else n

    def shifts(self, n: int) -> range:
        """Return the shifts d: the first candidate at i meets the second one at i + d."""
        least = 0 if self.split else 1  # unsplit, first and second candidates are the same rows: none meets itself
        return range(least, self.candidates(n) if self.all_pairs else least + 1)

    def pairs(self, n: int) -> int:
        """Return how many pairs n rows make."""
        return self.candidates(n) * len(self.shifts(n))


SCHEMES = {
    1: Scheme(split=True, all_pairs=False, all_anchors=False),
    2: Scheme(split=True, all_pairs=True, all_anchors=False),
    3: Scheme(split=True, all_pairs=True, all_anchors=True),
    4: Scheme(split=False, all_pairs=True, all_anchors=True),
}


def check_scheme(number: object) -> Scheme:
    """Return the scheme of this number; raise an InputError that lists the schemes if there is none."""
    for name, scheme in SCHEMES.items():
        if number == name:
            return scheme
    *others, last = SCHEMES
    raise InputError(f"scheme must be {', '.join(map(str, others))} or {last}, got {number!r}.")


class Partition:
    """One random split of n rows into anchors S0 and candidates S1, S2."""

    def __init__(self, n: int, scheme: Scheme, rng: np.random.Generator) -> None:
        order = rng.permutation(n)
        third = n // 3
        self._scheme = scheme
        self._rng = rng
        self.shifts = scheme.shifts(n)
        self.first = order[:third] if scheme.split else order
        self.second = order[third : 2 * third] if scheme.split else order
        self.anchors = order[2 * third :] if scheme.split else order

    def pairs(self, batch_size: int) -> Iterator[tuple[Index, Index]]:
        """Yield batches of candidate pairs, in random order; the pairs are never all in memory at once.

        Both candidate sets are shuffled. So pairing the first with the second shifted by d is a random
        matching, and all shifts together are all pairs.
        """
        size = len(self.first)
        stop = self.shifts.stop * size
        for k in range(self.shifts.start * size, stop, batch_size):
            shift, row = np.divmod(np.arange(k, min(k + batch_size, stop)), size)
            yield self.first[row], self.second[(row + shift) % size]

    def draw_anchors(self, count: int, shape: tuple[int, ...]) -> Index:  # (*shape, m)
        """Draw `count` anchors for each entry of `shape`, or return all, if there are no more or the scheme uses all.

        S0 is shuffled, so any window of it is a random subset without repetition.
        """
        size = len(self.anchors)
        if self._scheme.all_anchors or count >= size:
            return np.broadcast_to(self.anchors, (*shape, size))
        start = self._rng.integers(size, size=shape)
        return np.asarray(self.anchors[(np.asarray(start)[..., None] + np.arange(count)) % size])
