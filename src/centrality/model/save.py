"""Save a fitted model as arrays and a header, and check them when they are loaded.

A ValueError says what does not fit. The arrays of a context model stand under `CONTEXT`, and its scaling with them, in
place of the model's own: a reader that knows no context must fail. Those of kinds stand under `KINDS` within these.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.model_file import Arrays, Header
from centrality.analysis.conformal import CalibrationRows
from centrality.analysis.drift import TrainingScores
from centrality.analysis.drift_columns import TrainingColumns
from centrality.analysis.report import Report
from centrality.model.fitted import OFFSET_STEPS, FittedModel, scorer_for
from centrality.model.reservoir import Reservoir
from centrality.network.calibration import Calibration, Mixing, checked_calibration
from centrality.network.context import CategoryEffects, Context, ContextCalibration
from centrality.network.forest import Forest
from centrality.network.network import Layout, Network, restore
from centrality.network.refinement import Refinement
from centrality.network.scaling import Scaling

# Trained ones are below a hundred; heads whose scores hardly vary are scaled up, to 1e7 on one of 84 sets. Far beyond,
# sums over a layer overflow float32.
LARGEST_WEIGHT = 1e9
HEAVIEST_LOCAL = 1e6  # times as much as the global head
LARGEST_SHIFT = 1e9  # by which marks move a score; the lower half of the training rows is some units wide


def require_ranges(header: Header, arrays: Arrays, calibration: str) -> None:
    """Raise if a value of the file is one that no fitted model has."""
    checked_calibration(calibration)
    _require_mixing(header["mixing"], calibration)
    _require_weights(arrays)
    _require_columns(arrays)
    _require_refinement(arrays)
    scales = header["noise_scale"]
    _require(isinstance(scales, list) and all(_is_number(scale, 0, np.inf) for scale in scales), "noise_scale", scales)
    for name, low, high in (
        ("offset", -np.inf, np.inf),
        ("offset_at_t", 0, 1),
        ("contamination_of_inliers", 0, 1),
        ("rows_seen", 0, np.inf),
        ("training_rows", 1, np.inf),
        ("rows_of_columns", 1, np.inf),
    ):
        value = header.get(name)
        _require(value is None or _is_number(value, low, high), name, value)
    _require(isinstance(header["halves"], bool), "halves", header["halves"])
    t = header["parameters"]["t"]
    _require(_is_number(t, 0, 1), "t", t)


def _require_mixing(mixing: object, calibration: str) -> None:
    """Raise unless mixing gives scores in [0, 1]: heads in [0, 1] are mixed linearly, unbounded units are squeezed."""
    _require(isinstance(mixing, dict) and set(mixing) == {"local_weight", "veto"}, "mixing", mixing)
    assert isinstance(mixing, dict)
    weight, veto = mixing["local_weight"], mixing["veto"]
    is_linear = weight is None and veto is False
    is_squeezed = calibration == "soft" and _is_number(weight, 1e-6, HEAVIEST_LOCAL) and isinstance(veto, bool)
    _require(is_linear or is_squeezed, "mixing", mixing)


def _require_weights(arrays: Arrays) -> None:
    for name, weight in arrays.items():
        # A background's precisions are as large as variances are small: `restore` checks them.
        if (
            name.startswith("network.")
            and not name.startswith("network.background.")
            and weight.dtype.kind == "f"
            and weight.size
        ):
            size = float(np.abs(weight).max())
            if np.isfinite(size) and size > LARGEST_WEIGHT:  # values that are not finite are reported elsewhere
                raise InputError(f"{name} must hold numbers up to {LARGEST_WEIGHT:g}, got {size:g}.")


def _require_columns(arrays: Arrays) -> None:
    mark = "context." if "context.given" in arrays else ""
    for name in (f"{mark}scaling.{part}" for part in ("weight", "shrink", "beyond")):
        if name in arrays and (arrays[name] < 0).any():
            raise InputError(f"{name} must hold numbers of at least 0, got {arrays[name].min():g}.")
    shrink = arrays.get(f"{mark}scaling.shrink", np.ones(1))
    if (shrink == 0).any() or (shrink > 1).any():
        raise InputError(f"{mark}scaling.shrink must hold numbers above 0 and up to 1.")
    ends = [f"{mark}scaling.{part}" for part in ("seen", "beyond") if f"{mark}scaling.{part}" in arrays]
    if len(ends) == 1:
        raise InputError(f"{mark}scaling.seen and {mark}scaling.beyond go together, got {ends[0]}.")


def _require_refinement(arrays: Arrays) -> None:
    """Raise if the correction learned from marks lacks an array, so that it would be left out silently, or is huge."""
    found = sorted(name for name in arrays if name.startswith("refinement."))
    if found and found != ["refinement.knots", "refinement.values"]:
        raise InputError(f"refinement.knots and refinement.values go together, got {', '.join(found)}.")
    values = arrays.get("refinement.values", np.zeros(1))
    if values.size and np.abs(values).max() > LARGEST_SHIFT:
        raise InputError(f"refinement.values must hold numbers up to {LARGEST_SHIFT:g}.")


def _is_number(value: object, low: float, high: float) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return bool(np.isfinite(value) and low <= value <= high)


def _require(holds: bool, name: str, value: object) -> None:  # noqa: FBT001  (read where it is written)
    if not holds:
        raise InputError(f"{name} is none that a fitted model has: {value!r:.60}.")


COLUMNS = ("values", "below", "upto", "products", "spreads")  # of the training rows
CONTEXT, KINDS = "context.", "kinds."  # how names of arrays begin
PLAIN = ("given", "line", "line_of_spread", "narrowest", "range", "seen", "reach")  # arrays of a context
LARGEST = 1e30  # what slopes and effects may be in the user's units; far beyond, squares overflow
QUANTILES = ("potentials", "members", "ends", "halves")  # of a calibration


def parts_of(fitted: FittedModel) -> tuple[Header, Arrays]:
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
        "halves": fitted.independent_halves,
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


@dataclass(frozen=True)
class _Section:
    """Hold a file's arrays, of which those whose names begin with a mark are taken out and checked."""

    arrays: Arrays
    mark: str = ""

    def under(self, mark: str) -> "_Section":
        """Return the section of the names that go on with this mark."""
        return _Section(self.arrays, self.mark + mark)

    def __contains__(self, name: str) -> bool:
        return self.mark + name in self.arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[self.mark + name]

    def names(self) -> list[str]:
        """Return the names of this section, without its mark."""
        return [name.removeprefix(self.mark) for name in self.arrays if name.startswith(self.mark)]

    def numbers(self, name: str, shape: tuple[int, ...], kind: type = np.float64) -> NDArray[Any]:
        """Return an array of finite numbers of this shape and kind; raise if it is another."""
        array = self[name]
        fits = array.shape == shape and array.dtype == kind and np.isfinite(array).all()
        wanted = f"finite {np.dtype(kind)} numbers of shape {shape}"
        self.require(fits, f"{name} must hold {wanted}, got {array.dtype} {array.shape}")
        return array

    def bounded(self, name: str, shape: tuple[int, ...], kind: type = np.float64) -> NDArray[Any]:
        """Return the same of numbers that are no larger than those of a context can be; there is one at least."""
        array = self.numbers(name, shape, kind)
        fits = array.size > 0 and float(np.abs(array).max()) <= LARGEST
        self.require(fits, f"{name} must hold numbers up to {LARGEST:g}")
        return array

    def whole(self, name: str, shape: tuple[int, ...], below: int, kind: type) -> NDArray[Any]:
        """Return an array of whole numbers from 0 to one less than `below`; raise if it is another."""
        array = self[name]
        fits = (
            array.shape == shape and array.dtype == kind and array.size > 0 and 0 <= array.min() <= array.max() < below
        )
        self.require(fits, f"{name} must hold whole numbers from 0 to {below - 1} in shape {shape}")
        return array

    def require(self, holds: object, wanted: str) -> None:
        """Raise an error that begins with the section's mark unless this holds."""
        if not holds:
            raise InputError(f"{self.mark}{wanted}.")


