"""The settings of the paper's experiments: Algorithm 1 for 30 epochs, on raw features, with one noise scale."""

from typing import Any

from centrality._checks import InputError

HIDDEN_BY_EXPERIMENT = {"synthetic": (32, 32), "real": (64, 64), "outlier": (128, 128)}


def paper_settings(experiment: str) -> dict[str, Any]:
    """Return the parameters of FUSE for one of the paper's experiments."""
    if experiment not in HIDDEN_BY_EXPERIMENT:
        raise InputError(f"experiment must be one of {', '.join(HIDDEN_BY_EXPERIMENT)}, got {experiment!r}.")
    return {
        "hidden": HIDDEN_BY_EXPERIMENT[experiment],
        "shared_encoder": True,
        "noise_scale": 1.0,
        "anchors": 64,
        "resamples": 8,
        "epochs": 30,
        "batch_size": 128,
        "learning_rate": 1e-3,
        "scaling": "none",
        "calibration": "clip",
    }
