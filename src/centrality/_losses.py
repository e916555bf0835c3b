"""The two losses, as the paper writes them, on any network: autograd finds the gradients.

`_closed_form.py` holds the same losses with gradients written out, for the standard encoder.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from centrality._network import Network


@dataclass(frozen=True)
class Pairs:
    """A batch for the global head."""

    first: Tensor  # (b, p)
    second: Tensor  # (b, p)
    preferred: Tensor  # (b,) π̂, how often the first is the nearer one


@dataclass(frozen=True)
class Noised:
    """A batch for the local head: row i carries noise of scale eta[i], and potential which[i] answers."""

    z: Tensor  # (b, p)
    noise: Tensor  # (b, p) standard normal
    eta: Tensor  # (b, 1)
    which: Tensor  # (b, 1)
    weight: Tensor  # (b, 1) how much the row counts

    @property
    def rows(self) -> Tensor:
        return self.z + self.eta * self.noise


class Autograd:
    """Losses of a network, their gradients left on its parameters."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.parameters = list(network.parameters())

    def losses(self, pairs: Pairs | None, noised: Noised | None) -> dict[str, Tensor]:
        """The losses of the batches there are; parameters receive the gradient of their sum."""
        found = {}
        if pairs is not None:
            found["global"] = global_loss(self.network, pairs)
        if noised is not None:
            found["local"] = local_loss(self.network, noised)
        for parameter in self.parameters:
            parameter.grad = None
        torch.stack(list(found.values())).sum().backward()  # type: ignore[no-untyped-call]
        return {head: loss.detach() for head, loss in found.items()}

    def finish(self) -> None:
        """Nothing to tidy up: the network holds its own parameters."""


def global_loss(network: Network, pairs: Pairs) -> Tensor:
    """Cross-entropy between π̂ and the Bradley-Terry model σ(g(x₁) - g(x₂))."""
    g1, g2 = network.logit(torch.cat([pairs.first, pairs.second])).chunk(2)
    return functional.binary_cross_entropy_with_logits(g1 - g2, pairs.preferred)


def local_loss(network: Network, noised: Noised) -> Tensor:
    """Denoising score matching, averaged over dimensions: ½ |∇l(z + ε) + ε/η²|² with ε = η · noise."""
    rows = noised.rows.requires_grad_()  # (b, p)
    potential = network.potentials(rows).gather(1, noised.which)  # (b, 1)
    (score,) = torch.autograd.grad(potential.sum(), rows, create_graph=True)  # (b, p)
    residual = score + noised.noise / noised.eta
    return 0.5 * (noised.weight * residual.square()).mean()
