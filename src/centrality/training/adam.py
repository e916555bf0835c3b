"""Adam, with its rate given as a tensor: a step asks nothing of the host, so that a GPU can record it."""

from collections.abc import Sequence

import torch
from torch import Tensor

from centrality.training.rates import MEAN_DECAY, SMALLEST_ROOT, SQUARE_DECAY


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
        """Update every parameter that has a gradient, at a rate that `rates.corrected` has corrected."""  # (1,)
        for parameter, mean, square in zip(self._parameters, self._mean, self._square, strict=True):
            gradient = parameter.grad
            if gradient is None:
                continue
            if self._weight_decay:
                gradient = gradient + self._weight_decay * parameter
            mean.lerp_(gradient, 1 - MEAN_DECAY)
            square.mul_(SQUARE_DECAY).addcmul_(gradient, gradient, value=1 - SQUARE_DECAY)
            parameter.addcdiv_(mean * rate, square.sqrt().add_(SMALLEST_ROOT), value=-1)
