"""Copies: rows that are entered twice, exactly or nearly."""

from collections.abc import Iterator

import numpy as np

from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet
from centrality.selection.copies import WORDS

COMMON = 5  # times as many rows that are the same but for one column: then exact copies are chance
CHANCE = 0.1  # the most twins that columns without ties would have by themselves, of those found
ADVICE = "Keep the first row of each group if they are the same thing entered twice."


def find(sheet: Sheet) -> Iterator[Finding]:
    copies = sheet.copies
    groups = {kind: [group for group in copies if group.kind == kind] for kind in WORDS}
    rows = {kind: np.unique([row for group in groups[kind] for row in group.rows]).astype(np.intp) for kind in WORDS}
    for kind in ("exact", "near"):
        chance = len(rows["one column"]) > COMMON * len(rows[kind]) or twins_by_chance(sheet) > CHANCE * len(rows[kind])
        if len(rows[kind]) == 0 or chance:
            continue
        first = "; ".join(f"rows {group.numbers()}" for group in groups[kind][:3])
        yield sheet.finding(
            "copies",
            f"are {WORDS[kind]}, in {len(groups[kind]):,} group{'' if len(groups[kind]) == 1 else 's'}",
            first,
            rows=rows[kind],
            severity=sheet.one_in(rows[kind]),
            advice=ADVICE,
        )


def twins_by_chance(sheet: Sheet) -> float:
    """Return how many rows would equal another one if columns knew nothing of each other."""
    shares = [column.counts / len(column.codes) for column in sheet.columns]
    alike = float(np.exp(sum(np.log((share**2).sum()) for share in shares))) if shares else 0.0
    return float(sheet.data.num_rows * (sheet.data.num_rows - 1) * alike)
