"""A fitted FUSE model as a header and arrays, and back; `model_file` puts these into a file."""

from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from centrality import __version__
from centrality._checks import InputError, widths
from centrality.model.replay import Memory
from centrality.model_file import as_json
from centrality.network.network import restore
from centrality.network.scaling import Scaling
from centrality.network.scorer import Scorer
from centrality.scores.calibration import Calibration
from centrality.scores.drift import TrainingScores
from centrality.scores.report import Report

Arrays = dict[str, NDArray[Any]]


def parts_of(model: Any) -> tuple[dict[str, Any], Arrays]:
    """Everything needed to score, and to see how the model came about: JSON values, and arrays."""
    arrays = {f"network.{name}": value.cpu().numpy() for name, value in model.network_.state_dict().items()}
    arrays |= {
        **{f"scaling.{name}": array for name, array in vars(model._scaling).items()},
        "calibration.potentials": model._calibration.potentials,
        "calibration.ends": model._calibration.ends,
        "calibration.halves": model._calibration.halves,
    }
    if hasattr(model, "center_"):
        arrays["center"] = model.center_
    if model._training_scores is not None:
        arrays["training.quantiles"] = model._training_scores.quantiles
    if model._inliers is not None:
        arrays["conformal.inliers"] = model._inliers
    names = getattr(model, "feature_names_in_", None)
    header = {
        "model": type(model).__name__,
        "version": __version__,
        "parameters": {
            name: as_json(value) for name, value in model.get_params(deep=False).items() if name != "checkpoint"
        },
        "features": model.n_features_in_,
        "feature_names": None if names is None else [str(name) for name in names],
        "noise_scale": list(model.noise_scale_),
        "offset": model.offset_,
        "rows_seen": model._memory.seen,
        "training_rows": None if model._training_scores is None else model._training_scores.rows,
        "report": None if model._report is None else asdict(model._report),
        "history": {k: [None if np.isnan(x) else x for x in v] for k, v in model.history_.items()},
    }
    return header, arrays


def put_together(
    kind: type[Any], header: dict[str, Any], arrays: Arrays, encoder: nn.Module | None, device: torch.device
) -> Any:
    """The model of this kind that `parts_of` took apart; a ValueError if the parts do not fit."""
    if header["model"] != kind.__name__:
        raise InputError(f"a {kind.__name__} model was wanted, this one is a {header['model']}.")
    known = kind().get_params(deep=False)  # a file of a later minor version may know more
    parameters = {name: value for name, value in header["parameters"].items() if name in known}
    if parameters["encoder"] is not None and encoder is None:
        raise InputError(
            f"the model was fitted with an encoder of its own ({parameters['encoder']}): "
            "pass one to hold its weights, load(path, encoder=...)."
        )
    model = kind(**(parameters | {"encoder": encoder}))
    model.n_features_in_ = p = int(header["features"])
    if header["feature_names"] is not None:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model.noise_scale_ = tuple(header["noise_scale"])
    model._memory = Memory(None, int(header["rows_seen"]))
    k, members = len(model.noise_scale_), int(model.ensemble)
    model.offset_ = float(header["offset"])
    model.history_ = {name: [np.nan if x is None else x for x in v] for name, v in header["history"].items()}
    model._report = Report(**header["report"]) if header.get("report") else None
    model._scaling = _scaling(arrays, p)
    shapes = {"potentials": (members, k, 2), "ends": (2, 2), "halves": (2, 2)}
    quantiles = (_shaped(arrays, f"calibration.{name}", shape) for name, shape in shapes.items())
    model._calibration = Calibration(parameters["calibration"], *quantiles)
    if "center" in arrays:  # absent from files written before explanations
        model.center_ = _shaped(arrays, "center", (p,))
    model._training_scores = _training_scores(header, arrays)
    model._inliers = None
    if "conformal.inliers" in arrays:
        count = len(arrays["conformal.inliers"])
        model._inliers = _shaped(arrays, "conformal.inliers", (max(count, 1), 2))
    weights = {
        name.removeprefix("network."): torch.from_numpy(array)
        for name, array in arrays.items()
        if name.startswith("network.")
    }
    model.network_ = restore(weights, p, widths(model.hidden), encoder, model.shared_encoder, k, members).to(device)
    model._scorer = Scorer(model.network_)
    return model


def _scaling(arrays: Arrays, p: int) -> Scaling:
    heavy = arrays["scaling.heavy"]
    if heavy.ndim != 1 or heavy.dtype != np.int64 or (heavy < 0).any() or (heavy >= p).any():
        raise InputError(f"scaling.heavy must hold numbers of the {p} columns, got {heavy.dtype} {heavy.shape}.")
    bends = (_shaped(arrays, f"scaling.{name}", heavy.shape) for name in ("shift", "gain"))
    return Scaling(_shaped(arrays, "scaling.center", (p,)), _shaped(arrays, "scaling.weight", (p,)), heavy, *bends)


def _training_scores(header: dict[str, Any], arrays: Arrays) -> TrainingScores | None:
    """Absent from files written before they were kept."""
    if header.get("training_rows") is None:
        return None
    k = arrays["training.quantiles"].shape[-1]
    return TrainingScores(_shaped(arrays, "training.quantiles", (2, k)), int(header["training_rows"]))


def _shaped(arrays: Arrays, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    array = arrays[name]
    if array.shape != shape or array.dtype != np.float64 or not np.isfinite(array).all():
        raise InputError(f"{name} must hold finite float64 numbers of shape {shape}, got {array.dtype} {array.shape}.")
    return array
