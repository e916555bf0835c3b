"""Compute the mixture of round Gaussians (`network/gaussians.py`) with torch."""

from collections.abc import Iterator, Mapping
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality.network.gaussians import CANCELLING, LOWEST

BLOCK, BLOCK_ON_GPU = 128, 8192  # rows asked for at once: their distances to all centres stay in the cache; in memory


class Mixture(nn.Module):
    """Gives log Σ wᵢ N(z; cᵢ, vᵢ + η²) for each noise scale η, up to a constant."""

    mean: Tensor  # (p,)
    centres: Tensor  # (m, p) as seen from the mean
    precision: Tensor  # (k, m) 1 / (vᵢ + η²)
    level: Tensor  # (k, m) each Gaussian's logarithm at its centre

    def __init__(self, width: int, centres: int, scales: int) -> None:
        super().__init__()
        shapes = {"mean": (width,), "centres": (centres, width)}
        for name, shape in (shapes | dict.fromkeys(("precision", "level"), (scales, centres))).items():
            self.register_buffer(name, torch.empty(shape))

    @classmethod
    def for_weights(cls, weights: Mapping[str, NDArray[np.float32]]) -> Self:
        """Return an empty mixture that can hold these weights."""
        scales, centres = weights["precision"].shape
        return cls(len(weights["mean"]), centres, scales)

    def needs_float64(self) -> bool:
        """Say whether distances need float64: centres lie far from the mean for how narrow Gaussians are.

        |z - c|² is found as |z|² + |c|² - 2 z·c, where float32 loses about 2⁻²⁴ |c|² of it, and a potential that times
        half the precision. Among the rows a potential changes by about p/2.
        """
        return bool((self.precision * self.centres.square().sum(1)).max() > CANCELLING * len(self.mean))

    def forward(self, z: Tensor, finer: Self | None = None) -> Tensor:
        """Return the mixture's potentials; `finer`, the same prior in float64, finds the distances."""  # (..., n, k)
        blocks = (self._exponents(distances) for _, distances in self._blocks(z, finer))
        return torch.cat([torch.stack([of_one.logsumexp(-1) for of_one in each], -1) for each in blocks], dim=-2)

    def gradient(self, z: Tensor, by: Tensor, finer: Self | None = None) -> Tensor:
        """Return the gradient of each row's potentials, weighed by `by` and summed."""  # (n, p), (n, k) -> (n, p)
        return torch.cat(
            [
                self._pull(sum(self._shares(distances, weights), start=off.new_zeros(())), off)
                for (off, distances), weights in zip(self._blocks(z, finer), torch.split(by, _block(z)), strict=True)
            ]
        )

    def _blocks(self, z: Tensor, finer: Self | None) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield, for a few rows at a time, their offsets from the mean and squared distances to every centre."""
        finer = self if finer is None else finer
        for rows in torch.split(z, _block(z), dim=-2):
            off = rows.to(finer.mean.dtype) - finer.mean
            distances = finer.distances(off)
            yield off.to(self.mean.dtype), distances.to(self.mean.dtype)

    def score(self, z: Tensor, owner: Tensor) -> Tensor:
        """Return the gradient of the one potential for which a row of `owner` is 1, not 0."""  # (..., n, p)
        off = z - self.mean
        precision = owner @ self.precision
        exponents = (owner @ self.level).addcmul(self.distances(off), precision, value=-0.5)
        return self._pull(exponents.softmax(-1).mul_(precision), off)

    def _shares(self, distances: Tensor, by: Tensor) -> Iterator[Tensor]:
        """Yield how strongly each centre pulls, for one noise scale after the other."""  # (n, m), (n, k) -> (n, m)
        for exponents, precision, weight in zip(self._exponents(distances), self.precision, by.T, strict=True):
            yield exponents.softmax(-1) * precision * weight[:, None]

    def _exponents(self, distances: Tensor) -> Iterator[Tensor]:
        """Yield each Gaussian's logarithm, for one noise scale after the other."""  # (..., n, m) -> (..., n, m)
        for level, precision in zip(self.level, self.precision, strict=True):
            yield torch.addcmul(level, distances, precision, value=-0.5).clamp_(min=LOWEST)

    def distances(self, off: Tensor) -> Tensor:
        """Return the squared distances of offsets from the mean to every centre."""  # (..., n, p) -> (..., n, m)
        products = nn.functional.linear(-2 * off, self.centres, self.centres.square().sum(1))
        return products.add_(off.square().sum(-1, keepdim=True)).clamp_(min=0)

    def _pull(self, shares: Tensor, off: Tensor) -> Tensor:
        """Return the sum of all centres' pulls, each as strong as its share."""  # (..., n, m) -> (..., n, p)
        return shares @ self.centres - shares.sum(-1, keepdim=True) * off


def _block(z: Tensor) -> int:
    return BLOCK if z.device.type == "cpu" else BLOCK_ON_GPU
