"""Feed tables to a model, whatever its rows are: files, frames, pages and clusters all use this adapter.

Only the service does not: it reads each request by itself, and scores the rows of several requests together.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.input import CheckedRows, require_finite
from centrality.analysis.reasons import Reasons
from centrality.model.fitted import map_valid_rows
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.tables.columns import ENOUGH_ROWS, CellIssues

Item = TypeVar("Item")
Matrix = NDArray[np.float64]
ITEMS_AHEAD = 2  # that are read while one is used
ADVICE = (  # what users can do if a fitted model cannot read their rows
    "This model was fitted on finite numbers alone. Leave out such rows or fill them in, or fit one that reads text, "
    "dates and gaps: centrality fit ... --represent table (in Python: Chain(Table(), FUSE()))."
)


class Adapter:
    """Picks the columns that a model reads from tables with columns of these names, and scores their rows.

    An error names missing columns. `vectors` turns rows into vectors; scores and reasons are computed from those.
    """

    def __init__(self, model: CentralityModel, names: Sequence[str]) -> None:
        self.reader = reader_of(model)
        spec = self.reader.input_spec()
        self.model = model
        self.fitted = model.fitted_
        self.of_numbers = spec.kind == "numbers"
        self.watched = [name for name in spec.watched if name in names]
        self.columns = list(names) if spec.columns is None else spec.columns
        self.types = {name: pa.float64() for name in self.columns} if self.of_numbers else spec.types
        self.one_series = spec.one_series  # all rows are one series, scored by its windows
        self.unreadable = CellIssues()  # the cells, so far, that could not be read
        self._most_unreadable = spec.unreadable  # the largest share of such cells in a column
        self.left_out = 0  # rows that could not be scored
        self.with_score = 0  # rows, and those of them that the model's threshold calls outliers
        self.called = 0
        self.explains = not spec.one_series and self.reader.features() is not None
        tables.require(names, self.columns)
        if self.of_numbers and len(self.columns) != self.fitted.width:
            raise tables.TableError(f"{self.fitted.width} columns of numbers were wanted, got {len(self.columns)}.")

    def read(
        self, source: tables.Source, *, ahead: bool = True, progress: bool = False, title: str | None = None
    ) -> Iterator[pa.Table]:
        """Yield a source's rows in order, table by table, with a bar of this title; one series is one table.

        With `ahead`, a thread reads the next rows meanwhile. Raise if there are no rows, or too many unreadable cells.
        """
        from tqdm import tqdm

        parts: Iterable[pa.Table] = (pa.Table.from_batches([batch]) for batch in source.batches(types=self.types))
        if self.one_series:
            parts = [pa.concat_tables(parts)]
        rows = 0
        with tqdm(total=source.rows, unit=" rows", unit_scale=True, disable=not progress, desc=title) as bar:
            for table in read_ahead(parts) if ahead else parts:
                yield table
                self.require_readable(after=ENOUGH_ROWS)
                rows += table.num_rows
                bar.update(table.num_rows)
        if not rows:
            raise tables.TableError(f"{source.name} is empty: it has 0 rows and {len(source.schema)} columns.")

    def vectors(self, table: pa.Table) -> CheckedRows:  # (n, p)
        """Return the vectors of the rows, as the fitted model takes them; a row without a vector is all NaN."""
        table = table.select([*self.columns, *(name for name in self.watched if name in table.column_names)])
        if not self.of_numbers:
            vectors, unreadable = self.reader.vectors_and_issues(table)
            self.unreadable += unreadable
            return vectors
        matrix = tables.numbers(table, ADVICE)
        require_finite(matrix, self.columns, ADVICE)
        self.unreadable += self.reader.new_kinds(matrix)
        return self.fitted.relative(matrix)

    def can_be_scored(self, table: pa.Table) -> NDArray[np.bool_]:  # (n,)
        """Say which rows can be scored: those of finite numbers alone or, by other models, those not all empty."""
        table = table.select(self.columns)
        if self.of_numbers:
            return np.asarray(np.isfinite(tables.numbers(table, ADVICE)).all(1))
        has_value = [column.is_valid().to_numpy() for column in table.itercolumns()]
        return np.asarray(np.logical_or.reduce(has_value, axis=0), dtype=bool)

    def first_fault(self, table: pa.Table) -> int:
        """Return the number of the first row that cannot be scored, where a job must stop; 0 if there is none."""
        return int(np.argmin(self.can_be_scored(table))) if self.of_numbers else 0

    def require_readable(self, *, after: int = 0) -> None:
        """Raise if a column could not be read in too many of the rows so far, once there are `after` rows."""
        if self.unreadable.rows >= after:
            self.unreadable.require_few(self._most_unreadable)

    def report(self) -> CellIssues:
        """Raise if a column has too many unreadable cells; else warn of those there are."""
        self.require_readable()
        self.unreadable.warn()
        return self.unreadable

    def units(self, vectors: CheckedRows, rows: int) -> Matrix:  # (rows, 2)
        """Return the units of the table's rows, from which all scores follow; `vectors` are the rows' vectors."""
        return self.reader.windows_to_time(map_valid_rows(vectors, self.fitted.units), rows)

    def reasons(
        self, table: pa.Table, vectors: CheckedRows, units: Matrix, ts: Sequence[float], *, top: int = 3
    ) -> list[Reasons]:
        """Return what lowers each row's centrality, at each t."""
        values = self.reader.values(table.select(self.columns), vectors)
        names = self.columns if self.of_numbers else None
        owner = self.reader.owner()
        mixing = self.fitted.mixing
        parts = map_valid_rows(vectors, lambda rows: self.fitted.contributions(rows, owner=owner))
        units_of_vectors = map_valid_rows(vectors, self.fitted.units)
        origins = map_valid_rows(vectors, self.fitted.origins)
        reasons_by_t = []
        for t in ts:
            contributions = mixing.contributions(parts, units_of_vectors, origins, t)
            scores = mixing.centrality(units, t)
            reasons_by_t.append(self.reader.reasons(t, scores, contributions, values, vectors, top=top, names=names))
        return reasons_by_t


def read_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """Yield the same items; a thread fetches the next ones while the last one is used."""
    iterator = iter(items)
    end = object()
    with ThreadPoolExecutor(1) as pool:
        waiting = deque(pool.submit(next, iterator, end) for _ in range(ITEMS_AHEAD))
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, iterator, end))
            yield item  # type: ignore[misc]
