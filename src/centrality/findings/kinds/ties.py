"""Broken ties between words: a value that hardly occurs beside the value of another column, which determines it."""

from collections.abc import Iterator

import numpy as np

from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

DOUBTFUL = 10.0  # one in so many rows beside the same value: a cell that breaks a tie of words
TRUSTED = 0.5  # how much the other columns must be able to say


def find(sheet: Sheet) -> Iterator[Finding]:
    """Find cells that hardly occur beside the value of a column that nearly determines theirs."""
    rest, trust = sheet.by_rest
    doubtful = (trust >= TRUSTED) & (np.exp(trust * rest) >= DOUBTFUL)
    for place in np.flatnonzero(doubtful.any(0)).tolist():
        column = sheet.columns[place]
        rows = np.flatnonzero(doubtful[:, place])
        by = max((a for a, b in sheet.ties if b == place), key=lambda a: sheet.ties[a, place].strength)
        other, row = sheet.columns[by], int(rows[np.argmax(rest[rows, place])])
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
