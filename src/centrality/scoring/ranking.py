"""Find the most central and the most peripheral rows of a file in one pass, and show them in a terminal."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NotRequired, TypedDict

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm import tqdm

from centrality import tables
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.scores.mixing import Mixing, checked_t
from centrality.scores.number_format import number
from centrality.scores.reasons import Reason, Reasons
from centrality.scoring.adapter import Adapter
from centrality.scoring.stream import read_ahead
from centrality.tables.unreadable import ENOUGH_ROWS, Unreadable

BARS = "▁▂▃▄▅▆▇█"
PROFILE = (0.0, 0.25, 0.5, 0.75, 1.0)  # the t of a sparkline's bars
WIDTH = 60  # characters of a row that are shown
LINE = 100  # characters of a line of reasons
SHOWN_COLUMNS = 4
MOST_GROUPS = 200


# As plain values: the row's number, its scores, its values, and what lowers its centrality.
RankedRow = TypedDict(
    "RankedRow",
    {
        "row": int,
        "centrality": float,
        "global": float,
        "local": float,
        "profile": list[float],  # its centrality along the dial, at PROFILE
        "holds": dict[str, object],
        "reasons": NotRequired[list[dict[str, Any]]],
    },
)


@dataclass(frozen=True)
class Ranked:
    """Hold some rows in order of their scores, with their numbers in the file."""

    table: pa.Table  # with columns _row, _score, _global, _local at its end: scores and heads in units
    reasons: Reasons | None  # None: what the model reads has no features with names
    mixing: Mixing

    def rows(self) -> list[RankedRow]:
        """Return the rows as plain values."""
        contents = self.table.drop_columns(["_row", "_score", "_global", "_local"]).to_pylist()
        numbers = self.table.select(["_row", "_score", "_global", "_local"]).to_pylist()
        pairs = np.array([[n["_global"], n["_local"]] for n in numbers]).reshape(-1, 2)
        shown = zip(
            numbers,
            self.mixing.squeeze(np.array([n["_score"] for n in numbers])).tolist(),
            self.mixing.squeeze(pairs).tolist(),
            self.mixing.centrality(pairs, PROFILE).tolist(),
            contents,
            strict=True,
        )
        rows: list[RankedRow] = [
            {
                "row": n["_row"],
                "centrality": score,
                "global": heads[0],
                "local": heads[1],
                "profile": profile,
                "holds": holds,
            }
            for n, score, heads, profile, holds in shown
        ]
        if self.reasons is not None:
            for row, reasons in zip(rows, self.reasons.as_plain(), strict=True):
                row["reasons"] = reasons
        return rows


@dataclass(frozen=True)
class Ranking:
    """Hold the most central and most peripheral rows, of all and of each group, and which cells could not be read."""

    rows: int
    best: Ranked
    worst: Ranked
    unreadable: Unreadable
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

    def ranking(self, adapter: Adapter, t: float, unreadable: Unreadable, groups: dict[str, Ranking]) -> Ranking:
        best, worst = (_explained(end[0], adapter, t) for end in (self.best, self.worst))
        return Ranking(self.rows, best, worst, unreadable, groups)


def rank(
    model: CentralityModel, data: str, t: float, top: int, *, by: str | None = None, progress: bool = False
) -> Ranking:
    """Return the `top` most central rows and the `top` most peripheral ones: of all, and of each group by a column."""
    checked_t(t)
    with tables.open_rows(data) as source:
        return _rank_source(model, source, t, top, by, progress=progress)


def _rank_source(
    model: CentralityModel, source: tables.Source, t: float, top: int, by: str | None, *, progress: bool
) -> Ranking:
    """Rank the rows of an open source; memory holds only `top` rows of each end and group, and a few batches."""
    adapter = Adapter(model, source.schema.names)
    if by is not None:
        tables.require(source.schema.names, [by])
    batches: Iterable[pa.Table] = (pa.Table.from_batches([batch]) for batch in source.batches(types=adapter.types))
    if adapter.one_series:
        batches = [pa.concat_tables(batches)]
    everything: _Ends | None = None
    groups: dict[str, _Ends] = {}
    bar = tqdm(total=source.rows, unit=" rows", unit_scale=True, disable=not progress, desc="Scoring")
    for table in read_ahead(batches):
        if everything is None:
            everything = _Ends(top, event_length(model, table.num_rows) if adapter.one_series else 1)
        pairs = adapter.units(adapter.vectors(table), table.num_rows)
        adapter.require_readable(after=ENOUGH_ROWS)
        scored = _with_scores(table, pairs, model.fitted_.mixing.mixed(pairs, t), everything.rows)
        everything.add(scored)
        for name, members in _by_group(scored, by):
            groups.setdefault(name, _Ends(top)).add(members)
        _require_groups(groups, by)
        bar.update(table.num_rows)
    bar.close()
    if everything is None:
        raise tables.TableError(f"{source.name} is empty: it has 0 rows and {len(source.schema)} columns.")
    unreadable = adapter.report()  # before rows are read again, for their reasons
    by_group = {name: groups[name].ranking(adapter, t, unreadable, {}) for name in sorted(groups)}
    return everything.ranking(adapter, t, unreadable, by_group)


def _with_scores(table: pa.Table, pairs: NDArray[np.float64], scores: NDArray[np.float64], before: int) -> pa.Table:
    """Return the rows with new columns at the end: their numbers in the file, counted from `before`, and scores."""
    order = np.arange(before, before + table.num_rows)
    columns = {"_row": order, "_score": scores, "_global": pairs[:, 0], "_local": pairs[:, 1]}
    for name, values in columns.items():
        table = table.append_column(name, pa.array(values))
    return table


def _by_group(table: pa.Table, by: str | None) -> Iterator[tuple[str, pa.Table]]:
    """Yield the name and the rows of each group, one for each value of a column; nothing without a column."""
    if by is None:
        return
    keys = table[by].combine_chunks().dictionary_encode("encode")
    codes = np.asarray(keys.indices)
    for code, value in enumerate(keys.dictionary.to_pylist()):
        yield _plain(value), table.take(np.flatnonzero(codes == code))


def _require_groups(groups: Collection[str], by: str | None) -> None:
    if len(groups) > MOST_GROUPS:
        raise tables.TableError(
            f"--by wants a column of at most {MOST_GROUPS} different values, which are groups: {by!r} has more."
        )


def _explained(table: pa.Table, adapter: Adapter, t: float) -> Ranked:
    """Add to ranked rows the reasons that lower their centrality, if the model's features have names."""
    if not adapter.explains or table.num_rows == 0:
        return Ranked(table, None, adapter.fitted.mixing)
    pairs = np.column_stack([table[name].to_numpy() for name in ("_global", "_local")])
    return Ranked(table, adapter.reasons(table, adapter.vectors(table), pairs, [t])[0], adapter.fitted.mixing)


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


