"""Values that hold read-only arrays, and small functions of arrays."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class FrozenArrays:
    """Base of frozen dataclasses that hold arrays; they are declared with eq=False, and compared here."""

    __hash__ = None  # type: ignore[assignment]  # arrays cannot be hashed

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name, value in vars(self).items():
            object.__setattr__(self, name, read_only(value))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without cached values; read-only mappings, which cannot be pickled, as plain dicts."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: dict(value) if isinstance(value, MappingProxyType) else value for name, value in values.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the arrays read-only, which they no longer are after unpickling."""
        for name, value in state.items():
            object.__setattr__(self, name, read_only(value))

    def __eq__(self, other: object) -> bool:
        """Say whether all fields are equal, number by number; fields with compare=False may differ."""
        if type(self) is not type(other):
            return NotImplemented
        names = [field.name for field in fields(self) if field.compare]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)


def read_only(value: Any) -> Any:
    """Return an array, or a mapping of arrays, that cannot be changed in place; anything else as it is."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    elif isinstance(value, dict) and any(isinstance(entry, np.ndarray) for entry in value.values()):
        return MappingProxyType({name: read_only(entry) for name, entry in value.items()})
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):  # losses may be NaN, which equals nothing
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        may_be_nan = np.issubdtype(np.asarray(a).dtype, np.inexact)
        return np.asarray(a).dtype == np.asarray(b).dtype and bool(np.array_equal(a, b, equal_nan=bool(may_be_nan)))
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)


def column_quantiles(values: NDArray[Any], levels: Sequence[float] | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return quantiles of each column, interpolated linearly between two values.  (n, p) -> (levels, p)

    >>> column_quantiles(np.array([[3.0, 0.0], [1.0, 0.0], [2.0, 4.0]]), [0.0, 0.25, 0.5, 1.0]).tolist()
    [[1.0, 0.0], [1.5, 0.0], [2.0, 0.0], [3.0, 4.0]]
    """
    rising = np.sort(np.ascontiguousarray(values.T), axis=1)
    place = np.asarray(levels, dtype=np.float64) * (len(values) - 1)
    low = place.astype(np.intp)
    below = rising[:, low]
    above = rising[:, np.minimum(low + 1, len(values) - 1)]
    between = below + (place - low) * (above - below)
    return np.asarray(np.minimum(between, above).T)  # rounding could make it larger than the value above


ORDINARY = 200  # squares of numbers from 2^-200 to 2^200 neither overflow nor underflow, nor do long sums of them
NOTHING = 1e-6  # numbers below this share of their column's spread are shown as 0


def unit_of(largest: NDArray[np.float64] | float) -> NDArray[np.float64]:
    """Return a power of two near the largest magnitude if that is extreme, and otherwise 1.

    >>> unit_of(1234.5).item(), unit_of(1e-200).item() < 1e-199
    (1.0, True)
    """
    exponent = np.frexp(largest)[1]
    extreme = (np.abs(exponent) > ORDINARY) & (np.asarray(largest) > 0)
    return np.ldexp(1.0, np.where(extreme, np.clip(exponent, -1022, 1023), 0))


def largest(X: Any) -> NDArray[np.float64]:  # (p,)
    """Return the largest magnitude in each column of an array or a sparse matrix."""
    from scipy import sparse  # here: an ONNX file is scored without it

    high = X.max(axis=0)
    low = X.min(axis=0)
    if sparse.issparse(high):
        high = high.toarray().ravel()
        low = low.toarray().ravel()
    return np.maximum(np.abs(np.asarray(high, dtype=np.float64)), np.abs(np.asarray(low, dtype=np.float64)))


def without_rounding(values: Any, spread: Any) -> NDArray[np.float64]:
    """Replace numbers far below the spread of their column by 0, for display: they are rounding errors.

    >>> without_rounding([-8.58e-11, 3e-200], spread=[1.0, 1e-200]).tolist()
    [0.0, 3e-200]
    """
    return np.where(np.abs(values) < NOTHING * np.asarray(spread), 0.0, values)


def divide_by_units(X: Any) -> tuple[Any, NDArray[np.float64]]:  # (n, p), (p,)
    """Return the columns divided by their units, and the units; X itself where all units are 1."""
    from scipy import sparse

    unit = unit_of(largest(X))
    if (unit == 1).all():
        return X, unit
    return (X.multiply(1 / unit).tocsr() if sparse.issparse(X) else X / unit), unit


def evenly_spaced(count: int, limit: int) -> NDArray[np.intp]:
    """Return the numbers of at most `limit` of `count` rows, evenly spaced from the first to the last.

    >>> evenly_spaced(9, 3).tolist(), evenly_spaced(2, 3).tolist()
    ([0, 4, 8], [0, 1])
    """
    return np.linspace(0, count - 1, min(count, limit)).astype(np.intp)


def safe_divide(a: Any, b: NDArray[np.float64], default: float = 0.0) -> NDArray[np.float64]:
    """Return a / b where b is above 0, and elsewhere this default.

    >>> safe_divide(1.0, np.array([2.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    shape = np.broadcast_shapes(np.shape(a), np.shape(b))
    return np.asarray(np.divide(a, b, out=np.full(shape, default), where=np.broadcast_to(np.asarray(b) > 0, shape)))


def bend(values: NDArray[np.float64], knee: float) -> NDArray[np.float64]:
    """Leave values between -knee and knee as they are, and let them grow only as a logarithm outside.

    >>> bend(np.array([-2.0, 5.0, 5 + np.e - 1]), knee=5.0).tolist()
    [-2.0, 5.0, 6.0]
    """
    far = np.maximum(np.abs(values) - knee, 0.0)
    return np.asarray(np.sign(values) * (np.minimum(np.abs(values), knee) + np.log1p(far)))


def unbend(values: NDArray[np.float64], knee: float, farthest: float) -> NDArray[np.float64]:
    """Return the inverse of `bend`; values farther from the knee than `farthest` count as at this distance."""
    far = np.minimum(np.maximum(np.abs(values) - knee, 0.0), farthest)
    return np.asarray(np.sign(values) * (np.minimum(np.abs(values), knee) + np.expm1(far)))


def mean_and_deviation(X: NDArray[np.float64]) -> tuple[Any, Any]:
    """Return mean and standard deviation of each column, or of the numbers of one."""
    scaled, unit = divide_by_units(X)
    return scaled.mean(axis=0) * unit, scaled.std(axis=0) * unit


def subsample_evenly(X: Any, limit: int) -> Any:
    """Return at most `limit` rows, evenly spaced, the first and the last among them."""
    n = X.shape[0]
    return X if n <= limit else X[evenly_spaced(n, limit)]
