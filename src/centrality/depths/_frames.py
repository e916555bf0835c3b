"""Coordinates in which a depth works: centred, whitened, or those of the flat that holds the sample.

Moments and matrices are float64 whatever precision was asked for; only the coordinates are cast.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError

Array = NDArray[Any]

BLOCK_VALUES = 1 << 17  # values handled together: 1 MiB in float64, so that passes over a block stay in cache
RANK = 1e-12  # share of the largest variance below which a direction counts as having none


@dataclass(frozen=True)
class Frame:
    """points = (rows - center) @ matrix."""

    center: Array  # (d,)
    matrix: Array  # (d, r)

    def place(self, rows: Array, dtype: Any) -> Array:
        # A hostile value must stay finite when it is squared: 1e120 in float64, 1e15 in float32.
        limit = 1e120 if dtype == np.float64 else 1e15
        with np.errstate(over="ignore", invalid="ignore"):
            near = rows - self.center
            placed = near @ self.matrix
            if not np.vdot(placed, placed) <= limit**2:  # rarely: then value by value
                placed = np.clip(np.clip(near, -1e150, 1e150) @ self.matrix, -limit, limit)
        return np.asarray(placed, dtype=dtype)

    def holds(self, rows: Array) -> NDArray[np.bool_]:
        """(n,) which rows lie where the sample could: here, all."""
        return np.ones(len(rows), dtype=bool)


@dataclass(frozen=True)
class Flat(Frame):
    """Coordinates within the smallest flat that holds the sample, and who lies on it.

    `slack` is how far apart two equal points may come to lie by rounding: 0 where coordinates are taken as
    they are.
    """

    scale: Array  # (d,) one unit of each column
    normals: Array  # (d, d - r) orthonormal, in scaled columns: directions in which the sample has no extent
    reach: float  # how far the sample itself strays from its flat, by rounding
    slack: float

    @property
    def rank(self) -> int:
        return int(self.matrix.shape[1])

    def holds(self, rows: Array) -> NDArray[np.bool_]:
        """(n,) which rows lie on the flat."""
        if self.normals.shape[1] == 0:
            return super().holds(rows)
        scaled = np.clip((rows - self.center) / self.scale, -1e150, 1e150)
        strayed = np.abs(scaled @ self.normals).max(1)
        return np.asarray(strayed <= 2 * self.reach + 1e-9 * (1 + np.abs(scaled).max(1)))


def centred(rows: Array) -> Frame:
    """The columns as they are but for a shift: distances and projections keep their precision."""
    return Frame(rows.mean(0), np.eye(rows.shape[1]))


def in_one_unit(rows: Array) -> Frame:
    """`centred`, in one common unit for all columns: their root mean variance."""
    _, covariance = moments(rows)
    _require_squares(covariance)
    unit = float(np.sqrt(np.diag(covariance).mean()))
    return Frame(rows.mean(0), np.eye(rows.shape[1]) / (unit if unit > 0 else 1.0))


def whitened(center: Array, covariance: Array, ridge: float) -> Frame:
    """The frame in which `covariance + ridge * identity` becomes the identity."""
    _require_squares(covariance)
    values, vectors = np.linalg.eigh(covariance)
    values = values.clip(0.0, None) + ridge  # rounding may leave a zero slightly negative
    if values.min() <= 0:
        raise InputError(
            "The covariance is singular (constant or dependent columns, or no more rows than columns) and ridge=0. "
            "Drop such columns, or give a small ridge above 0."
        )
    return Frame(center, vectors / np.sqrt(values))


def moments(rows: Array) -> tuple[Array, Array]:
    """Mean, and covariance over n - 1."""
    mean = rows.mean(0)
    with np.errstate(over="ignore", invalid="ignore"):
        deviations = rows - mean
        return mean, deviations.T @ deviations / (len(rows) - 1)


def flat(rows: Array, *, whiten: bool) -> Flat:
    """The flat that holds `rows`. Without `whiten`, full-rank columns are only scaled, exactly, by powers of two."""
    mean, covariance = moments(rows)
    _require_squares(covariance)
    constant = np.ptp(rows, axis=0) <= 8 * np.finfo(np.float64).eps * np.abs(rows).max(0)  # but for rounding
    scale = np.where(constant, 1.0, np.sqrt(np.diag(covariance)))
    scale[scale == 0] = 1.0
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    keep = values > RANK * max(values.max(), 1.0)
    if keep.all() and not whiten:
        powers = np.exp2(-np.rint(np.log2(scale)))
        return Flat(np.zeros_like(mean), np.diag(powers), scale, vectors[:, ~keep], 0.0, 0.0)
    matrix = vectors[:, keep] / np.sqrt(values[keep]) / scale[:, None]
    normals = vectors[:, ~keep]
    reach = float(np.abs((rows - mean) / scale @ normals).max(initial=0.0))
    return Flat(mean, matrix, scale, normals, reach, 1e-10)


def blocks(n: int, width: int) -> Iterator[slice]:
    """Slices of n rows that make blocks of about BLOCK_VALUES values when each row brings `width` of them."""
    size = max(BLOCK_VALUES // max(width, 1), 16)
    for start in range(0, n, size):
        yield slice(start, start + size)


def unit(vectors: Array) -> Array:
    """Vectors of length 1; those of no length stay as they are."""
    largest = np.abs(vectors).max(1, keepdims=True, initial=0)  # first, so that no square overflows
    scaled = vectors / np.where(largest > 0, largest, 1)
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length > 0, length, 1))


def _require_squares(covariance: Array) -> None:
    if not np.isfinite(covariance).all():
        raise InputError("The rows are too large for their squares to be computed: rescale them to below 1e150.")
