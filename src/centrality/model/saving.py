"""Turn a fitted model into a header and arrays, and back; `model_file` puts these into a file.

A ValueError says what does not fit. The arrays of a context model stand under `CONTEXT`, and its scaling with them, in
place of the model's own: a reader that knows no context must fail.
"""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model.fitted import OFFSET_STEPS, Fitted
from centrality.model.ranges import require_ranges
from centrality.model.remembered_rows import RememberedRows
from centrality.model.scorers import scorer_for
from centrality.model_file import Arrays, Header
from centrality.network.context import Context, Levels
from centrality.network.forest import Forest
from centrality.network.kinds import Kinds
from centrality.network.network import Layout, Network, restore
from centrality.network.scaling import Scaling
from centrality.scores.calibration import Calibration
from centrality.scores.conformal import Inliers
from centrality.scores.drift import TrainingScores
from centrality.scores.drift_columns import TrainingColumns
from centrality.scores.mixing import Mixing
from centrality.scores.refinement import Refinement
from centrality.scores.report import Report

COLUMNS = ("values", "below", "upto", "products", "spreads")  # of the training rows
CONTEXT, KINDS = "context.", "kinds."  # how the names of a context's arrays begin; and, after that, those of kinds
PLAIN = ("given", "line", "line_of_spread", "narrowest", "range", "seen", "reach")  # arrays of a context
LARGEST = 1e30  # what slopes and effects may be in the user's units; far beyond, squares overflow
QUANTILES = ("potentials", "members", "ends", "halves")  # of a calibration


def parts_of(fitted: Fitted) -> tuple[Header, Arrays]:
    """Return everything needed to score and to report on the fit: a header of JSON values, and arrays by name."""
    arrays = {f"network.{name}": array for name, array in fitted.network.arrays().items()}
    columns, context = fitted.training_scores.columns, fitted.context
    assert columns is not None  # a fit always knows its rows
    arrays |= {
        **{f"columns.{name}": getattr(columns, name) for name in COLUMNS},
        **(_scaling_parts(fitted.scaling) if context is None else _context_parts(context, fitted.kinds)),
        **{f"calibration.{name}": getattr(fitted.calibration, name) for name in QUANTILES},
        "typical": fitted.typical,
        "training.quantiles": fitted.training_scores.quantiles,
    }
    optional = {
        "conformal.inliers": None if fitted.inliers is None else fitted.inliers.units,
        "conformal.rows": None if fitted.inliers is None else fitted.inliers.rows,
        "offsets": fitted.offsets,
    }
    if fitted.refinement is not None:
        optional |= {f"refinement.{name}": array for name, array in vars(fitted.refinement).items()}
    arrays |= {name: array for name, array in optional.items() if array is not None}
    header = {
        "features": fitted.width,
        "members": fitted.network.members,
        "mixing": asdict(fitted.calibration.mixing),
        "doubt": fitted.calibration.doubt,
        "halves": fitted.halves,
        "feature_names": None if fitted.names is None else list(fitted.names),
        "noise_scale": list(fitted.noise_scale),
        "contamination_of_inliers": 0.0 if fitted.inliers is None else fitted.inliers.contamination,
        "offset": fitted.offset,
        "offset_at_t": fitted.offset_at_t,
        "rows_seen": fitted.remembered.seen,
        "training_rows": fitted.training_scores.rows,
        "rows_of_columns": columns.rows,
        "report": None if fitted.report is None else asdict(fitted.report),
        "history": {k: [None if np.isnan(x) else x for x in v] for k, v in fitted.history.items()},
    }
    return header, arrays


def _scaling_parts(scaling: Scaling) -> Arrays:
    return {f"scaling.{name}": array for name, array in scaling.parts().items() if array is not None}


