"""Who is compared, before whom: the sampling schemes of the paper's Supplement."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]


@dataclass(frozen=True)
class Scheme:
    """Who is compared before whom; see the Supplement, "Different sampling strategy investigation"."""

    split: bool  # anchors and candidates come from three disjoint thirds
    all_pairs: bool  # every candidate meets every other, not only its match
    all_anchors: bool  # every anchor judges every pair, not only a subsample


SCHEMES = {
    1: Scheme(split=True, all_pairs=False, all_anchors=False),
    2: Scheme(split=True, all_pairs=True, all_anchors=False),
    3: Scheme(split=True, all_pairs=True, all_anchors=True),
    4: Scheme(split=False, all_pairs=True, all_anchors=True),
}


class Partition:
    """One random split of the rows into anchors S0 and candidates S1, S2."""

    def __init__(self, n: int, scheme: Scheme, rng: np.random.Generator) -> None:
        order = rng.permutation(n)
        third = n // 3
        self.scheme, self._rng = scheme, rng
        if scheme.split:
            self.first, self.second, self.anchors = (
                order[:third],
                order[third : 2 * third],
                order[2 * third :],
            )
        else:
            self.first = self.second = self.anchors = order

    def pairs(self, batch_size: int) -> Iterator[tuple[Index, Index]]:
        """Batches of candidate pairs, in random order and without a list of them all.

        Both candidate sets are shuffled, so matching the one with the other shifted by d is a random
        matching, and all shifts together are all pairs.
        """
        size = len(self.first)
        start = 0 if self.scheme.split else size  # unsplit, the first matching pairs each row with itself
        stop = size**2 if self.scheme.all_pairs else size
        for k in range(start, stop, batch_size):
            shift, row = np.divmod(np.arange(k, min(k + batch_size, stop)), size)
            yield self.first[row], self.second[(row + shift) % size]

    def matchings(self, b: int) -> Iterator[Index]:
        """The same pairs as whole batches only, one matching at a time: (batches, 2b), first candidates first."""
        count = len(self.first)
        shifts = range(0 if self.scheme.split else 1, count) if self.scheme.all_pairs else range(1)
        whole = count - count % b
        for shift in shifts:
            second = self.second[(np.arange(whole) + shift) % count]
            yield np.concatenate([self.first[:whole].reshape(-1, b), second.reshape(-1, b)], axis=1)

    def judges(self, count: int, *shape: int) -> Index:
        """(*shape, m) anchors, no more than there are; all of them, in order, if the scheme says so.

        S0 is shuffled, so any window of it is a random subset without repetition.
        """
        size = len(self.anchors)
        if self.scheme.all_anchors or count >= size:
            return np.broadcast_to(self.anchors, (*shape, size))
        start = self._rng.integers(size, size=shape)
        return np.asarray(self.anchors[(np.asarray(start)[..., None] + np.arange(count)) % size])
