"""The trainable part of FUSE: an encoder (or one for each head) and linear heads on top."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Network(nn.Module):
    """z -> one global logit and k local potentials, one for each noise scale.

    One trunk serves both heads as in the paper; two trunks give each its own.
    """

    def __init__(self, trunks: Sequence[nn.Module], features: int, potentials: int, standard: bool) -> None:
        super().__init__()
        self.standard = standard  # the trunks are ours (`mlp`), not the user's
        self.trunks = nn.ModuleList(trunks)
        self.global_head = _linear(features, 1)
        self.local_head = _linear(features, potentials)

    @property
    def n_potentials(self) -> int:
        return int(self.local_head.out_features)

    def logit(self, z: Tensor) -> Tensor:
        """g, the global head's Bradley-Terry logit."""  # (n,)
        logit: Tensor = self.global_head(self.trunks[0](z))
        return logit.squeeze(1)

    def potentials(self, z: Tensor) -> Tensor:
        """l, the smoothed log-density up to a constant, at every noise scale."""  # (n, k)
        potentials: Tensor = self.local_head(self.trunks[-1](z))
        return potentials

    def forward(self, z: Tensor) -> Tensor:
        """Global logit and potentials side by side."""  # (n, 1 + k)
        features = self.trunks[0](z)
        local = features if len(self.trunks) == 1 else self.trunks[1](z)
        return torch.cat([self.global_head(features), self.local_head(local)], dim=1)


class Scorer:
    """A trained network for scoring alone: each projection, being linear, is folded into the head above it."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.device = next(network.parameters()).device
        self._chains: list[tuple[list[nn.Linear], Tensor, Tensor]] = []  # layers, head weight, head bias
        if network.standard:
            apart = len(network.trunks) == 2
            heads = (
                [[network.global_head], [network.local_head]] if apart else [[network.global_head, network.local_head]]
            )
            self._chains = [_folded(trunk, own) for trunk, own in zip(network.trunks, heads, strict=True)]

    @torch.no_grad()
    def __call__(self, z: Tensor) -> Tensor:
        """What the network's forward pass gives."""  # (n, 1 + k)
        if not self._chains:
            own: Tensor = self.network(z)
            return own
        outputs = []
        for layers, weight, bias in self._chains:
            a = z
            for layer in layers:
                a = nn.functional.gelu(torch.addmm(layer.bias, a, layer.weight.T))
            outputs.append(torch.addmm(bias, a, weight.T))
        return outputs[0] if len(outputs) == 1 else torch.cat(outputs, dim=1)


@torch.no_grad()
def _folded(trunk: nn.Module, heads: list[nn.Linear]) -> tuple[list[nn.Linear], Tensor, Tensor]:
    *layers, projection = [module for module in trunk.modules() if isinstance(module, nn.Linear)]
    weight = torch.cat([head.weight for head in heads]).double()
    bias = torch.cat([head.bias for head in heads]).double() + weight @ projection.bias.double()
    return layers, (weight @ projection.weight.double()).float(), bias.float()


def _linear(width: int, wide: int) -> nn.Linear:
    """A layer without values: those come from our own generator, or from a file."""
    at = torch.get_default_device()  # "meta", without memory, when `restore` asks for it
    return nn.utils.skip_init(nn.Linear, width, wide, device=at)  # type: ignore[no-any-return, no-untyped-call]


def mlp(width: int, hidden: Sequence[int]) -> nn.Sequential:
    """GELU layers of the given widths, then a linear projection as wide as the last; not yet initialised."""
    layers: list[nn.Module] = []
    for wide in hidden:
        layers += [_linear(width, wide), nn.GELU()]
        width = wide
    return nn.Sequential(*layers, _linear(width, width))


def build(
    width: int,
    hidden: Sequence[int],
    encoder: nn.Module | None,
    shared: bool,
    potentials: int,
    generator: torch.Generator,
) -> Network:
    """A fresh network for rows of this width. The user's encoder is copied, never trained in place."""
    copies = 1 if shared else 2
    if encoder is None:
        network = Network([mlp(width, hidden) for _ in range(copies)], hidden[-1], potentials, standard=True)
        fresh = network.modules()
    else:
        features = encoder_features(encoder, width)
        network = Network([copy.deepcopy(encoder) for _ in range(copies)], features, potentials, standard=False)
        fresh = iter([network.global_head, network.local_head])
    for module in fresh:
        if isinstance(module, nn.Linear):
            _initialise(module, generator)
    return network


def restore(
    weights: dict[str, Tensor],
    width: int,
    hidden: Sequence[int],
    encoder: nn.Module | None,
    shared: bool,
    potentials: int,
) -> Network:
    """The network these weights belong to; an error if they do not fit it.

    It is laid out without memory first, so that a file cannot ask for more than it brings.
    """
    copies = 1 if shared else 2
    features = hidden[-1] if encoder is None else encoder_features(encoder, width)
    with torch.device("meta"):
        trunks = [mlp(width, hidden) if encoder is None else copy.deepcopy(encoder) for _ in range(copies)]
        network = Network(trunks, features, potentials, standard=encoder is None)
    try:
        network.load_state_dict(weights, strict=True, assign=True)
    except RuntimeError as error:
        raise ValueError(f"the weights do not fit the network: {error}") from None
    return network.eval()


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


@torch.no_grad()
def _initialise(linear: nn.Linear, generator: torch.Generator) -> None:
    """PyTorch's own default, uniform within ±1/sqrt(fan-in), drawn from our generator."""
    bound = linear.in_features**-0.5
    linear.weight.uniform_(-bound, bound, generator=generator)
    linear.bias.uniform_(-bound, bound, generator=generator)
