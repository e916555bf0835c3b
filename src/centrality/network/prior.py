"""Define what a prior is: what the potentials are before the network learns the difference from it.

Everything that is known about one kind of prior lies in its class, in a file of its own: how it is fitted, how its
potentials and their gradients are computed, how an empty one is laid out for saved weights, and how it is written in a
graph's operators. `network/priors.py` lists the kinds.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

Value: TypeAlias = str | float | np.generic | NDArray[np.generic] | Sequence[int]  # an output's name, or a constant


class Operators(Protocol):
    """Describes a graph of operators under construction: calling it adds one and returns its output's name."""

    def __call__(self, operator: str, *inputs: Value, **attributes: int) -> str:
        """Add an operator of ONNX; inputs are names of outputs, or constants."""

    def as_float32(self, x: str) -> str:
        """Add a conversion to float32."""

    def as_float64(self, x: str) -> str:
        """Add a conversion to float64."""


class Prior(nn.Module, ABC):
    """Gives each row k potentials, one for each noise scale, to which the local head adds what it has learned.

    Its buffers are what a file keeps of it.
    """

    @classmethod
    @abstractmethod
    def fitted(cls, z: NDArray[np.float32], scales: Sequence[float], rng: np.random.Generator) -> Self:
        """Return the prior of these scaled rows at these noise scales."""

    @classmethod
    @abstractmethod
    def for_weights(cls, weights: Mapping[str, Tensor], *, width: int, scales: int) -> Self | None:
        """Return an empty prior that can hold these saved weights; None if they are those of another kind."""

    @abstractmethod
    def forward(self, z: Tensor, finer: Self | None = None) -> Tensor:
        """Return the potentials; `finer`, the same prior in float64, helps where float32 loses too much."""  # (n, k)

    @abstractmethod
    def gradient(self, z: Tensor, by: Tensor, finer: Self | None = None) -> Tensor:
        """Return the gradient of each row's potentials, weighed by `by` and summed."""  # (n, p), (n, k) -> (n, p)

    @abstractmethod
    def score(self, z: Tensor, owner: Tensor) -> Tensor:
        """Return the gradient of the one potential for which a row of `owner` is 1, not 0."""  # (..., n, p)

    @abstractmethod
    def needs_float64(self) -> bool:
        """Say whether float32 loses so much that a `finer` prior must help."""

    @abstractmethod
    def as_graph(self, graph: Operators, z: str) -> str:
        """Write the potentials of the rows called `z` in operators; return their name."""  # (n, k), in float64
