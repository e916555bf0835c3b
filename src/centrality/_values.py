"""Define immutable dataclasses of arrays: the arrays cannot be changed in place, and equality is by content."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Value:
    """Base of frozen dataclasses that hold arrays, made with eq=False; a change makes a new value."""

    __hash__ = None  # type: ignore[assignment]  # what equals by content of arrays is no key

    def __post_init__(self) -> None:
        """Make the arrays read-only."""
        for name, value in vars(self).items():
            object.__setattr__(self, name, locked(value))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields without cached values, and plain dicts for read-only mappings, which cannot be pickled."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: dict(it) if isinstance(it, MappingProxyType) else it for name, it in values.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Make the arrays read-only again, which a pickle does not keep."""
        for name, value in state.items():
            object.__setattr__(self, name, locked(value))

    def __eq__(self, other: object) -> bool:
        """Say whether all fields are equal, number by number; fields with compare=False may differ."""
        if type(self) is not type(other):
            return NotImplemented
        names = [each.name for each in fields(self) if each.compare]
        return all(_same(getattr(self, name), getattr(other, name)) for name in names)


def locked(value: Any) -> Any:
    """Return an array, or a mapping of arrays, that cannot be changed in place; anything else as it is."""
    if isinstance(value, np.ndarray) and value.flags.writeable:
        value = value.view()
        value.flags.writeable = False
    elif isinstance(value, dict) and any(isinstance(each, np.ndarray) for each in value.values()):
        return MappingProxyType({name: locked(each) for name, each in value.items()})
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(_same(a[name], b[name]) for name in a)
    if isinstance(a, list) and isinstance(b, list):  # losses may be NaN, which equals nothing
        return len(a) == len(b) and all(_same(*pair) for pair in zip(a, b, strict=True))
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return np.asarray(a).dtype == np.asarray(b).dtype and bool(np.array_equal(a, b, equal_nan=_floats(a)))
    return bool(a == b) or (isinstance(a, float) and isinstance(b, float) and a != a and b != b)


def _floats(array: Any) -> bool:
    return bool(np.issubdtype(np.asarray(array).dtype, np.inexact))
