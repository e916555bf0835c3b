"""Find the most central and the most peripheral rows of a file in one pass."""

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality import tables
from centrality._internal.text import number
from centrality.analysis.certificate import CONFIDENCE
from centrality.analysis.conformal import p_value_intervals
from centrality.bulk.adapter import Adapter
from centrality.model.fitted import FittedModel
from centrality.model.interface import CentralityModel
from centrality.model.reader import reader_of
from centrality.network.calibration import checked_t
from centrality.tables.columns import FEWEST_NUMBERS, CellIssues

PROFILE = (0.0, 0.25, 0.5, 0.75, 1.0)  # the t of a row's profile
MOST_GROUPS = 200

# As plain values: the row's number, its scores, its profile, what it holds, how rare that is, and what lowers its
# centrality.
RankedRow: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Ranking:
    """The most central and most peripheral rows, of all and of each group, and which cells could not be read."""

    rows: int
    best: list[RankedRow]
    worst: list[RankedRow]
    unreadable: CellIssues
    groups: "dict[str, Ranking]"  # by the group's name; empty where no groups were asked for
    rows_above: int | None = None  # of the file, where people see its rows numbered


@dataclass(frozen=True)
class _ScoredRows:
    """Rows with their numbers in the file, their scores at t and their head scores.

    Numbers and scores are no columns of the table, since a file may have columns of any name.
    """

    table: pa.Table
    numbers: NDArray[np.intp]
    scores: NDArray[np.float64]
    heads: NDArray[np.float64]  # (n, 2)

    def take(self, places: NDArray[np.intp]) -> "_ScoredRows":
        table = self.table.take(pa.array(places))
        return _ScoredRows(table, self.numbers[places], self.scores[places], self.heads[places])

    def followed_by(self, other: "_ScoredRows") -> "_ScoredRows":
        return _ScoredRows(
            pa.concat_tables([self.table, other.table]),
            np.concatenate([self.numbers, other.numbers]),
            np.concatenate([self.scores, other.scores]),
            np.concatenate([self.heads, other.heads]),
        )


class _Ends:
    """Collects the `top` most central and the `top` most peripheral rows of those added to it."""

    def __init__(self, top: int, apart: int = 1) -> None:
        self.rows = 0  # how many were added
        self._top = top
        self._apart = apart
        self.best: _ScoredRows | None = None
        self.worst: _ScoredRows | None = None

    def add(self, rows: _ScoredRows) -> None:
        self.rows += len(rows.scores)
        best = rows if self.best is None else self.best.followed_by(rows)
        worst = rows if self.worst is None else self.worst.followed_by(rows)
        self.best = best.take(_first(-best.scores, self._top, self._apart))
        self.worst = worst.take(_first(worst.scores, self._top, self._apart))

    def ranking(self, adapter: Adapter, t: float, unreadable: CellIssues, groups: dict[str, Ranking]) -> Ranking:
        assert self.best is not None
        assert self.worst is not None
        best = _as_plain(self.best, adapter, t)
        worst = _as_plain(self.worst, adapter, t)
        return Ranking(self.rows, best, worst, unreadable, groups)


