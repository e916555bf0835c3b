"""Find the most central and the most peripheral rows of a file in one pass."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.text import number
from centrality.bulk.adapter import Adapter
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.calibration import checked_t
from centrality.tables.columns import CellIssues

PROFILE = (0.0, 0.25, 0.5, 0.75, 1.0)  # the t of a row's profile
MOST_GROUPS = 200
ADDED = ("_row", "_score", "_global", "_local")  # columns of rows while they are ranked: scores and heads in units

# As plain values: the row's number, its scores, its profile, what it holds, and what lowers its centrality.
RankedRow: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Ranking:
    """Hold the most central and most peripheral rows, of all and of each group, and which cells could not be read."""

    rows: int
    best: list[RankedRow]
    worst: list[RankedRow]
    unreadable: CellIssues
    groups: "dict[str, Ranking]"  # by the group's name; empty where no groups were asked for


class _Ends:
    """Collects the `top` rows of each end from the tables given to it."""

    def __init__(self, top: int, apart: int = 1) -> None:
        self.rows, self._top, self._apart = 0, top, apart
        self.best: list[pa.Table] = []
        self.worst: list[pa.Table] = []

    def add(self, table: pa.Table) -> None:
        self.rows += table.num_rows
        self.best = [_first([*self.best, table], self._top, descending=True, apart=self._apart)]
        self.worst = [_first([*self.worst, table], self._top, descending=False, apart=self._apart)]

    def ranking(self, adapter: Adapter, t: float, unreadable: CellIssues, groups: dict[str, Ranking]) -> Ranking:
        best, worst = (_as_plain(end[0], adapter, t) for end in (self.best, self.worst))
        return Ranking(self.rows, best, worst, unreadable, groups)


def rank(
    model: CentralityModel, data: str, t: float, top: int, *, by: str | None = None, progress: bool = False
) -> Ranking:
    """Return the `top` most central rows and the `top` most peripheral ones: of all, and of each group by a column.

    Memory holds only these, and a few batches.
    """
    checked_t(t)
    everything: _Ends | None = None
    groups: dict[str, _Ends] = {}
    with tables.open_rows(data) as source:
        adapter = Adapter(model, source.schema.names)
        if by is not None:
            tables.require(source.schema.names, [by])
        for table in adapter.read(source, progress=progress, title="Scoring"):
            if everything is None:
                everything = _Ends(top, event_length(model, table.num_rows) if adapter.one_series else 1)
            scored = _with_scores(table, adapter, t, everything.rows)
            everything.add(scored)
            for name, members in _by_group(scored, by):
                groups.setdefault(name, _Ends(top)).add(members)
            _require_groups(groups, by)
    assert everything is not None  # else there were no rows, and the adapter has said so
    unreadable = adapter.report()  # before rows are read again, for their reasons
    by_group = {name: groups[name].ranking(adapter, t, unreadable, {}) for name in sorted(groups)}
    return everything.ranking(adapter, t, unreadable, by_group)


def _with_scores(table: pa.Table, adapter: Adapter, t: float, before: int) -> pa.Table:
    """Return the rows with new columns at the end: their numbers in the file, counted from `before`, and scores."""
    pairs = adapter.units(adapter.vectors(table), table.num_rows)
    numbers = np.arange(before, before + table.num_rows)
    for name, values in zip(ADDED, (numbers, adapter.fitted.mixing.mixed(pairs, t), *pairs.T), strict=True):
        table = table.append_column(name, pa.array(values))
    return table


def _by_group(table: pa.Table, by: str | None) -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and the rows of each group, one for each value of a column; nothing without a column."""
    if by is None:
        return
    keys = table[by].combine_chunks().dictionary_encode("encode")
    codes = np.asarray(keys.indices)
    for code, value in enumerate(keys.dictionary.to_pylist()):
        yield cell_text(value), table.take(np.flatnonzero(codes == code))


def _require_groups(groups: Collection[str], by: str | None) -> None:
    if len(groups) > MOST_GROUPS:
        raise tables.TableError(
            f"--by wants a column of at most {MOST_GROUPS} different values, which are groups: {by!r} has more."
        )


def _as_plain(table: pa.Table, adapter: Adapter, t: float) -> list[RankedRow]:
    """Return ranked rows as plain values, with the reasons that lower their centrality if features have names."""
    mixing = adapter.fitted.mixing
    pairs = np.column_stack([table[name].to_numpy() for name in ("_global", "_local")])
    rows: list[RankedRow] = [
        {"row": row, "centrality": score, "global": heads[0], "local": heads[1], "profile": profile, "holds": holds}
        for row, score, heads, profile, holds in zip(
            table["_row"].to_pylist(),
            mixing.squeeze(table["_score"].to_numpy()).tolist(),
            mixing.squeeze(pairs).tolist(),
            mixing.centrality(pairs, PROFILE).tolist(),
            table.drop_columns(list(ADDED)).to_pylist(),
            strict=True,
        )
    ]
    if adapter.explains and rows:
        reasons = adapter.reasons(table, adapter.vectors(table), pairs, [t])[0]
        for row, why in zip(rows, reasons.as_plain(), strict=True):
            row["reasons"] = why
    return rows


def event_length(model: CentralityModel, moments: int) -> int:
    """Return the number of moments in a window of a series: rows closer together than that are one event."""
    starts = reader_of(model).rows_of(moments)
    return int(moments - starts[-1]) if len(starts) else 1


def _first(parts: list[pa.Table], top: int, *, descending: bool, apart: int = 1) -> pa.Table:
    """Return the first `top` rows by score, `apart` or more from each other; rows without a score are left out."""
    table = pa.concat_tables(parts)
    scores = table["_score"].to_numpy()
    order = np.argsort(-scores if descending else scores, kind="stable")
    order = order[~np.isnan(scores[order])]
    order = _one_for_each_event(order, apart, top) if apart > 1 else order[:top]
    return table.take(pa.array(order))


def _one_for_each_event(order: NDArray[np.intp], apart: int, top: int) -> NDArray[np.intp]:
    """Return the first `top` of these positions that are at least `apart` from every one before them.

    >>> _one_for_each_event(np.array([7, 8, 1, 6, 20]), apart=3, top=2)
    array([7, 1])
    """
    chosen: list[int] = []
    for position in order.tolist():
        if all(abs(position - other) >= apart for other in chosen):
            chosen.append(position)
            if len(chosen) == top:
                break
    return np.array(chosen, dtype=np.intp)


def cell_text(value: object) -> str:
    """Write one cell: a whole number in full, since it may be an id; any other number by its first digits."""
    return number(value).replace(",", "") if isinstance(value, int | float) else number(value)
