"""Define depths that average something over the distances to all rows: spatial, L2, potential, kernel density."""

from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp

from centrality._checks import positive
from centrality.depths._estimator import Depth
from centrality.depths._frames import (
    BLOCK_VALUES,
    Array,
    Frame,
    by_blocks,
    centred,
    moments,
    product,
    unit_vectors,
    whitened,
)

RIDGE = 1e-12


class _DistanceDepth(Depth):
    """Computes a depth block by block, from the distances between its points and all rows."""

    _distances: "_Distances"

    def _learn_frame(self, rows: Array) -> Frame:
        """Learn whitened coordinates, in which units do not matter."""
        return whitened(*moments(rows), RIDGE)

    def _prepare(self) -> None:
        """Get ready to measure distances to the sample."""
        self._distances = _Distances(self._points)

    def _depth(self, points: Array) -> Array:
        return by_blocks(self._block_depth, points, len(self._points)).astype(self.dtype, copy=False)

    def _block_depth(self, points: Array) -> Array:  # (b,)
        """Compute the depth of a block of points."""
        raise NotImplementedError


class Spatial(_DistanceDepth):
    """Computes spatial depth: 1 - ‖mean of the unit vectors from the rows to x‖, in whitened coordinates.

    Parameters
    ----------
    whiten : False measures in the columns as they are: the depth then follows rotations and one common unit only.
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64", or "float32" for half the memory and time.

    Examples
    --------
    >>> from centrality.depths import Spatial
    >>> Spatial().fit([[-1.0], [0.0], [1.0]]).score_samples([[0.0], [0.5], [2.0]]).round(6)
    array([1.      , 0.666667, 0.      ])
    """

    def __init__(self, *, whiten: bool = True, contamination: float | str = "auto", dtype: str = "float64") -> None:
        self.whiten = whiten
        self.contamination = contamination
        self.dtype = dtype

    def _learn_frame(self, rows: Array) -> Frame:
        return super()._learn_frame(rows) if self.whiten else centred(rows)

    def _block_depth(self, points: Array) -> Array:
        squared, close = self._distances.expanded(points)
        squared.ravel()[close] = np.inf  # no weight here: these unit vectors are added one by one
        weights = np.sqrt(squared, out=squared)
        np.divide(1, weights, out=weights)  # (b, n)
        sums = product(weights, self._distances.sample_and_ones)  # (b, r + 1)
        total = points * sums[:, -1:] - sums[:, :-1]
        for portion, difference in self._distances.differences(points, close):
            np.add.at(total, portion // len(self._points), unit_vectors(difference))
        return np.asarray(np.maximum(1 - np.linalg.norm(total, axis=1) / len(self._points), 0))


class L2(_DistanceDepth):
    """Computes L2 depth: 1 / (1 + mean distance to the rows), in whitened coordinates.

    Parameters
    ----------
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64", or "float32" for half the memory and time.

    Examples
    --------
    >>> from centrality.depths import L2
    >>> L2().fit([[-1.0], [0.0], [1.0]]).score_samples([[0.0], [5.0]]).round(6)
    array([0.6     , 0.166667])
    """

    def _block_depth(self, points: Array) -> Array:
        return np.asarray(1 / (1 + np.sqrt(self._distances.squared(points)).mean(1)))


class Potential(_DistanceDepth):
    """Computes potential depth: the mean of exp(-beta ‖x - row‖²), which says how crowded the neighbourhood of x is.

    Parameters
    ----------
    beta : the kernel's sharpness, in inverse squared units of the columns; "scott" is n^(-2 / (d + 4)).
    whiten : measure distances in whitened coordinates, so that units do not matter. The paper does not.
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64", or "float32" for half the memory and time.

    Examples
    --------
    >>> from centrality.depths import Potential
    >>> Potential(beta=1.0).fit([[0.0], [1.0]]).score_samples([[0.0]])  # (1 + e⁻¹) / 2
    array([0.68393972])
    """

    def __init__(
        self,
        *,
        beta: float | str = "scott",
        whiten: bool = False,
        contamination: float | str = "auto",
        dtype: str = "float64",
    ) -> None:
        self.beta = beta
        self.whiten = whiten
        self.contamination = contamination
        self.dtype = dtype

    def _learn_frame(self, rows: Array) -> Frame:
        n, d = rows.shape
        beta = max(n ** (-2 / (d + 4)), 1e-12) if self.beta == "scott" else positive("beta", self.beta)
        frame = super()._learn_frame(rows) if self.whiten else centred(rows)
        # The unit is taken so that beta becomes 1: one multiplication less for each pair of points.
        return Frame(frame.center, frame.matrix * np.sqrt(beta))

    def _block_depth(self, points: Array) -> Array:
        squared = self._distances.squared(points)
        np.negative(squared, out=squared)
        return np.asarray(np.exp(squared, out=squared).mean(1))


class KernelDensity(_DistanceDepth):
    """Computes the logarithm of a Gaussian kernel density estimate.

    Parameters
    ----------
    bandwidth : the kernel's standard deviation, in units of the columns; "scott" gives it the shape of the
        data's covariance, shrunk by n^(-2 / (d + 4)), as `scipy.stats.gaussian_kde` does.
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64", or "float32" for half the memory and time.

    Examples
    --------
    >>> from centrality.depths import KernelDensity
    >>> KernelDensity(bandwidth=1.0).fit([[0.0], [0.0]]).score_samples([[0.0]])  # -log √(2π)
    array([-0.91893853])
    """

    def __init__(
        self,
        *,
        bandwidth: float | str = "scott",
        contamination: float | str = "auto",
        dtype: str = "float64",
    ) -> None:
        self.bandwidth = bandwidth
        self.contamination = contamination
        self.dtype = dtype

    def _learn_frame(self, rows: Array) -> Frame:
        n, d = rows.shape
        if self.bandwidth == "scott":
            frame = super()._learn_frame(rows)
            frame = Frame(frame.center, frame.matrix * n ** (1 / (d + 4)))
        else:
            frame = Frame(rows.mean(0), np.eye(d) / positive("bandwidth", self.bandwidth))
        # The kernel is the standard normal in these coordinates; their volume element takes it back to the user's.
        self._log_volume = np.linalg.slogdet(frame.matrix)[1] - 0.5 * d * np.log(2 * np.pi) - np.log(n)
        return frame

    def _block_depth(self, points: Array) -> Array:
        squared = self._distances.squared(points)
        squared *= -0.5
        return np.asarray(logsumexp(squared, axis=1) + self._log_volume)


class _Distances:
    """Gives the distances from any points to this sample, by one matrix product, without its loss of digits.

    |x - y|² = |x|² + |y|² - 2xy cancels where x and y are close, so those pairs are subtracted instead.
    """

    def __init__(self, sample: Array) -> None:
        self.sample = sample
        ones = np.ones(len(sample), dtype=sample.dtype)
        self._factor = np.stack([*sample.T, ones, _squares(sample)])  # (r + 2, n): see `expanded`
        self.sample_and_ones = self._factor[:-1].T.copy()  # weights @ this: sums of rows, and of weights
        # A square this small beside |x|² + |y|², which is then nearly 2|x|², has lost half its digits.
        self._close = 2.01 * float(np.finfo(sample.dtype).eps) ** 0.4

    def expanded(self, points: Array) -> tuple[Array, Array]:  # (b, n), (pairs,)
        """Return squared distances by the matrix product, and the flat indices of those not to be trusted."""
        squares = _squares(points)[:, None]
        squared = product(np.hstack([-2 * points, squares, np.ones_like(squares)]), self._factor)
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
