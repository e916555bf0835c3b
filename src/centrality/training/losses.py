"""The two losses, as the paper writes them, on any network: autograd finds the gradients.

`gradients.py` holds the same losses with gradients written out, for the standard encoder.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from centrality.network.modules import Module


@dataclass(frozen=True)
class Noise:
    """How a batch's noised rows are noised: row i at scale eta[i], for the potential of that scale to answer for."""

    eta: Tensor  # (r, 1)
    owner: Tensor  # (r, k) one in the column of the row's potential, else zero
    weight: Tensor  # (r, 1) how much the row counts

    @classmethod
    def in_turns(cls, scales: Tensor, rows: int, *, balanced: bool) -> "Noise":
        """Let the rows of a batch take turns over the noise scales.

        `balanced` weighs each row by η², so that all scales, and the global loss, count alike.
        """
        owner = torch.eye(len(scales), device=scales.device).repeat(-(-rows // len(scales)), 1)[:rows]
        eta = owner @ scales[:, None]
        return cls(eta, owner, eta.square() if balanced else torch.ones_like(eta))


@dataclass(frozen=True)
class Batch:
    """The rows of one step: candidates for the global head, then noised rows for the local head.

    First candidates come before as many second ones. Candidates or noised rows may be missing.
    """

    rows: Tensor  # (members, 2b + r, p)
    preferred: Tensor | None  # (members, s, b) π̂ of first i against its s opponents, second i, i + 1, ...
    drawn: Tensor | None  # (members, r, p) standard normal, already added to the rows
    noise: Noise | None

    @property
    def noised_from(self) -> int:
        """Return where the noised rows begin."""
        return 0 if self.preferred is None else 2 * self.preferred.shape[2]


@lru_cache(maxsize=8)
def opponent_positions(b: int, opponents: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return which second candidate each first one is compared with, and the inverse: which pairs each second is in.

    Both have one row of b positions for each opponent, laid out flat; the inverse counts in the flat layout.
    """  # (opponents * b,) each
    shift, first = torch.arange(opponents, device=device)[:, None], torch.arange(b, device=device)
    return ((first + shift) % b).flatten(), ((first - shift) % b + shift * b).flatten()


def opponents_of_first(second: Tensor, opponents: int) -> Tensor:  # (members, b, ...) -> (members, opponents, b, ...)
    """Repeat the second candidates for each opponent, moved up by one each time, beside the first ones they face."""
    index, _ = opponent_positions(second.shape[1], opponents, second.device)
    return second.index_select(1, index).view(len(second), opponents, *second.shape[1:])


class Autograd:
    """Finds the losses of any network, and leaves the gradient of `balance` * global + local on its parameters."""

    def __init__(self, network: Module, balance: float = 1.0) -> None:
        self._network, self._balance = network, balance
        self.parameters = list(network.parameters())

    def losses(self, batch: Batch) -> Tensor:
        """Return the members' mean global and local loss, 0 where the batch has none.

        Parameters receive the gradient of each member's sum.
        """  # (2,)
        found = torch.stack([global_loss(self._network, batch), local_loss(self._network, batch)])  # (2, members)
        for parameter in self.parameters:
            parameter.grad = None
        (self._balance * found[0] + found[1]).sum().backward()  # type: ignore[no-untyped-call]
        return found.detach().mean(1)

    def finish(self) -> None:
        """Do nothing: the network holds its own parameters."""


def global_loss(network: Module, batch: Batch) -> Tensor:  # (members,)
    """Return the cross-entropy between π̂ and the Bradley-Terry model σ(g(x₁) - g(x₂))."""
    if batch.preferred is None:
        return batch.rows.new_zeros(len(batch.rows))
    first, second = network.logit(batch.rows[:, : batch.noised_from]).chunk(2, dim=1)
    difference = first[:, None] - opponents_of_first(second, batch.preferred.shape[1])
    cross_entropy = functional.binary_cross_entropy_with_logits(difference, batch.preferred, reduction="none")
    return cross_entropy.mean((1, 2))


def local_loss(network: Module, batch: Batch) -> Tensor:  # (members,)
    """Return the loss of denoising score matching, ½ |∇l(z + ε) + ε/η²|² with ε = η · drawn, averaged over columns."""
    if batch.noise is None or batch.drawn is None:
        return batch.rows.new_zeros(len(batch.rows))
    rows = batch.rows[:, batch.noised_from :].detach().requires_grad_()  # (members, r, p)
    potential = network.potentials(rows) * batch.noise.owner  # (members, r, k)
    (score,) = torch.autograd.grad(potential.sum(), rows, create_graph=True)  # (members, r, p)
    residual = score + batch.drawn / batch.noise.eta
    return 0.5 * (batch.noise.weight * residual.square()).mean((1, 2))
