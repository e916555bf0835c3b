"""Both losses of the standard encoder with gradients written out: the same numbers as `losses.py`, faster.

The local loss needs the derivative of a derivative, which autograd finds by building a graph of a graph. For
GELU layers it can be written down. With h the inputs and a = φ(h) the outputs of each layer, and u = Wₚᵀv the head
folded through the linear projection, the score is a chain back down,

    m_L = u ⊙ φ'(h_L),   m_i = (m_{i+1} W_{i+1}) ⊙ φ'(h_i),   score = m_1 W_1,

and its own derivative is a chain back up (`back` below) followed by ordinary back-propagation, which the global
loss shares: where both heads have one trunk, its rows and the noised rows go through as one batch.

Every tensor has a leading dimension of members, so products are batched ones. At these sizes a step is half calls and
half arithmetic, so what can be looked up once is, and calls are few.
"""

import math
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn import functional

from centrality.network.modules import Linear, Module
from centrality.training.losses import Batch, opponent_positions, opponents_of_first

gelu_backward = torch.ops.aten.gelu_backward
ROOT_2_PI = math.sqrt(2 * math.pi)


@dataclass(frozen=True)
class Layer:
    """Views of one linear layer's parameters and of their gradients."""

    weight: Tensor  # (members, out, in)
    transposed: Tensor  # (members, in, out), the same weights
    bias: Tensor  # (members, 1, out)
    weight_grad: Tensor
    bias_grad: Tensor

    @classmethod
    def of(cls, linear: Linear) -> "Layer":
        """View a layer whose parameters have been given room for gradients."""
        weight, bias = linear.weight, linear.bias
        assert weight.grad is not None and bias.grad is not None  # noqa: PT018  given in ClosedForm
        return cls(weight.data, weight.data.mT, bias.data[:, None], weight.grad, bias.grad[:, None])


@dataclass(frozen=True)
class Trunk:
    """The layers of one of our encoders: GELU follows each of them, and a linear projection them all."""

    layers: list[Layer]
    projection: Layer

    @classmethod
    def of(cls, encoder: nn.Module) -> "Trunk":
        """View the encoder that `mlp` has made."""
        *layers, projection = [Layer.of(module) for module in encoder.modules() if isinstance(module, Linear)]
        return cls(layers, projection)


