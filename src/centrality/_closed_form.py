"""Both losses of the standard encoder with gradients written out: the same numbers as `_losses.py`, faster.

The local loss needs the derivative of a derivative, which autograd finds by building a graph of a graph. For
GELU layers it can be written down. With h the inputs and a = φ(h) the outputs of each layer, and u = Wₚᵀv the head
folded through the linear projection, the score is a chain back down,

    m_L = u ⊙ φ'(h_L),   m_i = (m_{i+1} W_{i+1}) ⊙ φ'(h_i),   score = m_1 W_1,

and its own derivative is a chain back up (`back` below) followed by ordinary back-propagation, which the global
loss shares: its rows and the noised rows go through the trunk as one batch.

At these sizes a step is mostly the cost of calling torch, so what can be looked up once is, and calls are few.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from centrality._losses import Noised, Pairs
from centrality._network import Network

gelu_backward = torch.ops.aten.gelu_backward
LOG_ROOT_2_PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Layer:
    """Views of one linear layer's parameters and of their gradients."""

    weight: Tensor  # (out, in)
    across: Tensor  # (in, out), its transpose
    bias: Tensor
    weight_grad: Tensor
    bias_grad: Tensor

    @classmethod
    def of(cls, linear: nn.Module) -> "Layer":
        weight, bias = linear.weight, linear.bias
        assert isinstance(weight, Tensor) and isinstance(bias, Tensor)  # noqa: PT018  for mypy
        assert weight.grad is not None and bias.grad is not None  # noqa: PT018  given in ClosedForm
        return cls(weight.data, weight.data.T, bias.data, weight.grad, bias.grad)


