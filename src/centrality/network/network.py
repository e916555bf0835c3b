"""Define the trainable part of FUSE: an encoder (or one for each head) and linear heads on top.

Everything has a leading dimension of members: an ensemble's networks lie side by side in the same tensors, so that
one batched product trains or scores them all. One network is an ensemble of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality._checks import InputError
from centrality.network.layers import Copies, Linear, encoder_features, mlp
from centrality.network.prior import Prior
from centrality.network.priors import prior_for_weights

PRIOR = "prior."  # how the names of a prior's weights begin: it is the network's `prior`


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Say what a network consists of, before it has any weights."""

    width: int  # columns of the rows
    hidden: Sequence[int]  # widths of our own encoder's layers
    encoder: nn.Module | None = None  # the user's encoder, in place of our own
    shared: bool = True  # one trunk for both heads, or one for each
    potentials: int = 1  # k, one for each noise scale
    members: int = 1  # networks side by side

    def empty_network(self) -> "Network":
        """Return the network with memory for its weights, which hold no values yet."""
        trunks = range(1 if self.shared else 2)
        if self.encoder is None:
            own = [mlp(self.width, self.hidden, self.members) for _ in trunks]
            return Network(own, self.members, self.hidden[-1], self.potentials)
        features = encoder_features(self.encoder, self.width)
        copies = [Copies(self.encoder, self.members) for _ in trunks]
        return Network(copies, self.members, features, self.potentials)


class Network(nn.Module):
    """Map rows z to one global logit and k local potentials, one for each noise scale.

    One trunk serves both heads as in the paper; two trunks give each its own. Where there is a prior, the local head
    learns the difference from it.
    """

    prior: Prior | None

    def __init__(self, trunks: Sequence[nn.Module], members: int, features: int, potentials: int) -> None:
        super().__init__()
        self.members = members
        self.standard = not isinstance(trunks[0], Copies)  # the trunks are ours (`mlp`), not the user's
        self.trunks = nn.ModuleList(trunks)
        self.global_head = Linear(members, features, 1)
        self.local_head = Linear(members, features, potentials)
        self.prior = None

    def logit(self, z: Tensor) -> Tensor:
        """Return g, the global head's Bradley-Terry logit."""  # (n, p) or (members, n, p) -> (members, n)
        logit: Tensor = self.global_head(self.trunks[0](self._for_each(z)))
        return logit.squeeze(2)

    @torch.no_grad()
    def shift_logit(self, by: NDArray[np.float64]) -> None:
        """Move every member's g by a constant of its own, which no comparison can notice."""  # (members,)
        self.global_head.bias.add_(torch.from_numpy(by).to(self.global_head.bias)[:, None])

    @torch.no_grad()
    def shift_potentials(self, by: NDArray[np.float64]) -> None:
        """Move every member's potentials by constants, which no score can tell."""  # (members, k)
        self.local_head.bias.add_(torch.from_numpy(by).to(self.local_head.bias))

    def potentials(self, z: Tensor) -> Tensor:
        """Return l, the smoothed log-density up to a constant, at every noise scale."""  # -> (members, n, k)
        learned: Tensor = self.local_head(self.trunks[-1](self._for_each(z)))
        return learned if self.prior is None else learned + self.prior(z)

    def forward(self, z: Tensor) -> Tensor:
        """Return the global logit and the potentials side by side."""  # -> (members, n, 1 + k)
        learned = self.learned(z)
        return learned if self.prior is None else learned + nn.functional.pad(self.prior(z), (1, 0))

    def learned(self, z: Tensor) -> Tensor:
        """Return what `forward` gives, less the prior."""  # -> (members, n, 1 + k)
        z = self._for_each(z)
        features = self.trunks[0](z)
        local = features if len(self.trunks) == 1 else self.trunks[1](z)
        return torch.cat([self.global_head(features), self.local_head(local)], dim=2)

    def _for_each(self, z: Tensor) -> Tensor:
        """Give every member the same rows (n, p); leave rows of its own (members, n, p) as they are."""
        return z.expand(self.members, *z.shape) if z.dim() == 2 else z


def build(layout: Layout, generator: torch.Generator) -> Network:
    """Return a network of this layout with random weights, to be trained."""
    network = layout.empty_network()
    for module in network.modules():
        if isinstance(module, Linear):
            module.initialise(generator)
    return network


def restore(layout: Layout, weights: dict[str, Tensor]) -> Network:
    """Return the network of this layout with these weights, or raise a ValueError if they do not fit it.

    It is laid out without memory first, so that a file cannot ask for more than it brings.
    """
    with torch.device("meta"):
        network = layout.empty_network()
    try:
        of_prior = {name.removeprefix(PRIOR): w for name, w in weights.items() if name.startswith(PRIOR)}
        with torch.device("meta"):
            network.prior = prior_for_weights(of_prior, width=layout.width, scales=layout.potentials)
        network.load_state_dict(weights, strict=True, assign=True)
    except RuntimeError as error:
        raise InputError(f"the weights do not fit the network: {str(error)[:400]}") from None
    return network.eval()
