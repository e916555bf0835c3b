"""How columns were read: with a doubt, not at all, cells that could not be read, numbers written in several ways."""

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np

from centrality.findings.columns import Column, structures_in
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

MINOR = 0.5  # of the cells: rarer ways of writing are named
OWN_WAY = 0.001  # a way of writing that fewer cells have is a slip, not a way
QUANTITY = re.compile(r"^\s*[^\w\s<>]?\s*[-+]?\d[\d.,']*\s*[^\d<>]{0,20}$")  # an amount, with its unit before or after
PLAIN = re.compile(r"[-+]?\d[\d.,']*")
ENOUGH = 0.95  # of the cells


def find(sheet: Sheet) -> Iterator[Finding]:
    description = sheet.reader.about()
    reads, doubts = description.get("reads", {}), description.get("doubts", {})
    constant = [column for column in sheet.columns if not column.varies]
    names = [column.name for column in constant]
    if constant:
        yield sheet.finding(
            "constant",
            f"{_listed(names)} {'has' if len(constant) == 1 else 'have'} one value only",
            f"{constant[0].written(0)} in every row: it tells no row from another",
            columns=names,
            advice="Leave it out, or ask where the other values are.",
        )
    for name, how in reads.items():
        if str(how).startswith("left out") and name not in names:
            reason = str(how).removeprefix("left out: ")
            yield sheet.finding("left out", f"{name} was left out of the scores", reason, columns=[name])
    for name in structures_in(sheet.data):
        reason = "it holds structures: write their fields as columns of their own"
        yield sheet.finding("left out", f"{name} was left out of the scores", reason, columns=[name])
    for name, doubt in doubts.items():
        if not str(reads.get(name, "")).startswith("left out"):
            yield sheet.finding("doubt", f"{name} may be read otherwise than it is meant", str(doubt), columns=[name])
    if not sheet.is_table:
        yield from _without_score(sheet)
    for column in sheet.columns:
        yield from _unreadable(sheet, column)
        yield from _formats(sheet, column)


def _without_score(sheet: Sheet) -> Iterator[Finding]:
    """Find pictures that could not be opened, and texts and vectors without content."""
    rows = np.flatnonzero(np.isnan(sheet.scores))
    if len(rows):
        name = sheet.data.column_names[0]
        images = sheet.data.column_names == ["path"]
        first = f"row {rows[0]:,}" + (f", {sheet.data[name][int(rows[0])].as_py()}" if images else "")
        yield sheet.finding(
            "unreadable",
            "the picture could not be opened" if images else "there is nothing to read",
            f"{first}: it has no score",
            columns=[name],
            rows=rows,
            severity=sheet.one_in(rows),
            advice="Save it again, or leave it out." if images else "Fill it in, or leave it out.",
        )


def _unreadable(sheet: Sheet, column: Column) -> Iterator[Finding]:
    """Find cells of text in a column of numbers or dates."""
    if not column.is_text or column.numbers is None:
        return
    rows = np.flatnonzero(np.isnan(column.numbers) & ~column.gaps)
    if len(rows) == 0:
        return
    what = "date" if column.is_date else "number"
    yield sheet.finding(
        "unreadable",
        f"{column.name} is no {what}",
        f"all others are; row {rows[0]:,} has {column.written(column.codes[rows[0]])!r}",
        columns=[column.name],
        rows=rows,
        severity=sheet.one_in(rows),
        advice=f"Write a {what} there, or nothing.",
    )


def _formats(sheet: Sheet, column: Column) -> Iterator[Finding]:
    """Find numbers that are written in several ways: with and without a unit, with different ones."""
    if not column.is_text or column.is_date:
        return
    is_quantity = np.array([bool(QUANTITY.match(text)) for text in column.texts])
    if not is_quantity.any() or is_quantity[column.codes[~column.gaps]].mean() < ENOUGH:
        return
    ways = np.array([" ".join(PLAIN.sub("", text).split()) for text in column.texts], dtype=object)
    counts: Counter[str] = Counter()
    for way, count, is_number in zip(ways, column.counts, is_quantity, strict=True):
        if is_number:
            counts[way] += int(count)
    common = [(way, count) for way, count in counts.most_common() if count >= OWN_WAY * len(column.codes)]
    if len(common) < 2:
        return
    commonest = common[0][0]
    rows = np.flatnonzero((is_quantity & (ways != commonest))[column.codes])
    named = ", ".join(f"{way!r} in {count:,}" if way else f"nothing in {count:,}" for way, count in common[:4])
    yield sheet.finding(
        "format",
        f"{column.name} writes numbers in {len(common)} ways",
        f"beside the digits stands {named}",
        columns=[column.name],
        rows=rows,
        severity=sheet.one_in(rows),
        advice=f"Write all as the most common one{f' ({commonest!r})' if commonest else ''}, or the unit in the name.",
    )


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
