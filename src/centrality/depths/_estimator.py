"""Hold what all depths share: checked rows in, one number per row out, and a threshold that is computed when needed."""

from typing import Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from centrality._checks import InputError
from centrality._estimator import (
    CentralityEstimator,
    CheckedRows,
    RowsLike,
    rows_to_fit,
    rows_to_score,
    share_of_outliers,
    unchanged_on_failure,
)
from centrality.depths._frames import Array, Frame

PRECISIONS = ("float64", "float32")


class Depth(CentralityEstimator):
    """Says how deep in the sample each row lies: larger means deeper, that is, more typical.

    A subclass learns its coordinates in `_learn_frame`, and in `_depth` computes the depth of points given in them.

    >>> from centrality.depths import Depth, Spatial
    >>> isinstance(Spatial(), Depth)
    True
    """

    n_features_in_: int
    _points: Array  # (n, r) the sample, in the frame's coordinates

    def __init__(self, *, contamination: float | str = "auto", dtype: str = "float64") -> None:
        self.contamination = contamination
        self.dtype = dtype

    def fit(self, X: RowsLike, y: object = None) -> Self:
        """Learn what the depth needs to know of the rows of X; `y` is ignored."""
        with unchanged_on_failure(self):
            checked = rows_to_fit(self, X, at_least=2, why="one row alone has no spread")
            if self.dtype not in PRECISIONS:
                raise InputError(f"dtype must be one of {', '.join(PRECISIONS)}, got {self.dtype!r}.")
            self._outlier_share = share_of_outliers(self.contamination)
            rows = _dense(checked)
            self._frame = self._learn_frame(rows)
            self._points = self._frame.coordinates(rows, self.dtype)
            self._offset: list[float] = []  # empty until it is computed or set
            self._prepare()
        return self

    def score_samples(self, X: RowsLike) -> NDArray[np.float64]:  # (n,)
        """Return the depth of each row: larger means more normal."""
        return self._score(_dense(rows_to_score(self, X)))

    @property
    def offset_(self) -> float:
        """Return the depth below which `predict` says outlier; it may be set.

        It is computed when first needed: the depth of every training row may cost far more than the depths wanted.
        """
        check_is_fitted(self)
        if not self._offset:
            self._offset.append(self._threshold())
        return self._offset[0]

    @offset_.setter
    def offset_(self, value: float) -> None:
        self._offset = [float(value)]

    def _threshold(self) -> float:
        """Compute the depth below which lies the wanted share of the training rows."""
        return float(np.quantile(self._depth(self._points), self._outlier_share))

    def _learn_frame(self, rows: Array) -> Frame:
        """Learn from the rows the coordinates in which the depth works."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Compute what is needed once, from the sample in the frame's coordinates."""

    def _score(self, rows: Array) -> Array:  # (n,)
        """Return the depth of rows of numbers; it is 0 where the sample could not lie."""
        depth = self._depth(self._frame.coordinates(rows, self.dtype))
        depth[~self._frame.contains(rows)] = 0
        return depth

    def _depth(self, points: Array) -> Array:  # (n,)
        """Compute the depth of points, given in the frame's coordinates."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _dense(rows: CheckedRows) -> Array:  # (n, d)
    """Return the rows as an array of float64."""
    dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return dense.astype(np.float64, copy=False)
