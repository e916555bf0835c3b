"""What a page can ask a model to do: live rows, jobs, explanations."""

import logging
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.checks import InputError, generator, whole_number
from centrality._internal.input import CheckedRows, ModelRows
from centrality.analysis.reasons import plain
from centrality.apps.explorer.content import Column, Values
from centrality.apps.explorer.header import CopiesOfRow, Findings, Learned, Word, Words
from centrality.bulk.adapter import Adapter
from centrality.model.fitted import map_valid_rows
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.model.refine import MARKS, review
from centrality.network.calibration import Mixing, one_t
from centrality.network.scaling import dense
from centrality.representations.base import as_arrow
from centrality.selection.copies import WORDS, Copies
from centrality.selection.pick import Picker

FILE = "file"  # the column that says which of two files a row is of
LOG = logging.getLogger(__name__)
MOST_TO_REVIEW = 20_000  # rows of a queue


@dataclass(frozen=True)
class Checks:
    """Says what is wrong with the rows of a view, by `centrality.check` with these options."""

    rows: ModelRows  # as they came, also those without a score
    options: dict[str, Any]
    _lock: threading.Lock = field(default_factory=threading.Lock, kw_only=True)

    def findings(self) -> Findings:
        """Return the findings, the worst first; the first call takes as long as `centrality check`."""
        with self._lock:
            return self._findings

    @cached_property
    def _findings(self) -> Findings:
        from centrality.findings import check  # not needed for the first picture

        try:
            return cast("Findings", check(self.rows, **self.options).as_dict())
        except InputError as error:
            return {"verdict": f"These rows could not be checked: {error}", "rows": 0, "findings": []}
        except Exception:  # a bug of ours, or of the user's own representation, must not cost the reader the page
            LOG.exception("The rows were not checked")
            return {"verdict": "These rows were not checked: an error, see the terminal.", "rows": 0, "findings": []}


@dataclass(frozen=True)
class Jobs(Checks):
    """The model and the rows of a view; questions and answers name rows by their position in it."""

    model: CentralityModel
    vectors: CheckedRows  # (n, p)
    copies: Callable[[], Copies]  # finds those among the rows, once
    by_cells: bool  # they are found by columns, which mean something to the reader
    groups: dict[str, Values]  # (n,) codes of the columns that picked rows can be shared by

    def review(self, request: object) -> Learned:
        """Return the rows to look at next, learned from the marks {"outlier": [rows], "fine": [rows], "t": ...}."""
        fields = fields_of(request)
        marks: list[str | None] = [None] * self.vectors.shape[0]
        for mark in MARKS:
            for row in row_numbers(fields, mark, len(marks)).tolist():
                marks[row] = mark
        queue = review(self.model.fitted_, self.vectors, marks, one_t(fields.get("t")))
        return {"order": queue.order[:MOST_TO_REVIEW].tolist(), "said": str(queue)}

    def pick(self, request: object) -> list[int]:
        """Return the rows picked by {"rows": [...], "k": ..., "what": ..., "by": a column or "", "t": ...}."""
        fields = fields_of(request)
        rows = row_numbers(fields, "rows", self.vectors.shape[0])
        t = one_t(fields.get("t"))
        by = fields.get("by")
        if by and str(by) not in self.groups:
            raise InputError(f"by must be a column of few values that the page shows, got {str(by)[:50]!r}.")
        groups = np.unique(self.groups[str(by)][rows], return_inverse=True)[1] if by else np.zeros(len(rows), np.intp)
        picker = Picker(self.model.fitted_, self.vectors, t, str(fields.get("what")), generator(0))
        picks: list[int] = picker.pick_by(groups, rows, whole_number("k", fields.get("k"))).tolist()
        return picks

    def copies_of(self, row: int) -> list[CopiesOfRow]:
        """Return the groups of copies that a row is in; the first call takes longer, as it compares all rows."""
        with self._lock:
            groups = self.copies()
        return [
            {
                "kind": WORDS[group.kind],
                "rows": list(group.rows),
                "differs": group.differences() if self.by_cells else "",
            }
            for group in groups
            if row in group.rows
        ]


def fields_of(request: object) -> dict[str, object]:
    """Return the values that a page sent by their names: none, if it sent no object."""
    return request if isinstance(request, dict) else {}


def row_numbers(fields: dict[str, object], name: str, n: int) -> NDArray[np.intp]:
    """Return the rows that a page sent under this name; raise if they are not numbers of n rows."""
    rows = fields.get(name)
    if not isinstance(rows, list) or not all(type(row) is int and 0 <= row < n for row in rows):
        raise InputError(f"Numbers of rows were wanted as {name!r}, got {str(rows)[:50]!r}.")
    return np.array(rows, dtype=np.intp)


RANKED_AT = (0.0, 0.25, 0.5, 0.75, 1.0)  # where along t strong features and the first and last rows are looked for
MOST_REASONS = 6  # features of a row that the page names at one t


@dataclass(frozen=True)
class Explained:
    """What each feature contributes to the global and the local units of k rows."""

    parts: NDArray[np.float64]  # (k, 2, features)
    units: NDArray[np.float64]  # (k, 2) of the rows
    typical: NDArray[np.float64]  # (k, 2) of the typical point next to each row
    usual: list[list[str]] | None = None  # (k, features) what is usual in the kind of each row, if rows have kinds

    def at(self, mixing: Mixing, t: float) -> NDArray[np.float64]:  # (k, features)
        """Return what each feature contributes to the centrality at t."""
        return mixing.contributions(self.parts, self.units, self.typical, t)

    def strongest(self, mixing: Mixing) -> NDArray[np.intp]:  # (k, top)
        """Return the features of each row, ordered by their best rank over all t.

        They are enough to include, for every row, the first MOST_REASONS at each t.
        """
        orders = [np.argsort(-np.abs(self.at(mixing, t)), axis=1, kind="stable") for t in RANKED_AT]
        ranks = [np.argsort(order, axis=1, kind="stable") for order in orders]  # 0 for the strongest feature of a row
        best = np.min(ranks, axis=0)  # (k, features)
        top = int((best < MOST_REASONS).sum(1).max(initial=0))
        return np.argsort(best, axis=1, kind="stable")[:, :top]


