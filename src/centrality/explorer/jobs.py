"""Do a reader's tasks on many rows: order the rows to review by the marks, find copies of a row, pick rows."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError, generator
from centrality._estimator import CheckedRows, ModelRows
from centrality.explorer.columns import Values
from centrality.explorer.header import CopiesOfRow, Learned
from centrality.model.interface import CentralityModel
from centrality.model.teaching import MARKS, review
from centrality.scores.mixing import one_t
from centrality.selecting.copies import WORDS, Copies, copies
from centrality.selecting.pick import Picker

MOST_TO_REVIEW = 20_000  # rows of a queue


@dataclass(frozen=True)
class Jobs:
    """Hold the model and all rows of the data; questions and answers name rows by their position in the view."""

    model: CentralityModel
    vectors: CheckedRows  # (m, p) of all rows
    known: NDArray[np.intp]  # (n,) where each row of the view stands among them
    compared: Callable[[], ModelRows]  # gives the m rows, as `copies` compares them
    by_cells: bool  # they are compared by columns, which mean something to the reader
    groups: dict[str, Values]  # (n,) codes of the columns that picked rows can be shared by
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def review(self, wanted: Any) -> Learned:
        """Return the rows to look at next, learned from the marks {"outlier": [rows], "fine": [rows], "t": ...}."""
        marks: list[str | None] = [None] * self.vectors.shape[0]
        for mark in MARKS:
            for row in self.known[self._rows(wanted, mark)]:
                marks[row] = mark
        found = review(self.model.fitted_, self.vectors, marks, one_t(wanted.get("t")))
        place = np.full(len(marks), -1)
        place[self.known] = np.arange(len(self.known))
        order = place[found.order]
        return {"order": order[order >= 0][:MOST_TO_REVIEW].tolist(), "said": str(found)}

    def pick(self, wanted: Any) -> list[int]:
        """Return the rows picked by {"rows": [...], "k": ..., "what": ..., "by": a column or "", "t": ...}."""
        rows, t = self._rows(wanted, "rows"), one_t(wanted.get("t"))
        name = wanted.get("by")
        if name and name not in self.groups:
            raise InputError(f"by must be a column of few values that the page shows, got {str(name)[:50]!r}.")
        groups = np.unique(self.groups[name][rows], return_inverse=True)[1] if name else np.zeros(len(rows), np.intp)
        place = dict(zip(self.known[rows].tolist(), rows.tolist(), strict=True))
        picker = Picker(self.model.fitted_, self.vectors, t, str(wanted.get("what")), generator(0))
        k = wanted.get("k")
        return [place[row] for row in picker.pick_by(groups, self.known[rows], k).tolist()]

    def copies_of(self, row: int) -> list[CopiesOfRow]:
        """Return the groups of copies that a row is in; the first call takes longer, as it compares all rows."""
        with self._lock:
            found = self._copies
        place = {there: here for here, there in enumerate(self.known.tolist())}
        return [
            {
                "kind": WORDS[group.kind],
                "rows": [place[other] for other in group.rows if other in place],
                "differs": group.differences() if self.by_cells else "",
            }
            for group in found
            if int(self.known[row]) in group.rows
        ]

    @cached_property
    def _copies(self) -> Copies:
        return copies(self.compared())

    def _rows(self, wanted: Any, name: str) -> NDArray[np.intp]:
        """Return the rows that a page sent under this name; raise if they are not row numbers."""
        rows = wanted.get(name) if isinstance(wanted, dict) else None
        if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < len(self.known) for row in rows):
            raise InputError(f"Numbers of rows were wanted as {name!r}, got {str(rows)[:50]!r}.")
        return np.array(rows, dtype=np.intp)
