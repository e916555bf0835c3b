"""Score with torch: on a GPU, with a user's encoder, and where there is no engine."""

import copy
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from centrality.network.mixture import Mixture
from centrality.network.modules import Linear, Module, as_module
from centrality.network.network import Network
from centrality.network.scaling import Scaling
from centrality.network.scorer import Back, Outputs, scorer_for
from centrality.network.threads import threads

gelu_backward = torch.ops.aten.gelu_backward

FEW = 32  # rows that are computed in float64: so many take but a little longer than in float32
AT_ONCE = 1024  # rows that go up through the layers together, on a CPU: what lies between layers stays in its cache

Layer = tuple[Tensor, Tensor]  # weight and bias


class TorchScorer:
    """Gives a network's outputs with torch; arrays in, arrays out."""

    def __init__(self, network: Network, device: str) -> None:
        self._network, self.device, self.members = network, device, network.members
        self.folded = Folded(as_module(network, device))

    def __reduce__(self) -> tuple[Any, tuple[Network, str]]:
        return scorer_for, (self._network, self.device)  # the rest is made of it

    def __call__(self, z: NDArray[np.float32]) -> Outputs:
        """Return the outputs for rows that are scaled."""
        with threads(1):  # blocks of rows have a thread each: those that share a product would mostly wait
            return self.folded(self._there(z)).cpu().numpy()

    def of_rows(self, rows: NDArray[Any], scaling: Scaling) -> Outputs:
        """Return the outputs for rows in the user's units."""
        return self(scaling.apply(rows))

    def along(
        self, start: NDArray[np.float32], step: NDArray[np.float32], at: NDArray[np.float32]
    ) -> tuple[Outputs, Back]:
        """Return outputs at points on lines, and a function from derivatives by them to those by points."""
        with threads(1):
            outputs, back = self.folded.along(*(self._there(part) for part in (start, step, at)))

        def to_points(by: NDArray[np.float32]) -> NDArray[np.float32]:
            with threads(1):
                return back(self._there(by)).cpu().numpy()

        return outputs.cpu().numpy(), to_points

    def _there(self, array: NDArray[np.float32]) -> Tensor:
        """Bring an array to the device."""
        return torch.from_numpy(np.require(array, np.float32, ["C", "W"])).to(self.device)


