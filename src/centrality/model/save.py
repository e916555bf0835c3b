"""Save a fitted model as arrays and a header of JSON values, and check both when they are loaded.

Each array is declared once, below: its name in the file, its shape and the bounds of its numbers. A ValueError says
what does not fit. In a file of a model with a context, names of the context's arrays begin with "context.", also those
of the scaling: a program that knows no contexts then finds no scaling and fails, instead of scoring wrongly.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

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

# Trained weights are below a hundred. Only heads whose scores hardly vary are scaled up: to 1e7 on one of 84 data sets.
# With far larger ones, sums over a layer overflow float32.
LARGEST_WEIGHT = 1e9
LARGEST_LOCAL_WEIGHT = 1e6  # of the local head in the mixture, that of the global head being 1
LARGEST_SHIFT = 1e9  # by which marks move a head score, of which the lower half of the training rows spans a few units
LARGEST = 1e30  # slope or effect in the user's units; squares of far larger ones overflow
ABOVE_0 = float(np.finfo(np.float64).smallest_subnormal)


@dataclass(frozen=True)
class Numbers:
    """What an array holds: its shape, and the type and the bounds of its numbers."""

    shape: str  # of numbers and of names of sizes: "2 p" is two rows of as many numbers as the model has columns
    dtype: type = np.float64
    low: float = -np.inf
    high: float = np.inf
    below: str = ""  # for row or column numbers: the name of the size that they are below
    attribute: str = ""  # the name of the attribute, if it is not the name in the file
    optional: bool = False


Schema: TypeAlias = Mapping[str, Numbers]

SCALING: Schema = {
    "center": Numbers("p"),
    "weight": Numbers("p", low=0),
    "shrink": Numbers("p", low=ABOVE_0, high=1, optional=True),
    "seen": Numbers("2 p", optional=True),
    "beyond": Numbers("2 p", low=0, optional=True),
}
CALIBRATION: Schema = {
    "potentials": Numbers("members potentials 2"),
    "members": Numbers("members 2 2"),
    "ends": Numbers("2 2"),
    "halves": Numbers("2 2"),
}
COLUMNS: Schema = {
    "values": Numbers("values p"),
    "below": Numbers("values p"),
    "upto": Numbers("values p"),
    "products": Numbers("paired paired"),
    "spreads": Numbers("paired paired"),
}
REFINEMENT: Schema = {"knots": Numbers("p k"), "values": Numbers("p k", low=-LARGEST_SHIFT, high=LARGEST_SHIFT)}
CONFORMAL: Schema = {
    "inliers": Numbers("m 2", attribute="units"),
    "rows": Numbers("m", np.int64, below="rows", optional=True),
}
SUMMARY: Schema = {
    "typical": Numbers("points p"),
    "offsets": Numbers("steps", optional=True),
}
CONTEXT: Schema = {
    "given": Numbers("q", np.int64, below="p"),
    "line": Numbers("slopes d", low=-LARGEST, high=LARGEST),
    "line_of_spread": Numbers("slopes d", low=-LARGEST, high=LARGEST),
    "narrowest": Numbers("d", low=ABOVE_0, high=LARGEST),
    "range": Numbers("2 d", low=-LARGEST, high=LARGEST, attribute="usual_behaviour"),
    "seen": Numbers("2 q", low=-LARGEST, high=LARGEST, attribute="context_range"),
    "reach": Numbers("2 d", low=-LARGEST, high=LARGEST, attribute="behaviour_range"),
}
KINDS: Schema = {"knots": Numbers("2 k", low=-LARGEST, high=LARGEST), "shares": Numbers("2 k")}
EFFECTS: Schema = {
    "columns": Numbers("w", np.int64, below="q"),
    "keys": Numbers("levels w", low=-LARGEST, high=LARGEST),
    "effects": Numbers("levels d", low=-LARGEST, high=LARGEST),
}
FOREST: Schema = {
    "feature": Numbers("trees nodes", np.int32, below="q"),
    "threshold": Numbers("trees nodes", low=-LARGEST, high=LARGEST),
    "children": Numbers("trees nodes 2", np.int32, below="nodes"),
    "value": Numbers("trees nodes d", np.float32, low=-LARGEST, high=LARGEST),
}
HEADER = {  # bounds of the header's numbers
    "offset": (-np.inf, np.inf),
    "offset_at_t": (0, 1),
    "contamination_of_inliers": (0, 1),
    "rows_seen": (0, np.inf),
    "training_rows": (1, np.inf),
    "rows_of_columns": (1, np.inf),
}


def parts_of(fitted: FittedModel) -> tuple[Header, Arrays]:
    """Return what a file of the model holds: a header of JSON values, and arrays by name."""
    columns = fitted.training_scores.columns
    assert columns is not None  # every fit summarises its columns
    arrays = {f"network.{name}": array for name, array in fitted.network.arrays().items()}
    arrays |= written("columns.", COLUMNS, columns)
    if fitted.context is None:
        arrays |= written("scaling.", SCALING, fitted.scaling)
    else:
        context = fitted.context
        arrays |= written("context.", CONTEXT, context) | written("context.scaling.", SCALING, context.scaling)
        arrays |= written("context.usual.", FOREST, context.center_forest)
        arrays |= written("context.spread.", FOREST, context.spread_forest)
        for number, effects in enumerate(context.center_effects):
            arrays |= written(f"context.levels.{number}.", EFFECTS, effects)
        for number, effects in enumerate(context.spread_effects):
            arrays |= written(f"context.widths.{number}.", EFFECTS, effects)
    if fitted.context_calibration is not None:
        calibration = fitted.context_calibration
        arrays |= written("context.kinds.", KINDS, calibration)
        arrays |= written("context.kinds.forest.", FOREST, calibration.forest)
        for number, effects in enumerate(calibration.category_effects):
            arrays |= written(f"context.kinds.levels.{number}.", EFFECTS, effects)
        arrays |= {f"context.kinds.own.{number}": shares for number, shares in enumerate(calibration.own_weights)}
    arrays |= written("calibration.", CALIBRATION, fitted.calibration)
    arrays |= written("", SUMMARY, fitted)
    arrays["training.quantiles"] = fitted.training_scores.quantiles
    if fitted.inliers is not None:
        arrays |= written("conformal.", CONFORMAL, fitted.inliers)
    if fitted.refinement is not None:
        arrays |= written("refinement.", REFINEMENT, fitted.refinement)
    header = {
        "features": fitted.width,
        "members": fitted.network.members,
        "mixing": asdict(fitted.calibration.mixing),
        "halves": fitted.members_differ,
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


def written(prefix: str, schema: Schema, value: object) -> Arrays:
    """Return those arrays of a value that the schema declares, by their names in the file."""
    arrays = {f"{prefix}{name}": getattr(value, numbers.attribute or name) for name, numbers in schema.items()}
    return {name: array for name, array in arrays.items() if array is not None}


@dataclass(frozen=True)
class Section:
    """The arrays of a file whose names begin with a prefix."""

    arrays: Arrays
    prefix: str = ""

    def under(self, prefix: str) -> "Section":
        """Return the part of this section whose names continue with this prefix."""
        return Section(self.arrays, self.prefix + prefix)

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.arrays

    def names(self) -> list[str]:
        """Return the names in this section, without its prefix."""
        return [name.removeprefix(self.prefix) for name in self.arrays if name.startswith(self.prefix)]

    def length(self, name: str) -> int:
        """Return the length of an array; 0 if it is a single number."""
        shape = self.arrays[self.prefix + name].shape
        return int(shape[0]) if shape else 0

    def read(self, schema: Schema, **sizes: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of the schema, by the names of their attributes; raise if one is not as declared.

        A size that is not given is that of the first array whose shape names it, and at least 1.
        """
        arrays = {}
        for name, numbers in schema.items():
            if numbers.optional and name not in self:
                continue
            array = self.arrays[self.prefix + name]
            size_names = numbers.shape.split()
            for size_name, size in zip(size_names, array.shape, strict=False):
                sizes.setdefault(size_name, max(size, 1))
            shape = tuple(int(name) if name.isdigit() else sizes.get(name, 1) for name in size_names)
            is_as_declared = array.shape == shape and array.dtype == numbers.dtype and np.isfinite(array).all()
            wanted = f"finite {np.dtype(numbers.dtype)} numbers of shape {shape}"
            self.require(is_as_declared, f"{name} must hold {wanted}, got {array.dtype} {array.shape}")
            if numbers.below:
                inside = array.size == 0 or 0 <= array.min() <= array.max() < sizes[numbers.below]
                self.require(inside, f"{name} must hold whole numbers from 0 to {sizes[numbers.below] - 1}")
            elif array.size:
                self.require(array.min() >= numbers.low, f"{name} must hold numbers {_bounds(numbers)}")
                self.require(array.max() <= numbers.high, f"{name} must hold numbers {_bounds(numbers)}")
            arrays[numbers.attribute or name] = array
        return arrays

    def require(self, holds: object, wanted: str) -> None:
        """Raise unless this holds; the message is the section's prefix and then what was wanted."""
        if not holds:
            raise InputError(f"{self.prefix}{wanted}.")


