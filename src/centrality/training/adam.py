"""Adam on one flat tensor, with its rate given as a tensor: few calls, and a GPU can record them."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8  # Adam's usual constants


class Adam:
    def __init__(self, parameters: Sequence[Tensor], weight_decay: float) -> None:
        self.parameters, self.weight_decay = parameters, weight_decay
        self._mean = [torch.zeros_like(parameter) for parameter in parameters]
        self._square = [torch.zeros_like(parameter) for parameter in parameters]

    def moments(self) -> dict[str, list[Tensor]]:
        """All that it remembers from step to step."""
        return {"mean": self._mean, "square": self._square}

    @torch.no_grad()
    def step(self, rate: Tensor) -> None:
        """One update at this `rate` (see `rates`)."""
        for parameter, mean, square in zip(self.parameters, self._mean, self._square, strict=True):
            gradient = parameter.grad
            if gradient is None:
                continue
            if self.weight_decay:
                gradient = gradient + self.weight_decay * parameter
            mean.lerp_(gradient, 1 - FIRST)
            square.mul_(SECOND).addcmul_(gradient, gradient, value=1 - SECOND)
            parameter.addcdiv_(mean * rate, square.sqrt().add_(TINY), value=-1)


def rates(learning_rates: Tensor, first: int = 1) -> Tensor:
    """Learning rates of steps number `first`, `first` + 1, ... with Adam's correction for having begun at zero."""
    step = np.arange(first, first + len(learning_rates))
    correction = np.sqrt(1 - SECOND**step) / (1 - FIRST**step)
    return learning_rates * torch.from_numpy(correction).to(learning_rates)
