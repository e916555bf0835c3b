"""The paper's words: what FUSE does where they are not said, and what the paper's experiments say."""

from typing import Any

from centrality._checks import InputError

# What FUSE does; `PaperFUSE` can be told otherwise. The same defaults stand in its signature, and a test compares them.
OURS: dict[str, Any] = {
    "epochs": None,
    "scheme": 1,
    "anchors": 256,
    "resamples": 8,
    "shared_encoder": "auto",
    "batch_size": 128,
    "learning_rate": 4e-3,
    "weight_decay": 0.0,
    "calibration": "soft",
    "literal": False,
    "checkpoint": None,
}
HIDDEN_BY_EXPERIMENT = {"synthetic": (32, 32), "real": (64, 64), "outlier": (128, 128)}


def paper_settings(experiment: str) -> dict[str, Any]:
    """Return the parameters of one of the paper's experiments: Algorithm 1 for 30 epochs, one scale of noise."""
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
