"""Layers of every member side by side, our own encoder made of them, and the user's encoder in their place."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality._checks import InputError, InputTypeError


class Linear(nn.Module):
    """Apply one linear layer of every member: its values come from our own generator, or from a file."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, outputs, inputs))
        self.bias = nn.Parameter(torch.empty(members, outputs))

    def forward(self, x: Tensor) -> Tensor:  # (members, n, inputs) -> (members, n, outputs)
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)

    @torch.no_grad()
    def initialise(self, generator: torch.Generator) -> None:
        """Draw weights and biases as PyTorch does by default: uniform within ±1/√inputs."""
        bound = self.weight.shape[2] ** -0.5
        for member in range(len(self.weight)):  # one after another: the first is the same whatever their number
            self.weight[member].uniform_(-bound, bound, generator=generator)
            self.bias[member].uniform_(-bound, bound, generator=generator)


class Copies(nn.Module):
    """Apply the user's encoder, copied once for every member: the original is never trained."""

    def __init__(self, encoder: nn.Module, members: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(copy.deepcopy(encoder) for _ in range(members))

    def forward(self, x: Tensor) -> Tensor:  # (members, n, p) -> (members, n, q)
        return torch.stack([encoder(rows) for encoder, rows in zip(self.members, x, strict=True)])


def mlp(width: int, hidden: Sequence[int], members: int = 1) -> nn.Sequential:
    """Return GELU layers of the given widths and a linear projection as wide as the last, not yet initialised."""
    layers: list[nn.Module] = []
    inputs = width
    for outputs in hidden:
        layers += [Linear(members, inputs, outputs), nn.GELU()]
        inputs = outputs
    return nn.Sequential(*layers, Linear(members, inputs, inputs))


def encoder_features(encoder: nn.Module, width: int) -> int:
    """Return how many features the user's encoder makes of `width` columns, or raise if it is no such encoder."""
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


def numbers(tensor: Tensor, kind: type[np.floating[Any]] = np.float32) -> NDArray[np.floating[Any]]:
    """Return a tensor's values in float32, with which models score elsewhere, as numbers of this kind."""
    return np.asarray(tensor.detach().float().cpu().numpy().astype(kind))
