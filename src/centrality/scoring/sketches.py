"""Find quantiles of all rows, however many, by sketches of a few kilobytes, made wherever the rows are and merged.

A fit sets its quantiles by a sample of rows. This is the second pass, which sets them by all rows: where the local
score's 1st and 99th percentiles lie, the model's summary of its training scores, and the threshold of `predict`.
The units in which potentials and heads are mixed stay those of the sample. The sketches are KLL's (Karnin, Lang
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
from centrality.chain import fuse_of
from centrality.fuse import FUSE
from centrality.model.fitted import Fitted
from centrality.model.interface import CentralityModel, with_fitted
from centrality.scores.calibration import QUANTILES
from centrality.scores.drift import KEPT, TrainingScores
from centrality.scoring import chunks
from centrality.scoring.adapter import Adapter, read_ahead
from centrality.scoring.chunks import Chunk, Runner

SIZE = 4000  # KLL's k: ranks are right to about 0.0005, in 50 kB
Sketch = Any  # a KLL sketch: its library has no types
SKETCHED = 3  # raw global, raw local, and the score that `predict` cuts


def require_possible(holdout: float | None) -> None:
    """Raise if a second pass would fail; it is called before the first one, so as not to waste that."""
    optional("datasketches", "scale")
    if holdout is not None:
        raise InputError(
            "The second pass would change the scores that rows held aside were given: leave out holdout, and call "
            "calibrate(C) on fresh inliers afterwards."
        )


def second_pass(
    model: CentralityModel, data: str | Path, runner: Runner = chunks.in_turn, *, progress: bool = False
) -> CentralityModel:
    """Return the fitted FUSE or Chain with its quantiles set by all rows of the data."""
    report = model.fitted_.report
    require_possible(None if report is None else report.held_aside or None)
    all_chunks = chunks.plan(data, None)
    # Clipped scores, which `predict` cuts, depend on the ends that the first reading sets.
    readings = 2 if model.fitted_.calibration.kind == "clip" else 1
    for _ in range(readings):
        merged = merge(chunks.do_all(partial(sketch_chunk, model), all_chunks, runner, progress=progress))
        model = with_fitted(model, _with_quantiles(model.fitted_, merged, fuse_of(model)))
    return model


def sketch_chunk(model: CentralityModel, chunk: Chunk) -> list[bytes]:
    """Sketch the model's scores of one chunk's rows."""
    sketches = [optional("datasketches", "scale").kll_doubles_sketch(SIZE) for _ in range(SKETCHED)]
    with chunk.open() as source:
        adapter = Adapter(model, source.schema.names)
        if adapter.one_series:
            raise InputError("The second pass is for rows that stand by themselves, not for windows of a series.")
        for batch in read_ahead(source.batches(adapter.columns, adapter.types)):
            scores = _scores(adapter, model.t, pa.Table.from_batches([batch]))
            for sketch, values in zip(sketches, scores.T, strict=True):
                sketch.update(np.ascontiguousarray(values))
        adapter.report()
    return [sketch.serialize() for sketch in sketches]


def _scores(adapter: Adapter, t: float, table: pa.Table) -> NDArray[np.float64]:  # (n, 3)
    """Return the scores to sketch; rows without a score, such as images that cannot be read, are left out."""
    vectors, calibration = adapter.vectors(table), adapter.fitted.calibration
    raw = adapter.raw(vectors, table.num_rows)
    of_kinds = adapter.fitted.kinds is not None
    units = adapter.units(vectors, table.num_rows) if of_kinds else calibration.units(raw)
    return np.column_stack([raw, calibration.mixing.mixed(units, t)])[np.isfinite(raw).all(1)]


def merge(parts: Sequence[list[bytes]]) -> list[Sketch]:
    """Merge the sketches of all chunks, score by score."""
    kind = optional("datasketches", "scale").kll_doubles_sketch
    merged: list[Sketch] = [kind(SIZE) for _ in range(SKETCHED)]
    for part in parts:
        for sketch, more in zip(merged, part, strict=True):
            sketch.merge(kind.deserialize(more))
    return merged


def _with_quantiles(fitted: Fitted, merged: list[Sketch], fuse: FUSE) -> Fitted:
    """Return the model with the quantiles that the sketches found."""
    *of_heads, of_scores = merged
    share = share_of_outliers(fuse.contamination, clean=fuse.novelty)
    ends = np.array([sketch.get_quantiles(list(QUANTILES)) for sketch in of_heads])
    calibration = replace(fitted.calibration, ends=ends)
    levels = list(np.linspace(0, 1, KEPT))
    raw = np.column_stack([sketch.get_quantiles(levels) for sketch in of_heads])
    return replace(
        fitted,
        calibration=calibration,
        # Clipped heads change with their ends, so that those of calibration rows no longer fit.
        inliers=None if calibration.kind == "clip" else fitted.inliers,
        # Each head rises with its raw score, so that quantiles of the one are quantiles of the other; within kinds it
        # is moved so that those of all rows stay where they are.
        training_scores=TrainingScores(
            calibration.mixing.squeeze(calibration.units(raw)).T.copy(), of_scores.n, fitted.training_scores.columns
        ),
        offset=float(of_scores.get_quantile(share)),
        offsets=None,  # only scores at the model's own t were sketched
    )
