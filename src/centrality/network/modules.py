"""Networks as torch modules: where the engine does not apply, torch trains and scores with these.

That is on a GPU, with a user's encoder, and where no engine is installed. Everything has a leading dimension of
members, so that one batched product trains or scores them all.
"""

import copy
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from centrality._checks import InputError, InputTypeError
from centrality.network.mixture import Mixture
from centrality.network.network import Layout, Network, Weights, uniform


class Linear(nn.Module):
    """Apply one linear layer of every member: its values come from our own generator, or from a file."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, outputs, inputs))
        self.bias = nn.Parameter(torch.empty(members, outputs))

    def forward(self, x: Tensor) -> Tensor:  # (members, n, inputs) -> (members, n, outputs)
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)


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


class Module(nn.Module):
    """Map rows z to one global logit and k local potentials, one for each noise scale.

    One trunk serves both heads as in the paper; two trunks give each its own. Where there is a prior, the local head
    learns the difference from it.
    """

    prior: Mixture | None

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.members, self.standard = layout.members, layout.standard
        if layout.encoder is None:
            features = layout.hidden[-1]
            trunks: list[nn.Module] = [mlp(layout.width, layout.hidden, self.members) for _ in range(layout.trunks)]
        else:
            features = encoder_features(layout.encoder, layout.width)
            trunks = [Copies(layout.encoder, self.members) for _ in range(layout.trunks)]
        self.trunks = nn.ModuleList(trunks)
        self.global_head = Linear(self.members, features, 1)
        self.local_head = Linear(self.members, features, layout.potentials)
        self.prior = None

    def logit(self, z: Tensor) -> Tensor:
        """Return g, the global head's Bradley-Terry logit."""  # (n, p) or (members, n, p) -> (members, n)
        logit: Tensor = self.global_head(self.trunks[0](self._for_each(z)))
        return logit.squeeze(2)

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


def as_module(network: Network, device: str = "cpu") -> Module:
    """Return the network as a torch module with weights of its own, or raise a ValueError if they do not fit it."""
    with torch.device("meta"):  # laid out without memory first, so that a file cannot ask for more than it brings
        module = Module(network.layout)
        if network.prior:
            module.prior = Mixture.for_weights(network.prior)
    weights = {name: torch.from_numpy(array.copy()) for name, array in network.arrays().items()}
    try:
        module.load_state_dict(weights, strict=True, assign=True)
    except RuntimeError as error:
        raise InputError(f"the weights do not fit the network: {str(error)[:400]}") from None
    return module.to(device).eval()


def weights_of(module: Module, network: Network) -> Weights:
    """Return the module's weights, and the buffers of a user's encoder."""
    state = module.state_dict()
    return {name: state[name].detach().cpu().numpy().copy() for name in network.weights}


def initial_weights(layout: Layout, rng: np.random.Generator) -> Weights:
    """Return the weights of a network around a user's encoder: copies of its own, and random heads."""
    module = Module(layout)
    found = {name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()}
    for name, head in (("global_head", module.global_head), ("local_head", module.local_head)):
        members, outputs, inputs = head.weight.shape
        found |= uniform(rng, name, members, inputs, outputs)
    return found
