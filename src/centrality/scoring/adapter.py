"""Stand between a model and rows of any kind: files, frames, requests, pages and clusters all use this adapter."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._estimator import CheckedRows, require_finite
from centrality.model.interface import CentralityModel, over_vectors
from centrality.scores.calibration import blend
from centrality.scores.reasons import Reasons

Matrix = NDArray[np.float64]


class Adapter:
    """Gives a model what it wants of tables with columns of these names, and returns what it says of their rows.

    An error names the columns that are missing. `vectors` turns rows into vectors, once; heads, raw scores and reasons
    are then computed from those.
    """

    def __init__(self, model: CentralityModel, names: Sequence[str]) -> None:
        reading = model.reading()
        self.model, self.fitted = model, model.fitted_
        self.of_numbers = reading.kind == "numbers"
        self.columns = list(names) if reading.columns is None else reading.columns
        self.types = {name: pa.float64() for name in self.columns} if self.of_numbers else reading.types
        self.one_series = reading.one_series  # all rows are one series, scored by its windows
        self.explains = not reading.one_series and model.features() is not None
        tables.require(names, self.columns)
        if self.of_numbers and len(self.columns) != self.fitted.width:
            raise tables.TableError(f"{self.fitted.width} columns of numbers were wanted, got {len(self.columns)}.")

    def vectors(self, table: pa.Table) -> CheckedRows:  # (n, p)
        """Return the rows as the fitted model takes them; all NaN where a row could not be represented."""
        table = table.select(self.columns)
        if not self.of_numbers:
            vectors: CheckedRows = self.model.vectors(table)
            return vectors
        matrix = tables.numbers(table)
        require_finite(matrix, self.columns)
        return matrix

    def heads(self, vectors: CheckedRows, rows: int) -> Matrix:  # (rows, 2)
        """Return global and local centrality of the table's rows, whose vectors these are."""
        return self.model.by_moment(over_vectors(vectors, self.fitted.heads), rows)

    def raw(self, vectors: CheckedRows, rows: int) -> Matrix:  # (rows, 2)
        """Return the uncalibrated scores of the table's rows, whose vectors these are."""
        return self.model.by_moment(over_vectors(vectors, self.fitted.raw), rows)

    def reasons(
        self, table: pa.Table, vectors: CheckedRows, heads: Matrix, ts: Sequence[float], *, top: int = 3
    ) -> list[Reasons]:
        """Return what lowers each row's centrality, at each t."""
        # Contributions are linear in t: those at the two ends make all others.
        computed_at = ts if len(ts) == 1 else (0.0, 1.0)
        computed = [over_vectors(vectors, partial(self._explain, t)) for t in computed_at]
        values = self.model.values(table.select(self.columns), vectors)
        parts = computed if len(ts) == 1 else [(1 - t) * computed[0] + t * computed[1] for t in ts]
        names = self.columns if self.of_numbers else None
        return [
            self.model.in_words(t, blend(heads, t), part, values, top=top, names=names)
            for t, part in zip(ts, parts, strict=True)
        ]

    def _explain(self, t: float, vectors: CheckedRows) -> Matrix:  # (n, p)
        """Return what each number of a vector contributes to its row's centrality."""
        return self.fitted.explain(vectors, t)
