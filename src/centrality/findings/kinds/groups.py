"""Odd groups by cause: the oddest rows, by the column, value or words that lower their score most."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from centrality._internal.text import number, shortened
from centrality.findings.columns import Codes, Column, Floats, Mask
from centrality.findings.finding import ALONE, Finding
from centrality.findings.sheet import Sheet

FEWEST = 5  # rows of a group
HOLDS = 0.8  # the share of a group that its name must hold of
PRECISE = 0.3  # the least share of the rows with that name that are among the oddest, for a name by one value
PURE = 0.1  # the same, for a name by several rare values
BEYOND = 10.0  # times the number of rows: a cause of rows as odd as one in so many is a finding
SHOWN = 4  # values named


@dataclass(frozen=True)
class Name:
    """What holds of a group of odd rows and not of the rest, in words."""

    words: str
    holds: Mask  # of each row of the sheet


def find(sheet: Sheet) -> Iterator[Finding]:
    """Find the causes that more rows have than ordinary data of this size would."""
    for cause in sheet.causes:
        if cause.columns and cause.severity >= BEYOND * sheet.data.num_rows:
            yield cause


def causes_of(sheet: Sheet) -> Iterator[Finding]:
    """Group the oddest rows by what lowers their score most: a group for each cause, then the rows without one."""
    odd = sheet.odd_rows
    features = sheet.reader.features()
    single = np.zeros(len(odd), dtype=bool)
    if features is not None and sheet.columns:
        with sheet.reader.suppress_issues():
            main = np.asarray(sheet.model.explain(sheet.items.take(odd)), dtype=np.float64).argmin(1)
        for cause in np.unique(main):
            column = sheet.find_column(str(features.names[cause]))
            rows = odd[main == cause]
            name = None if column is None or len(rows) < FEWEST else name_of(column, rows)
            if column is not None and name is not None:
                single |= main == cause
                yield _finding(sheet, column.name, name, rows)
    left = odd[~single]
    if len(left):
        yield sheet.finding(
            "odd group",
            "are odd for no single cause",
            "each for reasons of its own",
            rows=left,
            severity=float(np.median(sheet.severity[left])),
            advice=f"Look at the {min(len(left), ALONE)} oddest, one by one; centrality explain says why.",
        )


def _finding(sheet: Sheet, name: str, label: Name, rows: Codes) -> Finding:
    named = np.flatnonzero(label.holds)
    share, precision = label.holds[rows].mean(), len(np.intersect1d(named, sheet.odd_rows)) / max(len(named), 1)
    return sheet.finding(
        "odd group",
        label.words,
        f"the main cause of {len(rows):,} of the {len(sheet.odd_rows):,} oddest rows; it holds of {share:.0%} of them, "
        f"and {precision:.0%} of the {len(named):,} rows of which it holds are among the oddest",
        columns=[name],
        rows=rows,
        severity=float(np.median(sheet.severity[rows])),
        advice="Look at five of them: if these are right, so are the others.",
    )


def name_of(column: Column, rows: Codes) -> Name | None:
    """Return what these rows have in common in a column, by one value, by rare values, or by size; None if nothing."""
    if column.is_prose:
        return _common_words(column, rows)
    inside = np.bincount(column.codes[rows], minlength=len(column.levels))
    top = int(inside.argmax())
    if inside[top] >= HOLDS * len(rows):
        return Name(f"{column.name} is {column.written(top)}", column.codes == top)
    if column.numbers is not None:
        return _size(column, column.numbers, rows)
    purest = np.argsort(-inside / column.counts, kind="stable")
    precise = purest[: 1 + int(np.searchsorted(np.cumsum(inside[purest]), HOLDS * len(rows)))]
    if inside[precise].sum() < PURE * column.counts[precise].sum():
        return None
    order = precise[np.argsort(-column.counts[precise], kind="stable")]
    listed = " · ".join(f"{column.written(level)} {column.counts[level]:,}" for level in order[:SHOWN])
    more = " · …" if len(order) > SHOWN else ""
    return Name(f"{column.name} is rare: {listed}{more}", np.isin(column.codes, precise))


def _size(column: Column, numbers: Floats, rows: Codes) -> Name | None:
    """Name rows by a number beyond which hardly any other row lies."""
    inside = numbers[rows]
    low, high = np.nanquantile(inside, [1 - HOLDS, HOLDS]) if np.isfinite(inside).any() else (np.nan, np.nan)
    for words, bound, holds in (
        ("at least", low, numbers >= low),
        ("at most", high, numbers <= high),
    ):
        if np.isfinite(bound) and holds.sum() and np.isin(np.flatnonzero(holds), rows).mean() >= PRECISE:
            level = column.levels[int(np.nanargmin(np.abs(np.asarray(column.level_numbers) - bound)))]
            return Name(f"{column.name} is {words} {number(level)}", holds)
    return None


def _common_words(column: Column, rows: Codes) -> Name | None:
    """Name rows of prose by the words that most of them have and hardly any other row."""
    texts = [column.texts[code].lower() for code in column.codes]
    words = [set(_parts(text)) for text in texts]
    common: dict[str, int] = {}
    for row in rows:
        for word in words[row]:
            common[word] = common.get(word, 0) + 1
    frequent = [word for word, times in common.items() if times >= HOLDS * len(rows)]
    best = None
    for word in frequent:
        holds = np.array([word in words_of_row for words_of_row in words])
        if best is None or holds.sum() < best.holds.sum():
            best = Name(f"{column.name} holds {shortened(word)!r}", holds)
    if best is None or np.isin(np.flatnonzero(best.holds), rows).mean() < PRECISE:
        return None
    return best


def _parts(text: str) -> list[str]:
    return [part.strip(".,;:!?()[]\"'") for part in text.split()]
