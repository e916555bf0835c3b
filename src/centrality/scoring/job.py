"""Describe one scoring job: the model, the t, and the columns that it adds to the rows."""

import hashlib
import json
import tempfile
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.model.interface import CentralityModel
from centrality.network.scaling import dense
from centrality.scores.conformal import p_values
from centrality.scores.mixing import name_at
from centrality.scoring.adapter import Adapter
from centrality.scoring.watch import Watch
from centrality.tables import locations

Pairs = NDArray[np.float64]  # (n, 2) units
Column = NDArray[np.float64] | NDArray[np.object_]  # scores, or reasons in words


@dataclass(frozen=True)
class Job:
    """Hold the model that scores, the values of t, which columns are added, and what is shown meanwhile."""

    model: CentralityModel
    ts: list[float]
    watch: Watch | None = None
    progress: bool = False
    p_values: bool = False
    explain: bool = False
    resume: bool = False  # chunks that are done already are left as they are

    @property
    def names(self) -> list[str]:
        """Return the names of the columns added for each t: first centrality, then p_value, then reasons."""
        kinds = ["centrality", *(["p_value"] * self.p_values), *(["reasons"] * self.explain)]
        names = [name_at(kind, t, self.model.t) for kind in kinds for t in self.ts]
        if len(set(names)) < len(names):
            raise InputError(f"Every t must have a column of its own, got {', '.join(names[: len(self.ts)])}.")
        return names

    def note(self, source: str | None) -> str:
        """Return the note for the end of a Parquet file: which model made which columns, from which file's rows."""
        rows = None if source is None else locations.fingerprint(source)
        return json.dumps({"model": self._digest, "columns": self.names, "rows": rows})

    @cached_property
    def _digest(self) -> str:
        """Return a checksum that identifies the model: that of the file it would be saved to."""
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "model.safetensors"
            self.model.save(file)
            return hashlib.sha256(file.read_bytes()).hexdigest()

    def score_columns(self, pairs: Pairs) -> dict[str, Column]:
        """Return the columns of numbers that it adds to rows with these units."""
        mixing = self.model.fitted_.mixing
        mixed = [mixing.mixed(pairs, t) for t in self.ts]
        scores = [mixing.squeeze(each) for each in mixed]
        if self.p_values:
            known = (self.model.fitted_.inlier_scores(t) for t in self.ts)
            scores += [p_values(inliers, scored) for inliers, scored in zip(known, mixed, strict=True)]
        return dict(zip(self.names, scores, strict=False))

    def new_columns(self, adapter: Adapter, table: pa.Table) -> dict[str, Column]:
        """Return all columns that the job adds to these rows."""
        vectors = adapter.vectors(table)
        pairs = adapter.units(vectors, table.num_rows)
        columns = self.score_columns(pairs)
        if self.watch is not None:
            rows = None if adapter.one_series else np.asarray(dense(vectors), dtype=np.float64)
            self.watch.add(self.model.fitted_.mixing.squeeze(pairs), rows)
        if self.explain and adapter.explains:
            for t, reasons in zip(self.ts, adapter.reasons(table, vectors, pairs, self.ts), strict=True):
                columns[name_at("reasons", t, self.model.t)] = np.array(reasons.short(), dtype=object)
        return columns
