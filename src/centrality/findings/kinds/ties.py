"""Broken ties between columns: a total that is no sum, a date after another, a value that does not fit the others."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from centrality.findings.columns import Floats
from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet
from centrality.representations.blocks import REST, pair_name

HOLDS = 0.9  # the share of the rows in which a tie of numbers must hold
SAME = 1e-6  # relative
MOST_DECIMALS = 8
MOSTLY = 0.5  # of the rows must not be 0
SAMPLE = 200  # rows by which ties of numbers are tried
MOST_COLUMNS = 40
ORDER = 0.98  # the share of the rows in which one date comes first
DOUBTFUL = 10.0  # one in so many rows beside the same value: a cell that breaks a tie of words
TRUSTED = 0.5  # how much the other columns must be able to say
CHANCE = 0.1  # the share of the rows with parts that do not go together that ordinary data would have, at most


def find_broken_sums(sheet: Sheet) -> Iterator[Finding]:
    """Find columns that are the sum or the product of others in nearly all rows, and the rows in which they are not."""
    columns = [
        column
        for column in sheet.columns
        if column.numbers is not None and not column.is_date and len(column.levels) >= 10
    ][:MOST_COLUMNS]
    if len(columns) < 3:
        return
    x = np.stack([column.numbers for column in columns if column.numbers is not None])  # (p, n)
    sample = x[:, np.linspace(0, x.shape[1] - 1, min(SAMPLE, x.shape[1])).astype(np.intp)]
    # Sums of rounded numbers may differ by one unit of the last decimal that a column has.
    tolerances = np.full(len(x), SAME)
    for place, numbers in enumerate(x):
        present = numbers[np.isfinite(numbers)][:SAMPLE]
        same = (np.allclose(present, np.round(present, d), rtol=1e-12) for d in range(MOST_DECIMALS))
        decimals = next((d for d, is_same in enumerate(same) if is_same), 12)
        if decimals:
            tolerances[place] = 1.01 * 10.0**-decimals
    tested: set[frozenset[int]] = set()
    for parts, sign, values in _sums_and_products(sample):
        not_zero = (sample != 0) & (values != 0)[None]  # of zeros alone, everything is a sum and a product
        holds = (_equal(values[None], sample, tolerances[:, None]) & not_zero).sum(1) / np.maximum(not_zero.sum(1), 1)
        holds[not_zero.mean(1) < MOSTLY] = 0.0
        for whole in np.flatnonzero(holds >= HOLDS):
            if whole in parts or frozenset((whole, *parts)) in tested:
                continue
            tested.add(frozenset((int(whole), *parts)))
            computed = x[list(parts)].sum(0) if sign == "+" else x[list(parts)].prod(0)
            present = np.isfinite(computed) & np.isfinite(x[whole])
            broken = np.flatnonzero(present & ~_equal(computed, x[whole], tolerances[whole]))
            if not 0 < len(broken) <= (1 - HOLDS) * present.sum():
                continue
            total = columns[whole]
            names = [columns[part].name for part in parts]
            first = int(broken[0])
            yield sheet.finding(
                "broken tie",
                f"{total.name} is not {f' {sign} '.join(names)}",
                f"it is in all other rows: row {first:,} has {total.written(total.codes[first])}, "
                f"the {'sum' if sign == '+' else 'product'} is {computed[first]:,.10g}",
                columns=[total.name, *names],
                rows=broken,
                advice="One of these cells is wrong.",
            )


def _sums_and_products(x: Floats) -> Iterator[tuple[tuple[int, ...], str, Floats]]:
    """Yield sums and products of two columns, and sums of neighbouring ones."""
    p = len(x)
    for a, b in combinations(range(p), 2):
        yield (a, b), "+", x[a] + x[b]
        yield (a, b), "×", x[a] * x[b]
    for first in range(p):
        for last in range(first + 2, p):
            yield tuple(range(first, last + 1)), "+", x[first : last + 1].sum(0)


def _equal(a: Floats, b: Floats, tolerance: Floats) -> np.ndarray:
    """Say where numbers are equal but for rounding."""
    return np.asarray(np.abs(a - b) <= np.maximum(SAME * np.abs(a), tolerance))


def find_dates_out_of_order(sheet: Sheet) -> Iterator[Finding]:
    """Find pairs of dates of which one comes first in nearly all rows, and the rows in which it does not."""
    dates = [(column, column.numbers) for column in sheet.columns if column.is_date and column.numbers is not None]
    for pair in combinations(dates, 2):
        for (first, begin), (second, end) in (pair, pair[::-1]):
            present = np.isfinite(begin) & np.isfinite(end)
            late = np.flatnonzero(present & (begin > end))
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
                advice="One of the two dates is wrong.",
            )


def find_unfit_values(sheet: Sheet) -> Iterator[Finding]:
    """Find cells that hardly occur beside the value of a column that nearly determines theirs."""
    rest, trust = sheet.by_rest
    doubtful = (trust >= TRUSTED) & (np.exp(trust * rest) >= DOUBTFUL)
    for place in np.flatnonzero(doubtful.any(0)).tolist():
        column = sheet.columns[place]
        rows = np.flatnonzero(doubtful[:, place])
        strongest = max((a for a, b in sheet.ties if b == place), key=lambda a: sheet.ties[a, place].strength)
        other = sheet.columns[strongest]
        row = int(rows[np.argmax(rest[rows, place])])
        beside = np.bincount(column.codes[other.codes == other.codes[row]], minlength=len(column.levels))
        commonest = int(beside.argmax())
        yield sheet.finding(
            "broken tie",
            f"{column.name} does not fit {other.name}",
            f"{column.name} is {column.written(column.codes[row])!r} in {beside[column.codes[row]]} of the "
            f"{beside.sum():,} rows with {other.name} {other.written(other.codes[row])}: "
            f"{column.written(commonest)!r} in {beside[commonest]:,}",
            columns=[column.name, other.name],
            rows=rows,
            severity=float(np.median(np.exp(trust * rest)[rows, place])),
            advice=f"Look at {column.name} in these rows; .cells says how doubtful each cell is.",
        )


def find_mismatches(sheet: Sheet) -> Iterator[Finding]:
    """Find parts of a row that do not go together: a picture and its words, each of them ordinary by itself."""
    parts = sheet.parts
    pairs = [] if parts is None else parts.pairs()
    if parts is None or not pairs:
        return
    severities = parts.severities(sheet.items)
    for pair in pairs:
        severity = np.nan_to_num(severities[pair_name(pair)], nan=1.0)
        order = np.argsort(-severity, kind="stable")
        # Of so many rows as badly matched as the k-th, at most a tenth would be there by chance (Benjamini, Hochberg).
        enough = np.flatnonzero(severity[order] * np.arange(1, len(order) + 1) >= len(order) * len(pairs) / CHANCE)
        if len(enough) == 0:
            continue
        rows = order[: enough[-1] + 1]
        yield sheet.finding(
            "mismatch",
            f"{' and '.join('the rest of the row' if part == REST else part for part in pair)} do not go together",
            "in other rows they say something of each other; here one may belong to another row",
            columns=[part for part in pair if part != REST],
            rows=rows,
            severity=float(np.median(severity[rows])),
            advice="Look whether these parts were swapped between rows.",
        )
