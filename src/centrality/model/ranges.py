"""Check that the values of a model file are ones that a fit can produce, which a checksum does not show."""

import numpy as np

from centrality._checks import InputError
from centrality.model_file import Arrays, Header
from centrality.scores.calibration import checked_calibration

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
