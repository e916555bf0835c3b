"""Broken ties between numbers: a total that is no sum, a date after another."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from centrality.findings.columns import Codes, Column, Floats
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

HOLDS = 0.9  # the share of the rows in which a tie of numbers must hold
SAME = 1e-6  # relative
MOST_DECIMALS = 8
MOSTLY = 0.5  # of the rows must not be 0
SAMPLE = 200  # rows by which ties of numbers are tried
MOST_COLUMNS = 40
ORDER = 0.98  # the share of the rows in which one date comes first


def find(sheet: Sheet) -> Iterator[Finding]:
    yield from _sums(sheet)
    yield from _orders(sheet)


def _sums(sheet: Sheet) -> Iterator[Finding]:
    """Find columns that are the sum or the product of others in nearly all rows, and the rows in which they are not."""
    columns = [
        column
        for column in sheet.columns
        if column.numbers is not None and not column.is_date and len(column.levels) >= 10
    ][:MOST_COLUMNS]
    if len(columns) < 3:
        return
    x = np.stack([column.numbers for column in columns if column.numbers is not None])  # (p, n)
    few = np.linspace(0, x.shape[1] - 1, min(SAMPLE, x.shape[1])).astype(np.intp)
    near = np.array([_rounding(numbers) for numbers in x])
    columns_told: set[frozenset[int]] = set()
    for parts, sign, values in _candidates(x[:, few]):
        something = (x[:, few] != 0) & (values != 0)[None]  # of zeros alone, everything is a sum and a product
        hold = (_equal(values[None], x[:, few], near[:, None]) & something).sum(1) / np.maximum(something.sum(1), 1)
        hold[something.mean(1) < MOSTLY] = 0.0
        for whole in np.flatnonzero(hold >= HOLDS):
            if whole in parts or frozenset((whole, *parts)) in columns_told:
                continue
            computed = x[list(parts)].sum(0) if sign == "+" else x[list(parts)].prod(0)
            columns_told.add(frozenset((int(whole), *parts)))
            present = np.isfinite(computed) & np.isfinite(x[whole])
            broken = np.flatnonzero(present & ~_equal(computed, x[whole], near[whole]))
            if 0 < len(broken) <= (1 - HOLDS) * present.sum():
                yield _no_sum(
                    sheet, columns[whole], [columns[part] for part in parts], sign=sign, rows=broken, made=computed
                )


def _candidates(x: Floats) -> Iterator[tuple[tuple[int, ...], str, Floats]]:
    """Return sums and products of two columns, and sums of neighbouring ones."""
    p = len(x)
    for a, b in combinations(range(p), 2):
        yield (a, b), "+", x[a] + x[b]
        yield (a, b), "×", x[a] * x[b]
    for first in range(p):
        for last in range(first + 2, p):
            yield tuple(range(first, last + 1)), "+", x[first : last + 1].sum(0)


def _equal(a: Floats, b: Floats, near: Floats) -> np.ndarray:
    """Say where numbers are equal but for rounding."""
    return np.asarray(np.abs(a - b) <= np.maximum(SAME * np.abs(a), near))


def _rounding(numbers: Floats) -> float:
    """Return by how much sums of rounded numbers may differ: one unit of the last decimal that a column has."""
    present = numbers[np.isfinite(numbers)][:SAMPLE]
    decimals = next((d for d in range(MOST_DECIMALS) if np.allclose(present, np.round(present, d), rtol=1e-12)), 12)
    return float(1.01 * 10.0**-decimals) if decimals else SAME


def _no_sum(sheet: Sheet, whole: Column, parts: list[Column], *, sign: str, rows: Codes, made: Floats) -> Finding:
    formula = f" {sign} ".join(part.name for part in parts)
    first = int(rows[0])
    return sheet.finding(
        "broken tie",
        f"{whole.name} is not {formula}",
        f"it is in all other rows: row {first:,} has {whole.written(whole.codes[first])}, "
        f"the {'sum' if sign == '+' else 'product'} is {made[first]:,.10g}",
        columns=[whole.name, *(part.name for part in parts)],
        rows=rows,
        severity=sheet.one_in(rows),
        advice="One of these cells is wrong.",
    )


def _orders(sheet: Sheet) -> Iterator[Finding]:
    """Find pairs of dates of which one comes first in nearly all rows."""
    dates = [column for column in sheet.columns if column.is_date and column.numbers is not None]
    for a, b in combinations(dates, 2):
        for first, second in ((a, b), (b, a)):
            assert first.numbers is not None
            assert second.numbers is not None
            present = np.isfinite(first.numbers) & np.isfinite(second.numbers)
            late = np.flatnonzero(present & (first.numbers > second.numbers))
            if not 0 < len(late) <= (1 - ORDER) * present.sum():
                continue
            row = int(late[0])
            yield sheet.finding(
                "broken tie",
                f"{first.name} comes after {second.name}",
                f"it comes before or with it in all other rows: row {row:,} has "
                f"{first.written(first.codes[row])} and {second.written(second.codes[row])}",
                columns=[first.name, second.name],
                rows=late,
                severity=sheet.one_in(late),
                advice="One of the two dates is wrong.",
            )