def from_parts(header: Header, arrays: Arrays, layout: Layout, calibration: str, device: str) -> Fitted:
    """Return the fitted model made of these parts, the inverse of `parts_of`; raise a ValueError if they do not fit."""
    require_ranges(header, arrays, calibration)
    names, p = header["feature_names"], layout.width
    if names is not None and not (isinstance(names, list) and len(names) == p and set(map(type, names)) == {str}):
        raise InputError(f"feature_names must name {p} columns.")
    network = _network(arrays, layout)
    in_context = f"{CONTEXT}given" in arrays
    scaling = _scaling(arrays, p, CONTEXT if in_context else "")
    context = _context(arrays, scaling, p) if in_context else None
    return Fitted(
        network=network,
        scorer=scorer_for(network, device),
        device=device,
        halves=bool(header["halves"]),
        scaling=Scaling.none(p) if in_context else scaling,
        context=context,
        kinds=None if context is None else _kinds(arrays, context),
        calibration=_calibration(header, arrays, calibration, layout),
        noise_scale=tuple(header["noise_scale"]),
        offset=float(header["offset"]),
        history={name: [np.nan if x is None else x for x in column] for name, column in header["history"].items()},
        remembered=RememberedRows(None, None, int(header["rows_seen"])),
        names=None if names is None else tuple(names),
        inliers=_inliers(header, arrays),
        training_scores=_training_scores(header, arrays, p),
        typical=_shaped(arrays, "typical", (max(len(arrays["typical"]), 1), p)),
        report=Report(**header["report"]),
        offset_at_t=float(header["offset_at_t"]),
        offsets=_shaped(arrays, "offsets", (OFFSET_STEPS + 1,)) if "offsets" in arrays else None,
        refinement=_refinement(arrays, p),
    )


def _network(arrays: Arrays, layout: Layout) -> Network:
    mark = "network."
    weights = {name.removeprefix(mark): array for name, array in arrays.items() if name.startswith(mark)}
    unusable = [name for name, weight in weights.items() if not np.isfinite(weight).all()]
    if unusable:
        raise InputError(f"the weights must be finite numbers, those of {unusable[0]} are not.")
    network = restore(layout, weights)
    if not layout.standard:
        from centrality.torch.networks import to_train  # brings torch

        to_train(network, "cpu")  # the user's encoder says whether the weights fit it
    return network


def _calibration(header: Header, arrays: Arrays, kind: str, layout: Layout) -> Calibration:
    pair = (2, 2)
    shapes = ((layout.members, layout.potentials, 2), (layout.members, *pair), pair, pair)
    named = zip(QUANTILES, shapes, strict=True)
    quantiles = {name: _shaped(arrays, f"calibration.{name}", shape) for name, shape in named}
    return Calibration(kind, doubt=float(header["doubt"]), **quantiles, mixing=Mixing(**header["mixing"]))


def _inliers(header: Header, arrays: Arrays) -> Inliers | None:
    if "conformal.inliers" not in arrays:
        return None
    units = _shaped(arrays, "conformal.inliers", (max(len(arrays["conformal.inliers"]), 1), 2))
    return Inliers(units, header["contamination_of_inliers"], _rows_of_inliers(header, arrays, len(units)))


def _rows_of_inliers(header: Header, arrays: Arrays, count: int) -> NDArray[np.int64] | None:
    rows = arrays.get("conformal.rows")
    if rows is None:
        return None
    fits = rows.shape == (count,) and rows.dtype == np.int64 and rows[0] >= 0 and rows[-1] < header["rows_seen"]
    if not fits or (np.diff(rows) < 0).any():
        raise InputError(f"conformal.rows must name {count} of the {header['rows_seen']} training rows in their order.")
    return rows


def _refinement(arrays: Arrays, p: int) -> Refinement | None:
    if "refinement.knots" not in arrays:
        return None
    shape = (p, max(arrays["refinement.knots"].shape[-1:], default=0))
    knots, values = (_shaped(arrays, f"refinement.{name}", shape) for name in ("knots", "values"))
    if shape[1] < 2 or (np.diff(knots) < 0).any():
        raise InputError("refinement.knots must rise along each column.")
    return Refinement(knots, values)


