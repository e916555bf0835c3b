"""Both losses of the standard encoder with gradients written out: the same numbers as `_losses.py`, faster.

The local loss needs the derivative of a derivative, which autograd finds by building a graph of a graph. For
GELU layers it can be written down. With h the inputs and a = φ(h) the outputs of each layer, and u = Wₚᵀv the head
folded through the linear projection, the score is a chain back down,

    m_L = u ⊙ φ'(h_L),   m_i = (m_{i+1} W_{i+1}) ⊙ φ'(h_i),   score = m_1 W_1,

and its own derivative is a chain back up (M, T below) followed by ordinary back-propagation, which the global
loss shares: its rows and the noised rows go through the trunk as one batch.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from centrality._losses import Noised, Pairs
from centrality._network import Network

gelu_backward = torch.ops.aten.gelu_backward


class ClosedForm:
    """Losses of a network whose trunks are `mlp`s; its parameters become views of one flat tensor meanwhile."""

    def __init__(self, network: Network) -> None:
        self.network = network
        own = list(network.parameters())
        flat = nn.Parameter(torch.cat([parameter.detach().flatten() for parameter in own]))
        flat.grad = torch.zeros_like(flat)
        start = 0
        for parameter in own:
            stop = start + parameter.numel()
            parameter.data = flat.data[start:stop].view_as(parameter)
            parameter.grad = flat.grad[start:stop].view_as(parameter)
            start = stop
        self.parameters = [flat]

    @torch.no_grad()
    def losses(self, pairs: Pairs | None, noised: Noised | None) -> dict[str, Tensor]:
        """The losses of the batches there are; `parameters` receive the gradient of their sum."""
        _grad(self.parameters[0]).zero_()
        trunks = self.network.trunks
        if len(trunks) == 1:
            return self._through(trunks[0], pairs, noised)
        found: dict[str, Tensor] = {}
        if pairs is not None:
            found |= self._through(trunks[0], pairs, None)
        if noised is not None:
            found |= self._through(trunks[1], None, noised)
        return found

    def finish(self) -> None:
        """Give every parameter memory of its own again."""
        for parameter in self.network.parameters():
            parameter.data, parameter.grad = parameter.data.clone(), None

    def _through(self, trunk: nn.Module, pairs: Pairs | None, noised: Noised | None) -> dict[str, Tensor]:
        """One trunk, forward and back, with the rows of whichever batches there are: noised ones last."""
        layers, projection = _layers(trunk)
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

    def _global(self, projection: nn.Linear, top: Tensor, pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Loss and its derivative by the top layer's output; the gradients of projection and head are added."""
        head = self.network.global_head
        u = head.weight @ projection.weight  # (1, q)
        logit = (top @ u.T).squeeze(1)  # up to a constant, which no difference feels
        difference = logit[: len(pairs.first)] - logit[len(pairs.first) :]
        loss = functional.binary_cross_entropy_with_logits(difference, pairs.preferred)
        slope = (difference.sigmoid() - pairs.preferred) / len(difference)
        slope = torch.cat([slope, -slope])[:, None]  # (2b, 1)
        pull = slope.T @ top  # (1, q)
        _grad(head.weight).addmm_(pull, projection.weight.T)
        _grad(projection.weight).addmm_(head.weight.T, pull)
        return loss, slope @ u

    def _local(
        self, layers: list[nn.Linear], projection: nn.Linear, bends: list["Bend"], noised: Noised
    ) -> tuple[Tensor, list[Tensor]]:
        """Loss and its derivative by each layer's input h, as far as it runs through φ'."""
        head = self.network.local_head
        t = (head.weight @ projection.weight)[noised.which[:, 0]]  # (b, q)
        ts, ms = [], []
        for layer, at in zip(layers[::-1], bends[::-1], strict=True):  # down: the score
            ts.append(t)
            ms.append(t * at.slope)
            t = ms[-1] @ layer.weight
        ts, ms = ts[::-1], ms[::-1]
        residual = t + noised.noise / noised.eta  # (b, p)
        weighted = noised.weight * residual
        loss = 0.5 * (weighted * residual).mean()
        back = weighted / residual.numel()  # by the score
        curves = []
        for layer, at, t, m in zip(layers, bends, ts, ms, strict=True):  # up: its derivative
            _grad(layer.weight).addmm_(m.T, back)
            back = back @ layer.weight.T
            curves.append(back * t * at.curve)
            back = back * at.slope
        by_head = torch.zeros_like(head.weight[:, :1] * projection.weight[:1]).index_add_(0, noised.which[:, 0], back)
        _grad(head.weight).addmm_(by_head, projection.weight.T)
        _grad(projection.weight).addmm_(head.weight.T, by_head)
        return loss, curves


class Bend:
    """φ' and φ'' of the GELU φ(h) = h·Φ(h), with Φ the standard normal's mass and its density as derivative."""

    __slots__ = ("curve", "slope")

    def __init__(self, h: Tensor) -> None:
        square = h * h
        density = (square * -0.5).exp_().mul_(1 / math.sqrt(2 * math.pi))
        mass = (h * math.sqrt(0.5)).erf_().add_(1).mul_(0.5)
        self.slope = mass.addcmul_(h, density)
        self.curve = square.neg_().add_(2).mul_(density)


def _forward(layers: list[nn.Linear], a: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """What goes into each layer, and last what comes out of them; and each layer's h = input·Wᵀ + b."""
    inputs, hs = [a], []
    for layer in layers:
        hs.append(torch.addmm(layer.bias, inputs[-1], layer.weight.T))
        inputs.append(functional.gelu(hs[-1]))
    return inputs, hs


def _backward(
    layers: list[nn.Linear],
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
        parts = []
        if by_a is not None and split:
            parts.append(gelu_backward(by_a[:split], hs[i][:split]))
        if curves and (by_a is None or len(by_a) == split):  # at the top
            parts.append(curves[i])
        elif curves and by_a is not None:
            parts.append(torch.addcmul(curves[i], by_a[split:], bends[i].slope))
        by_h = torch.cat(parts)
        _grad(layers[i].weight).addmm_(by_h.T, inputs[i])
        _grad(layers[i].bias).add_(by_h.sum(0))
        if i:
            by_a = by_h @ layers[i].weight


def _layers(trunk: nn.Module) -> tuple[list[nn.Linear], nn.Linear]:
    *layers, projection = [module for module in trunk.modules() if isinstance(module, nn.Linear)]
    return layers, projection


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None  # given in ClosedForm.__init__
    return parameter.grad
