"""Start the potentials of clean rows from a mixture of round Gaussians.

Beyond the rows it was trained on, a network of GELU layers goes on linearly, in directions that are left to chance;
and among many small groups of rows its units blur what each group has to say. With clean training rows
(`novelty=True`) each potential therefore starts from the log-density of Gaussians around k-means centres of the rows,
blurred by its noise, and the network learns the difference.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality.network.layers import numbers
from centrality.network.prior import Operators, Prior

SAMPLE, SAMPLE_VALUES = 20_000, 1 << 22  # rows looked at, and values of theirs
CENTRES, ROWS_EACH = 512, 3  # at most so many, and at least so many rows for each
VALUES = 1 << 19  # at most, of all centres together: the wider the rows, the fewer centres
SHRINKAGE = 2  # a centre's variance counts as much as that of all centres once it has so many rows
ROUNDING = 2.0**-19  # of |centre|²: distances in float32 cannot tell a smaller variance from none
CANCELLING = 4.0  # times p: beyond, float32 loses more than 5e-7 of what a potential changes by among the rows
LOWEST = -1e30  # float32 holds no more than -3e38, and what follows must be able to add and to subtract
BLOCK, BLOCK_ON_GPU = 128, 8192  # rows asked for at once: their distances to all centres stay in the cache; in memory


class Mixture(Prior):
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
    def fitted(cls, z: NDArray[np.float32], scales: Sequence[float], rng: np.random.Generator) -> Self:
        """Return the mixture of these scaled rows; where they are many, of a sample of them."""
        enough = min(SAMPLE, max(ROWS_EACH * CENTRES, SAMPLE_VALUES // z.shape[1]))
        if len(z) > enough:
            z = z[np.sort(rng.permutation(len(z))[:enough])]
        p, mean = z.shape[1], z.mean(0, dtype=np.float64)
        centres, owner = _groups((z - mean).astype(np.float32), rng)
        count = np.bincount(owner)
        squares = np.bincount(owner, np.square(z - mean - centres[owner]).sum(1))
        usual = squares.sum() / max(len(z) - len(centres), 1)
        variance = (squares + SHRINKAGE * usual) / (p * (count - 1 + SHRINKAGE))
        blurred = variance + np.square(scales)[:, None]
        blurred = np.maximum(blurred, ROUNDING * np.square(centres).sum(1))
        level = np.log(count / len(z)) - 0.5 * p * np.log(blurred)
        prior = cls(p, len(centres), len(scales))
        found = {"mean": mean, "centres": centres, "precision": 1 / blurred, "level": level - level.max(1)[:, None]}
        for name, value in found.items():
            prior.get_buffer(name).copy_(torch.from_numpy(value))
        return prior

    @classmethod
    def for_weights(cls, weights: Mapping[str, Tensor], *, width: int, scales: int) -> Self | None:
        """Return an empty mixture of as many Gaussians as these weights have centres; None if they have none."""
        centres = weights.get("centres")
        return None if centres is None else cls(width, len(centres), scales)

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

    def as_graph(self, graph: Operators, z: str) -> str:
        """Write the mixture's potentials in operators, as `forward` computes them."""  # (n, p) -> (n, k), in float64
        fine = self.needs_float64()
        kind: type[np.float32 | np.float64] = np.float64 if fine else np.float32
        mean, centres = (numbers(part, kind) for part in (self.mean, self.centres))
        off = graph("Sub", graph.as_float64(z) if fine else z, mean)
        own = graph("ReduceSum", graph("Mul", off, off), [1], keepdims=1)
        lengths = graph("Add", own, np.square(centres).sum(1))
        distances = graph("Max", graph("Add", lengths, graph("MatMul", off, -2 * centres.T)), kind(0))
        distances = graph.as_float32(distances)
        potentials = []
        for level, precision in zip(self.level, self.precision, strict=True):
            exponents = graph("Add", graph("Mul", distances, numbers(-0.5 * precision)), numbers(level))
            exponents = graph("Max", exponents, np.float32(LOWEST))
            highest = graph("ReduceMax", exponents, [1], keepdims=1)
            total = graph("ReduceSum", graph("Exp", graph("Sub", exponents, highest)), [1], keepdims=1)
            potentials.append(graph("Add", highest, graph("Log", total)))
        return graph.as_float64(graph("Concat", *potentials, axis=1))


def _block(z: Tensor) -> int:
    return BLOCK if z.device.type == "cpu" else BLOCK_ON_GPU


def _groups(z: NDArray[np.float32], rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return k-means centres, and to which of them each row belongs.

    They begin far apart (k-means++), so that a few rows far from all others have a centre too: else the prior would be
    wildly wrong about them, and the network would have to spend its capacity on correcting that.
    """
    from sklearn.cluster import KMeans  # here: scoring does not need it

    n, p = z.shape
    wanted = max(1, min(CENTRES, n // ROWS_EACH, VALUES // p))
    means = KMeans(wanted, n_init=1, max_iter=10, random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Number of distinct clusters")  # duplicates: fewer will do
        _, owner = np.unique(means.fit(z).labels_, return_inverse=True)
    counts = np.bincount(owner)
    sums = np.stack([np.bincount(owner, column) for column in z.T.astype(np.float64)], axis=1)
    return sums / counts[:, None], owner