def _scaling(arrays: Arrays, p: int, mark: str) -> Scaling:
    heavy = arrays[f"{mark}scaling.heavy"]
    if heavy.ndim != 1 or heavy.dtype != np.int64 or (heavy < 0).any() or (heavy >= p).any():
        raise InputError(f"scaling.heavy must hold numbers of the {p} columns, got {heavy.dtype} {heavy.shape}.")
    shapes = {"center": (p,), "weight": (p,), "shift": heavy.shape, "gain": heavy.shape}
    optional = {"shrink": (p,), "seen": (2, p), "beyond": (2, p)}
    shapes |= {name: shape for name, shape in optional.items() if f"{mark}scaling.{name}" in arrays}
    parts = {name: _shaped(arrays, f"{mark}scaling.{name}", shape) for name, shape in shapes.items()}
    if "seen" in parts and (parts["seen"][0] > parts["seen"][1]).any():
        raise InputError(
            f"{mark}scaling.seen must hold the least and the greatest value of each column, in this order."
        )
    return Scaling(heavy=heavy, **parts)


def _training_scores(header: Header, arrays: Arrays, p: int) -> TrainingScores:
    """Return the summary of the training rows that the model keeps: quantiles of their scores and columns."""
    k = arrays["training.quantiles"].shape[-1]
    values, q = max(len(arrays["columns.values"]), 1), min(len(arrays["columns.products"]), p)
    shapes = dict.fromkeys(COLUMNS[:3], (values, p)) | dict.fromkeys(COLUMNS[3:], (q, q))
    columns = {name: _shaped(arrays, f"columns.{name}", shape) for name, shape in shapes.items()}
    return TrainingScores(
        _shaped(arrays, "training.quantiles", (2, k)),
        int(header["training_rows"]),
        TrainingColumns(**columns, rows=int(header["rows_of_columns"])),
    )


def _shaped(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise InputError(f"{name} must hold finite float64 numbers of shape {shape}, got {array.dtype} {array.shape}.")
    return array


def _context_parts(context: Context, kinds: Kinds | None) -> Arrays:
    """Return the arrays of a context model, and of the shifts of units within kinds, by name."""
    found: Arrays = {name: getattr(context, name) for name in PLAIN}
    found |= _scaling_parts(context.scaling)
    found |= _trees_and_levels(context, ("usual", "spread"), ("levels", "widths"))
    if kinds is not None:
        own = {"knots": kinds.knots, "shares": kinds.shares, **_trees_and_levels(kinds, ("forest",), ("levels",))}
        own |= {f"own.{number}": weights for number, weights in enumerate(kinds.own)}
        found |= {f"{KINDS}{name}": part for name, part in own.items()}
    return {f"{CONTEXT}{name}": part for name, part in found.items()}


def _trees_and_levels(holder: object, forests: Sequence[str], groups: Sequence[str]) -> Arrays:
    found: Arrays = {}
    for name in forests:
        found |= {f"{name}.{each.name}": getattr(getattr(holder, name), each.name) for each in fields(Forest)}
    for name in groups:
        for number, levels in enumerate(getattr(holder, name)):
            found |= {f"{name}.{number}.{each.name}": getattr(levels, each.name) for each in fields(Levels)}
    return found


def _kinds(arrays: Arrays, context: Context) -> Kinds | None:
    """Return the shifts of units within kinds; None where the file has none."""
    own = {
        name.removeprefix(CONTEXT + KINDS): part for name, part in arrays.items() if name.startswith(CONTEXT + KINDS)
    }
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


def _context(arrays: Arrays, scaling: Scaling, width: int) -> Context:
    """Return the context model made of these arrays: the inverse of `_context_parts`."""
    own = {name.removeprefix(CONTEXT): part for name, part in arrays.items() if name.startswith(CONTEXT)}
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
        raise InputError(f"{CONTEXT}{name} must hold finite numbers of shape {shape}, got {array.dtype} {array.shape}.")
    _require(float(np.abs(array).max()) <= LARGEST, f"{name} must hold numbers up to {LARGEST:g}")
    return array


def _whole(own: Arrays, name: str, shape: tuple[int, ...], below: int, kind: type) -> NDArray[Any]:
    array = own[name]
    if array.shape != shape or array.dtype != kind or array.size == 0 or array.min() < 0 or array.max() >= below:
        raise InputError(f"{CONTEXT}{name} must hold whole numbers from 0 to {below - 1} in shape {shape}.")
    return array


def _require(holds: object, wanted: str) -> None:
    if not holds:
        raise InputError(f"{CONTEXT}{wanted}.")