def explain_rows(model: CentralityModel, vectors: CheckedRows) -> Explained:
    """Return the contributions of these vectors, by feature."""
    fitted = model.fitted_
    reader = reader_of(model)
    parts = map_valid_rows(vectors, lambda rows: fitted.contributions(rows, owner=reader.owner()))  # (k, 2, p)
    by_feature = np.stack([reader.by_feature(parts[:, head]) for head in (0, 1)], axis=1)
    units = map_valid_rows(vectors, fitted.units)
    usual_in_kind = None
    if fitted.context is not None:
        usual_in_kind = [list(map(plain, kind)) for kind in reader.typical_in_context(vectors)]
    return Explained(by_feature, units, map_valid_rows(vectors, fitted.origins), usual_in_kind)


MOST_EDITABLE = 1000  # numbers of a row without a table that other values are tried for
MOST_PIECES = 60  # of a text, each of which is left out once
WORD = re.compile(r"\S+\s*")


@dataclass(frozen=True)
class EditableRows:
    """The rows of a view as the model reads them, and how such rows, changed or not, become vectors."""

    take: Callable[[int], pa.Table]  # a row of the view
    vectors: Callable[[pa.Table], CheckedRows]
    columns: tuple[str, ...]  # that the model reads

    def of(self, rows: NDArray[np.intp]) -> "EditableRows":
        """Return these rows only."""
        return EditableRows(lambda row: self.take(int(rows[row])), self.vectors, self.columns)


def editable_frame(model: CentralityModel, table: pa.Table) -> EditableRows:
    """Return rows that came as a table."""
    names = tuple(table.column_names)
    return EditableRows(lambda row: table.slice(row, 1), lambda one: Adapter(model, names).vectors(one), names)


def editable_items(model: CentralityModel, X: ModelRows, vectors: CheckedRows) -> EditableRows | None:
    """Return rows that came without a table; None if their values cannot be typed by a reader."""
    reader = reader_of(model)
    kind = reader.input_spec().kind
    if kind == "table":
        return editable_frame(model, as_arrow(X))
    if kind == "text":
        name = (reader.input_spec().columns or ["item"])[0]
        texts = cast("Sequence[str]", X)
        return EditableRows(
            lambda row: pa.table({name: [texts[row]]}), lambda one: reader.vectors(one[name].to_pylist()), (name,)
        )
    if kind != "numbers" or vectors.shape[1] > MOST_EDITABLE:
        return None
    features = tuple(model.fitted_.features)

    def take(row: int) -> pa.Table:
        return as_arrow(model.fitted_.absolute(dense(vectors[row : row + 1]))).rename_columns(features)

    return EditableRows(take, lambda one: reader.vectors(tables.numbers(one)), features)


class Live:
    """Scores rows of a view with some cells changed; `columns` are those that are shown and that the model reads."""

    def __init__(self, model: CentralityModel, rows: EditableRows, page_columns: tuple[Column, ...]) -> None:
        self._model = model
        self._rows = rows
        columns = [column for column in page_columns if column.name in rows.columns]
        self.columns = tuple(column.name for column in columns)
        self.texts = tuple(column.name for column in columns if column.kind == "text")

    def borrowed(self, row: int, typical: int, columns: Sequence[str]) -> NDArray[np.float64]:  # (len(columns), 2)
        """Return the units of the row with its first, its first two, ... of these cells as the typical row has them."""
        changed = self._rows.take(row)
        other = self._rows.take(typical)
        variants = []
        for name in columns:
            changed = changed.set_column(changed.column_names.index(name), name, other[name])
            variants.append(changed)
        return map_valid_rows(self._rows.vectors(pa.concat_tables(variants)), self._model.fitted_.units)

    def words(self, row: int, column: str) -> Words:
        """Return a text in pieces, with what each adds to both units: their fall when the piece is left out."""
        one = self._rows.take(row)
        whole = str(one[column][0].as_py() or "")
        # A piece is a word with the space after it; in a long text, several of them.
        all_words = WORD.findall(whole.lstrip())
        per_piece = max(1, -(-len(all_words) // MOST_PIECES))
        pieces = ["".join(all_words[k : k + per_piece]) for k in range(0, len(all_words), per_piece)]
        if len(pieces) < 2:
            return {"words": [], "typical": (0.0, 0.0)}
        texts = [whole, *("".join(pieces[:k] + pieces[k + 1 :]) for k in range(len(pieces)))]
        fitted = self._model.fitted_
        variants = pa.concat_tables([one] * len(texts))
        place = variants.column_names.index(column)
        vectors = self._rows.vectors(variants.set_column(place, column, pa.array(texts, pa.string())))
        units = map_valid_rows(vectors, fitted.units)  # (1 + pieces, 2)
        words: list[Word] = [
            {"text": piece, "global": of_global, "local": of_local}
            for piece, (of_global, of_local) in zip(pieces, (units[0] - units[1:]).tolist(), strict=True)
        ]
        of_global, of_local = fitted.origins(vectors[:1])[0].tolist()
        return {"words": words, "typical": (of_global, of_local)}
