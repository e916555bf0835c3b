"""Define the layers and weights of FUSE's networks; the engine or torch compute with them.

A network has an encoder for both heads, or one for each, called a trunk, and linear heads on top. The networks of an
ensemble, its members, lie side by side: every weight has a leading dimension of members. One network is an ensemble of
one. The engine is called in `network/engine_backend.py`, torch in `torch/networks.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays
from centrality._internal.checks import InputError

if TYPE_CHECKING:
    from torch import nn

BACKGROUND = "background."  # how the names of a background's weights begin
BACKGROUND_PARTS = ("mean", "axes", "precision", "rest", "level", "degrees", "bounds")  # as the engine takes them
LOWEST = -1e30  # log-density of a component that a member does not have

Weights = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Describe a network's layers, without weights."""

    width: int  # columns of the rows
    hidden: Sequence[int]  # widths of our own encoder's layers
    encoder: "nn.Module | None" = None  # the user's encoder; None: our own
    shared: bool = True  # one trunk for both heads; else one for each
    potentials: int = 1  # k, one for each noise scale
    members: int = 1  # networks side by side

    @property
    def standard(self) -> bool:
        """Say whether the encoder is ours, not the user's."""
        return self.encoder is None

    @property
    def trunks(self) -> int:
        """Return the number of a member's trunks."""
        return 1 if self.shared else 2

    def layers(self) -> list[tuple[str, int, int]]:
        """Return name, inputs and outputs of every linear layer of our own network, in the order of its weights.

        A trunk has hidden layers, each followed by a GELU, and a linear projection. GELUs are counted in the names,
        which are those of torch's Sequential, but have no weights.
        """
        layers = []
        for trunk in range(self.trunks):
            inputs = self.width
            for number, outputs in enumerate((*self.hidden, self.hidden[-1])):
                layers.append((f"trunks.{trunk}.{2 * number}", inputs, outputs))
                inputs = outputs
        return [*layers, ("global_head", inputs, 1), ("local_head", inputs, self.potentials)]

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of every weight of our own network, in order."""
        members = self.members
        shapes: dict[str, tuple[int, ...]] = {}
        for name, inputs, outputs in self.layers():
            shapes[f"{name}.weight"] = (members, outputs, inputs)
            shapes[f"{name}.bias"] = (members, outputs)
        return shapes


@dataclass(frozen=True, eq=False)
class Network(FrozenArrays):
    """A network's weights by the names that a model file gives them; training makes a new one."""

    layout: Layout
    weights: Weights
    background: Weights = field(default_factory=dict)  # by the names of BACKGROUND_PARTS; empty: there is none

    @property
    def members(self) -> int:
        """Return how many networks lie side by side."""
        return self.layout.members

    def arrays(self) -> Weights:
        """Return all arrays by their names in a model file."""
        return {**self.weights, **{f"{BACKGROUND}{name}": part for name, part in self.background.items()}}

    @property
    def potentials(self) -> int:
        """Return how many potentials a row has: one for each noise scale, and the sharp background if there is one."""
        return self.layout.potentials + bool(self.background)

    def linear(self, name: str, member: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return weight and bias of one of a member's linear layers."""  # (out, in), (out,)
        return self.weights[f"{name}.weight"][member], self.weights[f"{name}.bias"][member]


def build(layout: Layout, rng: np.random.Generator) -> Network:
    """Return one of our own networks, with random weights, to be trained."""
    weights: dict[str, NDArray[np.float32]] = {}
    for name, inputs, outputs in layout.layers():
        weights |= uniform(rng, name, layout.members, inputs, outputs)
    return Network(layout, weights)


def uniform(
    rng: np.random.Generator, name: str, members: int, inputs: int, outputs: int
) -> dict[str, NDArray[np.float32]]:
    """Draw a linear layer's weights and biases as PyTorch does by default: uniform within ±1/√inputs."""
    bound = inputs**-0.5
    weight = np.empty((members, outputs, inputs), dtype=np.float32)
    bias = np.empty((members, outputs), dtype=np.float32)
    for member in range(members):  # one after another: a member's weights do not depend on how many follow
        weight[member] = rng.uniform(-bound, bound, weight.shape[1:])
        bias[member] = rng.uniform(-bound, bound, outputs)
    return {f"{name}.weight": weight, f"{name}.bias": bias}


def restore(layout: Layout, arrays: Weights) -> Network:
    """Return the network of this layout with these weights, or raise a ValueError if they do not fit it.

    Weights of a user's encoder are checked by the encoder itself, in `torch/networks.py`.
    """
    background = {name.removeprefix(BACKGROUND): array for name, array in arrays.items() if name.startswith(BACKGROUND)}
    weights = {name: array for name, array in arrays.items() if not name.startswith(BACKGROUND)}
    if layout.standard:
        _require(weights, layout.shapes())
    if background:
        members = layout.members
        scales = layout.potentials + 1
        shape_of_axes = np.shape(background.get("axes", ()))
        components = shape_of_axes[1] if len(shape_of_axes) > 1 else 0
        axes = shape_of_axes[2] if len(shape_of_axes) > 2 else 0
        shapes = {
            "mean": (members, components, layout.width),
            "axes": (members, components, axes, layout.width),
            "precision": (members, scales, components, axes),
            "rest": (members, scales, components),
            "level": (members, scales, components),
            "degrees": (members,),
            "bounds": (members, layout.potentials, 2),
        }
        _require(background, shapes)
        if not components or not axes:
            raise InputError("the weights do not fit the network: its background has no components.")
        for name in ("precision", "rest", "degrees"):
            if (background[name] < 0).any():
                raise InputError(f"the weights do not fit the network: background.{name} must hold no number below 0.")
        if (background["bounds"][:, :, 0] > background["bounds"][:, :, 1]).any():
            raise InputError("the weights do not fit the network: background.bounds must be a low and a high end.")
    return Network(layout, weights, background)


def _require(weights: Weights, shapes: Mapping[str, tuple[int, ...]]) -> None:
    for name, shape in shapes.items():
        if name not in weights:
            raise InputError(f"the weights do not fit the network: {name} is missing.")
        array = weights[name]
        if array.shape != shape or array.dtype != np.float32:
            raise InputError(
                f"the weights do not fit the network: {name} must hold float32 numbers of shape {shape}, "
                f"got {array.dtype} {array.shape}."
            )
    unknown = sorted(set(weights) - set(shapes))
    if unknown:
        raise InputError(f"the weights do not fit the network: it has no {unknown[0]}.")