class Folded:
    """Score rows with a trained network, faster than its forward pass does.

    Each projection, being linear, is folded into the head above it; and since all trunks read the same rows, their
    first layers are one matrix product.

    What is promised about numbers (docs/internals/method.md) is kept here. Weights are rounded to float32 once and for
    all; a few rows are then computed in float64, many in float32 but for the two places where that would show: the
    heads, where large terms cancel, and the prior's distances, where squares do. A user's encoder computes as it was
    made.
    """

    def __init__(self, network: Module) -> None:
        self.network, self.members = network, network.members
        self.device = next(network.parameters()).device
        self._finest = torch.float32 if self.device.type == "mps" else torch.float64  # Apple's GPUs have no float64
        if network.standard:
            self._fold(network)

    @torch.no_grad()
    def _fold(self, network: Module) -> None:
        layers = [[module for module in trunk.modules() if isinstance(module, Linear)] for trunk in network.trunks]
        first, *middle, projection = [  # each of every member and trunk, global ones before local ones
            (torch.cat([layer.weight for layer in same]), torch.cat([layer.bias for layer in same]))
            for same in zip(*layers, strict=True)
        ]
        self.first = first[0].flatten(0, 1).T.contiguous(), first[1].flatten()
        self.middle = [(weight.mT.contiguous(), bias[:, None].contiguous()) for weight, bias in middle]
        self.heads = [
            (weight.mT.float().to(self._finest).contiguous(), bias[:, None].float().to(self._finest).contiguous())
            for weight, bias in (
                folded(network.global_head, *(part[: self.members] for part in projection)),
                folded(network.local_head, *(part[-self.members :] for part in projection)),
            )
        ]
        self._width = layers[0][0].weight.shape[1]  # of a trunk's first layer
        self._together = len(network.trunks) == 1  # both heads read the same features: one product for both
        if self._together:
            (to_global, bias_global), (to_local, bias_local) = self.heads
            self.heads = [(torch.cat([to_global, to_local], dim=2), torch.cat([bias_global, bias_local], dim=2))]

    @cached_property
    def _layers(self) -> dict[torch.dtype, tuple[Layer, list[Layer]]]:
        """Return the first and the middle layers, in either precision."""
        kinds = {torch.float32, self._finest}
        return {kind: (_as(kind, self.first), [_as(kind, layer) for layer in self.middle]) for kind in kinds}

    @cached_property
    def _fine_prior(self) -> Mixture | None:
        return copy.deepcopy(self.network.prior).to(self._finest) if self.network.prior is not None else None

    @cached_property
    def _finer(self) -> Mixture | None:
        """Return the prior that helps the one in float32; None where that one needs no help."""
        return self._fine_prior if self.network.prior is not None and self.network.prior.needs_float64() else None

    def __call__(self, z: Tensor) -> Tensor:
        """Return what the network's forward pass gives."""  # (members, n, 1 + k)
        if not self.network.standard:
            with torch.no_grad():
                outputs = self.network.learned(z)
        elif len(z) < 2 * AT_ONCE or self.device.type != "cpu":
            outputs = self._up_from(z)
        else:
            outputs = torch.cat([self._up_from(rows) for rows in torch.split(z, AT_ONCE)], dim=1)
        return self._with_prior(outputs, z)

    def _up_from(self, z: Tensor) -> Tensor:
        if len(z) <= FEW:
            z = z.to(self._finest)
        (weight, bias), _ = self._layers[z.dtype]
        return self._upward(torch.addmm(bias, z, weight))

    def _with_prior(self, outputs: Tensor, z: Tensor) -> Tensor:
        if (prior := self.network.prior) is not None:
            few = self._fine_prior if len(z) <= FEW else None
            outputs[:, :, 1:] += prior(z, self._finer) if few is None else few(z)
        return outputs

    def _upward(self, h: Tensor, inputs: list[Tensor] | None = None) -> Tensor:
        """Go from the first GELU's inputs to the outputs; `inputs` collects the inputs of every GELU."""
        a = self._by_trunk(nn.functional.gelu(h))
        if inputs is not None:
            inputs.append(self._by_trunk(h))
        for weight, bias in self._layers[h.dtype][1]:
            h = torch.baddbmm(bias, a, weight)
            if inputs is not None:
                inputs.append(h)
            a = nn.functional.gelu(h)
        a = a.to(self._finest)
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
        """Return outputs at the points start + at * step, and a function from derivatives by them to those by points.

        `start` (n or 1, p), `step` (n, p) and `at` (n, s) give outputs (members, n, s, 1 + k); the function turns an
        array of that shape into (n, p), summed over the s points of each line. The first layer is linear, so on a
        straight line it is needed once for the line, not for every point: that is most of the work where p is large.
        """
        if not self.network.standard:
            return self._along_by_autograd(start, step, at)
        with torch.no_grad():
            weight, bias = self.first
            n, s = at.shape
            h = torch.addcmul(torch.addmm(bias, start, weight)[:, None], at[:, :, None], (step @ weight)[:, None])
            inputs: list[Tensor] = []
            outputs = self._upward(h.view(n * s, -1), inputs)
            if (prior := self.network.prior) is not None:
                points = (start[:, None] + at[:, :, None] * step[:, None]).view(n * s, -1)
                outputs[:, :, 1:] += prior(points, self._finer)

        @torch.no_grad()
        def back(by_outputs: Tensor) -> Tensor:
            by_outputs = by_outputs.reshape(self.members, n * s, -1)
            parts = [by_outputs] if self._together else [by_outputs[:, :, :1], by_outputs[:, :, 1:]]
            by_a = torch.cat(
                [torch.bmm(part, head.mT.to(part.dtype)) for part, (head, _) in zip(parts, self.heads, strict=True)]
            )
            for h, (weight, _) in zip(inputs[:0:-1], self.middle[::-1], strict=True):
                by_a = torch.bmm(gelu_backward(by_a, h), weight.mT)
            by_h = gelu_backward(by_a, inputs[0]).view(len(by_a), n, s, -1).sum(2)  # (trunks, n, width)
            by_line: Tensor = by_h.transpose(0, 1).reshape(n, -1) @ self.first[0].T
            if prior is not None:
                by_line += prior.gradient(points, by_outputs[:, :, 1:].sum(0), self._finer).view(n, s, -1).sum(1)
            return by_line

        return outputs.view(self.members, n, s, -1), back

    def _along_by_autograd(self, start: Tensor, step: Tensor, at: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        n, s = at.shape
        points = (start[:, None] + at[:, :, None] * step[:, None]).reshape(n * s, -1).requires_grad_()
        with torch.enable_grad():
            outputs: Tensor = self.network(points)

        def back(by_outputs: Tensor) -> Tensor:
            (by_points,) = torch.autograd.grad(outputs, points, by_outputs.reshape(outputs.shape))
            return by_points.view(n, s, -1).sum(1)

        return outputs.detach().view(self.members, n, s, -1), back

    def _by_trunk(self, h: Tensor) -> Tensor:  # (n, trunks * width) -> (trunks, n, width)
        """Return what lies side by side for all trunks, trunk by trunk."""
        return h.view(len(h), -1, self._width).transpose(0, 1)


def folded(head: Linear, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Return projection and head as one linear layer; in float64, since the product rounds twice."""
    own = head.weight.double()  # (members, out, q)
    return own @ weight.double(), head.bias.double() + (own @ bias.double()[:, :, None])[:, :, 0]


def _as(kind: torch.dtype, layer: Layer) -> Layer:
    weight, bias = layer
    return weight.to(kind), bias.to(kind)
