"""Adam's constants, and its learning rates corrected for moments that begin at zero."""

import numpy as np
from numpy.typing import NDArray

MEAN_DECAY, SQUARE_DECAY, SMALLEST_ROOT = 0.9, 0.999, 1e-8  # Adam's usual β₁, β₂ and ε


def corrected(learning_rates: NDArray[np.float64], first: int = 1) -> NDArray[np.float32]:
    """Return the learning rates of steps `first`, `first` + 1, ... as an update multiplies them."""
    step = np.arange(first, first + len(learning_rates))
    correction = np.sqrt(1 - SQUARE_DECAY**step) / (1 - MEAN_DECAY**step)
    return np.asarray(learning_rates * correction, dtype=np.float32)
