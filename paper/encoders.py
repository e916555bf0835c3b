"""The paper's own encoders, used where their weights are on this disk: nothing is downloaded."""

from typing import Any

import numpy as np


def at_hand(representation: Any) -> bool:
    try:
        representation._load_encoder()
    except (FileNotFoundError, ModuleNotFoundError):
        return False
    return True


def encoded(representation: Any, items: Any) -> np.ndarray:
    """(n, p) vectors as the encoder gives them: representations centre and scale, which is undone here."""
    Z = np.asarray(representation.fit_transform(items), dtype=np.float64)
    return Z * representation._scale + representation._center
