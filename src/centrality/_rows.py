"""The user's rows as the network sees them: scaled float32 batches, cut on demand.

Large data is never copied whole: dense, integer and sparse rows are converted batch by batch.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

SCALINGS = ("auto", "standard", "none")
ALIKE = 10.0  # columns whose deviations differ by no more than this factor are taken to share a unit
BLOCK_VALUES = 1 << 20  # values per block in passes over all rows: 8 MiB in float64
KEPT_VALUES = 1 << 23  # data of up to this many values is scaled once and kept: 32 MiB in float32


@dataclass(frozen=True)
class Scaling:
    """z = (x - center) * weight, column by column. A constant column has weight 0."""

    center: NDArray[np.float64]  # (p,)
    weight: NDArray[np.float64]  # (p,)

    @classmethod
    def fit(cls, X: Any, kind: str) -> "Scaling":
        if kind not in SCALINGS:
            raise ValueError(f"scaling must be one of {', '.join(SCALINGS)}, got {kind!r}.")
        mean, deviation = _moments(X)
        if not np.isfinite(deviation).all():
            column = int(np.flatnonzero(~np.isfinite(deviation))[0])
            raise ValueError(f"The values of column {column} are so large that their variance overflows: rescale it.")
        if not deviation.any():
            raise ValueError(
                f"All {X.shape[0]} rows are equal, so none is more central than another: "
                "rows that differ in at least one column were wanted."
            )
        if kind == "none":
            return cls(np.zeros_like(mean), np.ones_like(mean))
        varies = deviation > 0
        if kind == "auto" and deviation.max() <= ALIKE * deviation[varies].min():
            # One scale for all keeps distances and angles what they were.
            deviation = np.full_like(deviation, np.sqrt(np.square(deviation[varies]).mean()))
        return cls(mean, np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies))

    def apply(self, block: NDArray[Any]) -> NDArray[np.float32]:
        # In float64 first: a float32 column around 1e6 would lose its small differences.
        scaled: NDArray[np.float64] = (block - self.center) * self.weight
        # A hostile value must not become an infinity that turns the whole network's output into NaN.
        return scaled.clip(-1e15, 1e15).astype(np.float32)


class Rows:
    """Rows of a dense array or CSR matrix, served as scaled float32 tensors on one device."""

    def __init__(self, X: Any, scaling: Scaling, device: torch.device, keep: bool = False) -> None:
        self.X, self.scaling, self.device = X, scaling, device
        self._kept: Tensor | None = None
        if keep and len(self) * self.width <= KEPT_VALUES:
            self._kept = torch.cat(list(self.blocks(rows_per_block(self.width))))

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def width(self) -> int:
        return int(self.X.shape[1])

    def as_given(self, index: Any) -> NDArray[Any]:
        """These rows in the user's units, as a dense array."""
        block = self.X[index]
        return block.toarray() if sparse.issparse(block) else np.asarray(block)

    def take(self, index: Any) -> Tensor:
        """These rows as the network sees them."""  # (len(index), p)
        if self._kept is not None:
            return self._kept[index] if isinstance(index, slice) else self._kept[torch.from_numpy(index)]
        return torch.from_numpy(self.scaling.apply(self.as_given(index))).to(self.device)

    def blocks(self, size: int) -> Iterator[Tensor]:
        """All rows in order, `size` at a time."""
        for start in range(0, len(self), size):
            yield self.take(slice(start, start + size))


def rows_per_block(width: int) -> int:
    """How many rows of this width make a block that stays small in memory."""
    return int(np.clip(BLOCK_VALUES // max(width, 1), 256, 8192))


@np.errstate(over="ignore", invalid="ignore")  # the caller looks for what is not finite
def _moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation of each column in float64; the latter exactly 0 where a column is constant.

    Two passes over blocks: stable for columns far from zero, and no copy of the data.
    """
    n, p = X.shape
    size = rows_per_block(p)
    total, low, high = np.zeros(p), np.full(p, np.inf), np.full(p, -np.inf)
    for block in _dense_blocks(X, size):
        total += block.sum(0)
        low, high = np.minimum(low, block.min(0)), np.maximum(high, block.max(0))
    mean = total / n
    squares = np.zeros(p)
    for block in _dense_blocks(X, size):
        squares += np.square(block - mean).sum(0)
    deviation = np.sqrt(squares / n)
    deviation[high == low] = 0.0
    return mean, deviation


def _dense_blocks(X: Any, size: int) -> Iterator[NDArray[np.float64]]:
    for start in range(0, X.shape[0], size):
        block = X[start : start + size]
        yield (block.toarray() if sparse.issparse(block) else np.asarray(block)).astype(np.float64)
