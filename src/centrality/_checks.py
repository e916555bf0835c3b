"""What users give, checked: each answer says what was wanted and what came."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any


class InputError(ValueError):
    """Something the user gave cannot be used; the message says what was wanted and what came.

    Only these are the user's to mend. A plain ValueError or TypeError that reaches the command line or the service is
    a bug of ours, and keeps its traceback.
    """


class InputTypeError(InputError, TypeError):
    """Something of another kind than was wanted."""


def whole(name: str, value: Any, at_least: int = 1) -> int:
    """`value` as an int."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < at_least:
        raise InputError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    return int(value)


def positive(name: str, value: Any, or_zero: bool = False) -> float:
    """`value` as a finite float above zero."""
    number = float("nan") if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not (0 < number < float("inf") or (or_zero and number == 0)):
        raise InputError(f"{name} must be a {'number of at least' if or_zero else 'number above'} 0, got {value!r}.")
    return number


def widths(hidden: Any) -> tuple[int, ...]:
    """The encoder's layer widths."""
    if not isinstance(hidden, Sequence) or isinstance(hidden, str) or len(hidden) == 0:
        raise InputError(f"hidden must be the widths of one or more layers, such as (128, 128), got {hidden!r}.")
    return tuple(whole("each width in hidden", width) for width in hidden)
