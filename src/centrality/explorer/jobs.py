"""Do a reader's tasks on many rows: order the rows to review by the marks, find copies of a row, pick rows."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError, generator, whole_number
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
    """Hold the model and the rows of a view; questions and answers name rows by their position in it."""

    model: CentralityModel
    vectors: CheckedRows  # (n, p)
    compared: Callable[[], ModelRows]  # gives the n rows, as `copies` compares them
    by_cells: bool  # they are compared by columns, which mean something to the reader
    groups: dict[str, Values]  # (n,) codes of the columns that picked rows can be shared by
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def review(self, given: object) -> Learned:
        """Return the rows to look at next, learned from the marks {"outlier": [rows], "fine": [rows], "t": ...}."""
        wanted = named(given)
        marks: list[str | None] = [None] * self.vectors.shape[0]
        for mark in MARKS:
            for row in rows_named(wanted, mark, len(marks)).tolist():
                marks[row] = mark
        found = review(self.model.fitted_, self.vectors, marks, one_t(wanted.get("t")))
        return {"order": found.order[:MOST_TO_REVIEW].tolist(), "said": str(found)}

    def pick(self, given: object) -> list[int]:
        """Return the rows picked by {"rows": [...], "k": ..., "what": ..., "by": a column or "", "t": ...}."""
        wanted = named(given)
        rows, t, by = rows_named(wanted, "rows", self.vectors.shape[0]), one_t(wanted.get("t")), wanted.get("by")
        if by and str(by) not in self.groups:
            raise InputError(f"by must be a column of few values that the page shows, got {str(by)[:50]!r}.")
        groups = np.unique(self.groups[str(by)][rows], return_inverse=True)[1] if by else np.zeros(len(rows), np.intp)
        picker = Picker(self.model.fitted_, self.vectors, t, str(wanted.get("what")), generator(0))
        found: list[int] = picker.pick_by(groups, rows, whole_number("k", wanted.get("k"))).tolist()
        return found

    def copies_of(self, row: int) -> list[CopiesOfRow]:
        """Return the groups of copies that a row is in; the first call takes longer, as it compares all rows."""
        with self._lock:
            found = self._copies
        return [
            {
                "kind": WORDS[group.kind],
                "rows": list(group.rows),
                "differs": group.differences() if self.by_cells else "",
            }
            for group in found
            if row in group.rows
        ]

    @cached_property
    def _copies(self) -> Copies:
        return copies(self.compared())


def named(given: object) -> dict[str, object]:
    """Return the values that a page sent by their names: none, if it sent no object."""
    return given if isinstance(given, dict) else {}


def rows_named(wanted: dict[str, object], name: str, n: int) -> NDArray[np.intp]:
    """Return the rows that a page sent under this name; raise if they are not numbers of n rows."""
    rows = wanted.get(name)
    if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < n for row in rows):
        raise InputError(f"Numbers of rows were wanted as {name!r}, got {str(rows)[:50]!r}.")
    return np.array(rows, dtype=np.intp)
