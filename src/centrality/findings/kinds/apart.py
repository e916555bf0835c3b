"""Rows that stand apart from all others, where no error rate can speak."""

from collections.abc import Iterator

import numpy as np

from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet

BEYOND = 100.0  # times the number of rows: in ordinary data of this size, one file in a hundred has one


def find(sheet: Sheet) -> Iterator[Finding]:
    rows = np.flatnonzero(sheet.severity >= BEYOND * sheet.data.num_rows)
    if len(rows) == 0:
        return
    rows = rows[np.argsort(-sheet.severity[rows], kind="stable")]
    yield sheet.finding(
        "apart",
        f"stand{'s' if len(rows) == 1 else ''} apart from all others",
        "their scores lie beyond where the scores of the others end",
        rows=rows,
        severity=float(np.median(sheet.severity[rows])),
        advice="Look at each of them: centrality explain says why it is odd.",
    )
