"""One scoring: which model, at which t, and which columns it adds to the rows."""

import hashlib
import json
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality.scores.calibration import blend
from centrality.scores.conformal import p_values
from centrality.scoring import units
from centrality.scoring.adapter import Reader
from centrality.scoring.watch import Watch

Heads = NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """One scoring: which model, at which t, and who is told about it."""

    model: Any
    ts: list[float]
    watch: Watch | None = None
    progress: bool = False
    inliers: Heads | None = None  # those of the calibration rows, if p-values are wanted
    explain: bool = False
    resume: bool = False  # units that are done already are left as they are

    @property
    def names(self) -> list[str]:
        """The columns it adds."""
        return units.added_columns(self.ts, self.inliers is not None, self.explain)

    @cached_property
    def note(self) -> str:
        """At the end of a Parquet file, this says which model made which columns."""
        return json.dumps({"model": _digest(self.model), "columns": self.names})

    def columns(self, heads: Heads) -> dict[str, NDArray[Any]]:
        """The columns of numbers."""
        if self.watch is not None:
            self.watch.see(heads)
        scores = [blend(heads, t) for t in self.ts]
        if self.inliers is not None:
            scores += [self._p_values(self.inliers, heads, t) for t in self.ts]
        return dict(zip(self.names, scores, strict=False))

    def scored(self, reader: Reader, table: pa.Table) -> dict[str, NDArray[Any]]:
        """All that it adds to these rows, column by column."""
        columns = self.columns(reader.heads(table))
        if self.explain and reader.reasons is not None:
            for t in self.ts:
                columns[f"reasons_{t:g}"] = np.array(reader.reasons(table, t).short(), dtype=object)
        return columns

    @staticmethod
    def _p_values(inliers: Heads, heads: Heads, t: float) -> NDArray[np.float64]:
        """NaN where there is no score: a row left out, such as an image that cannot be read."""
        found = np.full(len(heads), np.nan)
        there = np.isfinite(heads).all(1)
        found[there] = p_values(blend(inliers, t), blend(heads[there], t))
        return found


def _digest(model: Any) -> str:
    """What tells one model from another: a checksum of the file that it would be saved to."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        model.save(file)
        return hashlib.sha256(file.read_bytes()).hexdigest()
