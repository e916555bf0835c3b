"""Bring the user's columns to the network: centred, scaled, and bent where their tails are heavy.

Large data is never copied as one: dense, integer and sparse rows are converted block by block.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from centrality._checks import InputError
from centrality._estimator import CheckedRows, SparseRows

SCALINGS = ("auto", "standard", "none")
ALIKE = 10.0  # columns whose deviations differ by no more than this factor are taken to share a unit
HEAVY = 6.0  # a column's tails are heavy if its kurtosis is above this; a normal one has 3, a double exponential 6
BENT, BENT_IF_CLEAN = 1.0, 3.0  # deviations from which such a column is bent; far values of clean rows are no dirt
BLOCK_VALUES = 1 << 18  # values per block in passes over all rows: 2 MiB in float64
MOST_VALUES = 1 << 22  # where rows are so wide that few of them are more than that: 32 MiB
SAMPLE_VALUES = 1 << 19  # values that tell whether tails are heavy
FEWEST = 1024  # rows held, however wide they are


@dataclass(frozen=True)
class Scaling:
    """Scale the columns: z = u = (x - center) * weight; where tails are heavy, z = (asinh(u) - shift) * gain.

    A constant column has weight 0.
    """

    center: NDArray[np.float64]  # (p,)
    weight: NDArray[np.float64]  # (p,)
    heavy: NDArray[np.int64]  # (h,) numbers of the columns with heavy tails
    shift: NDArray[np.float64]  # (h,)
    gain: NDArray[np.float64]  # (h,)

    @classmethod
    def fit(cls, X: CheckedRows, kind: str, *, clean: bool = False) -> "Scaling":
        """Return the scaling of this kind that the rows X call for."""
        if kind not in SCALINGS:
            raise InputError(f"scaling must be one of {', '.join(SCALINGS)}, got {kind!r}.")
        mean, deviation = _moments(X)
        if not np.isfinite(deviation).all():
            column = int(np.flatnonzero(~np.isfinite(deviation))[0])
            raise InputError(f"The values of column {column} are so large that their variance overflows: rescale it.")
        if not deviation.any():
            raise InputError(
                f"All {X.shape[0]} rows are equal, so none is more central than another: "
                "rows that differ in at least one column were wanted."
            )
        none = np.empty(0)
        if kind == "none":
            return cls(np.zeros_like(mean), np.ones_like(mean), none.astype(np.int64), none, none)
        varies = deviation > 0
        standard = cls(mean, _inverse(deviation), none.astype(np.int64), none, none)
        if kind == "standard":
            return standard
        heavy = standard._with_heavy_tails(X, BENT_IF_CLEAN if clean else BENT)
        if not len(heavy.heavy) and deviation.max() <= ALIKE * deviation[varies].min():
            # One scale for all keeps distances and angles what they were.
            common = np.where(varies, np.sqrt(np.square(deviation[varies]).mean()), 0.0)
            return cls(mean, _inverse(common), none.astype(np.int64), none, none)
        return heavy

    def _with_heavy_tails(self, X: CheckedRows, bent_from: float) -> "Scaling":
        """Pass columns with heavy tails through asinh: a few huge values would make all others look alike."""
        step = -(-X.shape[0] // max(SAMPLE_VALUES // X.shape[1], FEWEST))
        u = (dense(X[::step]).astype(np.float64) - self.center) * self.weight
        spread = np.square(u).mean(0)
        kurtosis = np.divide(
            np.square(np.square(u)).mean(0), np.square(spread), out=np.zeros_like(spread), where=spread > 0
        )
        heavy = np.flatnonzero(kurtosis > HEAVY)
        bent = np.arcsinh(u[:, heavy] / bent_from)
        weight = self.weight.copy()
        weight[heavy] /= bent_from
        return Scaling(self.center, weight, heavy, bent.mean(0), _inverse(bent.std(0)))

    def apply(self, block: NDArray[Any]) -> NDArray[np.float32]:
        """Return the rows as the network takes them."""
        # In float64 first: a float32 column around 1e6 would lose its small differences.
        return self.scaled(block).astype(np.float32)

    def scaled(self, block: NDArray[Any]) -> NDArray[np.float64]:
        """Return the rows in scaled units, before they are rounded to float32."""
        scaled: NDArray[np.float64] = (block - self.center) * self.weight
        if len(self.heavy):
            scaled[:, self.heavy] = (np.arcsinh(scaled[:, self.heavy]) - self.shift) * self.gain
        # A hostile value must not become an infinity that turns the whole network's output into NaN.
        return np.minimum(np.maximum(scaled, -1e15, out=scaled), 1e15, out=scaled)

    def varying(self) -> NDArray[np.bool_]:  # (p,)
        """Say which columns have an influence at all: those that are not constant."""
        free = self.weight != 0
        free[self.heavy] &= self.gain != 0
        return np.asarray(free)

    def in_users_units(self, given: NDArray[np.float64], points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scaled points, the first of which are the rows `given`, in the user's units."""  # (n, s, p)
        free = self.varying()
        moved = points.copy()
        bent = self.heavy[free[self.heavy]]
        gain, shift = (values[free[self.heavy]] for values in (self.gain, self.shift))
        moved[:, :, bent] = np.sinh(points[:, :, bent] / gain + shift)
        moved -= moved[:, :1].copy()
        moved[:, :, free] /= self.weight[free]
        moved[:, :, ~free] = 0.0
        return given[:, None] + moved


def _inverse(deviation: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)


def dense(block: CheckedRows) -> NDArray[Any]:
    """Return the rows as an array, whether they are sparse or not."""
    return np.asarray(cast(SparseRows, block).toarray() if sparse.issparse(block) else block)


def rows_per_block(width: int) -> int:
    """Return how many rows of this width make a block that stays small in memory."""
    return min(max(BLOCK_VALUES // max(width, 1), min(256, MOST_VALUES // max(width, 1)), 8), 8192)


@np.errstate(over="ignore", invalid="ignore")  # the caller looks for what is not finite
def _moments(X: CheckedRows) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return mean and standard deviation of each column, the latter exactly 0 where a column is constant.

    One pass over blocks, no copy of the data. Deviations are taken from each block's own mean, and the blocks' are
    put together (Chan, Golub and LeVeque): stable for columns far from zero.
    """
    n, p = X.shape
    size = rows_per_block(p)

    def of_block(start: int) -> tuple[int, NDArray[np.float64], NDArray[np.float64]]:
        block = dense(X[start : start + size]).astype(np.float64)
        mean = block.mean(0)
        block -= mean
        return len(block), mean, np.einsum("ij,ij->j", block, block)

    with ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as pool:  # numpy lets other threads run meanwhile
        counts, means, squares = map(np.stack, zip(*pool.map(of_block, range(0, n, size)), strict=True))
    mean = np.average(means, axis=0, weights=counts)
    between = (counts[:, None] * np.square(means - mean)).sum(0)
    deviation = np.sqrt((squares.sum(0) + between) / n)
    doubtful = np.flatnonzero((deviation > 0) & (deviation <= 1e-9 * np.abs(mean)))  # rounding, or a real difference?
    for start in range(0, n, size) if len(doubtful) else ():
        first, block = (dense(X[at])[:, doubtful] for at in (slice(1), slice(start, start + size)))
        doubtful = doubtful[(block == first).all(0)]
    deviation[doubtful] = 0.0
    return mean, deviation
