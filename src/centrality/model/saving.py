"""Turn a fitted model into a header and arrays, and back; `model_file` puts these into a file."""

from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model.fitted import OFFSET_STEPS, Fitted
from centrality.model.ranges import require_ranges
from centrality.model.replay import Memory
from centrality.model_file import Arrays, Header
from centrality.network.network import Layout, Network, restore
from centrality.network.scaling import Scaling
from centrality.scores.calibration import OLD_SOFT, Calibration
from centrality.scores.conformal import Inliers
from centrality.scores.drift import TrainingScores
from centrality.scores.folds import Folds
from centrality.scores.mixing import LINEAR, Mixing
from centrality.scores.report import Report


def parts_of(fitted: Fitted) -> tuple[Header, Arrays]:
    """Return everything needed to score, and to see how the model came about: JSON values, and arrays."""
    arrays = {f"network.{name}": array for name, array in fitted.network.arrays().items()}
    arrays |= {
        **{f"scaling.{name}": array for name, array in vars(fitted.scaling).items() if array is not None},
        "calibration.potentials": fitted.calibration.potentials,
        "calibration.ends": fitted.calibration.ends,
        "calibration.halves": fitted.calibration.halves,
    }
    scores = fitted.training_scores
    optional = {
        "typical": fitted.typical,
        "training.quantiles": None if scores is None else scores.quantiles,
        "conformal.inliers": None if fitted.inliers is None else fitted.inliers.heads,
        "folds.known": None if fitted.folds is None else fitted.folds.known,
        "offsets": fitted.offsets,
    }
    arrays |= {name: array for name, array in optional.items() if array is not None}
    header = {
        "features": fitted.width,
        "members": fitted.network.members,
        "mixing": asdict(fitted.calibration.mixing),
        "folds": None if (folds := fitted.folds) is None else [folds.count, list(folds.left_out), folds.grain],
        "feature_names": None if fitted.names is None else list(fitted.names),
        "noise_scale": list(fitted.noise_scale),
        "contamination_of_inliers": 0.0 if fitted.inliers is None else fitted.inliers.contamination,
        "offset": fitted.offset,
        "offset_at_t": fitted.offset_at_t,
        "rows_seen": fitted.replay.seen,
        "training_rows": None if scores is None else scores.rows,
        "report": None if fitted.report is None else asdict(fitted.report),
        "history": {k: [None if np.isnan(x) else x for x in v] for k, v in fitted.history.items()},
    }
    return header, arrays


def from_parts(header: Header, arrays: Arrays, layout: Layout, calibration: str, device: str) -> Fitted:
    """Return the fitted model that `parts_of` took apart; a ValueError if the parts do not fit."""
    require_ranges(header, arrays, calibration)
    names, p = header["feature_names"], layout.width
    if names is not None and not (isinstance(names, list) and len(names) == p and set(map(type, names)) == {str}):
        raise InputError(f"feature_names must name {p} columns.")
    return Fitted(
        network=_network(arrays, layout),
        device=device,
        scaling=_scaling(arrays, p),
        calibration=_calibration(header, arrays, calibration, layout),
        noise_scale=tuple(header["noise_scale"]),
        offset=float(header["offset"]),
        history={name: [np.nan if x is None else x for x in column] for name, column in header["history"].items()},
        replay=Memory(None, int(header["rows_seen"])),
        names=None if names is None else tuple(names),
        folds=_folds(header, arrays),
        inliers=_inliers(header, arrays),
        training_scores=_training_scores(header, arrays),
        typical=_typical(arrays, p),
        report=Report(**header["report"]) if header.get("report") else None,
        offset_at_t=float(header.get("offset_at_t", header["parameters"]["t"])),
        offsets=_shaped(arrays, "offsets", (OFFSET_STEPS + 1,)) if "offsets" in arrays else None,
    )


def members_of(header: Header) -> int:
    """Return how many networks a file holds; those of version 0.1 say it by their setting alone."""
    return int(header.get("members", header["parameters"]["ensemble"]))


def _network(arrays: Arrays, layout: Layout) -> Network:
    mark = "network."
    weights = {name.removeprefix(mark): array for name, array in arrays.items() if name.startswith(mark)}
    unusable = [name for name, weight in weights.items() if not np.isfinite(weight).all()]
    if unusable:
        raise InputError(f"the weights must be finite numbers, those of {unusable[0]} are not.")
    return restore(layout, weights)


def _calibration(header: Header, arrays: Arrays, kind: str, layout: Layout) -> Calibration:
    shapes = {"potentials": (layout.members, layout.potentials, 2), "ends": (2, 2), "halves": (2, 2)}
    quantiles = {name: _shaped(arrays, f"calibration.{name}", shape) for name, shape in shapes.items()}
    mixing = Mixing(**header["mixing"]) if "mixing" in header else LINEAR
    # Soft heads that are mixed linearly are those of version 0.1.
    return Calibration(OLD_SOFT if kind == "soft" and mixing == LINEAR else kind, **quantiles, mixing=mixing)


def _inliers(header: Header, arrays: Arrays) -> Inliers | None:
    if "conformal.inliers" not in arrays:
        return None
    heads = _shaped(arrays, "conformal.inliers", (max(len(arrays["conformal.inliers"]), 1), 2))
    return Inliers(heads, float(header.get("contamination_of_inliers", 0.0)))


def _scaling(arrays: Arrays, p: int) -> Scaling:
    heavy = arrays["scaling.heavy"]
    if heavy.ndim != 1 or heavy.dtype != np.int64 or (heavy < 0).any() or (heavy >= p).any():
        raise InputError(f"scaling.heavy must hold numbers of the {p} columns, got {heavy.dtype} {heavy.shape}.")
    center, weight = (_shaped(arrays, f"scaling.{name}", (p,)) for name in ("center", "weight"))
    shift, gain = (_shaped(arrays, f"scaling.{name}", heavy.shape) for name in ("shift", "gain"))
    shrink = _shaped(arrays, "scaling.shrink", (p,)) if "scaling.shrink" in arrays else None
    return Scaling(center, weight, heavy, shift, gain, shrink)


def _folds(header: Header, arrays: Arrays) -> Folds | None:
    """Return which rows the networks have not seen; None in files written before some were left out."""
    if header.get("folds") is None:
        return None
    known = arrays["folds.known"]
    if known.ndim != 1 or known.dtype != np.uint32:
        raise InputError(f"folds.known must hold numbers of 32 bits, got {known.dtype} {known.shape}.")
    count, left_out, grain = header["folds"]
    return Folds(int(count), tuple(int(fold) for fold in left_out), float(grain), known)


def _typical(arrays: Arrays, p: int) -> NDArray[np.float64] | None:
    """Return the typical points; in files of version 0.1 there is one at most."""
    if "center" in arrays:
        return _shaped(arrays, "center", (p,))[None]
    return _shaped(arrays, "typical", (max(len(arrays["typical"]), 1), p)) if "typical" in arrays else None


def _training_scores(header: Header, arrays: Arrays) -> TrainingScores | None:
    """Return what the model remembers of its training scores; None in files written before they were kept."""
    if header.get("training_rows") is None:
        return None
    k = arrays["training.quantiles"].shape[-1]
    return TrainingScores(_shaped(arrays, "training.quantiles", (2, k)), int(header["training_rows"]))


def _shaped(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise InputError(f"{name} must hold finite float64 numbers of shape {shape}, got {array.dtype} {array.shape}.")
    return array
