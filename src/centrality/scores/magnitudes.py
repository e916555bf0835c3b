"""Scale columns of extreme magnitude by a power of two, so that squares of their numbers stay finite."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

ORDINARY = 200  # the squares of numbers up to 2^200, and down to 2^-200, are far from the ends of what a float holds
NOTHING = 1e-6  # numbers below this share of their column's spread are as good as 0


def unit_of(largest: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return a power of two near the largest magnitude; 1 where that is not extreme, so that no number changes.

    >>> unit_of(1234.5).item(), unit_of(1e-200).item() < 1e-199
    (1.0, True)
    """
    exponent = np.frexp(largest)[1]
    extreme = (np.abs(exponent) > ORDINARY) & (np.asarray(largest) > 0)
    return np.ldexp(1.0, np.where(extreme, np.clip(exponent, -1022, 1023), 0))


def largest(X: Any) -> NDArray[np.float64]:  # (p,)
    """Return the largest magnitude in each column of an array or a sparse matrix."""
    high, low = (end.toarray().ravel() if sparse.issparse(end) else end for end in (X.max(axis=0), X.min(axis=0)))
    return np.maximum(np.abs(np.asarray(high, dtype=np.float64)), np.abs(np.asarray(low, dtype=np.float64)))


def without_rounding(values: Any, spread: Any) -> NDArray[np.float64]:
    """Replace numbers far below the spread of their column, which are rounding errors, by 0, for display.

    >>> without_rounding([-8.58e-11, 3e-200], spread=[1.0, 1e-200]).tolist()
    [0.0, 3e-200]
    """
    return np.where(np.abs(values) < NOTHING * np.asarray(spread), 0.0, values)


def in_units(X: Any) -> tuple[Any, NDArray[np.float64]]:  # (n, p), (p,)
    """Return the columns divided by their units, and the units; X itself where all units are 1."""
    unit = unit_of(largest(X))
    if (unit == 1).all():
        return X, unit
    return (X.multiply(1 / unit).tocsr() if sparse.issparse(X) else X / unit), unit


def mean_and_deviation(X: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return mean and standard deviation of each column, or of the numbers of one."""
    scaled, unit = in_units(X)
    return scaled.mean(axis=0) * unit, scaled.std(axis=0) * unit
