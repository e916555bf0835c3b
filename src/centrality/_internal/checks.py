"""Check what users gave: parameters, optional packages, names of hosts."""

import ipaddress
import re
import sys
import warnings
from collections.abc import Sequence
from functools import lru_cache
from importlib import import_module
from numbers import Integral, Real
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np


MOST_LAYERS = 64


class InputError(ValueError):
    """Says that something the user gave cannot be used: what was wanted, and what came.

    Only these can be corrected by the user. A plain ValueError or TypeError that reaches the command line or the
    service is a bug of ours, and keeps its traceback.
    """


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn whoever called the package, wherever in it the warning arises; scikit-learn's wrappers are nobody."""
    here = str(Path(__file__).parents[1])
    wrappers = str(Path("sklearn") / "utils")
    level = 1
    while (caller := sys._getframe(level)).f_back is not None:  # noqa: SLF001
        file = caller.f_code.co_filename
        if not file.startswith(here) and wrappers not in file:
            break
        level += 1
    warnings.warn(text, category, stacklevel=level + 1)


class InputTypeError(InputError, TypeError):
    """Says that something is of another kind than was wanted."""


def whole_number(name: str, value: object, at_least: int = 1, at_most: int | None = None) -> int:
    """Return `value` as an int; raise if it is not a whole number from `at_least` to `at_most`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < at_least:
        raise InputError(f"{name} must be a whole number of at least {at_least}, got {value!r}.")
    if at_most is not None and int(value) > at_most:
        raise InputError(f"{name} must be a whole number of at most {at_most:,}, got {value!r}.")
    return int(value)


def positive(name: str, value: object, *, or_zero: bool = False) -> float:
    """Return `value` as a float; raise if it is not finite and above zero."""
    number = float("nan") if isinstance(value, bool) or not isinstance(value, Real) else float(value)
    if not (0 < number < float("inf") or (or_zero and number == 0)):
        raise InputError(f"{name} must be a {'number of at least' if or_zero else 'number above'} 0, got {value!r}.")
    return number


def fraction(name: str, value: object) -> float:
    """Return `value` as a float; raise if it is not a number above 0 and below 1."""
    if not isinstance(value, Real) or not 0 < float(value) < 1:
        raise InputError(f"{name} must be a share above 0 and below 1, got {value!r}.")
    return float(value)


def widths(hidden: object) -> tuple[int, ...]:
    """Return the widths of the encoder's layers; raise if they are not whole numbers above 0."""
    if not isinstance(hidden, Sequence) or isinstance(hidden, str) or len(hidden) == 0:
        raise InputError(f"hidden must be the widths of one or more layers, such as (128, 128), got {hidden!r}.")
    if len(hidden) > MOST_LAYERS:
        raise InputError(f"hidden must be the widths of at most {MOST_LAYERS} layers, got {len(hidden):,}.")
    return tuple(whole_number("each width in hidden", width) for width in hidden)


def generator(random_state: object) -> "np.random.Generator":
    """Return numpy's generator for this seed; raise if it is not a seed."""
    import numpy as np  # here: help on the command line needs none of it

    try:
        return np.random.default_rng(random_state)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InputError(f"random_state must be None or a whole number from 0 on, got {random_state!r}.") from None


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the names and values of a JSON object; raise if a name occurs twice, with perhaps two values."""
    values: dict[str, Any] = {}
    for name, value in pairs:
        if name in values:
            raise InputError(f"the name {name!r} comes twice in one JSON object: each must come once.")
        values[name] = value
    return values


HOST = re.compile(r"(\[(?P<address>[^\[\]]+)\]|(?P<name>[^:\[\]]+))(:\d*)?")


def is_loopback(host: str) -> bool:
    """Say whether only this machine can reach the host."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=64)  # all requests of most clients name the same one
def is_own(host: bytes, names: frozenset[str]) -> bool:
    """Say whether a Host header names this server: by an address, as localhost, or by one of these names.

    A foreign page can make its own name resolve to 127.0.0.1, and its visitors' browsers then send us requests in that
    name (DNS rebinding). With a bare address this is impossible.
    """
    if not host:
        return True  # browsers always send one
    parts = HOST.fullmatch(host.decode("latin-1").strip().lower())
    if parts is None:
        return False
    name = parts["name"] or parts["address"]
    if name == "localhost" or name in names:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class MissingExtraError(ModuleNotFoundError):
    """Says that a package is not installed, and names the extra of centrality that brings it."""


def optional(module: str, extra: str) -> ModuleType:
    """Import `module`, or say which extra of centrality brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        is_installed = error.name != package  # but something that it imports is not: the error says what
        reason = f"This needs {package}, which "
        reason += f"could not be imported ({error})" if is_installed else "is not installed"
        cause = error if is_installed else None
        message = f"{reason}. In your clone of centrality: pip install '.[{extra}]'"  # no index has a release yet
        raise MissingExtraError(message, name=error.name) from cause
