"""What a type says may be absent, and a test knows to be there."""

from typing import TypeVar

Value = TypeVar("Value")


def present(value: Value | None) -> Value:
    """Return the value, which is not None."""
    assert value is not None
    return value
