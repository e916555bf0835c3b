"""Choose candidates and anchors by the sampling schemes of the paper's Supplement; a new one is an entry in SCHEMES."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Scheme:
    """Say which candidates are compared with which, and by which anchors.

    See the Supplement, "Different sampling strategy investigation".
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
        """Return the matchings of n rows, each given by how far the second candidates are shifted against the first."""
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


def checked_scheme(number: object) -> int:
    """Return the number of a scheme, or raise a ValueError that names those there are."""
    for known in SCHEMES:
        if number == known:
            return known
    *others, last = SCHEMES
    raise InputError(f"scheme must be {', '.join(map(str, others))} or {last}, got {number!r}.")


class Partition:
    """Hold one random split of the rows into anchors S0 and candidates S1, S2."""

    def __init__(self, n: int, scheme: Scheme, rng: np.random.Generator) -> None:
        order = rng.permutation(n)
        third = n // 3
        self._scheme, self._rng, self._shifts = scheme, rng, scheme.shifts(n)
        self.first = self.second = self.anchors = order
        if scheme.split:
            self.first, self.second, self.anchors = order[:third], order[third : 2 * third], order[2 * third :]

    def pairs(self, batch_size: int) -> Iterator[tuple[Index, Index]]:
        """Yield batches of candidate pairs, in random order and without a list of them all.

        Both candidate sets are shuffled, so matching the one with the other shifted by d is a random
        matching, and all shifts together are all pairs.
        """
        size = len(self.first)
        start, stop = self._shifts.start * size, self._shifts.stop * size
        for k in range(start, stop, batch_size):
            shift, row = np.divmod(np.arange(k, min(k + batch_size, stop)), size)
            yield self.first[row], self.second[(row + shift) % size]

    def matchings(self, b: int) -> Iterator[Index]:
        """Yield the same pairs in full batches only, one matching at a time, first candidates before second ones."""
        count = len(self.first)
        used = count - count % b
        for shift in self._shifts:
            second = self.second[(np.arange(used) + shift) % count]
            yield np.concatenate([self.first[:used].reshape(-1, b), second.reshape(-1, b)], axis=1)  # (batches, 2b)

    def draw_anchors(self, count: int, *shape: int) -> Index:  # (*shape, m)
        """Draw anchors, at most as many as there are; return all of them, in order, if the scheme uses all.

        S0 is shuffled, so any window of it is a random subset without repetition.
        """
        size = len(self.anchors)
        if self._scheme.all_anchors or count >= size:
            return np.broadcast_to(self.anchors, (*shape, size))
        start = self._rng.integers(size, size=shape)
        return np.asarray(self.anchors[(np.asarray(start)[..., None] + np.arange(count)) % size])
