"""Turn a context model and its shifts within kinds into arrays, and back; a ValueError says what does not fit."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model_file import Arrays
from centrality.network.context import Context, Levels
from centrality.network.forest import Forest
from centrality.network.kinds import Kinds
from centrality.network.scaling import Scaling

MARK, KINDS = "context.", "kinds."  # how the names of its arrays begin; and, after that, those of kinds
PLAIN = ("given", "line", "line_of_spread", "narrowest", "range", "seen", "reach")
LARGEST = 1e30  # what slopes and effects may be in the user's units; far beyond, squares overflow


def parts_of(context: Context, kinds: Kinds | None) -> Arrays:
    """Return the arrays of a context model, and of the shifts of units within kinds, by name."""
    found: Arrays = {name: getattr(context, name) for name in PLAIN}
    found |= {f"scaling.{name}": part for name, part in context.scaling.parts().items() if part is not None}
    found |= _trees_and_levels(context, ("usual", "spread"), ("levels", "widths"))
    if kinds is not None:
        own = {"knots": kinds.knots, "shares": kinds.shares, **_trees_and_levels(kinds, ("forest",), ("levels",))}
        own |= {f"own.{number}": weights for number, weights in enumerate(kinds.own)}
        found |= {f"{KINDS}{name}": part for name, part in own.items()}
    return {f"{MARK}{name}": part for name, part in found.items()}


def _trees_and_levels(holder: object, forests: Sequence[str], groups: Sequence[str]) -> Arrays:
    found: Arrays = {}
    for name in forests:
        found |= {f"{name}.{each.name}": getattr(getattr(holder, name), each.name) for each in fields(Forest)}
    for name in groups:
        for number, levels in enumerate(getattr(holder, name)):
            found |= {f"{name}.{number}.{each.name}": getattr(levels, each.name) for each in fields(Levels)}
    return found


def kinds_from_parts(arrays: Arrays, context: Context) -> Kinds | None:
    """Return the shifts of units within kinds; None where the file has none."""
    own = {name.removeprefix(MARK + KINDS): part for name, part in arrays.items() if name.startswith(MARK + KINDS)}
    if not own:
        return None
    k, q = max(own["knots"].shape[-1:], default=0), len(context.given)
    knots, shares = (_numbers(own, name, (2, k)) for name in ("knots", "shares"))
    rising = k > 1 and (np.diff(knots) > 0).all() and (np.diff(shares) > 0).all()
    _require(rising and shares.min() > 0 and shares.max() < 1, "kinds must hold knots and shares that rise")
    levels = _all_levels(own, "levels", q, 2 * k)
    counted = tuple(_numbers(own, f"own.{number}", (len(each.keys),)) for number, each in enumerate(levels))
    _require(all(((each >= 0) & (each <= 1)).all() for each in counted), "kinds.own must hold shares from 0 to 1")
    return Kinds(context.given, knots, shares, levels, counted, _forest(own, "forest", q, 2 * k))


def from_parts(arrays: Arrays, scaling: Scaling, width: int) -> Context:
    """Return the context model made of these arrays: the inverse of `parts_of`."""
    own = {name.removeprefix(MARK): part for name, part in arrays.items() if name.startswith(MARK)}
    given = _whole(own, "given", (len(own["given"]),), width, np.int64)
    if (np.diff(given) <= 0).any() or not 0 < len(given) < width:
        raise InputError(f"context.given must name some of the {width} columns, each once and in order.")
    q, d = len(given), width - len(given)
    plain = {
        "line": (1 + q, d),
        "line_of_spread": (1 + q, d),
        "narrowest": (d,),
        "range": (2, d),
        "seen": (2, q),
        "reach": (2, d),
    }
    numbers = {name: _numbers(own, name, shape) for name, shape in plain.items()}
    _require((numbers["narrowest"] > 0).all(), "narrowest must hold numbers above 0")
    for name in ("range", "seen", "reach"):
        _require((np.diff(numbers[name], axis=0) >= 0).all(), f"{name} must hold lower ends, then upper ones")
    return Context(
        given=given,
        scaling=scaling,
        levels=_all_levels(own, "levels", q, d),
        widths=_all_levels(own, "widths", q, d),
        usual=_forest(own, "usual", q, d),
        spread=_forest(own, "spread", q, d),
        **numbers,
    )


def _all_levels(own: Arrays, name: str, q: int, d: int) -> tuple[Levels, ...]:
    count = len({each.split(".")[1] for each in own if each.startswith(f"{name}.")})
    return tuple(_levels(own, f"{name}.{number}", q, d) for number in range(count))


def _levels(own: Arrays, name: str, q: int, d: int) -> Levels:
    columns = _whole(own, f"{name}.columns", (len(own[f"{name}.columns"]),), q, np.int64)
    count = len(own[f"{name}.keys"])
    keys, effects = _numbers(own, f"{name}.keys", (count, len(columns))), _numbers(own, f"{name}.effects", (count, d))
    _require(len(np.unique(columns)) == len(columns), f"{name}.columns must name each column once")
    _require(len(np.unique(keys, axis=0)) == count, f"{name}.keys must hold each level once")
    return Levels(columns, keys, effects)


def _forest(own: Arrays, name: str, q: int, d: int) -> Forest:
    shape = own[f"{name}.feature"].shape[:2]
    nodes = shape[-1] if len(shape) == 2 else 0
    forest = Forest(
        _whole(own, f"{name}.feature", shape, q, np.int32),
        _numbers(own, f"{name}.threshold", shape),
        _whole(own, f"{name}.children", (*shape, 2), nodes, np.int32),
        _numbers(own, f"{name}.value", (*shape, d), np.float32),
    )
    low, high, own_number = forest.children.min(2), forest.children.max(2), np.arange(nodes)
    leaf, empty = (low == own_number) & (high == own_number), (low == 0) & (high == 0)  # empty: no node leads there
    _require((leaf | empty | (low > own_number)).all(), f"{name}.children must lead downward, or to the leaf itself")
    return forest


def _numbers(own: Arrays, name: str, shape: tuple[int, ...], kind: type = np.float64) -> NDArray[Any]:
    array = own[name]
    if array.shape != shape or array.dtype != kind or array.size == 0 or not np.isfinite(array).all():
        raise InputError(f"{MARK}{name} must hold finite numbers of shape {shape}, got {array.dtype} {array.shape}.")
    _require(float(np.abs(array).max()) <= LARGEST, f"{name} must hold numbers up to {LARGEST:g}")
    return array


def _whole(own: Arrays, name: str, shape: tuple[int, ...], below: int, kind: type) -> NDArray[Any]:
    array = own[name]
    if array.shape != shape or array.dtype != kind or array.size == 0 or array.min() < 0 or array.max() >= below:
        raise InputError(f"{MARK}{name} must hold whole numbers from 0 to {below - 1} in shape {shape}.")
    return array


def _require(holds: object, wanted: str) -> None:
    if not holds:
        raise InputError(f"{MARK}{wanted}.")
