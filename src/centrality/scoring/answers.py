"""Errors on their way from a worker process to the one that waits for it: the same type and message, where possible."""

import pickle
import traceback
from contextlib import suppress
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Failure:
    """An error on its way to another process: the error itself, or the nearest to it that can travel."""

    pickled: bytes
    said: str
    trace: str

    @classmethod
    def of(cls, error: Exception) -> "Failure":
        said, name = str(error), type(error).__qualname__
        kept = {key: value for key, value in vars(error).items() if _travels(value)}
        likenesses = [
            error,
            # Its constructor wants other arguments than those it hands on, or it holds what cannot be pickled.
            Likeness(type(error), error.args, kept),
            Likeness(type(error), (said,), kept),
            # Nobody else knows its type: then the nearest that others know, with the name in the message.
            *(Likeness(kind, (f"{name}: {said}",), {}) for kind in type(error).__mro__[1:]),
        ]
        trace = "".join(traceback.format_exception(error))
        return cls(next(filter(None, map(_pickled, likenesses))), f"{name}: {said}", trace)

    def error(self) -> BaseException:
        """The error again, with a note of where in the other process it arose."""
        try:
            error: BaseException = pickle.loads(self.pickled)
        except Exception:  # its module is not to be had here
            error = RuntimeError(self.said)
        error.add_note(f"In a worker process:\n{self.trace}")
        return error


class Likeness:
    """Pickles as an error of this kind, made without its constructor."""

    def __init__(self, kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> None:
        self.parts = kind, arguments, attributes

    def __reduce__(self) -> tuple[Any, ...]:
        return _made, self.parts

    def __str__(self) -> str:
        return str(_made(*self.parts))


def _made(kind: type[BaseException], arguments: tuple[Any, ...], attributes: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *arguments)
    vars(error).update(attributes)
    return error


def _pickled(likeness: Any) -> bytes | None:
    """As bytes that give the same message again, if there are such."""
    with suppress(Exception):  # whatever foreign constructors and attributes can raise
        content = pickle.dumps(likeness)
        if str(pickle.loads(content)) == str(likeness):
            return content
    return None


def _travels(value: Any) -> bool:
    try:
        pickle.loads(pickle.dumps(value))
    except Exception:
        return False
    return True
