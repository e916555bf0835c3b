"""The trainable part of FUSE: an encoder (or one for each head) and linear heads on top.

Everything has a leading dimension of members: an ensemble's networks lie side by side in the same tensors, so that
one batched product trains or scores them all. One network is an ensemble of one.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality._prior import Prior

gelu_backward = torch.ops.aten.gelu_backward


class Linear(nn.Module):
    """One linear layer of every member. Its values come from our own generator, or from a file."""

    def __init__(self, members: int, width: int, wide: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, wide, width))
        self.bias = nn.Parameter(torch.empty(members, wide))

    def forward(self, x: Tensor) -> Tensor:  # (members, n, in) -> (members, n, out)
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """PyTorch's own default, uniform within ±1/sqrt(fan-in)."""
        bound = self.weight.shape[2] ** -0.5
        for member in range(len(self.weight)):  # one after another: the first is the same whatever their number
            self.weight[member].uniform_(-bound, bound, generator=generator)
            self.bias[member].uniform_(-bound, bound, generator=generator)


class Copies(nn.Module):
    """The user's encoder, once for every member. It is copied, never trained in place."""

    def __init__(self, encoder: nn.Module, members: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(copy.deepcopy(encoder) for _ in range(members))

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([encoder(rows) for encoder, rows in zip(self.members, x, strict=True)])


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
        return self._with_prior(self.local_head(self.trunks[-1](self._for_each(z))), z)

    def forward(self, z: Tensor) -> Tensor:
        """Global logit and potentials side by side."""  # (members, n, 1 + k)
        z = self._for_each(z)
        features = self.trunks[0](z)
        local = features if len(self.trunks) == 1 else self.trunks[1](z)
        return torch.cat([self.global_head(features), self._with_prior(self.local_head(local), z)], dim=2)

    def _with_prior(self, potentials: Tensor, z: Tensor) -> Tensor:
        return potentials if self.prior is None else potentials + self.prior(z)

    def _for_each(self, z: Tensor) -> Tensor:
        """The same rows (n, p) for every member; rows that differ between them (members, n, p) as they are."""
        return z.expand(self.members, *z.shape) if z.dim() == 2 else z


class Scorer:
    """A trained network for scoring alone.

    Each projection, being linear, is folded into the head above it; and since all trunks read the same rows, their
    first layers are one matrix product.
    """

    def __init__(self, network: Network) -> None:
        self.network, self.members = network, network.members
        self.device = next(network.parameters()).device
        if network.standard:
            self._fold(network)

    @torch.no_grad()
    def _fold(self, network: Network) -> None:
        layers = [[module for module in trunk.modules() if isinstance(module, Linear)] for trunk in network.trunks]
        first, *middle, projection = [  # each of every member and trunk, global ones before local ones
            (torch.cat([layer.weight for layer in same]), torch.cat([layer.bias for layer in same]))
            for same in zip(*layers, strict=True)
        ]
        self.first = first[0].flatten(0, 1).T.contiguous(), first[1].flatten()
        self.middle = [(weight.mT.contiguous(), bias[:, None].contiguous()) for weight, bias in middle]
        self.heads = [
            (weight.mT.float().contiguous(), bias[:, None].float().contiguous())
            for weight, bias in (
                _folded(network.global_head, *(part[: self.members] for part in projection)),
                _folded(network.local_head, *(part[-self.members :] for part in projection)),
            )
        ]
        self._width = layers[0][0].weight.shape[1]  # of a trunk's first layer
        self._together = len(network.trunks) == 1  # both heads read the same features: one product for both
        if self._together:
            (to_global, bias_global), (to_local, bias_local) = self.heads
            self.heads = [(torch.cat([to_global, to_local], dim=2), torch.cat([bias_global, bias_local], dim=2))]

    def __call__(self, z: Tensor) -> Tensor:
        """What the network's forward pass gives."""  # (members, n, 1 + k)
        if not self.network.standard:
            with torch.no_grad():
                own: Tensor = self.network(z)
            return own
        weight, bias = self.first
        outputs = self._upward(torch.addmm(bias, z, weight))
        if self.network.prior is not None:
            outputs[:, :, 1:] += self.network.prior(z)
        return outputs

    def _upward(self, h: Tensor, kept: list[Tensor] | None = None) -> Tensor:
        """From what the first GELU takes to the outputs; `kept` collects what every GELU takes."""
        a = self._by_trunk(nn.functional.gelu(h))
        if kept is not None:
            kept.append(self._by_trunk(h))
        for weight, bias in self.middle:
            h = torch.baddbmm(bias, a, weight)
            if kept is not None:
                kept.append(h)
            a = nn.functional.gelu(h)
        if self._together:
            weight, bias = self.heads[0]
            return torch.baddbmm(bias, a, weight)
        (to_global, bias_global), (to_local, bias_local) = self.heads
        return torch.cat(
            [
                torch.baddbmm(bias_global, a[: self.members], to_global),
                torch.baddbmm(bias_local, a[self.members :], to_local),
            ],
            dim=2,
        )

    def along(self, start: Tensor, step: Tensor, at: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Outputs at the places start + at * step, and the way back from their derivatives to those by the places.

        `start` (n or 1, p), `step` (n, p) and `at` (n, s) give outputs (members, n, s, 1 + k); the way back turns an
        array of that shape into (n, p), summed over the s places of each line. The first layer is linear, so on a
        straight line it is needed once for the line, not for every place: that is most of the work where p is large.
        """
        if not self.network.standard:
            return self._along_by_autograd(start, step, at)
        with torch.no_grad():
            weight, bias = self.first
            n, s = at.shape
            h = torch.addcmul(torch.addmm(bias, start, weight)[:, None], at[:, :, None], (step @ weight)[:, None])
            kept: list[Tensor] = []
            outputs = self._upward(h.view(n * s, -1), kept)
            if (prior := self.network.prior) is not None:
                places = (start[:, None] + at[:, :, None] * step[:, None]).view(n * s, -1)
                outputs[:, :, 1:] += prior(places)

        @torch.no_grad()
        def back(by_outputs: Tensor) -> Tensor:
            by_outputs = by_outputs.reshape(self.members, n * s, -1)
            parts = [by_outputs] if self._together else [by_outputs[:, :, :1], by_outputs[:, :, 1:]]
            by_a = torch.cat([torch.bmm(part, head.mT) for part, (head, _) in zip(parts, self.heads, strict=True)])
            for h, (weight, _) in zip(kept[:0:-1], self.middle[::-1], strict=True):
                by_a = torch.bmm(gelu_backward(by_a, h), weight.mT)
            by_h = gelu_backward(by_a, kept[0]).view(len(by_a), n, s, -1).sum(2)  # (trunks, n, width)
            by_line: Tensor = by_h.transpose(0, 1).reshape(n, -1) @ self.first[0].T
            if prior is not None:
                by_line += prior.gradient(places, by_outputs[:, :, 1:].sum(0)).view(n, s, -1).sum(1)
            return by_line

        return outputs.view(self.members, n, s, -1), back

    def _along_by_autograd(self, start: Tensor, step: Tensor, at: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        n, s = at.shape
        places = (start[:, None] + at[:, :, None] * step[:, None]).reshape(n * s, -1).requires_grad_()
        with torch.enable_grad():
            outputs: Tensor = self.network(places)

        def back(by_outputs: Tensor) -> Tensor:
            (by_places,) = torch.autograd.grad(outputs, places, by_outputs.reshape(outputs.shape))
            return by_places.view(n, s, -1).sum(1)

        return outputs.detach().view(self.members, n, s, -1), back

    def _by_trunk(self, h: Tensor) -> Tensor:
        """(n, trunks * width) -> (trunks, n, width)"""
        return h.view(len(h), -1, self._width).transpose(0, 1)


def _folded(head: Linear, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """The head after the projection, as one linear layer; in float64, since the product rounds twice."""
    own = head.weight.double()  # (members, out, q)
    return own @ weight.double(), head.bias.double() + (own @ bias.double()[:, :, None])[:, :, 0]


def mlp(width: int, hidden: Sequence[int], members: int = 1) -> nn.Sequential:
    """GELU layers of the given widths, then a linear projection as wide as the last; not yet initialised."""
    layers: list[nn.Module] = []
    for wide in hidden:
        layers += [Linear(members, width, wide), nn.GELU()]
        width = wide
    return nn.Sequential(*layers, Linear(members, width, width))


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


def encoder_features(encoder: nn.Module, width: int) -> int:
    """How many features the user's encoder makes of `width` columns; an error if it is no such encoder."""
    if not isinstance(encoder, nn.Module):
        raise TypeError(f"encoder must be a torch.nn.Module from (n, p) to (n, q), got {type(encoder).__name__}.")
    probe = copy.deepcopy(encoder).eval()
    at = next((parameter.device for parameter in probe.parameters()), torch.device("cpu"))
    try:
        with torch.no_grad():
            out = probe(torch.zeros(2, width, device=at))
    except RuntimeError as error:
        raise ValueError(f"encoder must map (n, {width}) to (n, q), but failed on (2, {width}): {error}") from error
    if not isinstance(out, Tensor) or out.dim() != 2 or out.shape[0] != 2:
        came = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise ValueError(f"encoder must map (n, {width}) to (n, q), but (2, {width}) became {came}.")
    return out.shape[1]
