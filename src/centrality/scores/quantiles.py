"""Take quantiles of many columns by sorting them: numpy sorts faster than it selects."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


def column_quantiles(values: NDArray[Any], levels: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of each column, interpolated linearly between two values.  (n, p) -> (levels, p)

    >>> column_quantiles(np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 4.0]]), [0.0, 0.25, 0.5, 1.0]).tolist()
    [[1.0, 0.0], [1.5, 0.0], [2.0, 0.0], [3.0, 4.0]]
    """
    rising = np.sort(np.ascontiguousarray(values.T), axis=1)
    place = np.asarray(levels, dtype=np.float64) * (len(values) - 1)
    low = place.astype(np.intp)
    below, above = rising[:, low], rising[:, np.minimum(low + 1, len(values) - 1)]
    between = below + (place - low) * (above - below)
    return np.asarray(np.minimum(between, above).T)  # rounding may lead beyond the upper one