def _bounds(numbers: Numbers) -> str:
    """Write the bounds of an array's numbers."""
    lower = {ABOVE_0: "above 0", 0: "of at least 0"}.get(numbers.low, "")
    upper = f"up to {numbers.high:g}" if np.isfinite(numbers.high) else ""
    return " and ".join(filter(None, [lower, upper]))


def from_parts(header: Header, arrays: Arrays, layout: Layout, calibration: str, device: str) -> FittedModel:
    """Return the fitted model with these parts: the inverse of `parts_of`. Raise a ValueError if they do not fit."""
    _require_header(header, layout.width, calibration)
    p = layout.width
    file = Section(arrays)
    network = _network(file.under("network."), layout)
    summary = file.read(SUMMARY, p=p, steps=OFFSET_STEPS + 1)
    columns = file.under("columns.")
    paired = min(columns.length("products"), p)  # 0 if the columns were too many to be compared in pairs
    training_scores = TrainingScores(
        **file.read({"training.quantiles": Numbers("2 k", attribute="quantiles")}),
        rows=int(header["training_rows"]),
        columns=TrainingColumns(**columns.read(COLUMNS, p=p, paired=paired), rows=int(header["rows_of_columns"])),
    )
    inliers = None
    conformal = file.under("conformal.")
    if "inliers" in conformal:
        rows_seen = header["rows_seen"]
        inliers = CalibrationRows(
            contamination=header["contamination_of_inliers"], **conformal.read(CONFORMAL, rows=rows_seen)
        )
        if (rows := inliers.rows) is not None:
            in_order = (np.diff(rows) >= 0).all()
            conformal.require(in_order, f"rows must name {len(rows)} of the {rows_seen} training rows in their order")
    refinement = None
    marks = file.under("refinement.")
    if marks.names():
        # If one of its arrays is missing, the correction learned from marks must not be dropped without a word.
        marks.require(set(marks.names()) == set(REFINEMENT), f"knots and {marks.prefix}values go together")
        refinement = Refinement(**marks.read(REFINEMENT, p=p))
        rising = refinement.knots.shape[1] > 1 and (np.diff(refinement.knots) >= 0).all()
        marks.require(rising, "knots must rise along each column")
    context = _context(file.under("context."), p) if "context.given" in file else None
    return FittedModel(
        network=network,
        scorer=scorer_for(network, device),
        device=device,
        members_differ=bool(header["halves"]),
        scaling=_scaling(file.under("scaling."), p) if context is None else Scaling.none(p),
        context=context,
        context_calibration=None if context is None else _kinds(file.under("context.kinds."), context),
        calibration=Calibration(
            calibration,
            **file.under("calibration.").read(CALIBRATION, members=network.members, potentials=network.potentials),
            mixing=Mixing(**header["mixing"]),
        ),
        noise_scale=tuple(header["noise_scale"]),
        offset=float(header["offset"]),
        offset_at_t=float(header["offset_at_t"]),
        history={name: [np.nan if x is None else x for x in column] for name, column in header["history"].items()},
        remembered=Reservoir(None, None, int(header["rows_seen"])),
        names=None if header["feature_names"] is None else tuple(header["feature_names"]),
        inliers=inliers,
        training_scores=training_scores,
        report=Report(**header["report"]),
        refinement=refinement,
        typical=summary["typical"],
        offsets=summary.get("offsets"),
    )


