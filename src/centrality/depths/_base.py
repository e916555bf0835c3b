"""The base of classical depths, and how their columns are scaled.

Moments and matrices are float64 whatever precision the user wants; only the coordinates are cast.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import InputError
from centrality._internal.input import (
    CentralityEstimator,
    CheckedRows,
    RowsLike,
    rows_to_fit,
    rows_to_score,
    share_of_outliers,
    unchanged_on_failure,
)

Array = NDArray[Any]  # of float64 or float32, as the user wants; counts are of integers

BLOCK_VALUES = 1 << 17  # values of a block: 1 MiB in float64, which fits the cache
TILE = 24  # rows of each matrix product
RANK = 1e-12  # a direction with a smaller share of the largest variance counts as having no variance


@dataclass(frozen=True)
class Frame:
    """Turns rows into points: points = (rows - center) @ matrix."""

    center: Array  # (d,)
    matrix: Array  # (d, r)

    def coordinates(self, rows: Array, dtype: str) -> Array:  # (n, r)
        """Return the rows as points in this frame; values too large to be squared are cut."""
        limit = 1e15  # its square is finite in float32, too
        with np.errstate(over="ignore", invalid="ignore"):
            near = rows - self.center
            points = product(near, self.matrix)
            if not np.vdot(points, points) <= limit**2:  # rarely so: then each value is cut by itself
                points = np.clip(product(np.clip(near, -1e150, 1e150), self.matrix), -limit, limit)
        return np.asarray(points, dtype=dtype)

    def contains(self, rows: Array) -> NDArray[np.bool_]:  # (n,)
        """Say which rows lie where rows of the sample could lie: in this frame, all do."""
        return np.ones(len(rows), dtype=bool)


@dataclass(frozen=True)
class Flat(Frame):
    """Turns rows into points of the smallest flat that holds the sample, and says which rows lie on that flat."""

    scale: Array  # (d,) one unit of each column
    normals: Array  # (d, d - r) orthonormal, in scaled columns: directions in which the sample has no extent
    reach: float  # how far rounding moves rows of the sample away from the flat
    slack: float  # how far rounding may move equal points apart; 0 if coordinates are not computed

    @property
    def rank(self) -> int:
        """Return the flat's dimension."""
        return int(self.matrix.shape[1])

    def contains(self, rows: Array) -> NDArray[np.bool_]:  # (n,)
        """Say which rows lie on the flat."""
        if self.normals.shape[1] == 0:
            return super().contains(rows)
        scaled = np.clip((rows - self.center) / self.scale, -1e150, 1e150)
        distance = np.abs(scaled @ self.normals).max(1)
        return np.asarray(distance <= 2 * self.reach + 1e-9 * (1 + np.abs(scaled).max(1)))


def centred(rows: Array) -> Frame:
    """Return the frame that only shifts the columns, for the sake of precision."""
    return Frame(rows.mean(0), np.eye(rows.shape[1]))


def centred_in_one_unit(rows: Array) -> Frame:
    """Return the frame that shifts the columns and gives them one common unit: their root mean variance."""
    _, covariance = moments(rows)
    _require_squares(covariance)
    unit = float(np.sqrt(np.diag(covariance).mean()))
    return Frame(rows.mean(0), np.eye(rows.shape[1]) / (unit if unit > 0 else 1.0))


def whitened(center: Array, covariance: Array, ridge: float) -> Frame:
    """Return the frame in which `covariance + ridge * identity` becomes the identity."""
    _require_squares(covariance)
    values, vectors = np.linalg.eigh(covariance)
    values = values.clip(0.0, None) + ridge  # rounding may leave a zero slightly negative
    if values.min() <= 0:
        raise InputError(
            "The covariance is singular (constant or dependent columns, or no more rows than columns) and ridge=0. "
            "Drop such columns, or give a small ridge above 0."
        )
    return Frame(center, vectors / np.sqrt(values))


