"""Compute the two losses as the paper writes them; autograd computes their gradients.

The engine has the same losses, with gradients written out (`engine/training.h`); a test compares their steps.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional


class Heads(Protocol):
    """Describe a network with a global and a local head."""

    def logit(self, z: Tensor) -> Tensor:
        """Return g."""  # (members, n, p) -> (members, n)

    def potentials(self, z: Tensor) -> Tensor:
        """Return l at every noise scale."""  # (members, n, p) -> (members, n, k)


@dataclass(frozen=True)
class Noise:
    """Hold the noise of a batch's rows: eta[i] times `drawn` was added to row i, which trains one potential."""

    drawn: Tensor  # (members, r, p) standard normal, already added to the rows
    eta: Tensor  # (r, 1)
    weight: Tensor  # (r, 1) how much the row counts
    owner: Tensor  # (r, k) one in the column of the row's potential, else zero
    learned: Tensor | None = None  # (p,) one for a column whose slope is learned, zero for one that is given; None: all


def global_loss(network: Heads, candidates: Tensor, preferred: Tensor) -> Tensor:  # -> (members,)
    """Return the cross-entropy between π̂ and the Bradley-Terry model σ(g(x₁) - g(x₂)).

    Candidates (members, 2b, p) are first ones x₁, then as many second ones x₂; `preferred` (members, s, b) is π̂ of
    first i against its s opponents, second i, i + 1, ...
    """
    first, second = network.logit(candidates).chunk(2, dim=1)  # (members, b)
    opponents = torch.stack([second.roll(-shift, 1) for shift in range(preferred.shape[1])], 1)  # (members, s, b)
    difference = first[:, None] - opponents
    cross_entropy = functional.binary_cross_entropy_with_logits(difference, preferred, reduction="none")
    return cross_entropy.mean((1, 2))


def local_loss(network: Heads, noisy: Tensor, noise: Noise) -> Tensor:  # (members, r, p) -> (members,)
    """Return the loss of denoising score matching, ½ |∇l(z + ε) + ε/η²|² with ε = η · drawn, averaged over columns."""
    rows = noisy.detach().requires_grad_()
    potential = network.potentials(rows) * noise.owner  # (members, r, k)
    (score,) = torch.autograd.grad(potential.sum(), rows, create_graph=True)  # (members, r, p)
    residual = score + noise.drawn / noise.eta
    if noise.learned is None:
        return 0.5 * (noise.weight * residual.square()).mean((1, 2))
    return 0.5 * (noise.weight * (noise.learned * residual).square()).sum(2).mean(1) / noise.learned.sum()
