"""Parts of a row that do not go together: a picture and its words, a text and its category, each ordinary by itself."""

from collections.abc import Iterator

import numpy as np

from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet
from centrality.representations.blocks import REST, pair_name

CHANCE = 0.1  # the share of the rows named that ordinary data would have, at most


def find(sheet: Sheet) -> Iterator[Finding]:
    pairs = sheet.parts.pairs() if sheet.parts is not None else []
    if not pairs:
        return
    assert sheet.parts is not None
    severities = sheet.parts.severities(sheet.items)
    for pair in pairs:
        severity = np.nan_to_num(severities[pair_name(pair)], nan=1.0)
        order = np.argsort(-severity, kind="stable")
        # Of so many rows as badly matched as the k-th, at most a tenth would be there by chance (Benjamini, Hochberg).
        enough = np.flatnonzero(severity[order] * np.arange(1, len(order) + 1) >= len(order) * len(pairs) / CHANCE)
        if len(enough) == 0:
            continue
        rows = order[: enough[-1] + 1]
        one, other = (part if part != REST else "the rest of the row" for part in pair)
        yield sheet.finding(
            "mismatch",
            f"{one} and {other} do not go together",
            "in other rows they say something of each other; here one may belong to another row",
            columns=[part for part in pair if part != REST],
            rows=rows,
            severity=float(np.median(severity[rows])),
            advice="Look whether these parts were swapped between rows.",
        )