class ClosedForm:
    """Losses of a network whose trunks are `mlp`s; its parameters become views of one flat tensor meanwhile."""

    def __init__(self, network: Network) -> None:
        self.network = network
        own = list(network.parameters())
        flat = nn.Parameter(torch.cat([parameter.detach().flatten() for parameter in own]))
        self._gradient = flat.grad = torch.zeros_like(flat)
        start = 0
        for parameter in own:
            stop = start + parameter.numel()
            parameter.data = flat.data[start:stop].view_as(parameter)
            parameter.grad = flat.grad[start:stop].view_as(parameter)
            start = stop
        self.parameters = [flat]
        self._global_head, self._local_head = Layer.of(network.global_head), Layer.of(network.local_head)
        self._trunks = [
            [Layer.of(module) for module in trunk.modules() if isinstance(module, nn.Linear)]
            for trunk in network.trunks
        ]

    @torch.no_grad()
    def losses(self, pairs: Pairs | None, noised: Noised | None) -> dict[str, Tensor]:
        """The losses of the batches there are; `parameters` receive the gradient of their sum."""
        self._gradient.zero_()
        if len(self._trunks) == 1:
            return self._through(self._trunks[0], pairs, noised)
        found: dict[str, Tensor] = {}
        if pairs is not None:
            found |= self._through(self._trunks[0], pairs, None)
        if noised is not None:
            found |= self._through(self._trunks[1], None, noised)
        return found

    def finish(self) -> None:
        """Give every parameter memory of its own again."""
        for parameter in self.network.parameters():
            parameter.data, parameter.grad = parameter.data.clone(), None

    def _through(self, trunk: list[Layer], pairs: Pairs | None, noised: Noised | None) -> dict[str, Tensor]:
        """One trunk, forward and back, with the rows of whichever batches there are: noised ones last."""
        *layers, projection = trunk
        rows = [] if pairs is None else [pairs.first, pairs.second]
        split = sum(map(len, rows))  # the noised rows begin here
        inputs, hs = _forward(layers, torch.cat([*rows, *([] if noised is None else [noised.rows])]))
        found: dict[str, Tensor] = {}
        by_top: Tensor | None = None
        bends: list[Bend] = []
        curves: list[Tensor] = []
        if pairs is not None:
            found["global"], by_top = self._global(projection, inputs[-1][:split], pairs)
        if noised is not None:
            bends = [Bend(h[split:]) for h in hs]
            found["local"], curves = self._local(layers, projection, bends, noised)
        _backward(layers, inputs, hs, split, by_top, bends, curves)
        return found

    def _global(self, projection: Layer, top: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Loss and its derivative by the top layer's output; the gradients of projection and head are added."""
        head, b = self._global_head, len(pairs.first)
        u = head.weight @ projection.weight  # (1, q)
        logit = top @ u[0]  # up to a constant, which no difference feels
        difference = logit[:b] - logit[b:]
        loss = (functional.softplus(difference) - pairs.preferred * difference).mean()  # the cross-entropy
        slope = (difference.sigmoid() - pairs.preferred) / b
        slope = torch.cat([slope, -slope])[:, None]  # (2b, 1)
        pull = slope.T @ top  # (1, q)
        head.weight_grad.addmm_(pull, projection.across)
        projection.weight_grad.addmm_(head.across, pull)
        return loss, slope * u

    def _local(
        self, layers: list[Layer], projection: Layer, bends: list["Bend"], noised: Noised
    ) -> tuple[Tensor, list[Tensor]]:
        """Loss and its derivative by each layer's input h, as far as it runs through φ'."""
        head, which = self._local_head, noised.which[:, 0]
        single = len(head.weight) == 1
        t = head.weight @ projection.weight  # (k, q)
        t = t.expand(len(which), -1) if single else t[which]  # (b, q)
        ts, ms = [], []
        for layer, at in zip(layers[::-1], bends[::-1], strict=True):  # down: the score
            ts.append(t)
            ms.append(t * at.slope)
            t = ms[-1] @ layer.weight
        residual = t.addcdiv_(noised.noise, noised.eta)  # (b, p)
        back = (noised.weight / residual.numel()) * residual  # the loss's derivative by the score
        loss = 0.5 * torch.vdot(back.view(-1), residual.view(-1))
        curves = []
        for layer, at, t, m in zip(layers, bends, ts[::-1], ms[::-1], strict=True):  # up: its derivative
            layer.weight_grad.addmm_(m.T, back)
            back = back @ layer.across
            curves.append(back * t * at.curve)
            back = back * at.slope
        if single:
            by_head = back.sum(0, keepdim=True)
        else:
            owner = torch.arange(len(head.weight), device=which.device)[:, None] == which  # (k, b)
            by_head = owner.to(back.dtype) @ back  # a product, since index_add_ is not repeatable on a GPU
        head.weight_grad.addmm_(by_head, projection.across)
        projection.weight_grad.addmm_(head.across, by_head)
        return loss, curves


class Bend:
    """φ' and φ'' of the GELU φ(h) = h·Φ(h): its second derivative is (2 - h²) times the normal density."""

    __slots__ = ("curve", "slope")

    def __init__(self, h: Tensor) -> None:
        self.slope = gelu_backward(torch.ones_like(h), h)
        square = h * h
        density = (square * -0.5).sub_(LOG_ROOT_2_PI).exp_()
        self.curve = density.mul_(2.0 - square)


def _forward(layers: list[Layer], a: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """What goes into each layer, and last what comes out of them; and each layer's h = input·Wᵀ + b."""
    inputs, hs = [a], []
    for layer in layers:
        hs.append(torch.addmm(layer.bias, inputs[-1], layer.across))
        inputs.append(functional.gelu(hs[-1]))
    return inputs, hs


def _backward(
    layers: list[Layer],
    inputs: list[Tensor],
    hs: list[Tensor],
    split: int,
    by_top: Tensor | None,
    bends: list[Bend],
    curves: list[Tensor],
) -> None:
    """Add the gradients of the layers.

    Rows before `split` bring the derivative of their loss by the output of the top layer, those after it by each h.
    """
    by_a = by_top
    for i in reversed(range(len(layers))):
        by_h = torch.empty_like(hs[i])
        if by_a is not None and split:
            gelu_backward.grad_input(by_a[:split], hs[i][:split], grad_input=by_h[:split])
        if curves and (by_a is None or len(by_a) == split):  # at the top
            by_h[split:] = curves[i]
        elif curves and by_a is not None:
            torch.addcmul(curves[i], by_a[split:], bends[i].slope, out=by_h[split:])
        layers[i].weight_grad.addmm_(by_h.T, inputs[i])
        layers[i].bias_grad.add_(by_h.sum(0))
        if i:
            by_a = by_h @ layers[i].weight
