"""The two losses, as the paper writes them, on any network: autograd finds the gradients.

`_closed_form.py` holds the same losses with gradients written out, for the standard encoder.
"""

from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor
from torch.nn import functional

from centrality.network.network import Network


@dataclass(frozen=True)
class Noise:
    """How noised rows are noised: row i at scale eta[i], and the potential that owns it answers for it."""

    eta: Tensor  # (r, 1)
    owner: Tensor  # (r, k) one in the column of the row's potential, else zero
    weight: Tensor  # (r, 1) how much the row counts


@dataclass(frozen=True)
class Batch:
    """Candidates for the global head, first ones and then as many second ones; after them noised rows for the local
    head. Either may be missing."""

    rows: Tensor  # (members, 2b + r, p)
    preferred: Tensor | None  # (members, s, b) π̂: how often first i is nearer than second i, i + 1, ... in s meetings
    drawn: Tensor | None  # (members, r, p) standard normal, already added to the rows
    noise: Noise | None

    @property
    def split(self) -> int:
        """Where the noised rows begin."""
        return 0 if self.preferred is None else 2 * self.preferred.shape[2]


@lru_cache(maxsize=8)
def meetings_of(b: int, meetings: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """(meetings * b,): which second candidate each first one meets, and which first one each second."""
    shift, place = torch.arange(meetings, device=device)[:, None], torch.arange(b, device=device)
    return ((place + shift) % b).flatten(), ((place - shift) % b + shift * b).flatten()


def opponents(second: Tensor, meetings: int) -> Tensor:
    """Whom each first candidate meets: (members, b, ...) -> (members, meetings, b, ...), shifted by one each time."""
    index, _ = meetings_of(second.shape[1], meetings, second.device)
    return second.index_select(1, index).view(len(second), meetings, *second.shape[1:])


class Autograd:
    """Losses of a network, the gradient of `balance` * global + local left on its parameters."""

    def __init__(self, network: Network, balance: float = 1.0) -> None:
        self.network, self.balance = network, balance
        self.parameters = list(network.parameters())

    def losses(self, batch: Batch) -> Tensor:
        """(2,) the members' mean global and local loss, 0 where the batch has none.

        Parameters receive the gradient of each member's sum.
        """
        found = torch.stack([global_loss(self.network, batch), local_loss(self.network, batch)])  # (2, members)
        for parameter in self.parameters:
            parameter.grad = None
        (self.balance * found[0] + found[1]).sum().backward()  # type: ignore[no-untyped-call]
        return found.detach().mean(1)

    def finish(self) -> None:
        """Nothing to tidy up: the network holds its own parameters."""


def global_loss(network: Network, batch: Batch) -> Tensor:
    """Cross-entropy between π̂ and the Bradley-Terry model σ(g(x₁) - g(x₂))."""  # (members,)
    if batch.preferred is None:
        return batch.rows.new_zeros(len(batch.rows))
    first, second = network.logit(batch.rows[:, : batch.split]).chunk(2, dim=1)
    difference = first[:, None] - opponents(second, batch.preferred.shape[1])
    cross_entropy = functional.binary_cross_entropy_with_logits(difference, batch.preferred, reduction="none")
    return cross_entropy.mean((1, 2))


def local_loss(network: Network, batch: Batch) -> Tensor:
    """Denoising score matching, averaged over dimensions: ½ |∇l(z + ε) + ε/η²|² with ε = η · noise."""  # (members,)
    if batch.noise is None or batch.drawn is None:
        return batch.rows.new_zeros(len(batch.rows))
    rows = batch.rows[:, batch.split :].detach().requires_grad_()  # (members, r, p)
    potential = network.potentials(rows) * batch.noise.owner  # (members, r, k)
    (score,) = torch.autograd.grad(potential.sum(), rows, create_graph=True)  # (members, r, p)
    residual = score + batch.drawn / batch.noise.eta
    return 0.5 * (batch.noise.weight * residual.square()).mean((1, 2))
