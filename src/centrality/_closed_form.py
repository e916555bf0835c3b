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
        parts = [] if pairs is None else [pairs.first, pairs.second]
        rows = torch.cat([*parts, *([] if noised is None else [noised.rows])])
        passes = _forward(layers, rows)
        split = 0 if pairs is None else 2 * len(pairs.first)  # the noised rows begin here
        found, tops = {}, []
        if pairs is not None:
            found["global"], top = self._global(projection, passes[-1][:split], pairs)
            tops.append(top)
        curves: list[Tensor] | None = None
        if noised is not None:
            found["local"], curves = self._local(layers, projection, [p[split:] for p in passes], noised)
        _backward(layers, passes, tops, curves, split)
        return found

    def _global(self, projection: nn.Linear, top: "Pass", pairs: Pairs) -> tuple[Tensor, Tensor]:
        """Loss and its derivative by the top layer's output; the gradients of projection and head are added."""
        head = self.network.global_head
        u = head.weight @ projection.weight  # (1, q)
        logit = (top.a @ u.T).squeeze(1)  # up to a constant, which no difference feels
        difference = logit.chunk(2)[0] - logit.chunk(2)[1]
        loss = functional.binary_cross_entropy_with_logits(difference, pairs.preferred)
        slope = (difference.sigmoid() - pairs.preferred) / len(difference)
        slope = torch.cat([slope, -slope])[:, None]  # (2b, 1)
        pull = slope.T @ top.a  # (1, q)
        _grad(head.weight).addmm_(pull, projection.weight.T)
        _grad(projection.weight).addmm_(head.weight.T, pull)
        return loss, slope @ u

    def _local(
        self, layers: list[nn.Linear], projection: nn.Linear, passes: list["Pass"], noised: Noised
    ) -> tuple[Tensor, list[Tensor]]:
        """Loss and its derivative by each layer's input h, as far as it runs through φ'."""
        head = self.network.local_head
        t = (head.weight @ projection.weight)[noised.which[:, 0]]  # (b, q)
        ts, ms = [], []
        for layer, at in zip(layers[::-1], passes[::-1], strict=True):  # down: the score
            ts.append(t)
            ms.append(t * at.slope)
            t = ms[-1] @ layer.weight
        ts, ms = ts[::-1], ms[::-1]
        residual = t + noised.noise / noised.eta  # (b, p)
        weighted = noised.weight * residual
        loss = 0.5 * (weighted * residual).mean()
        back = weighted / residual.numel()  # by the score
        curves = []
        for layer, at, t, m in zip(layers, passes, ts, ms, strict=True):  # up: its derivative
            _grad(layer.weight).addmm_(m.T, back)
            back = back @ layer.weight.T
            curves.append(back * t * at.bend)
            back = back * at.slope
        by_head = torch.zeros_like(head.weight[:, :1] * projection.weight[:1]).index_add_(0, noised.which[:, 0], back)
        _grad(head.weight).addmm_(by_head, projection.weight.T)
        _grad(projection.weight).addmm_(head.weight.T, by_head)
        return loss, curves


class Pass:
    """What one layer did to a batch: its input, and φ with two derivatives at h = input·Wᵀ + b."""

    __slots__ = ("a", "bend", "input", "slope")

    def __init__(self, input: Tensor, a: Tensor, slope: Tensor, bend: Tensor) -> None:
        self.input, self.a, self.slope, self.bend = input, a, slope, bend

    def __getitem__(self, rows: slice) -> "Pass":
        return Pass(self.input[rows], self.a[rows], self.slope[rows], self.bend[rows])


def _forward(layers: list[nn.Linear], a: Tensor) -> list[Pass]:
    passes = []
    for layer in layers:
        h = torch.addmm(layer.bias, a, layer.weight.T)
        square = h * h
        density = (square * -0.5).exp_().mul_(1 / math.sqrt(2 * math.pi))  # of the standard normal
        mass = (h * math.sqrt(0.5)).erf_().add_(1).mul_(0.5)
        # φ = h·mass, φ' = mass + h·density, φ'' = density·(2 - h²)
        passes.append(Pass(a, h * mass, torch.addcmul(mass, h, density), density * (2 - square)))
        a = passes[-1].a
    return passes


def _backward(
    layers: list[nn.Linear], passes: list[Pass], tops: list[Tensor], curves: list[Tensor] | None, split: int
) -> None:
    """Add the gradients of the layers. Rows before `split` bring a derivative at the top, those after at each h."""
    by_h = None
    for i in reversed(range(len(layers))):
        by_a = None if by_h is None else by_h @ layers[i + 1].weight
        upper = tops if by_a is None else [by_a[:split]]
        parts = [part * passes[i].slope[:split] for part in upper if split]
        if curves is not None:
            parts.append(curves[i] if by_a is None else torch.addcmul(curves[i], by_a[split:], passes[i].slope[split:]))
        by_h = torch.cat(parts)
        _grad(layers[i].weight).addmm_(by_h.T, passes[i].input)
        _grad(layers[i].bias).add_(by_h.sum(0))


def _layers(trunk: nn.Module) -> tuple[list[nn.Linear], nn.Linear]:
    *layers, projection = [module for module in trunk.modules() if isinstance(module, nn.Linear)]
    return layers, projection


def _grad(parameter: Tensor) -> Tensor:
    assert parameter.grad is not None  # given in ClosedForm.__init__
    return parameter.grad
