"""The trainable part of FUSE: an encoder (or one for each head) and linear heads on top.

Everything has a leading dimension of members: an ensemble's networks lie side by side in the same tensors, so that
one batched product trains or scores them all. One network is an ensemble of one.
"""

from collections.abc import Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality.network.layers import Copies, Linear, encoder_features, mlp
from centrality.network.prior import Prior


class Network(nn.Module):
    """z -> one global logit and k local potentials, one for each noise scale.

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
        """g, the global head's Bradley-Terry logit."""  # (members, n)
        logit: Tensor = self.global_head(self.trunks[0](self._for_each(z)))
        return logit.squeeze(2)

    @torch.no_grad()
    def shift_logit(self, by: NDArray[Any]) -> None:
        """Move every member's g by a constant, which no comparison can tell."""  # (members,)
        self.global_head.bias.add_(torch.from_numpy(by).to(self.global_head.bias)[:, None])

    def potentials(self, z: Tensor) -> Tensor:
        """l, the smoothed log-density up to a constant, at every noise scale."""  # (members, n, k)
        learned: Tensor = self.local_head(self.trunks[-1](self._for_each(z)))
        return learned if self.prior is None else learned + self.prior(z)

    def forward(self, z: Tensor) -> Tensor:
        """Global logit and potentials side by side."""  # (members, n, 1 + k)
        learned = self.learned(z)
        return learned if self.prior is None else learned + nn.functional.pad(self.prior(z), (1, 0))

    def learned(self, z: Tensor) -> Tensor:
        """What `forward` gives, less the prior."""  # (members, n, 1 + k)
        z = self._for_each(z)
        features = self.trunks[0](z)
        local = features if len(self.trunks) == 1 else self.trunks[1](z)
        return torch.cat([self.global_head(features), self.local_head(local)], dim=2)

    def _for_each(self, z: Tensor) -> Tensor:
        """The same rows (n, p) for every member; rows that differ between them (members, n, p) as they are."""
        return z.expand(self.members, *z.shape) if z.dim() == 2 else z


def build(
    width: int,
    hidden: Sequence[int],
    encoder: nn.Module | None,
    shared: bool,
    potentials: int,
    generator: torch.Generator,
    members: int = 1,
) -> Network:
    """A fresh network for rows of this width."""
    network = _layout(width, hidden, encoder, shared, potentials, members)
    for module in network.modules():
        if isinstance(module, Linear):
            module.initialise(generator)
    return network


def restore(
    weights: dict[str, Tensor],
    width: int,
    hidden: Sequence[int],
    encoder: nn.Module | None,
    shared: bool,
    potentials: int,
    members: int = 1,
) -> Network:
    """The network these weights belong to; an error if they do not fit it.

    It is laid out without memory first, so that a file cannot ask for more than it brings.
    """
    with torch.device("meta"):
        network = _layout(width, hidden, encoder, shared, potentials, members)
    try:
        if (centres := weights.get("prior.centres")) is not None:
            with torch.device("meta"):
                network.prior = Prior(width, len(centres), potentials)
        network.load_state_dict(weights, strict=True, assign=True)
    except RuntimeError as error:
        raise ValueError(f"the weights do not fit the network: {error}") from None
    return network.eval()


def _layout(
    width: int, hidden: Sequence[int], encoder: nn.Module | None, shared: bool, potentials: int, members: int
) -> Network:
    trunks = range(1 if shared else 2)
    if encoder is None:
        return Network([mlp(width, hidden, members) for _ in trunks], members, hidden[-1], potentials)
    features = encoder_features(encoder, width)
    return Network([Copies(encoder, members) for _ in trunks], members, features, potentials)
