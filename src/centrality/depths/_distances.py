"""Compute distances between two sets of points by one matrix product, without its loss of digits.

|x - y|² = |x|² + |y|² - 2xy cancels where x and y are close, so those pairs are subtracted instead.
"""

from collections.abc import Iterator

import numpy as np

from centrality.depths._frames import BLOCK_VALUES, Array


class Distances:
    """Gives the distances from any points to this sample."""

    def __init__(self, sample: Array) -> None:
        self.sample = sample
        ones = np.ones(len(sample), dtype=sample.dtype)
        self._factor = np.stack([*sample.T, ones, _squares(sample)])  # (r + 2, n): see `expanded`
        self.sample_and_ones = self._factor[:-1].T  # weights @ this: sums of rows, and of weights
        # A square this small beside |x|² + |y|², which is then nearly 2|x|², has lost half its digits.
        self._close = 2.01 * float(np.finfo(sample.dtype).eps) ** 0.4

    def expanded(self, points: Array) -> tuple[Array, Array]:  # (b, n), (pairs,)
        """Return squared distances by the matrix product, and the flat indices of those not to be trusted."""
        squares = _squares(points)[:, None]
        squared = np.hstack([-2 * points, squares, np.ones_like(squares)]) @ self._factor
        return squared, np.flatnonzero(squared <= self._close * squares)

    def differences(self, points: Array, pairs: Array) -> Iterator[tuple[Array, Array]]:
        """Yield the pairs, given by flat index, in portions, each with the point's difference from the sample's row."""
        n, r = self.sample.shape
        size = max(BLOCK_VALUES // r, 1)
        for start in range(0, len(pairs), size):
            portion = pairs[start : start + size]
            yield portion, points[portion // n] - self.sample[portion % n]

    def squared(self, points: Array) -> Array:  # (b, n)
        """Return squared distances, to full precision."""
        squared, pairs = self.expanded(points)
        for portion, difference in self.differences(points, pairs):
            squared.ravel()[portion] = _squares(difference)
        return squared


def _squares(vectors: Array) -> Array:  # (n,)
    """Return the squared lengths of the vectors."""
    return np.asarray(np.einsum("ij,ij->i", vectors, vectors))
