"""What is to be trained, and how: the user's choices, and with them all that a schedule works with."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from centrality.network.network import Network
from centrality.training.comparisons import Comparison
from centrality.training.rows import Rows
from centrality.training.schemes import SCHEMES, Scheme


@dataclass(frozen=True)
class Plan:
    """Everything about training that the user can choose, already checked."""

    noise_scales: tuple[float, ...]
    scheme: int
    anchors: int
    resamples: int
    epochs: int | None
    max_steps: int | None
    batch_size: int
    learning_rate: float
    weight_decay: float
    progress: bool
    left_out: tuple[int, ...] | None = None  # the fold that each member must not learn from; None: they learn from all

    def rows_used(self) -> int | None:
        """Return how many rows the budget of steps can look at, None if there is no limit: to hold more is in vain."""
        return None if self.epochs is not None or self.max_steps is None else 2 * self.batch_size * self.max_steps


@dataclass(frozen=True, kw_only=True)
class Task:
    """A network to train, the rows to train it on, the plan to follow and the random numbers to draw by."""

    network: Network
    rows: Rows
    comparison: Comparison
    plan: Plan
    rng: np.random.Generator  # draws rows
    generator: torch.Generator  # draws noise

    def positions(self, member: int) -> NDArray[np.intp]:
        """Return the positions of the rows held that this member may learn from."""
        return self.rows.without(None if self.plan.left_out is None else self.plan.left_out[member])

    def fewest_positions(self) -> int:
        """Return how many rows the member with the fewest may learn from."""
        return min(len(self.positions(member)) for member in range(self.network.members))

    def fewest_anchors(self) -> int:
        """Return how many anchors the member with the fewest has; of more rows there may be fewer of them."""
        return min(self.scheme.anchors(len(self.positions(member))) for member in range(self.network.members))

    @property
    def device(self) -> torch.device:
        return self.rows.device

    @property
    def scheme(self) -> Scheme:
        return SCHEMES[self.plan.scheme]

    def noise_scales(self) -> Tensor:
        """Return the noise scales as a tensor on the device."""  # (k,)
        return torch.tensor(self.plan.noise_scales, dtype=torch.float32, device=self.device)

    def standard_normal(self, shape: torch.Size) -> Tensor:
        """Draw noise of this shape where its generator lies, and bring it to the device."""
        return torch.randn(shape, generator=self.generator, device=self.generator.device).to(self.device)
