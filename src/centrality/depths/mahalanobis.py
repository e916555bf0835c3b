"""Define Mahalanobis depth: how far from the mean a point lies, measured by the covariance."""

import warnings

import numpy as np
from sklearn.covariance import MinCovDet

from centrality._checks import InputError, positive
from centrality._estimator import RandomState, random_numbers
from centrality.depths._estimator import Depth
from centrality.depths._frames import Array, Frame, moments, whitened


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
        center, covariance = self._robust_moments(rows) if self.robust else moments(rows)
        return whitened(center, covariance, ridge)

    def _robust_moments(self, rows: Array) -> tuple[Array, Array]:  # (d,), (d, d)
        """Return centre and covariance of the most typical rows."""
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
        return estimate.location_ * scale, estimate.covariance_ * np.outer(scale, scale)

    def _prepare(self) -> None:
        self._sample_depths = self._depth(self._points)  # all that a threshold needs: the sample itself can go
        del self._points

    def _threshold(self) -> float:
        return float(np.quantile(self._sample_depths, self._outlier_share))

    def _depth(self, points: Array) -> Array:
        return np.asarray(1 / (1 + np.einsum("ij,ij->i", points, points)))
