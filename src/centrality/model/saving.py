"""Turn a fitted model into a header and arrays, and back; `model_file` puts these into a file."""

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model import saving_context
from centrality.model.fitted import OFFSET_STEPS, Fitted
from centrality.model.ranges import require_ranges
from centrality.model.remembered_rows import RememberedRows
from centrality.model.scorers import scorer_for
from centrality.model_file import Arrays, Header
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
QUANTILES = ("potentials", "members", "ends", "halves")  # of a calibration


def parts_of(fitted: Fitted) -> tuple[Header, Arrays]:
    """Return everything needed to score and to report on the fit: a header of JSON values, and arrays by name."""
    arrays = {f"network.{name}": array for name, array in fitted.network.arrays().items()}
    columns = fitted.training_scores.columns
    assert columns is not None  # a fit always knows its rows
    arrays |= {
        **{f"columns.{name}": getattr(columns, name) for name in COLUMNS},
        **_scaling_parts(fitted),
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


def _scaling_parts(fitted: Fitted) -> Arrays:
    """Return the arrays of the scaling, or those of the context instead: older readers must fail on a context."""
    if fitted.context is not None:
        return saving_context.parts_of(fitted.context, fitted.kinds)
    return {f"scaling.{name}": array for name, array in fitted.scaling.parts().items() if array is not None}


def from_parts(header: Header, arrays: Arrays, layout: Layout, calibration: str, device: str) -> Fitted:
    """Return the fitted model made of these parts, the inverse of `parts_of`; raise a ValueError if they do not fit."""
    require_ranges(header, arrays, calibration)
    names, p = header["feature_names"], layout.width
    if names is not None and not (isinstance(names, list) and len(names) == p and set(map(type, names)) == {str}):
        raise InputError(f"feature_names must name {p} columns.")
    network = _network(arrays, layout)
    in_context = f"{saving_context.MARK}given" in arrays
    scaling = _scaling(arrays, p, saving_context.MARK if in_context else "")
    context = saving_context.from_parts(arrays, scaling, p) if in_context else None
    return Fitted(
        network=network,
        scorer=scorer_for(network, device),
        device=device,
        halves=bool(header["halves"]),
        scaling=Scaling.none(p) if in_context else scaling,
        context=context,
        kinds=None if context is None else saving_context.kinds_from_parts(arrays, context),
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
    center, weight = (_shaped(arrays, f"{mark}scaling.{name}", (p,)) for name in ("center", "weight"))
    shift, gain = (_shaped(arrays, f"{mark}scaling.{name}", heavy.shape) for name in ("shift", "gain"))
    shrink = _shaped(arrays, f"{mark}scaling.shrink", (p,)) if f"{mark}scaling.shrink" in arrays else None
    seen, beyond = (
        _shaped(arrays, f"{mark}scaling.{name}", (2, p)) if f"{mark}scaling.{name}" in arrays else None
        for name in ("seen", "beyond")
    )
    if seen is not None and (seen[0] > seen[1]).any():
        raise InputError(
            f"{mark}scaling.seen must hold the least and the greatest value of each column, in this order."
        )
    return Scaling(center, weight, heavy, shift, gain, shrink, seen, beyond)


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
