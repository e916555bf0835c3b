"""Carry the outcome of work between processes: a result, or an error of the same type and message where possible."""

import pickle
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

Result = TypeVar("Result")

# An error's type, the arguments that it hands to its base class, and its attributes.
ErrorParts: TypeAlias = tuple[type[BaseException], tuple[Any, ...], dict[str, Any]]


@dataclass(frozen=True)
class Success(Generic[Result]):
    """Carries the result of the work on an item, and the warnings that it gave."""

    result: Result
    warnings: list[str]


@dataclass(frozen=True)
class Failure:
    """Carries an error to another process: the error itself, or the nearest to it that can be pickled."""

    pickled: bytes
    message: str
    trace: str

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        """Return the failure that carries an error just caught."""
        message, name = str(error), type(error).__qualname__
        attributes = {key: value for key, value in vars(error).items() if _can_be_pickled(value)}
        candidates: list[Exception | StandIn] = [
            error,
            # Its constructor wants other arguments than those it hands on, or it holds what cannot be pickled.
            StandIn(type(error), error.args, attributes),
            StandIn(type(error), (message,), attributes),
            # The other process does not know its type: then the nearest base class, with the name in the message.
            *(StandIn(kind, (f"{name}: {message}",), {}) for kind in type(error).__mro__[1:]),
        ]
        trace = "".join(traceback.format_exception(error))
        return cls(next(filter(None, map(_pickled, candidates))), f"{name}: {message}", trace)

    def error(self) -> BaseException:
        """Return the error, with a note of where in the other process it was raised."""
        try:
            error: BaseException = pickle.loads(self.pickled)
        except Exception:  # noqa: BLE001  (a module that is missing here, or whatever foreign constructors raise)
            error = RuntimeError(self.message)
        error.add_note(f"In a worker process:\n{self.trace}")
        return error


Outcome: TypeAlias = Success[Result] | Failure


class StandIn:
    """Replaces an error when pickled; unpickling makes the error again without calling its constructor."""

    def __init__(self, kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        self.parts: ErrorParts = kind, arguments, attributes

    def __reduce__(self) -> tuple[Callable[..., BaseException], ErrorParts]:
        return _make_error, self.parts

    def __str__(self) -> str:
        return str(_make_error(*self.parts))


def _make_error(kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    """Make an error of this type without calling its constructor, which may want other arguments."""
    error = kind.__new__(kind, *arguments)
    vars(error).update(attributes)
    return error


def _pickled(error: Exception | StandIn) -> bytes | None:
    """Return the pickled error, or None if it cannot be pickled or its message would change."""
    with suppress(Exception):  # whatever foreign constructors and attributes can raise
        content = pickle.dumps(error)
        if str(pickle.loads(content)) == str(error):
            return content
    return None


def _can_be_pickled(value: object) -> bool:
    """Say whether the value can be pickled and unpickled."""
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:  # noqa: BLE001  (foreign classes may raise anything when they are pickled)
        return False
    return True
