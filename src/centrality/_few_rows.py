"""A row at a time: the same network in NumPy. At this size a call into torch costs more than its arithmetic."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Layer = tuple[NDArray[np.float32], NDArray[np.float32]]  # weight (trunks, in, out) and bias (trunks, 1, out)
FEW = 4  # rows; with more, torch's GELU is the faster one


class FewRows:
    """Folded layers as `Scorer` has them, the first one of all trunks side by side: (p, out) and (out,)."""

    def __init__(self, first: Layer, middle: Sequence[Layer], heads: Sequence[Layer]) -> None:
        self._first, self._middle, self._heads = first, middle, heads
        self._members, self._width = len(heads[0][0]), heads[0][0].shape[1] if not middle else middle[0][0].shape[1]

    def __call__(self, z: NDArray[np.float32]) -> NDArray[Any]:  # (n, p) -> (members, n, 1 + k)
        weight, bias = self._first
        h = (z @ weight + bias).reshape(len(z), -1, self._width).swapaxes(0, 1)  # (trunks, n, width)
        for weight, bias in self._middle:
            h = (h * ndtr(h)) @ weight + bias
        a = h * ndtr(h)
        if len(self._heads) == 1:  # both read the same features
            weight, bias = self._heads[0]
            return np.asarray(a @ weight + bias)
        of_each = zip((a[: self._members], a[self._members :]), self._heads, strict=True)
        return np.concatenate([features @ weight + bias for features, (weight, bias) in of_each], axis=2)
