"""Quantiles of all rows, however many: sketches of a few kilobytes, made wherever the rows are and put together.

A fit sets its quantiles by a sample of rows. This is the second pass, which sets them by all rows: where the local
score's 1st and 99th percentiles lie, what the model remembers of its training scores, and where `predict` draws its
line. The units in which potentials and heads are mixed stay those of the sample. The sketches are KLL's (Karnin, Lang
and Liberty), which are random themselves: two passes agree within their error, not bit for bit.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality._estimator import share_of_outliers
from centrality._optional import optional
from centrality.scores.calibration import QUANTILES, blend
from centrality.scores.drift import KEPT, TrainingScores
from centrality.scoring import units
from centrality.scoring.adapter import Reader, reader_of
from centrality.scoring.stream import ahead
from centrality.scoring.units import Engine, Unit

SIZE = 4000  # KLL's k: ranks are right to about 0.0005, in 50 kB
SKETCHED = 3  # raw global, raw local, and the score that `predict` cuts


def require(holdout: float | None) -> None:
    """Say what stands in the way before the first pass, not after it."""
    optional("datasketches", "scale")
    if holdout is not None:
        raise InputError(
            "The second pass would change the scores that rows held aside were given: leave out holdout, and call "
            "calibrate(C) on fresh inliers afterwards."
        )


def second_pass(model: Any, data: str | Path, engine: Engine = units.in_turn, *, progress: bool = False) -> None:
    """Set the quantiles of a fitted FUSE or Chain by all rows of the data."""
    fuse = getattr(model, "model_", model)
    require(fuse.holdout)
    every = units.plan(data, None)
    # Clipped scores, which `predict` cuts, depend on the ends that the first reading sets.
    readings = 2 if fuse.calibration == "clip" else 1
    for _ in range(readings):
        _settle(model, _merged(units.do_all(partial(of_unit, model), every, engine, progress=progress)))


def of_unit(model: Any, unit: Unit) -> list[bytes]:
    """Sketches of what the model makes of one unit's rows."""
    sketches = [optional("datasketches", "scale").kll_doubles_sketch(SIZE) for _ in range(SKETCHED)]
    with unit.open() as source:
        reader = reader_of(model, source.schema)
        if reader.windowed:
            raise InputError("The second pass is for rows that stand by themselves, not for windows of a series.")
        for batch in ahead(source.batches(reader.columns, reader.types)):
            scores = _scores(reader, getattr(model, "model_", model), pa.Table.from_batches([batch]))
            for sketch, values in zip(sketches, scores.T, strict=True):
                sketch.update(np.ascontiguousarray(values))
    return [sketch.serialize() for sketch in sketches]


def _scores(reader: Reader, fuse: Any, table: pa.Table) -> NDArray[np.float64]:
    """(n, 3) what is sketched; rows without a score, such as images that cannot be read, are left out."""
    raw = reader.raw(table.select(reader.columns))
    raw = raw[np.isfinite(raw).all(1)]
    return np.column_stack([raw, blend(fuse._calibration.unbent(raw), fuse.t)])


def _merged(parts: Sequence[list[bytes]]) -> list[Any]:
    kind = optional("datasketches", "scale").kll_doubles_sketch
    merged = [kind(SIZE) for _ in range(SKETCHED)]
    for part in parts:
        for sketch, more in zip(merged, part, strict=True):
            sketch.merge(kind.deserialize(more))
    return merged


def _settle(model: Any, merged: list[Any]) -> None:
    fuse = getattr(model, "model_", model)
    fuse._inliers = None  # what `calibrate` kept was scored on another scale
    *of_heads, of_scores = merged
    ends = np.array([sketch.get_quantiles(list(QUANTILES)) for sketch in of_heads])
    fuse._calibration = replace(fuse._calibration, ends=ends)
    levels = list(np.linspace(0, 1, KEPT))
    raw = np.column_stack([sketch.get_quantiles(levels) for sketch in of_heads])
    # Each head rises with its raw score, so that quantiles of the one are quantiles of the other.
    fuse._training_scores = TrainingScores(fuse._calibration.heads(raw).T.copy(), of_scores.n)
    share = share_of_outliers(fuse.contamination, auto=0.01 if fuse.novelty else 0.1)
    model.offset_ = fuse.offset_ = float(of_scores.get_quantile(share))