def moments(rows: Array) -> tuple[Array, Array]:  # (d,), (d, d)
    """Return the mean, and the covariance with n - 1 in its denominator."""
    mean = rows.mean(0)
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = rows - mean
        return mean, deviations.T @ deviations / (len(rows) - 1)


def smallest_flat(rows: Array, *, whiten: bool) -> Flat:
    """Return the smallest flat that holds the rows.

    Without `whiten`, columns of full rank are only scaled, exactly, by powers of two.
    """
    mean, covariance = moments(rows)
    _require_squares(covariance)
    constant = np.ptp(rows, axis=0) <= 8 * np.finfo(np.float64).eps * np.abs(rows).max(0)  # but for rounding
    scale = np.where(constant, 1.0, np.sqrt(np.diag(covariance)))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    has_extent = values > RANK * max(values.max(), 1.0)
    if has_extent.all() and not whiten:
        powers = np.exp2(-np.rint(np.log2(scale)))
        return Flat(np.zeros_like(mean), np.diag(powers), scale, vectors[:, ~has_extent], 0.0, 0.0)
    matrix = vectors[:, has_extent] / np.sqrt(values[has_extent]) / scale[:, None]
    normals = vectors[:, ~has_extent]
    reach = float(np.abs((rows - mean) / scale @ normals).max(initial=0.0))
    return Flat(mean, matrix, scale, normals, reach, 1e-10)


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n rows that make blocks of about BLOCK_VALUES values when each row brings `width` of them."""
    size = max(BLOCK_VALUES // max(width, 1) // TILE, 1) * TILE
    for start in range(0, n, size):
        yield slice(start, start + size)


def by_blocks(work: Callable[[Array], Array], rows: Array, width: int) -> Array:
    """Return `work` of the rows, done block by block, when each row brings `width` values."""
    return np.concatenate([work(rows[block]) for block in blocks(len(rows), width)])


def product(rows: Array, matrix: Array) -> Array:
    """Return rows @ matrix, such that each row of the result depends on one row only, to the last bit.

    How a matrix product is rounded depends on its shape. So all products here have TILE rows, filled up with zeros.
    Otherwise a row's depth would depend on how many rows are scored together, and equal rows could differ in depth.
    """
    n, width = rows.shape
    tiles = -(-n // TILE)
    if n % TILE:
        rows = np.concatenate([rows, np.zeros((tiles * TILE - n, width), dtype=rows.dtype)])
    return np.asarray((rows.reshape(tiles, TILE, width) @ matrix).reshape(tiles * TILE, matrix.shape[1])[:n])


def unit_vectors(vectors: Array) -> Array:  # (n, r)
    """Return the vectors with length 1; those of no length stay as they are."""
    largest = np.abs(vectors).max(1, keepdims=True, initial=0)  # first, so that no square overflows
    scaled = vectors / np.where(largest > 0, largest, 1)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length > 0, length, 1))


def _require_squares(covariance: Array) -> None:
    """Raise if squares of the rows overflowed on the way to their covariance."""
    if not np.isfinite(covariance).all():
        raise InputError("The rows are too large for their squares to be computed: rescale them to below 1e150.")


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
        rows = _dense(rows_to_score(self, X))
        depth = self._depth(self._frame.coordinates(rows, self.dtype))
        depth[~self._frame.contains(rows)] = 0  # where no row of the sample could lie
        return depth

    @property
    def offset_(self) -> float:
        """Return the depth below which `predict` says outlier; it may be set.

        It is computed when first needed, since it takes the depth of every training row.
        """
        check_is_fitted(self)
        if not self._offset:
            self._offset.append(self._threshold())
        return self._offset[0]

    @offset_.setter
    def offset_(self, value: float) -> None:
        self._offset = [float(value)]

    def _threshold(self) -> float:
        """Compute the depth below which the share of outliers among the training rows lies."""
        return float(np.quantile(self._depth(self._points), self._outlier_share))

    def _learn_frame(self, rows: Array) -> Frame:
        """Learn from the rows the coordinates in which the depth works."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Compute what is needed once, from the sample in the frame's coordinates."""

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
