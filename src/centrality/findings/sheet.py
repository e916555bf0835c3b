"""Lay rows out as every kind of finding looks at them: their columns, a model and its scores, doubtful cells."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from centrality.analysis.drift import Change
from centrality.analysis.severity import CAP
from centrality.findings.cells import Tie, by_rest, cell_doubts, ties_between
from centrality.findings.columns import Codes, Column, Floats, GapWords
from centrality.findings.finding import EXAMPLES, Finding
from centrality.findings.numbers import Prediction, far_out, predictions
from centrality.model.interface import CentralityModel
from centrality.model.reader import RowReader, reader_of
from centrality.representations.base import Representation
from centrality.selection.copies import Copies, copies

ODDEST = 0.02  # the share of the rows whose reasons are looked at
FEWEST_ODD = 20
GAP_OF_SCORES = 0.001  # scores fall off faster beyond the training rows, so that gaps are more common
NO_ROWS = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, eq=False)
class Sheet:
    """The rows to be checked, and what the kinds of findings ask of them, computed once and when asked for."""

    data: pa.Table
    items: Any  # the rows as they came: a frame, texts, images
    model: CentralityModel
    label: str | None
    random_state: int | None
    is_table: bool = True  # whether its columns mean something by themselves, as those of a vector do not
    fitted_here: bool = True  # whether the model was fitted on these rows
    against: pa.Table | None = None  # earlier rows
    changes: Sequence[Change] = ()  # what their drift says
    time: str | None = None  # the column by which rows are moments of series; None: they are not
    by: str | None = None  # the column that tells series apart
    gap_words: Mapping[str, GapWords] = field(default_factory=dict)  # by column, where the data holds gaps for them

    @cached_property
    def columns(self) -> list[Column]:
        """Return the columns that are scalar: no vectors, no structures; none of rows that are vectors."""
        if not self.is_table:
            return []
        kinds = (pa.types.is_list, pa.types.is_struct, pa.types.is_map, pa.types.is_binary, pa.types.is_fixed_size_list)
        return [
            Column.of(name, self.data[name])
            for name in self.data.column_names
            if not any(is_kind(self.data[name].type) for is_kind in kinds)
        ]

    @property
    def parts(self) -> Representation | None:
        """Return what tells the parts of a row: the model's representation, if it has one."""
        return getattr(self.model, "representation_", None)

    @cached_property
    def scores(self) -> Floats:
        """Return the centrality of each row, on a scale without ends."""
        return np.asarray(self.model.score_samples(self.items), dtype=np.float64)

    @cached_property
    def severity(self) -> Floats:
        """Return one in how many ordinary rows is as odd as each row.

        A model that was fitted elsewhere has seen ordinary rows. Of rows among which there may be odd ones, the tail of
        the scores is taken without the last fortieth of them.
        """
        if self.fitted_here:
            return far_out(np.nanmax(self.scores) - self.scores, GAP_OF_SCORES)
        return np.nan_to_num(np.asarray(self.model.severity(self.items), dtype=np.float64), nan=1.0)

    @cached_property
    def cap(self) -> float:
        """Return the largest severity that is stated: farther out, tails that fit equally well disagree."""
        return float(CAP * self.data.num_rows)

    @cached_property
    def typical(self) -> int:
        """Return the most typical row."""
        return int(np.nanargmax(self.scores))

    @cached_property
    def odd_rows(self) -> Codes:
        """Return the oddest rows, the oddest first: those whose causes are looked at."""
        count = min(len(self.scores), max(FEWEST_ODD, int(np.ceil(ODDEST * len(self.scores)))))
        return np.argsort(self.scores, kind="stable")[:count]

    @cached_property
    def ties(self) -> dict[tuple[int, int], Tie]:
        """Return how columns determine each other, by their places."""
        return ties_between(self.columns, self.random_state)

    @cached_property
    def predictions(self) -> list[Prediction]:
        """Return what the other columns say of each column of numbers."""
        return predictions(self.columns)

    @cached_property
    def by_rest(self) -> tuple[Floats, Floats]:
        """Return what the rest of the row says of each cell, as log severity, and how much it can say."""
        return by_rest(self.columns, self.ties)

    @cached_property
    def copies(self) -> Copies:
        """Return the groups of copies among the rows."""
        return copies(self.items, corrupt="skip", random_state=self.random_state)

    @cached_property
    def doubts(self) -> Floats:  # (n, columns)
        """Return how doubtful each cell is, at least 1."""
        if not self.columns:
            return np.ones((self.data.num_rows, 0))
        return cell_doubts(self.columns, self.by_rest, self.predictions)

    @cached_property
    def causes(self) -> tuple[Finding, ...]:
        """Return the oddest rows, grouped by cause."""
        from centrality.findings.kinds.rows import causes_of  # it looks at the sheet

        return tuple(causes_of(self))

    def finding(
        self,
        kind: str,
        sentence: str,
        reason: str,
        *,
        columns: Sequence[str] = (),
        rows: Codes = NO_ROWS,
        severity: float | None = None,
        advice: str = "",
    ) -> Finding:
        """Return a finding with at most five examples, spread over its rows, beside a typical row.

        Without a severity, it is how rare such rows are in this sheet.
        """
        if severity is None:
            severity = self.one_in(rows) if len(rows) else 1.0
        places = np.unique(np.linspace(0, len(rows) - 1, min(EXAMPLES, len(rows))).astype(np.intp))
        return Finding(
            kind,
            sentence,
            reason,
            tuple(columns),
            np.asarray(rows, dtype=np.intp),
            float(np.clip(severity, 1.0, self.cap)),
            tuple(int(row) for row in rows[places]),
            self.typical if len(rows) else None,
            advice,
        )

    def one_in(self, rows: Codes) -> float:
        """Return one in how many rows of the sheet these are."""
        return float(self.data.num_rows / max(len(rows), 1))

    @cached_property
    def reader(self) -> RowReader:
        """Return the reader of the model."""
        return reader_of(self.model)
