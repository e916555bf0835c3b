"""Networks and losses in torch.

The engine has the same losses, with gradients written out (`engine/training.h`); a test compares their steps.

Everything has a leading dimension of members, so that one batched product trains or scores them all.
"""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from centrality._internal.checks import InputError, InputTypeError
from centrality.network import formulas
from centrality.network.engine_backend import folded_head
from centrality.network.network import Layout, Network, Weights, uniform


class Heads(Protocol):
    """Describe a network with a global and a local head."""

    def logit(self, z: Tensor) -> Tensor:
        """Return g."""  # (members, n, p) -> (members, n)

    def potentials(self, z: Tensor) -> Tensor:
        """Return l at every noise scale."""  # (members, n, p) -> (members, n, k)


@dataclass(frozen=True)
class Noise:
    """The noise of a batch's rows: eta[i] times `drawn` was added to row i, which trains one potential."""

    drawn: Tensor  # (members, r, p) standard normal, already added to the rows
    eta: Tensor  # (r, 1)
    weight: Tensor  # (r, 1) how much the row counts
    owner: Tensor  # (r, k) one in the column of the row's potential, else zero
    learned: Tensor | None = None  # (p,) one for a column whose slope is learned, zero for one that is given; None: all


def global_loss(network: Heads, candidates: Tensor, preferred: Tensor) -> Tensor:  # -> (members,)
    """Return the cross-entropy between π̂ and the Bradley-Terry model σ(g(x₁) - g(x₂)).

    Candidates (members, 2b, p) are first ones x₁, then as many second ones x₂; `preferred` (members, s, b) is π̂ of
    first i against its s opponents, second i, i + 1, ...
    """
    first, second = network.logit(candidates).chunk(2, dim=1)  # (members, b)
    opponents = torch.stack([second.roll(-shift, 1) for shift in range(preferred.shape[1])], 1)  # (members, s, b)
    difference = first[:, None] - opponents
    cross_entropy = functional.binary_cross_entropy_with_logits(difference, preferred, reduction="none")
    return cross_entropy.mean((1, 2))


def local_loss(network: Heads, noisy: Tensor, noise: Noise) -> Tensor:  # (members, r, p) -> (members,)
    """Return the loss of denoising score matching, ½ |∇l(z + ε) + ε/η²|² with ε = η · drawn, averaged over columns."""
    rows = noisy.detach().requires_grad_()
    potential = network.potentials(rows) * noise.owner  # (members, r, k)
    (score,) = torch.autograd.grad(potential.sum(), rows, create_graph=True)  # (members, r, p)
    residual = score + noise.drawn / noise.eta
    if noise.learned is None:
        return 0.5 * (noise.weight * residual.square()).mean((1, 2))
    return 0.5 * (noise.weight * (noise.learned * residual).square()).sum(2).mean(1) / noise.learned.sum()


class Linear(nn.Module):
    """Apply one linear layer of every member."""

    def __init__(self, members: int, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(members, outputs, inputs))
        self.bias = nn.Parameter(torch.empty(members, outputs))

    def forward(self, x: Tensor) -> Tensor:  # (members, n, inputs) -> (members, n, outputs)
        return torch.baddbmm(self.bias[:, None], x, self.weight.mT)


class EncoderCopies(nn.Module):
    """Apply the user's encoder, copied once for every member: the original is never trained."""

    def __init__(self, encoder: nn.Module, members: int) -> None:
        super().__init__()
        self.members = nn.ModuleList(copy.deepcopy(encoder) for _ in range(members))

    def forward(self, x: Tensor) -> Tensor:  # (members, n, p) -> (members, n, q)
        return torch.stack([encoder(rows) for encoder, rows in zip(self.members, x, strict=True)])


class Background(nn.Module):
    """Compute the background that a member's potentials start from, at each level of blur (`fuse/background.py`)."""

    bounds: Tensor

    def __init__(self, parts: Weights, device: str) -> None:
        super().__init__()
        self.degrees = [float(degrees) for degrees in parts["degrees"]]
        for name, part in parts.items():
            if name != "degrees":  # in float64: squares that cancel follow
                self.register_buffer(name, torch.from_numpy(part.copy()).to(finest(device)))

    def forward(self, z: Tensor) -> Tensor:  # (n, p), or (members, n, p) -> (members, n, levels)
        rows = z.expand(len(self.degrees), *z.shape) if z.dim() == 2 else z
        parts = dict(self.named_buffers())
        of_members = []
        for member, degrees in enumerate(self.degrees):  # one after another: all at once would fill memory
            constants = SimpleNamespace(degrees=degrees, **{name: part[member] for name, part in parts.items()})
            of_members.append(torch.stack(formulas.background(constants, rows[member].to(constants.mean.dtype)), 1))
        return torch.stack(of_members)


