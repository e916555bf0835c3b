"""Adam, with its rate given as a tensor: a step asks nothing of the host, so that a GPU can record it."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

MEAN_DECAY, SQUARE_DECAY, SMALLEST_ROOT = 0.9, 0.999, 1e-8  # Adam's usual β₁, β₂ and ε


class Adam:
    """The optimizer of Kingma and Ba (2015) for a few tensors, each updated in place."""

    def __init__(self, parameters: Sequence[Tensor], weight_decay: float) -> None:
        self._parameters, self._weight_decay = parameters, weight_decay
        self._mean = [torch.zeros_like(parameter) for parameter in parameters]
        self._square = [torch.zeros_like(parameter) for parameter in parameters]

    def moments(self) -> dict[str, list[Tensor]]:
        """Return all that is remembered from step to step: running means of the gradients and of their squares."""
        return {"mean": self._mean, "square": self._square}

    @torch.no_grad()
    def step(self, rate: Tensor) -> None:
        """Update every parameter that has a gradient, at a rate that `rates` has corrected."""  # (1,)
        for parameter, mean, square in zip(self._parameters, self._mean, self._square, strict=True):
            gradient = parameter.grad
            if gradient is None:
                continue
            if self._weight_decay:
                gradient = gradient + self._weight_decay * parameter
            mean.lerp_(gradient, 1 - MEAN_DECAY)
            square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1 - SQUARE_DECAY)
            parameter.addcdiv_(mean * rate, square.sqrt().add_(SMALLEST_ROOT), value=-1)


def rates(learning_rates: Tensor, first: int = 1) -> Tensor:
    """Return the learning rates of steps `first`, `first` + 1, ... corrected for moments that begin at zero."""
    step = np.arange(first, first + len(learning_rates))
    correction = np.sqrt(1 - SQUARE_DECAY**step) / (1 - MEAN_DECAY**step)
    return learning_rates * torch.from_numpy(correction).to(learning_rates)