def rank(
    model: CentralityModel, data: str, t: float, top: int, *, by: str | None = None, progress: bool = False
) -> Ranking:
    """Return the `top` most central rows and the `top` most peripheral ones: of all, and of each group by a column.

    Only these rows and a few batches are in memory.
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
            heads = adapter.units(adapter.vectors(table), table.num_rows)
            numbers = np.arange(everything.rows, everything.rows + table.num_rows)
            scored = _ScoredRows(table, numbers, adapter.fitted.mixing.mixed(heads, t), heads)
            everything.add(scored)
            if by is not None:
                keys = table[by].combine_chunks().dictionary_encode("encode")
                codes = np.asarray(keys.indices)
                for code, value in enumerate(keys.dictionary.to_pylist()):
                    members = scored.take(np.flatnonzero(codes == code))
                    groups.setdefault(cell_text(value), _Ends(top)).add(members)
            if len(groups) > MOST_GROUPS:
                raise tables.TableError(
                    f"--by wants a column of at most {MOST_GROUPS} different values, which are groups: {by!r} has more."
                )
    assert everything is not None  # else there were no rows, and the adapter has said so
    unreadable = adapter.report()  # now: below, rows are read a second time for their reasons
    by_group = {name: groups[name].ranking(adapter, t, unreadable, {}) for name in sorted(groups)}
    return replace(everything.ranking(adapter, t, unreadable, by_group), rows_above=source.rows_above)


def rarities(fitted: FittedModel, t: float, scores: NDArray[np.float64]) -> list[dict[str, Any]]:
    """Return of each score at t the p-value, its interval and the severity; nothing without calibration rows."""
    if fitted.inliers is None:
        return [{} for _ in scores]
    p_values = fitted.inliers.p_values(fitted.mixing, t, scores)
    intervals = p_value_intervals(p_values, fitted.calibration_count(t), CONFIDENCE).tolist()
    severities = fitted.inliers.severity(fitted.mixing, t, scores).tolist()
    return [
        {"p_value": p, "p_value_interval": interval, "severity": severity}
        for p, interval, severity in zip(p_values.tolist(), intervals, severities, strict=True)
    ]


def _as_plain(ranked: _ScoredRows, adapter: Adapter, t: float) -> list[RankedRow]:
    """Return ranked rows as plain values, with the reasons that lower their centrality if features have names."""
    mixing = adapter.fitted.mixing
    rows: list[RankedRow] = [
        {"row": row, "centrality": score, "global": heads[0], "local": heads[1], "profile": profile, "holds": holds}
        | rarity
        for row, score, heads, profile, holds, rarity in zip(
            ranked.numbers.tolist(),
            mixing.squeeze(ranked.scores).tolist(),
            mixing.squeeze(ranked.heads).tolist(),
            mixing.centrality(ranked.heads, PROFILE).tolist(),
            ranked.table.to_pylist(),
            rarities(adapter.fitted, t, ranked.scores),
            strict=True,
        )
    ]
    if adapter.explains and rows:
        reasons = adapter.reasons(ranked.table, adapter.vectors(ranked.table), ranked.heads, [t])[0]
        for row, why in zip(rows, reasons.as_plain(), strict=True):
            row["reasons"] = why
    return rows


def event_length(model: CentralityModel, moments: int) -> int:
    """Return the number of moments in a window of a series: rows closer together than that are one event."""
    starts = reader_of(model).rows_of(moments)
    return int(moments - starts[-1]) if len(starts) else 1


def _first(scores: NDArray[np.float64], top: int, apart: int = 1) -> NDArray[np.intp]:
    """Return the places of the `top` lowest scores, `apart` or more from each other; rows without a score never come.

    >>> _first(np.array([9, 0.5, 9, 9, 9, 9, 0.3, 0.1, 0.2, np.nan]), top=2, apart=3)
    array([7, 1])
    """
    order = np.argsort(scores, kind="stable")
    order = order[~np.isnan(scores[order])]
    if apart == 1:
        return order[:top]
    chosen: list[int] = []
    for place in order.tolist():
        if all(abs(place - other) >= apart for other in chosen):
            chosen.append(place)
            if len(chosen) == top:
                break
    return np.array(chosen, dtype=np.intp)


def cell_text(value: object) -> str:
    """Write one cell: a whole number in full, since it may be an id; any other number by its first digits.

    >>> cell_text([0.25, 0.5, 1.0] * 8), cell_text([4, 7])
    ('of 24 numbers', '[4, 7]')
    """
    if isinstance(value, list) and len(value) >= FEWEST_NUMBERS and isinstance(value[0], int | float):
        return f"of {len(value)} numbers"
    return number(value).replace(",", "") if isinstance(value, int | float) else number(value)
