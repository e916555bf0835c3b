"""Gaps: columns that are missing together, and a value that slipped into the column beside."""

from collections.abc import Iterator

import numpy as np

from centrality.findings.columns import Codes, Column
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

FEWEST = 5  # rows
TOGETHER = 0.9  # the share of a column's gaps that are gaps of the other one, too
MOSTLY = 0.5  # of the rows with a gap


def find(sheet: Sheet) -> Iterator[Finding]:
    gappy = [column for column in sheet.columns if 0 < column.gaps.sum() < len(column.gaps)]
    yield from _together(sheet, gappy)
    for column in gappy:
        yield from _slipped(sheet, column)


def _together(sheet: Sheet, gappy: list[Column]) -> Iterator[Finding]:
    """Find columns of which one is hardly ever missing without the others."""
    left = sorted(gappy, key=lambda column: int(column.gaps.sum()))
    while left:
        first = left.pop(0)
        others = [other for other in left if _go_together(first, other)]
        rows = np.flatnonzero(np.logical_and.reduce([first.gaps, *(other.gaps for other in others)]))
        if not others or len(rows) < FEWEST:
            continue
        left = [column for column in left if column not in others]
        names = [column.name for column in sheet.columns if column is first or column in others]
        apart = sum(int(other.gaps.sum()) for other in others) / len(others) - len(rows)
        yield sheet.finding(
            "gaps",
            f"{', '.join(names[:-1])} and {names[-1]} are missing together",
            f"{len(rows) / len(first.gaps):.1%} of the rows; "
            + (
                f"{first.name} is hardly ever missing alone"
                if apart > len(rows) / 10
                else "hardly one is missing alone"
            ),
            columns=names,
            rows=rows,
            severity=sheet.one_in(rows),
            advice="One cause for all of them: a form that was not filled in, a join that did not match?",
        )


def _go_together(fewer: Column, more: Column) -> bool:
    """Say whether nearly all gaps of one column are gaps of the other, which has not many more."""
    together, total = int((fewer.gaps & more.gaps).sum()), int(more.gaps.sum())
    return together >= TOGETHER * fewer.gaps.sum() and together >= MOSTLY * total


def _slipped(sheet: Sheet, column: Column) -> Iterator[Finding]:
    """Find rows where the missing value stands at the end of another cell: 'Reno NV' in city, nothing in state."""
    if not column.is_text or column.is_prose:
        return
    values = {text for text, count in zip(column.texts, column.counts, strict=True) if count > 1 and text.strip()}
    missing = np.flatnonzero(column.gaps)
    for other in sheet.columns:
        if other is column or not other.is_text or other.is_prose:
            continue
        ends = np.array([(text.split() or [""])[-1] in values and " " in text.strip() for text in other.texts])
        rows: Codes = missing[ends[other.codes[missing]]]
        elsewhere = ends[other.codes[~column.gaps]].mean() if (~column.gaps).any() else 1.0
        if len(rows) < FEWEST or len(rows) < MOSTLY * len(missing) or elsewhere > 0.05:
            continue
        yield sheet.finding(
            "slipped",
            f"{column.name} stands in {other.name}",
            f"missing where {other.name} ends with one: {other.written(other.codes[rows[0]])!r} in row {rows[0]:,}",
            columns=[other.name, column.name],
            rows=rows,
            severity=sheet.one_in(rows),
            advice=f"Move the last word of {other.name} to {column.name}.",
        )
