"""The method of the paper in plain torch, to be read beside it: networks, losses, schemes, Algorithm 1, Algorithm 2.

Symbols are the paper's. Nothing here is centrality's: this is what its engine is compared with. All is computed in
float64, and the rows are their own representation: ψ(x) = x, of which δ is the Euclidean distance.

Where the paper says "randomly", a numpy generator draws. `rng` draws rows and anchors, `noise` draws ε: in the order in
which they are written below, so that another program that draws alike can be compared number by number.
"""

from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

Pairs = tuple[Tensor, Tensor]  # (b,) numbers of rows X_i, (b,) numbers of rows X_j


class Heads(nn.Module):
    """A shared encoder, two GELU layers and a projection, under two linear heads (Supplement, network architecture)."""

    def __init__(self, p: int, width: int, start: np.random.Generator) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(p, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)
        )
        self.global_head, self.local_head = nn.Linear(width, 1), nn.Linear(width, 1)
        self.double()
        for layer in self.modules():
            if isinstance(layer, nn.Linear):  # torch's own initial weights: uniform within one over the root of inputs
                bound = layer.in_features**-0.5
                for weight in (layer.weight, layer.bias):
                    drawn = start.uniform(-bound, bound, tuple(weight.shape)).astype(np.float32)
                    weight.data.copy_(torch.from_numpy(drawn))

    def g(self, z: Tensor) -> Tensor:  # (n, p) -> (n,)
        """The Bradley-Terry logit."""
        return self.global_head(self.encoder(z)).squeeze(1)

    def l(self, z: Tensor) -> Tensor:  # noqa: E743  (n, p) -> (n,)
        """The potential: a smoothed log-density, up to a constant."""
        return self.local_head(self.encoder(z)).squeeze(1)

    def s(self, z: Tensor) -> Tensor:  # (n, p) -> (n, p)
        """The model score, ∇l at z."""
        z = z.detach().requires_grad_()
        (score,) = torch.autograd.grad(self.l(z).sum(), z, create_graph=True)
        return score


# Losses.


def global_loss(theta: Heads, x1: Tensor, x2: Tensor, preference: Tensor) -> Tensor:
    """Equation (1): cross-entropy between π̂ and the Bradley-Terry model σ(g(x1) − g(x2))."""
    difference = theta.g(x1) - theta.g(x2)
    # 1 − σ(u) is σ(−u).
    return (-preference * logsigmoid(difference) - (1 - preference) * logsigmoid(-difference)).mean()


def local_loss(theta: Heads, z: Tensor, epsilon: Tensor, eta: float) -> Tensor:
    """Equation (2): denoising score matching, ½ E |s(z + ε) + ε / η²|², the norm being that of a vector."""
    return 0.5 * (theta.s(z + epsilon) + epsilon / eta**2).square().sum(1).mean()


# Sampling schemes (Supplement, "Different sampling strategy investigation").


