"""Layers of every member side by side, our own encoder made of them, and the user's encoder in their place."""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from centrality._checks import InputError, InputTypeError


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


def mlp(width: int, hidden: Sequence[int], members: int = 1) -> nn.Sequential:
    """GELU layers of the given widths, then a linear projection as wide as the last; not yet initialised."""
    layers: list[nn.Module] = []
    for wide in hidden:
        layers += [Linear(members, width, wide), nn.GELU()]
        width = wide
    return nn.Sequential(*layers, Linear(members, width, width))


def encoder_features(encoder: nn.Module, width: int) -> int:
    """How many features the user's encoder makes of `width` columns; an error if it is no such encoder."""
    if not isinstance(encoder, nn.Module):
        raise InputTypeError(f"encoder must be a torch.nn.Module from (n, p) to (n, q), got {type(encoder).__name__}.")
    probe = copy.deepcopy(encoder).eval()
    at = next((parameter.device for parameter in probe.parameters()), torch.device("cpu"))
    try:
        with torch.no_grad():
            out = probe(torch.zeros(2, width, device=at))
    except RuntimeError as error:
        raise InputError(f"encoder must map (n, {width}) to (n, q), but failed on (2, {width}): {error}") from error
    if not isinstance(out, Tensor) or out.dim() != 2 or out.shape[0] != 2:
        came = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise InputError(f"encoder must map (n, {width}) to (n, q), but (2, {width}) became {came}.")
    return out.shape[1]