class ClosedForm:
    """Finds the losses of a network whose trunks are `mlp`s; its parameters become views of one flat tensor meanwhile.

    The gradient is that of `balance` * global + local, as in `Autograd`.
    """

    def __init__(self, network: Module, balance: float = 1.0) -> None:
        self._network, self._balance = network, balance
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
        self._workspaces: dict[tuple[int, int], Workspace] = {}
        self._global_head, self._local_head = Layer.of(network.global_head), Layer.of(network.local_head)
        self._trunks = [Trunk.of(trunk) for trunk in network.trunks]

    @torch.no_grad()
    def losses(self, batch: Batch) -> Tensor:
        """Return the members' mean global and local loss, 0 where the batch has none.

        `parameters` receive the gradient of each member's sum.
        """  # (2,)
        self._gradient.zero_()
        losses = batch.rows.new_zeros(2)
        if len(self._trunks) == 1:
            self._pass_through(0, batch.rows, batch, losses)
            return losses
        if batch.preferred is not None:
            self._pass_through(0, batch.rows[:, : batch.noised_from], replace(batch, noise=None), losses)
        if batch.noise is not None:
            self._pass_through(1, batch.rows[:, batch.noised_from :], replace(batch, preferred=None), losses)
        return losses

    def finish(self) -> None:
        """Give every parameter memory of its own again."""
        for parameter in self._network.parameters():
            parameter.data, parameter.grad = parameter.data.clone(), None

    def _pass_through(self, number: int, rows: Tensor, batch: Batch, losses: Tensor) -> None:
        """Take rows through one trunk, forward and back, and add what they teach to the gradient and to `losses`."""
        trunk, space = self._trunks[number], self._workspace(number, rows)
        layers, split = trunk.layers, batch.noised_from  # candidates up to there, noised rows after it
        inputs = [rows]
        for layer, h in zip(layers, space.h, strict=True):  # up: h = input·Wᵀ + b
            torch.baddbmm(layer.bias, inputs[-1], layer.transposed, out=h)
            inputs.append(functional.gelu(h))
        space.find_slopes()
        by_h = space.by_h
        if batch.preferred is not None:
            by_top = self._global(trunk.projection, inputs[-1][:, :split], batch.preferred, losses)
            torch.mul(by_top, space.slope[-1][:, :split], out=by_h[:, :split])
        by_slope: list[Tensor] = []
        if batch.noise is not None:
            slopes = [slope[:, split:] for slope in space.slope]
            by_slope = self._local(trunk, slopes, rows[:, split:], batch, losses)
            space.find_curves()
            torch.mul(by_slope[-1], space.curve[-1][:, split:], out=by_h[:, split:])
        for i in reversed(range(len(layers))):  # and down again
            layers[i].weight_grad.baddbmm_(by_h.mT, inputs[i])
            torch.sum(by_h, 1, keepdim=True, out=layers[i].bias_grad)
            if i:
                by_h = torch.bmm(by_h, layers[i].weight).mul_(space.slope[i - 1])
                if by_slope:
                    by_h[:, split:].addcmul_(by_slope[i - 1], space.curve[i - 1][:, split:])

    def _global(self, projection: Layer, top: Tensor, preferred: Tensor, losses: Tensor) -> Tensor:
        """Return the loss's derivative by the top layer's output; add the gradients of projection and head."""
        head = self._global_head
        members, opponents, b = preferred.shape
        u = torch.bmm(head.weight, projection.weight)  # (members, 1, q)
        logit = torch.bmm(top, u.mT).view(members, 2, b)  # up to a constant, which no difference feels
        difference = logit[:, :1] - opponents_of_first(logit[:, 1], opponents)  # (members, s, b)
        torch.mean(functional.softplus(difference).addcmul_(preferred, difference, value=-1), (0, 1, 2), out=losses[0])
        slope = difference.sigmoid_().sub_(preferred).mul_(self._balance / (opponents * b))
        _, back = opponent_positions(b, opponents, slope.device)
        of_second = slope.view(members, -1).index_select(1, back).view_as(slope)
        slope = torch.cat([slope.sum(1), of_second.sum(1).neg_()], 1)[:, :, None]  # (members, 2b, 1)
        pull = torch.bmm(slope.mT, top)  # (members, 1, q)
        head.weight_grad.baddbmm_(pull, projection.transposed)
        projection.weight_grad.baddbmm_(head.transposed, pull)
        return slope * u

    def _local(self, trunk: Trunk, slopes: list[Tensor], rows: Tensor, batch: Batch, losses: Tensor) -> list[Tensor]:
        """Return the loss's derivative by φ' of each layer; add the gradients where they do not run through φ'."""
        layers, projection, head, noise = trunk.layers, trunk.projection, self._local_head, batch.noise
        assert noise is not None and batch.drawn is not None  # noqa: PT018  as `losses` saw to it
        members, size = len(batch.drawn), batch.drawn[0].numel()
        t = noise.owner @ torch.bmm(head.weight, projection.weight)  # (members, r, q)
        ts, ms = [], []
        for layer, slope in zip(layers[::-1], slopes[::-1], strict=True):  # down: the score
            ts.append(t)
            ms.append(t * slope)
            t = torch.bmm(ms[-1], layer.weight)
        residual = t.addcdiv_(batch.drawn, noise.eta)  # (members, r, p)
        if self._network.prior is not None:
            residual += self._network.prior.score(rows, noise.owner)
        back = residual * (noise.weight / size)  # the loss's derivative by the score
        losses[1] = torch.vdot(back.view(-1), residual.view(-1)) * (0.5 / members)
        by_slope = []
        for layer, slope, t, m in zip(layers, slopes, ts[::-1], ms[::-1], strict=True):  # up: its derivative
            layer.weight_grad.baddbmm_(m.mT, back)
            back = torch.bmm(back, layer.transposed)
            by_slope.append(t.mul_(back))
            back.mul_(slope)
        by_head = noise.owner.mT @ back  # (members, k, q); a product, since index_add_ is not repeatable on a GPU
        head.weight_grad.baddbmm_(by_head, projection.transposed)
        projection.weight_grad.baddbmm_(head.transposed, by_head)
        return by_slope

    def _workspace(self, trunk: int, rows: Tensor) -> "Workspace":
        key = trunk, rows.shape[1]
        if key not in self._workspaces:
            widths = [layer.weight.shape[1] for layer in self._trunks[trunk].layers]
            self._workspaces[key] = Workspace(rows, widths)
        return self._workspaces[key]


class Workspace:
    """Memory for what a step finds about each layer's h, used again in every step.

    All layers lie in one piece, so that one call finds φ' or φ'' of them all.
    """

    def __init__(self, rows: Tensor, widths: list[int]) -> None:
        shapes = [(*rows.shape[:2], width) for width in widths]
        sizes = [math.prod(shape) for shape in shapes]
        self._all_h, self._all_slope, self._all_curve, self._square = rows.new_zeros(4, sum(sizes))
        self._ones = torch.ones_like(self._all_h)
        self.by_h = rows.new_empty(shapes[-1])  # the loss's derivative by the top layer's h
        self.h, self.slope, self.curve = (
            [piece.view(shape) for piece, shape in zip(of_all.split(sizes), shapes, strict=True)]
            for of_all in (self._all_h, self._all_slope, self._all_curve)
        )

    def find_slopes(self) -> None:
        """Fill `slope` with φ' of the GELU φ(h) = h·Φ(h)."""
        gelu_backward.grad_input(self._ones, self._all_h, grad_input=self._all_slope)

    def find_curves(self) -> None:
        """Fill `curve` with φ'' of the GELU: (2 - h²) times the normal density."""
        torch.mul(self._all_h, self._all_h, out=self._square)
        torch.mul(self._square, -0.5, out=self._all_curve).exp_()
        self._all_curve.mul_(self._square.sub_(2.0).mul_(-1 / ROOT_2_PI))
