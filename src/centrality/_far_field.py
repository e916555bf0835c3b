"""Where no row has been: a Gaussian for the potentials to start from.

Beyond the rows it was trained on, a network of GELU layers goes on linearly, in directions that are left to chance.
With clean training rows (`novelty=True`) the far field is therefore not learned but given: each potential is that of
a Gaussian fitted to the rows and blurred by its noise, and the network learns the difference.

The covariance is that of probabilistic PCA: exact along the leading axes, the same in all directions across them.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from torch import Tensor, nn

AXES = 128  # at most: beyond, a product with them costs more than the network
SAMPLE = 20_000  # rows looked at


class FarField(nn.Module):
    """-½ (z - μ)ᵀ (Σ + η²)⁻¹ (z - μ) for each noise scale η."""

    mean: Tensor  # (p,)
    axes: Tensor  # (p, r)
    spread: Tensor  # (r,) variances along them
    rest: Tensor  # () the variance across them
    scales: Tensor  # (k,) the noise scales

    def __init__(self, width: int, axes: int, scales: int) -> None:
        super().__init__()
        shapes = {"mean": (width,), "axes": (width, axes), "spread": (axes,), "rest": (), "scales": (scales,)}
        for name, shape in shapes.items():
            self.register_buffer(name, torch.empty(shape))

    @classmethod
    def fitted(cls, z: NDArray[np.float32], scales: Sequence[float], rng: np.random.Generator) -> Self:
        if len(z) > SAMPLE:
            z = z[np.sort(rng.permutation(len(z))[:SAMPLE])]
        n, p = z.shape
        pca = PCA(min(AXES, p, n - 1), random_state=int(rng.integers(2**31))).fit(z.astype(np.float64))
        spread = pca.explained_variance_
        rest = spread.min() if len(spread) == p else pca.noise_variance_  # at full rank nothing lies across
        field = cls(p, len(spread), len(scales))
        found = {"mean": pca.mean_, "axes": pca.components_.T, "spread": spread, "rest": rest, "scales": scales}
        for name, value in found.items():
            field.get_buffer(name).copy_(torch.as_tensor(np.asarray(value)))
        return field

    def forward(self, z: Tensor) -> Tensor:
        """The Gaussian's potentials."""  # (..., n, p) -> (..., n, k)
        along, across = self._parts(z)
        blur = self.scales.square()
        return -0.5 * (
            along.square() @ (1 / (self.spread[:, None] + blur))
            + across.square().sum(-1, keepdim=True) / (self.rest + blur)
        )

    def gradient(self, z: Tensor, by: Tensor) -> Tensor:
        """Of the potentials' sum, each of a row weighed as `by` says."""  # (..., n, p), (n, k) -> (..., n, p)
        along, across = self._parts(z)
        blur = self.scales.square()
        weights = by @ (1 / (self.spread + blur[:, None]))  # (n, r)
        return -((along * weights) @ self.axes.T + across * (by @ (1 / (self.rest + blur[:, None]))))

    def _parts(self, z: Tensor) -> tuple[Tensor, Tensor]:
        """(..., n, r) how far off the mean along the axes, and (..., n, p) what is left across them."""
        off = z - self.mean
        along = off @ self.axes
        return along, off - along @ self.axes.T
