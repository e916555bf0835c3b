"""Load the compiled engine, in the build for the best instructions that this CPU has.

The engine (C++, in the repository's folder `engine`) is what trains and scores our own networks on a CPU, with the same
bits on every CPU. It is part of every installation. The environment variable CENTRALITY_ENGINE names a build to take
instead of the best one.
"""

import importlib
import os
from functools import cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError

FASTEST_FIRST = ("avx512", "avx2", "neon", "portable")  # the last one runs anywhere, many times slower
VARIABLE = "CENTRALITY_ENGINE"

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]


class EngineModel(Protocol):
    """Describe a network packed for scoring."""

    def outputs(self, rows: NDArray[Any], scaling: object | None) -> Doubles:
        """Return (members, n, 1 + k) outputs."""

    def head_scores(self, rows: NDArray[Any], scaling: object, calibration: object, units: object | None) -> Doubles:
        """Return (n, 2) head scores; without units, raw scores. Raise an OverflowError if one is not finite."""

    def mixtures(  # noqa: PLR0917  (the engine's arguments are positions)
        self,
        rows: NDArray[Any],
        scaling: object,
        calibration: object,
        units: object,
        share: float,
        allowance: float,
        squeezed: bool,  # noqa: FBT001
        /,
    ) -> Doubles:
        """Return (n,) mixtures of head scores, squeezed into [0, 1] or not."""

    def along(self, start: Floats, step: Floats, at: Floats) -> Doubles:
        """Return outputs at points on lines."""  # (members, lines, points, 1 + k)

    def back(self, start: Floats, step: Floats, at: Floats, by: Floats) -> Floats:
        """Return derivatives by the points, summed over each line, from those by the outputs."""  # (lines, p)


class EngineCalibration(Protocol):
    """Describe the engine's function from outputs to a pair of raw scores."""

    def of_members(self, outputs: Doubles) -> Doubles:
        """Return each member's global and local score."""  # (members, n, 2)

    def raw(self, outputs: Doubles) -> Doubles:
        """Return the raw scores."""  # (n, 2)

    def raw_back(self, outputs: Doubles, by_raw: Doubles) -> Doubles:
        """Return derivatives by the outputs from those by the raw scores."""  # (members, n, 1 + k)


class Engine(Protocol):
    """Describe one build of the engine; engine/module.cpp documents the arguments of its functions."""

    def Model(self, members: object, background: object | None) -> EngineModel:  # noqa: N802
        """Pack a network."""

    def Background(self, *parts: object) -> object:  # noqa: N802
        """Take the background that potentials start from."""

    def Scaling(self, *parts: object) -> object:  # noqa: N802
        """Take the scaling of columns."""

    def Calibration(self, *parts: object) -> EngineCalibration:  # noqa: N802
        """Take the constants of calibration; engine/interface.h names them."""

    def Units(self, low: Doubles, width: Doubles) -> object:  # noqa: N802
        """Take the low end of each head, and the width above it that is 1."""

    def squeeze(self, values: Doubles) -> Doubles:
        """Map the real line onto (0, 1)."""  # (n,)

    def train(self, **job: object) -> None:
        """Take some steps of training."""

    def scale(self, rows: NDArray[Any], scaling: object) -> Doubles:
        """Return rows of float32 or float64 in scaled units."""  # (n, p)

    def scale_to_floats(self, rows: NDArray[Any], scaling: object) -> Floats:
        """Return the same, rounded to float32."""  # (n, p)

    def ends(self, rows: NDArray[Any]) -> Doubles:
        """Return each column's least and greatest value; both NaN if it holds a NaN or an infinity."""  # (2, p)

    def neighbour_distances(self, rows: Floats, order: int) -> Doubles:
        """Return the distance of each row to its neighbour of this order among the others, the nearest being 1."""

    def far_apart(self, rows: Floats, first: int, drawn: Doubles) -> NDArray[np.int64]:
        """Return the numbers of rows that lie far apart, the first one and one for each line of draws."""

    def k_means(self, rows: Floats, centres: Doubles, rounds: int) -> NDArray[np.int64]:
        """Move the centres to the means of their groups, in place, and return the group of each row."""


class EngineError(InputError, ImportError):
    """Says that there is no build of the engine to compute with: what was asked for, and which builds there are."""


@cache
def engine() -> Engine:
    """Return the engine: the build that the environment names, else the fastest one that runs here."""
    wanted = os.environ.get(VARIABLE)
    if wanted and wanted not in FASTEST_FIRST:
        raise EngineError(f"{VARIABLE} must name a build of the engine, {', '.join(FASTEST_FIRST)}, got {wanted!r}.")
    for name in (wanted,) if wanted else FASTEST_FIRST:
        try:
            return importlib.import_module(f"{__name__}.{name}")
        except ImportError:
            continue
    if wanted:
        raise EngineError(
            f"{VARIABLE} asks for the build {wanted!r} of the engine, which this CPU cannot run, or which this "
            f"installation lacks: leave {VARIABLE} unset to take the best of {', '.join(FASTEST_FIRST)} that works."
        )
    raise EngineError(
        "This installation of centrality has no compiled engine: install a wheel, or install from source where there "
        "is a C++ compiler (g++ or clang++)."
    )


def engine_name() -> str:
    """Return the name of the build that is used."""
    return str(getattr(engine(), "__name__", "")).rpartition(".")[2]