def split(scheme: int, n: int, rng: np.random.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """S0, S1 and S2: disjoint random thirds of the rows, where S0 takes what is left; in scheme 4, each is all rows."""
    order, third = torch.from_numpy(rng.permutation(n)), n // 3
    if scheme == 4:
        return order, order, order
    return order[2 * third :], order[:third], order[third : 2 * third]


def candidate_pairs(scheme: int, s1: Tensor, s2: Tensor) -> Pairs:
    """S12. Scheme 1 matches by index; schemes 2 and 3 take S1 × S2; scheme 4 the same, but for a row with itself.

    Both sets are shuffled, so S1 matched with S2 shifted by 0, 1, 2, ... is S1 × S2, one random matching after another.
    """
    size = len(s1)
    shifts = {1: range(1), 2: range(size), 3: range(size), 4: range(1, size)}[scheme]
    return s1.repeat(len(shifts)), torch.cat([s2.roll(-shift) for shift in shifts])


def anchors_of_pairs(scheme: int, s0: Tensor, pairs: int, m: int, rng: np.random.Generator) -> Tensor:  # (pairs, m)
    """A_ij: of S0 a small random subset for each pair, in schemes 1 and 2; all of S0 in schemes 3 and 4.

    S0 is shuffled, so m rows in a row of it, from a random one on, are a random subset.
    """
    if scheme in (3, 4) or m >= len(s0):
        return s0.expand(pairs, -1)
    first = torch.from_numpy(rng.integers(len(s0), size=pairs))
    return s0[(first[:, None] + torch.arange(m)) % len(s0)]


def preference(x: Tensor, i: Tensor, j: Tensor, anchors: Tensor) -> Tensor:  # (b,), (b,), (b, m) -> (b,)
    """π̂(X_i, X_j): the fraction of anchors X_0 in A_ij such that δ(X_i, X_0) < δ(X_j, X_0)."""
    x0 = x[anchors]
    nearer = (x[i, None] - x0).square().sum(2) < (x[j, None] - x0).square().sum(2)
    return nearer.double().mean(1)


# Algorithm 1. An update of θ takes a batch of b pairs, or of b rows, as the Supplement says of the experiments.


def adam(theta: list[nn.Parameter], rate: float) -> Callable[[Tensor], float]:
    """The optimizer O: a function that updates θ once by the gradient of a loss, and returns the loss.

    Adam in the form at the end of section 2 of Kingma and Ba (2015), where ε stands beside √v. An update is one of θ as
    a whole: a head without a part in the loss has a gradient of zero.
    """
    beta1, beta2, small, step = 0.9, 0.999, 1e-8, count(1)
    moments = [(torch.zeros_like(weight), torch.zeros_like(weight)) for weight in theta]

    def update(loss: Tensor) -> float:
        gradients = torch.autograd.grad(loss, theta, allow_unused=True, materialize_grads=True)
        k = next(step)
        alpha = rate * (1 - beta2**k) ** 0.5 / (1 - beta1**k)
        for weight, gradient, (mean, square) in zip(theta, gradients, moments, strict=True):
            mean.mul_(beta1).add_(gradient, alpha=1 - beta1)
            square.mul_(beta2).add_(gradient.square(), alpha=1 - beta2)
            weight.data -= alpha * mean / (square.sqrt() + small)
        return loss.item()

    return update


def batches(rows: int, b: int) -> Iterator[slice]:
    """Cut so many rows, or pairs, into batches; the last may be smaller."""
    return (slice(start, start + b) for start in range(0, rows, b))


def train(
    theta: Heads,
    x: Tensor,
    *,
    scheme: int,
    T: int,
    R: int,
    eta: float,
    m: int,
    b: int,
    rate: float,
    rng: np.random.Generator,
    noise: np.random.Generator,
) -> list[tuple[float, float]]:
    """Train θ by Algorithm 1 on the rows x, (n, p); return the mean of each loss over every epoch."""
    n, p = x.shape
    history = []
    update = adam(list(theta.parameters()), rate)
    for _ in range(T):
        s0, s1, s2 = split(scheme, n, rng)
        i, j = candidate_pairs(scheme, s1, s2)
        global_losses, local_losses = [], []
        for batch in batches(len(i), b):
            a = anchors_of_pairs(scheme, s0, len(i[batch]), m, rng)
            won = preference(x, i[batch], j[batch], a)
            global_losses.append(update(global_loss(theta, x[i[batch]], x[j[batch]], won)))
        for _ in range(R):
            order = torch.from_numpy(rng.permutation(n))
            for batch in batches(n, b):
                z = x[order[batch]]
                epsilon = eta * torch.from_numpy(noise.standard_normal((len(z), p), dtype=np.float32)).double()
                local_losses.append(update(local_loss(theta, z, epsilon, eta)))
        history.append((float(np.mean(global_losses)), float(np.mean(local_losses))))
    return history


# Calibration, and Algorithm 2.


def calibration_quantiles(theta: Heads, x: Tensor) -> tuple[Tensor, Tensor]:
    """The 1% and 99% quantiles of l over the training rows."""
    low, high = theta.l(x).detach().quantile(torch.tensor([0.01, 0.99], dtype=torch.float64))
    return low, high


def heads(theta: Heads, x: Tensor, low: Tensor, high: Tensor) -> Tensor:  # (n, p) -> (n, 2)
    """f_g and f_l."""
    return torch.stack([torch.sigmoid(theta.g(x)), ((theta.l(x) - low) / (high - low)).clamp(0, 1)], dim=1).detach()


def f(fg_and_fl: Tensor, t: float) -> Tensor:  # (n, 2) -> (n,)
    """f(x, t) = (1 − t) f_g(x) + t f_l(x)."""
    return (1 - t) * fg_and_fl[:, 0] + t * fg_and_fl[:, 1]