class Networks(nn.Module):
    """Map scaled rows to one global logit and k potentials for each member.

    One trunk serves both heads as in the paper; two trunks give each its own. Where there is a background, the local
    head learns the difference from it, and the sharp background is one more potential.
    """

    background: Background | None

    def __init__(self, layout: Layout) -> None:
        super().__init__()
        self.members = layout.members
        if layout.encoder is None:
            features = layout.hidden[-1]
            trunks: list[nn.Module] = [mlp(layout.width, layout.hidden, self.members) for _ in range(layout.trunks)]
        else:
            features = encoder_features(layout.encoder, layout.width)
            trunks = [EncoderCopies(layout.encoder, self.members) for _ in range(layout.trunks)]
        self.trunks = nn.ModuleList(trunks)
        self.global_head = Linear(self.members, features, 1)
        self.local_head = Linear(self.members, features, layout.potentials)
        self.background = None

    def forward(self, z: Tensor) -> Tensor:  # (n, p), or (members, n, p) -> (members, n, 1 + k)
        """Return the global logit and all potentials side by side."""
        features = [self._features(trunk, z) for trunk in self.trunks]
        logit = self.global_head(features[0])
        local = self.local_head(features[-1])
        if self.background is None:
            return torch.cat([logit, local], dim=2)
        background = self.background(z)
        k = local.shape[2]
        local = formulas.bounded(self.background.bounds[:, None], local)
        return torch.cat([logit, local + background[:, :, :k], background[:, :, k:]], dim=2)

    def logit(self, z: Tensor) -> Tensor:  # -> (members, n)
        """Return g, the global head's Bradley-Terry logit."""
        logit: Tensor = self.global_head(self._features(self.trunks[0], z))
        return logit.squeeze(2)

    def potentials(self, z: Tensor) -> Tensor:  # -> (members, n, k)
        """Return l, the smoothed log-density up to a constant, at every noise scale."""
        learned: Tensor = self.local_head(self._features(self.trunks[-1], z))
        if self.background is not None:
            learned = learned + self.background(z)[:, :, : learned.shape[2]]
        return learned

    def _features(self, trunk: nn.Module, z: Tensor) -> Tensor:  # -> (members, n, q)
        """Return the trunk's features, computed in its own precision, in the precision of the heads."""
        rows = z.expand(self.members, *z.shape) if z.dim() == 2 else z
        precision = next((parameter.dtype for parameter in trunk.parameters()), torch.float32)
        features: Tensor = trunk(rows.to(precision))
        return features.to(self.global_head.weight.dtype)


def mlp(width: int, hidden: Sequence[int], members: int) -> nn.Sequential:
    """Return GELU layers of the given widths and a linear projection as wide as the last, not yet initialised."""
    layers: list[nn.Module] = []
    inputs = width
    for outputs in hidden:
        layers += [Linear(members, inputs, outputs), nn.GELU()]
        inputs = outputs
    return nn.Sequential(*layers, Linear(members, inputs, inputs))


def encoder_features(encoder: nn.Module, width: int) -> int:
    """Return the number of features that the user's encoder makes of `width` columns; raise if it cannot."""
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


def build_around_encoder(layout: Layout, rng: np.random.Generator) -> Network:
    """Return a network around copies of the user's encoder, with random heads, to be trained."""
    module = Networks(layout)
    weights = {name: value.detach().cpu().numpy().copy() for name, value in module.state_dict().items()}
    for name, head in (("global_head", module.global_head), ("local_head", module.local_head)):
        members, outputs, inputs = head.weight.shape
        weights |= uniform(rng, name, members, inputs, outputs)
    return Network(layout, weights)


def to_train(network: Network, device: str) -> Networks:
    """Return the networks with weights of their own, in float32; or raise an error if the weights do not fit them."""
    with torch.device("meta"):  # built without memory first, so that a file cannot make us allocate more than it holds
        module = Networks(network.layout)
    weights = {name: torch.from_numpy(array.copy()) for name, array in network.weights.items()}
    try:
        module.load_state_dict(weights, strict=True, assign=True)
    except RuntimeError as error:
        raise InputError(f"the weights do not fit the network: {str(error)[:400]}") from None
    module.background = Background(network.background, device) if network.background else None
    return module.to(device)


def weights_of(module: Networks, network: Network) -> Weights:
    """Return the module's weights, and the buffers of a user's encoder, by the names that the network has for them."""
    state = module.state_dict()
    return {name: state[name].detach().cpu().numpy().copy() for name in network.weights}


def to_score(network: Network, device: str) -> Networks:
    """Return the networks as scoring uses them, as close to exact arithmetic as the engine is.

    Each of our projections is folded into the head above it, as in the engine. Heads compute in float64, where large
    terms cancel; our trunks too on a CPU, in float32 on a GPU. A user's encoder computes as it was made.
    """
    module = to_train(network, "cpu")
    if network.layout.standard:
        for trunk in module.trunks:
            assert isinstance(trunk, nn.Sequential)
            del trunk[-1]
        for name, trunk_number in (("global_head", 0), ("local_head", network.layout.trunks - 1)):
            folded = [folded_head(network, member, name, trunk_number) for member in range(network.members)]
            head: Linear = getattr(module, name)
            head.weight = nn.Parameter(torch.from_numpy(np.stack([weight for weight, _ in folded])))
            head.bias = nn.Parameter(torch.from_numpy(np.stack([bias for _, bias in folded])))
        module.trunks.to(torch.float64 if device == "cpu" else torch.float32)
    module.global_head.to(finest(device))
    module.local_head.to(finest(device))
    return module.to(device).eval().requires_grad_(requires_grad=False)


def finest(device: str) -> torch.dtype:
    """Return the most precise floating type of a device: Apple's GPUs have no float64."""
    return torch.float32 if device == "mps" else torch.float64
