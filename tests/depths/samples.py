"""Rows that the tests of depths share."""

import numpy as np

SQUARE = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])


def cloud(n: int, d: int, seed: int = 0) -> np.ndarray:
    """Gaussian rows, turned, stretched and moved."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
