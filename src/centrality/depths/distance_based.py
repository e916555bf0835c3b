"""Depths by distances: spatial, potential, kernel density, Mahalanobis."""

import warnings
from collections.abc import Iterator

import numpy as np
from scipy.special import logsumexp
from sklearn.covariance import MinCovDet

from centrality._internal.checks import InputError, positive
from centrality._internal.input import RandomState, random_numbers
from centrality.depths._base import (
    BLOCK_VALUES,
    Array,
    Depth,
    Frame,
    by_blocks,
    centred,
    moments,
    product,
    unit_vectors,
    whitened,
)


class Mahalanobis(Depth):
    """Computes Mahalanobis depth: 1 / (1 + (x - mean)' (covariance + ridge I)⁻¹ (x - mean)).

    Parameters
    ----------
    robust : take centre and covariance from the minimum covariance determinant (scikit-learn's `MinCovDet`),
        which outliers in the training rows do not move.
    support_fraction : the share of the rows that `robust` goes by; None lets `MinCovDet` choose.
    ridge : added to each variance, in the squared units of the columns. With 0, a singular covariance is an
        error.
    contamination : the share of the training rows that `predict` calls outliers; "auto" is 0.1.
    dtype : "float64", or "float32" for half the memory.
    random_state : a seed makes `MinCovDet`, and so depths, the same each time.

    Examples
    --------
    >>> from centrality.depths import Mahalanobis
    >>> depth = Mahalanobis().fit([[-1.0], [0.0], [1.0]])
    >>> depth.score_samples([[0.0], [1.0], [3.0]]).round(6)
    array([1. , 0.5, 0.1])
    """

    def __init__(
        self,
        *,
        robust: bool = False,
        support_fraction: float | None = None,
        ridge: float = 1e-9,
        contamination: float | str = "auto",
        dtype: str = "float64",
        random_state: RandomState = None,
    ) -> None:
        self.robust = robust
        self.support_fraction = support_fraction
        self.ridge = ridge
        self.contamination = contamination
        self.dtype = dtype
        self.random_state = random_state

    def _learn_frame(self, rows: Array) -> Frame:
        ridge = positive("ridge", self.ridge, or_zero=True)
        if not self.robust:
            return whitened(*moments(rows), ridge)
        n, d = rows.shape
        if n <= d + 1:
            raise InputError(
                f"robust=True needs more rows than columns + 1 to find a majority of typical rows, "
                f"got n_samples={n} and {d} columns. Use robust=False, or fewer columns."
            )
        search = MinCovDet(support_fraction=self.support_fraction, random_state=random_numbers(self.random_state))
        scale = np.where(np.ptp(rows, axis=0) > 0, rows.std(0), 1.0)  # `MinCovDet` takes small variances for none
        with warnings.catch_warnings():
            # `MinCovDet` warns where the majority lies on a flat; the ridge defines the depth there.
            warnings.simplefilter("ignore")
            try:
                estimate = search.fit(rows / scale)
            except ValueError as error:
                raise InputError(
                    "robust=True found no spread in the majority of the rows, which are all equal or nearly so. "
                    "Use robust=False, or a larger support_fraction."
                ) from error
        return whitened(estimate.location_ * scale, estimate.covariance_ * np.outer(scale, scale), ridge)

    def _prepare(self) -> None:
        self._sample_depths = self._depth(self._points)  # all that a threshold needs: the sample itself can go
        del self._points

    def _threshold(self) -> float:
        return float(np.quantile(self._sample_depths, self._outlier_share))

    def _depth(self, points: Array) -> Array:
        return np.asarray(1 / (1 + np.einsum("ij,ij->i", points, points)))


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