def _require_header(header: Header, p: int, calibration: str) -> None:
    """Raise if a value in the header is one that no fitted model has."""
    checked_calibration(calibration)
    mixing = header["mixing"]
    scales = header["noise_scale"]
    names = header["feature_names"]
    _require(isinstance(mixing, dict) and set(mixing) == {"local_weight", "veto"}, "mixing", mixing)
    weight = mixing["local_weight"]
    veto = mixing["veto"]
    # Centralities are in [0, 1] only if heads in [0, 1] are mixed linearly, or unbounded head scores are squeezed.
    is_linear = weight is None and veto is False
    is_squeezed = calibration == "soft" and _is_number(weight, 1e-6, LARGEST_LOCAL_WEIGHT) and isinstance(veto, bool)
    _require(is_linear or is_squeezed, "mixing", mixing)
    _require(isinstance(scales, list) and all(_is_number(scale, 0, np.inf) for scale in scales), "noise_scale", scales)
    for name, (low, high) in HEADER.items():
        value = header.get(name)
        _require(value is None or _is_number(value, low, high), name, value)
    _require(isinstance(header["halves"], bool), "halves", header["halves"])
    t = header["parameters"]["t"]
    _require(_is_number(t, 0, 1), "t", t)
    if names is not None and not (isinstance(names, list) and len(names) == p and set(map(type, names)) == {str}):
        raise InputError(f"feature_names must name {p} columns.")


def _is_number(value: object, low: float, high: float) -> bool:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return bool(np.isfinite(value) and low <= value <= high)


