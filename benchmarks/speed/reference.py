"""FUSE the way the paper describes it, as plainly as PyTorch allows: the yardstick for our own training.

Distances are gathered from the full matrix, every pair before 64 anchors of its own; scores are found by automatic
differentiation and trained through it; each batch of 128 is an update by Adam; 30 epochs of one pass over the pairs
and 8 noise passes.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

EPOCHS, RESAMPLES, BATCH, ANCHORS, RATE = 30, 8, 128, 64, 1e-3


class Heads(nn.Module):
    def __init__(self, p: int, width: int) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Linear(p, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, width)
        )
        self.g, self.l = nn.Linear(width, 1), nn.Linear(width, 1)

    def forward(self, z: Tensor) -> Tensor:
        features = self.encoder(z)
        return torch.cat([self.g(features), self.l(features)], 1)


def fit(X: np.ndarray, width: int, eta: float, seed: int, epochs: int = EPOCHS) -> Heads:
    torch.manual_seed(seed)
    z = torch.tensor(X, dtype=torch.float32)
    n, third = len(z), len(z) // 3
    distance = torch.cdist(z, z)
    network = Heads(z.shape[1], width)
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    for _ in range(epochs):
        order = torch.randperm(n)
        first, second, judges = order[:third], order[third : 2 * third], order[2 * third :]
        for start in range(0, third, BATCH):
            i, j = first[start : start + BATCH], second[start : start + BATCH]
            anchors = judges[torch.randint(len(judges), (len(i), ANCHORS))]
            preferred = (distance[i[:, None], anchors] < distance[j[:, None], anchors]).float().mean(1)
            difference = (network(z[i]) - network(z[j]))[:, 0]
            update(optimizer, functional.binary_cross_entropy_with_logits(difference, preferred))
        for _ in range(RESAMPLES):
            for batch in torch.randperm(n).split(BATCH):
                noise = torch.randn(len(batch), z.shape[1])
                noisy = (z[batch] + eta * noise).requires_grad_()
                (score,) = torch.autograd.grad(network(noisy)[:, 1].sum(), noisy, create_graph=True)
                update(optimizer, 0.5 * (score + noise / eta).square().mean())
    return network


def update(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
