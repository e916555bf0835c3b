"""Rows and kinds of models that the tests of ONNX files share."""

from pathlib import Path

import numpy as np

from centrality import FUSE
from centrality.onnx import Scorer

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(400, 3)), 100 * RNG.standard_cauchy(400), 1e6 + RNG.normal(size=400)])
PLAIN = X - [0, 0, 0, 0, 1e6]  # for a network that sees rows as they are: float32 keeps 0.06 of 1e6 ± 1
KINDS = {
    "defaults": {"hidden": (128, 128), "max_steps": 15},
    "clip": {"calibration": "clip"},
    "one noise scale": {"noise_scale": 0.7},
    "two trunks": {"shared_encoder": False, "hidden": (8, 16, 4)},
    "one layer": {"hidden": (16,), "noise_scale": 1.0},
    "ensemble": {"ensemble": 3},
    "ensemble of two trunks": {"ensemble": 2, "shared_encoder": False, "noise_scale": 1.0},
    "clean rows": {"novelty": True},
    "clean rows, ensemble of two trunks": {"novelty": True, "ensemble": 2, "shared_encoder": False},
    "unscaled": {"scaling": "none"},
    "standard": {"scaling": "standard", "calibration": "clip", "ensemble": 2},
}


def new(rows: np.ndarray) -> np.ndarray:
    """Rows next to those that were trained on."""
    return rows + 0.01 * np.abs(rows).clip(1e-3)


def exported(model: FUSE, folder: Path) -> Scorer:
    path = folder / "model.onnx"
    model.to_onnx(path)
    return Scorer(path)