def _require(holds: bool, name: str, value: object) -> None:  # noqa: FBT001  (a condition, as in `assert`)
    if not holds:
        raise InputError(f"{name} is none that a fitted model has: {value!r:.60}.")


def _network(file: Section, layout: Layout) -> Network:
    weights = {name: file.arrays[file.prefix + name] for name in file.names()}
    for name, weight in weights.items():
        if not np.isfinite(weight).all():
            raise InputError(f"the weights must be finite numbers, those of {name} are not.")
        # The precisions of a background may be larger, as variances are small: `restore` checks them.
        if weight.dtype.kind == "f" and weight.size and not name.startswith("background."):
            size = float(np.abs(weight).max())
            file.require(size <= LARGEST_WEIGHT, f"{name} must hold numbers up to {LARGEST_WEIGHT:g}, got {size:g}")
    network = restore(layout, weights)
    if not layout.standard:
        from centrality.torch.networks import to_train  # brings torch

        to_train(network, "cpu")  # raises if the weights do not fit the user's encoder
    return network


def _scaling(file: Section, p: int) -> Scaling:
    arrays = file.read(SCALING, p=p)
    has_both_or_none = ("seen" in arrays) == ("beyond" in arrays)
    file.require(has_both_or_none, f"seen and {file.prefix}beyond go together, one of them is missing")
    if "seen" in arrays:
        in_order = (np.diff(arrays["seen"], axis=0) >= 0).all()
        file.require(in_order, "seen must hold the least and the greatest value of each column, in this order")
    return Scaling(**arrays)


def _context(file: Section, width: int) -> Context:
    q = file.length("given")
    d = width - q
    file.require(0 < q < width, f"given must name some of the {width} columns, each once and in order")
    arrays = file.read(CONTEXT, p=width, q=q, d=d, slopes=1 + q)
    in_order = (np.diff(arrays["given"]) > 0).all()
    file.require(in_order, f"given must name some of the {width} columns, each once and in order")
    for name in ("range", "seen", "reach"):
        file.require(
            (np.diff(arrays[CONTEXT[name].attribute], axis=0) >= 0).all(),
            f"{name} must hold lower ends, then upper ones",
        )
    return Context(
        scaling=_scaling(file.under("scaling."), width),
        center_effects=_all_effects(file, "levels", q, d),
        spread_effects=_all_effects(file, "widths", q, d),
        center_forest=_forest(file.under("usual."), q, d),
        spread_forest=_forest(file.under("spread."), q, d),
        **arrays,
    )


def _kinds(file: Section, context: Context) -> ContextCalibration | None:
    if not file.names():
        return None
    arrays = file.read(KINDS)
    knots = arrays["knots"]
    shares = arrays["shares"]
    k = knots.shape[1]
    q = len(context.given)
    rising = k > 1 and (np.diff(knots) > 0).all() and (np.diff(shares) > 0).all()
    inside = shares.min() > 0 and shares.max() < 1
    file.require(rising and inside, "knots and shares must rise, shares between 0 and 1")
    levels = _all_effects(file, "levels", q, 2 * k)
    weights = [
        file.read({f"own.{number}": Numbers("levels", attribute="weights")}, levels=len(effects.keys))["weights"]
        for number, effects in enumerate(levels)
    ]
    file.require(all(((of >= 0) & (of <= 1)).all() for of in weights), "own must hold shares from 0 to 1")
    forest = _forest(file.under("forest."), q, 2 * k)
    return ContextCalibration(
        context.given, category_effects=levels, own_weights=tuple(weights), forest=forest, **arrays
    )


def _all_effects(file: Section, name: str, q: int, d: int) -> tuple[CategoryEffects, ...]:
    numbers = {array_name.split(".")[1] for array_name in file.names() if array_name.startswith(f"{name}.")}
    result = []
    for number in range(len(numbers)):
        section = file.under(f"{name}.{number}.")
        effects = CategoryEffects(**section.read(EFFECTS, q=q, d=d))
        section.require(len(np.unique(effects.columns)) == len(effects.columns), "columns must name each column once")
        section.require(len(np.unique(effects.keys, axis=0)) == len(effects.keys), "keys must hold each level once")
        result.append(effects)
    return tuple(result)


def _forest(file: Section, q: int, d: int) -> Forest:
    forest = Forest(**file.read(FOREST, q=q, d=d))
    low = forest.children.min(2)
    high = forest.children.max(2)
    number = np.arange(forest.children.shape[1])
    leaf = (low == number) & (high == number)
    unused = (low == 0) & (high == 0)  # no other node leads to these
    file.require((leaf | unused | (low > number)).all(), "children must lead downward, or to the leaf itself")
    return forest
