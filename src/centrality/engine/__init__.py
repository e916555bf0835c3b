"""Load the compiled engine, in the build for the best instructions that this CPU has.

The engine (C++, in the repository's folder `engine`) trains and scores our own networks on a CPU, with the same bits on
every CPU. Without it, and for all it does not do, torch computes. The environment variable CENTRALITY_ENGINE names a
build to take, or "none".
"""

import importlib
import os
from functools import cache
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FASTEST_FIRST = ("avx512", "avx2", "neon")
ANYWHERE = "portable"  # many times slower: only where there is no torch either
VARIABLE = "CENTRALITY_ENGINE"

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class EngineModel(Protocol):
    """A network packed for scoring."""

    def outputs(self, rows: NDArray[Any], scaling: object | None) -> Doubles:
        """Return (members, n, 1 + k) outputs."""

    def along(self, start: Floats, step: Floats, at: Floats) -> Doubles:
        """Return outputs at points on lines."""  # (members, lines, points, 1 + k)

    def back(self, start: Floats, step: Floats, at: Floats, by: Floats) -> Floats:
        """Return derivatives by the points, summed over each line, from those by the outputs."""  # (lines, p)


class EngineCalibration(Protocol):
    """Says how outputs become a pair of raw scores."""

    def of_members(self, outputs: Doubles) -> Doubles:
        """Return each member's global and local score."""  # (members, n, 2)

    def raw(self, outputs: Doubles) -> Doubles:
        """Return the raw scores."""  # (n, 2)

    def raw_back(self, outputs: Doubles, by_raw: Doubles) -> Doubles:
        """Return derivatives by the outputs from those by the raw scores."""  # (members, n, 1 + k)


class Engine(Protocol):
    """One build of the engine; engine/module.cpp says what its functions take."""

    def Model(self, members: object, prior: object | None) -> EngineModel:  # noqa: N802
        """Pack a network."""

    def Mixture(self, mean: Floats, centres: Floats, precision: Floats, level: Floats) -> object:  # noqa: N802
        """Hold the prior of clean rows."""

    def Scaling(self, *parts: object) -> object:  # noqa: N802
        """Hold how columns are scaled."""

    def Calibration(self, *parts: object) -> EngineCalibration:  # noqa: N802
        """Hold how outputs are calibrated; engine/interface.h says by which numbers."""

    def train(self, **job: object) -> None:
        """Take some steps of training."""


@cache
def engine() -> Engine | None:
    """Return the engine; None if this installation has none that runs here, or the environment forbids it."""
    wanted = os.environ.get(VARIABLE)
    if wanted == "none":
        return None
    names = (wanted,) if wanted else FASTEST_FIRST if find_spec("torch") else (*FASTEST_FIRST, ANYWHERE)
    for name in names:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ImportError:
            continue
    if wanted:
        raise ImportError(f"{VARIABLE} asks for the engine {wanted!r}, which this installation lacks, or this CPU.")
    return None


def engine_name() -> str:
    """Return which build computes, or "torch"; an error if there is neither."""
    found = engine()
    if found is None and find_spec("torch") is None:
        raise ImportError("There is no engine for this machine, and no torch: pip install 'centrality[torch]'.")
    return "torch" if found is None else str(getattr(found, "__name__", "")).rpartition(".")[2]