def line_of(row: RankedRow, only: list[str] | None, *, why: bool = False) -> str:
    """Show a row on one line: its number, score, a sparkline from global to local, what it holds; below it, why."""
    scores = f"{row['row']:>9,}  {row['centrality']:.4f}  {sparkline(row['profile'])}"
    holds = excerpt(_telling(row) if why else row["holds"], only)
    line = f"{scores}  {holds}".rstrip()
    reasons = "; ".join(str(Reason(**reason)) for reason in row.get("reasons", []))
    if not (why and reasons):
        return line
    return "\n".join([line, *wrap(reasons, LINE, initial_indent=f"{'':26}↳ ", subsequent_indent=f"{'':28}")])


def _telling(row: RankedRow) -> dict[str, object]:
    """Return the row's values, those of columns that lower its centrality first."""
    named = [reason["feature"] for reason in row.get("reasons", [])]
    first = {name: row["holds"][name] for name in named if name in row["holds"]}
    return first | {name: value for name, value in row["holds"].items() if name not in first}


def sparkline(values: Iterable[float]) -> str:
    """Draw numbers in [0, 1] as bars."""
    return "".join(BARS[int(np.clip(value, 0, 1) * (len(BARS) - 1) + 0.5)] for value in values)


def excerpt(values: dict[str, object], only: list[str] | None) -> str:
    """Write a short excerpt of a row: the first words of a text, the path of an image, or the first few columns."""
    if only is not None and len(only) == 1:
        return _short(str(values[only[0]]), WIDTH, keep_end="/" in str(values[only[0]]))
    parts = [f"{name}={_short(_plain(value), 20)}" for name, value in list(values.items())[:SHOWN_COLUMNS]]
    return _short(" ".join(parts) + (" ..." if len(values) > SHOWN_COLUMNS else ""), 2 * WIDTH)


def _plain(value: object) -> str:
    """Write one cell: a whole number in full, since it may be an id; any other number by its first digits."""
    return number(value).replace(",", "") if isinstance(value, int | float) else number(value)


def _short(text: str, width: int, *, keep_end: bool = False) -> str:
    """Shorten a text to one line, cut after a word; with `keep_end` cut its beginning, as for paths."""
    text = " ".join(text.split())
    if len(text) <= width:
        return text
    if keep_end and " " not in text:
        return "…" + text[-(width - 1) :]
    cut = text[: width - 1]
    inside_a_word = text[width - 1] != " " and " " in cut
    return (cut.rsplit(" ", 1)[0] if inside_a_word else cut) + "…"
