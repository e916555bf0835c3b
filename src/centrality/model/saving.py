"""Turn a fitted model into a header and arrays, and back; `model_file` puts these into a file."""

from dataclasses import asdict

import numpy as np
import torch
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model.fitted import OFFSET_STEPS, Fitted
from centrality.model.replay import Memory
from centrality.model_file import Arrays, Header
from centrality.network.network import Layout, Network, restore
from centrality.network.scaling import Scaling
from centrality.scores.calibration import Calibration
from centrality.scores.drift import TrainingScores
from centrality.scores.report import Report


def parts_of(fitted: Fitted) -> tuple[Header, Arrays]:
    """Return everything needed to score, and to see how the model came about: JSON values, and arrays."""
    arrays = {f"network.{name}": value.cpu().numpy() for name, value in fitted.network.state_dict().items()}
    arrays |= {
        **{f"scaling.{name}": array for name, array in vars(fitted.scaling).items()},
        "calibration.potentials": fitted.calibration.potentials,
        "calibration.ends": fitted.calibration.ends,
        "calibration.halves": fitted.calibration.halves,
    }
    scores = fitted.training_scores
    optional = {
        "center": fitted.center,
        "training.quantiles": None if scores is None else scores.quantiles,
        "conformal.inliers": fitted.inliers,
        "offsets": fitted.offsets,
    }
    arrays |= {name: array for name, array in optional.items() if array is not None}
    header = {
        "features": fitted.width,
        "feature_names": None if fitted.names is None else list(fitted.names),
        "noise_scale": list(fitted.noise_scale),
        "offset": fitted.offset,
        "offset_at_t": fitted.offset_at_t,
        "rows_seen": fitted.replay.seen,
        "training_rows": None if scores is None else scores.rows,
        "report": None if fitted.report is None else asdict(fitted.report),
        "history": {k: [None if np.isnan(x) else x for x in v] for k, v in fitted.history.items()},
    }
    return header, arrays


def from_parts(header: Header, arrays: Arrays, layout: Layout, calibration: str, device: torch.device) -> Fitted:
    """Return the fitted model that `parts_of` took apart; a ValueError if the parts do not fit."""
    names, p = header["feature_names"], layout.width
    if names is not None and not (isinstance(names, list) and len(names) == p and set(map(type, names)) == {str}):
        raise InputError(f"feature_names must name {p} columns.")
    return Fitted(
        network=_network(arrays, layout).to(device),
        scaling=_scaling(arrays, p),
        calibration=_calibration(arrays, calibration, layout),
        noise_scale=tuple(header["noise_scale"]),
        offset=float(header["offset"]),
        history={name: [np.nan if x is None else x for x in column] for name, column in header["history"].items()},
        replay=Memory(None, int(header["rows_seen"])),
        names=None if names is None else tuple(names),
        inliers=_inliers(arrays),
        training_scores=_training_scores(header, arrays),
        center=_shaped(arrays, "center", (p,)) if "center" in arrays else None,
        report=Report(**header["report"]) if header.get("report") else None,
        offset_at_t=float(header.get("offset_at_t", header["parameters"]["t"])),
        offsets=_shaped(arrays, "offsets", (OFFSET_STEPS + 1,)) if "offsets" in arrays else None,
    )


def _network(arrays: Arrays, layout: Layout) -> Network:
    mark = "network."
    weights = {
        name.removeprefix(mark): torch.from_numpy(array) for name, array in arrays.items() if name.startswith(mark)
    }
    unusable = [name for name, weight in weights.items() if not torch.isfinite(weight).all()]
    if unusable:
        raise InputError(f"the weights must be finite numbers, those of {unusable[0]} are not.")
    return restore(layout, weights)


def _calibration(arrays: Arrays, kind: str, layout: Layout) -> Calibration:
    shapes = {"potentials": (layout.members, layout.potentials, 2), "ends": (2, 2), "halves": (2, 2)}
    return Calibration(kind, *(_shaped(arrays, f"calibration.{name}", shape) for name, shape in shapes.items()))


def _inliers(arrays: Arrays) -> NDArray[np.float64] | None:
    if "conformal.inliers" not in arrays:
        return None
    return _shaped(arrays, "conformal.inliers", (max(len(arrays["conformal.inliers"]), 1), 2))


def _scaling(arrays: Arrays, p: int) -> Scaling:
    heavy = arrays["scaling.heavy"]
    if heavy.ndim != 1 or heavy.dtype != np.int64 or (heavy < 0).any() or (heavy >= p).any():
        raise InputError(f"scaling.heavy must hold numbers of the {p} columns, got {heavy.dtype} {heavy.shape}.")
    bends = (_shaped(arrays, f"scaling.{name}", heavy.shape) for name in ("shift", "gain"))
    return Scaling(_shaped(arrays, "scaling.center", (p,)), _shaped(arrays, "scaling.weight", (p,)), heavy, *bends)


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