def from_parts(header: Header, arrays: Arrays, layout: Layout, calibration: str, device: str) -> FittedModel:
    """Return the fitted model made of these parts, the inverse of `parts_of`; raise a ValueError if they do not fit."""
    require_ranges(header, arrays, calibration)
    names, p = header["feature_names"], layout.width
    if names is not None and not (isinstance(names, list) and len(names) == p and set(map(type, names)) == {str}):
        raise InputError(f"feature_names must name {p} columns.")
    network, own = _network(arrays, layout), _Section(arrays)
    context = _context(own.under(CONTEXT), p) if f"{CONTEXT}given" in own else None
    return FittedModel(
        network=network,
        scorer=scorer_for(network, device),
        device=device,
        independent_halves=bool(header["halves"]),
        scaling=_scaling(own, p) if context is None else Scaling.none(p),
        context=context,
        kinds=None if context is None else _kinds(own.under(CONTEXT + KINDS), context),
        calibration=_calibration(header, own.under("calibration."), calibration, network),
        noise_scale=tuple(header["noise_scale"]),
        offset=float(header["offset"]),
        history={name: [np.nan if x is None else x for x in column] for name, column in header["history"].items()},
        remembered=Reservoir(None, None, int(header["rows_seen"])),
        names=None if names is None else tuple(names),
        inliers=_inliers(header, own.under("conformal.")),
        training_scores=_training_scores(header, own, p),
        typical=own.numbers("typical", (max(len(own["typical"]), 1), p)),
        report=Report(**header["report"]),
        offset_at_t=float(header["offset_at_t"]),
        offsets=own.numbers("offsets", (OFFSET_STEPS + 1,)) if "offsets" in own else None,
        refinement=_refinement(own.under("refinement."), p),
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


def _calibration(header: Header, own: _Section, kind: str, network: Network) -> Calibration:
    pair = (2, 2)
    shapes = ((network.members, network.potentials, 2), (network.members, *pair), pair, pair)
    quantiles = {name: own.numbers(name, shape) for name, shape in zip(QUANTILES, shapes, strict=True)}
    return Calibration(kind, **quantiles, mixing=Mixing(**header["mixing"]))


def _inliers(header: Header, own: _Section) -> CalibrationRows | None:
    if "inliers" not in own:
        return None
    units, rows = own.numbers("inliers", (max(len(own["inliers"]), 1), 2)), None
    if "rows" in own:
        count, seen = len(units), header["rows_seen"]
        rows = own.whole("rows", (count,), seen, np.int64)
        own.require((np.diff(rows) >= 0).all(), f"rows must name {count} of the {seen} training rows in their order")
    return CalibrationRows(units, header["contamination_of_inliers"], rows)


def _refinement(own: _Section, p: int) -> Refinement | None:
    if "knots" not in own:
        return None
    shape = (p, max(own["knots"].shape[-1:], default=0))
    knots, values = (own.numbers(name, shape) for name in ("knots", "values"))
    own.require(shape[1] > 1 and (np.diff(knots) >= 0).all(), "knots must rise along each column")
    return Refinement(knots, values)


def _scaling(own: _Section, p: int) -> Scaling:
    own = own.under("scaling.")
    bent = own["heavy"].size if "heavy" in own else 0
    own.require(bent == 0, "heavy columns were bent by a rule that this version does not have: fit the model again")
    shapes: dict[str, tuple[int, ...]] = {"center": (p,), "weight": (p,)}
    optional = {"shrink": (p,), "seen": (2, p), "beyond": (2, p)}
    shapes |= {name: shape for name, shape in optional.items() if name in own}
    parts = {name: own.numbers(name, shape) for name, shape in shapes.items()}
    in_order = "seen" not in parts or (parts["seen"][0] <= parts["seen"][1]).all()
    own.require(in_order, "seen must hold the least and the greatest value of each column, in this order")
    return Scaling(**parts)


def _training_scores(header: Header, own: _Section, p: int) -> TrainingScores:
    """Return the summary of the training rows that the model keeps: quantiles of their scores and columns."""
    k, of_columns = own["training.quantiles"].shape[-1], own.under("columns.")
    values, q = max(len(of_columns["values"]), 1), min(len(of_columns["products"]), p)
    shapes = dict.fromkeys(COLUMNS[:3], (values, p)) | dict.fromkeys(COLUMNS[3:], (q, q))
    columns = {name: of_columns.numbers(name, shape) for name, shape in shapes.items()}
    return TrainingScores(
        own.numbers("training.quantiles", (2, k)),
        int(header["training_rows"]),
        TrainingColumns(**columns, rows=int(header["rows_of_columns"])),
    )


def _context_parts(context: Context, kinds: ContextCalibration | None) -> Arrays:
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
            found |= {f"{name}.{number}.{each.name}": getattr(levels, each.name) for each in fields(CategoryEffects)}
    return found


def _kinds(own: _Section, context: Context) -> ContextCalibration | None:
    """Return the shifts of units within kinds; None where the file has none."""
    if not own.names():
        return None
    k, q = max(own["knots"].shape[-1:], default=0), len(context.given)
    knots, shares = (own.bounded(name, (2, k)) for name in ("knots", "shares"))
    rising = k > 1 and (np.diff(knots) > 0).all() and (np.diff(shares) > 0).all()
    own.require(rising and shares.min() > 0 and shares.max() < 1, "knots and shares must rise, shares between 0 and 1")
    levels = _all_levels(own, "levels", q, 2 * k)
    counted = tuple(own.bounded(f"own.{number}", (len(each.keys),)) for number, each in enumerate(levels))
    own.require(all(((each >= 0) & (each <= 1)).all() for each in counted), "own must hold shares from 0 to 1")
    return ContextCalibration(context.given, knots, shares, levels, counted, _forest(own.under("forest."), q, 2 * k))


def _context(own: _Section, width: int) -> Context:
    """Return the context model made of these arrays: the inverse of `_context_parts`."""
    given = own.whole("given", (len(own["given"]),), width, np.int64)
    in_order = (np.diff(given) > 0).all() and 0 < len(given) < width
    own.require(in_order, f"given must name some of the {width} columns, each once and in order")
    q, d = len(given), width - len(given)
    shapes = {"line": (1 + q, d), "line_of_spread": (1 + q, d), "narrowest": (d,)}
    shapes |= {"range": (2, d), "seen": (2, q), "reach": (2, d)}
    numbers = {name: own.bounded(name, shape) for name, shape in shapes.items()}
    own.require((numbers["narrowest"] > 0).all(), "narrowest must hold numbers above 0")
    for name in ("range", "seen", "reach"):
        own.require((np.diff(numbers[name], axis=0) >= 0).all(), f"{name} must hold lower ends, then upper ones")
    return Context(
        given=given,
        scaling=_scaling(own, width),
        levels=_all_levels(own, "levels", q, d),
        widths=_all_levels(own, "widths", q, d),
        usual=_forest(own.under("usual."), q, d),
        spread=_forest(own.under("spread."), q, d),
        **numbers,
    )


def _all_levels(own: _Section, name: str, q: int, d: int) -> tuple[CategoryEffects, ...]:
    count = len({each.split(".")[1] for each in own.names() if each.startswith(f"{name}.")})
    return tuple(_levels(own.under(f"{name}.{number}."), q, d) for number in range(count))


def _levels(own: _Section, q: int, d: int) -> CategoryEffects:
    columns = own.whole("columns", (len(own["columns"]),), q, np.int64)
    count = len(own["keys"])
    keys, effects = own.bounded("keys", (count, len(columns))), own.bounded("effects", (count, d))
    own.require(len(np.unique(columns)) == len(columns), "columns must name each column once")
    own.require(len(np.unique(keys, axis=0)) == count, "keys must hold each level once")
    return CategoryEffects(columns, keys, effects)


def _forest(own: _Section, q: int, d: int) -> Forest:
    shape = own["feature"].shape[:2]
    nodes = shape[-1] if len(shape) == 2 else 0
    forest = Forest(
        own.whole("feature", shape, q, np.int32),
        own.bounded("threshold", shape),
        own.whole("children", (*shape, 2), nodes, np.int32),
        own.bounded("value", (*shape, d), np.float32),
    )
    low, high, own_number = forest.children.min(2), forest.children.max(2), np.arange(nodes)
    leaf, empty = (low == own_number) & (high == own_number), (low == 0) & (high == 0)  # empty: no node leads there
    own.require((leaf | empty | (low > own_number)).all(), "children must lead downward, or to the leaf itself")
    return forest
