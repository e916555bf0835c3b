"""Small networks and batches in float64 that the tests of losses and gradients share."""

from typing import Any

import numpy as np
import torch

from centrality.network.modules import Module, as_module
from centrality.network.network import Layout, build
from centrality.training.losses import Batch, Noise

WIDTH = 4
ETAS = [0.3, 1.0, 2.0]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def fresh(hidden: tuple[int, ...], **changes: Any) -> Module:
    return as_module(build(Layout(width=WIDTH, hidden=hidden, **changes), np.random.default_rng(0)))


def batch(b: int = 0, r: int = 0, *, members: int = 1, scales: int = 1, opponents: int = 1) -> Batch:
    """Make up b pairs and r noised rows, whichever there are."""
    g = generator(1)
    rows = torch.randn(members, 2 * b + r, WIDTH, dtype=torch.float64, generator=g)
    preferred = torch.rand(members, opponents, b, dtype=torch.float64, generator=g) if b else None
    drawn = torch.randn(members, r, WIDTH, dtype=torch.float64, generator=g) if r else None
    owner = torch.eye(scales, dtype=torch.float64)[torch.arange(r) % scales]
    eta = owner @ torch.tensor(ETAS, dtype=torch.float64)[:scales, None]
    return Batch(rows, preferred, drawn, Noise(eta, owner, eta**1.5) if r else None)
