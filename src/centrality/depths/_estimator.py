"""What all depths share: checked rows in, one number per row out, a threshold when it is asked for."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from centrality._checks import InputError
from centrality._estimator import (
    CentralityEstimator,
    rows_to_fit,
    rows_to_score,
    share_of_outliers,
    unchanged_on_failure,
)
from centrality.depths._frames import Array, Frame

PRECISIONS = ("float64", "float32")
OUTLIERS = 0.1  # contamination="auto"


class Depth(CentralityEstimator):
    """A depth: larger means deeper in the sample, that is, more typical.

    A subclass learns its frame in `_learn` and computes the depth of placed points in `_depth`.
    """

    contamination: float | str
    dtype: str
    n_features_in_: int
    _points: Array  # (n, r) the sample, placed

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn what the depth needs to know of the rows of X; `y` is ignored."""
        with unchanged_on_failure(self):
            rows = rows_to_fit(self, X, at_least=2, why="one row alone has no spread")
            if self.dtype not in PRECISIONS:
                raise InputError(f"dtype must be one of {', '.join(PRECISIONS)}, got {self.dtype!r}.")
            self._share = share_of_outliers(self.contamination, auto=OUTLIERS)
            rows = _dense(rows)
            self._frame = self._learn(rows)
            self._points = self._frame.place(rows, self.dtype)
            self._offset: list[float] = []
            self._prepare()
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The depth of each row: larger means more normal."""
        return self._score(_dense(rows_to_score(self, X)))

    @property
    def offset_(self) -> float:
        """The depth below which `predict` says outlier; it may be set.

        Found when first asked for: the depth of every training row may cost far more than the depths wanted.
        """
        check_is_fitted(self)
        if not self._offset:
            self._offset.append(self._threshold())
        return self._offset[0]

    @offset_.setter
    def offset_(self, value: float) -> None:
        self._offset = [float(value)]

    def _threshold(self) -> float:
        return float(np.quantile(self._depth(self._points), self._share))

    def _learn(self, rows: Array) -> Frame:
        raise NotImplementedError

    def _prepare(self) -> None:
        """Anything to be computed once from the placed sample."""

    def _score(self, rows: Array) -> Array:
        depth = self._depth(self._frame.place(rows, self.dtype))
        depth[~self._frame.holds(rows)] = 0
        return depth

    def _depth(self, points: Array) -> Array:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _dense(rows: Any) -> Array:
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    return dense.astype(np.float64, copy=False)
