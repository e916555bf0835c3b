"""What has changed since earlier rows: columns, values, and how they are spread."""

from collections.abc import Iterator

import numpy as np

from centrality.analysis.drift import NAMED, HeadDrift
from centrality.findings.columns import Column
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet


def find(sheet: Sheet) -> Iterator[Finding]:
    if sheet.against is None:
        return
    old = sheet.against
    for name in old.column_names:
        if name not in sheet.data.column_names:
            yield sheet.finding("change", f"{name} is gone", "the earlier rows have this column", columns=[name])
    for name in sheet.data.column_names:
        if name not in old.column_names:
            yield sheet.finding("change", f"{name} is new", "the earlier rows do not have this column", columns=[name])
    for column in sheet.columns:
        if column.name in old.column_names:
            yield from _new_values(sheet, column, Column.of(column.name, old[column.name]))
    named: set[str] = set()
    for change in sheet.changes:
        name = getattr(change, "name", "") if not isinstance(change, HeadDrift) else ""
        if name in named and name:
            continue
        named.add(name)
        if len(named) > NAMED:
            break
        yield sheet.finding(
            "change",
            str(change),
            "compared with the earlier rows",
            columns=[name] if name in sheet.data.column_names else [],
            severity=1 / max(change.p_value, 1e-9),
            advice="Ask what happened between the two files.",
        )


def _new_values(sheet: Sheet, new: Column, old: Column) -> Iterator[Finding]:
    """Find categories that the earlier rows do not have."""
    if not new.is_text or not old.is_text or not old.repeats or new.is_prose:
        return
    before = set(old.texts)
    places = [place for place, text in enumerate(new.texts) if text not in before and text.strip()]
    rows = np.flatnonzero(np.isin(new.codes, places))
    if len(rows) == 0:
        return
    few = ", ".join(new.written(place) for place in places[:4]) + (", …" if len(places) > 4 else "")
    yield sheet.finding(
        "change",
        f"{new.name} has {len(places)} new value{'' if len(places) == 1 else 's'}: {few}",
        f"no earlier row has {'it' if len(places) == 1 else 'them'}",
        columns=[new.name],
        rows=rows,
        severity=len(old.codes) + 1.0,
        advice="New, or written otherwise?",
    )
