"""Labels that do not fit their rows, by classifiers that have not seen the row."""

from collections.abc import Iterator

import narwhals.stable.v2 as nw
import numpy as np

from centrality.findings.finding import Finding
from centrality.findings.sheet import Sheet
from centrality.selection.labels import wrong_labels

UNLIKELY = 0.3  # the most that a label may be worth to be doubted


def find(sheet: Sheet) -> Iterator[Finding]:
    if sheet.label is None:
        return
    misfits = nw.from_native(
        wrong_labels(sheet.data, sheet.label, random_state=sheet.random_state), eager_only=True
    ).to_arrow()
    doubtful = misfits.filter(np.asarray(misfits["p_label"]) <= UNLIKELY)
    if doubtful.num_rows == 0:
        return
    rows, chance = doubtful["row"].to_numpy().astype(np.intp), doubtful["p_label"].to_numpy()
    first = int(rows[0])
    yield sheet.finding(
        "label",
        f"{sheet.label} does not fit the rest of the row",
        f"row {first:,} says {doubtful[sheet.label][0].as_py()}, it looks like {doubtful['suggested'][0].as_py()}",
        columns=[sheet.label],
        rows=rows,
        severity=float(np.median(1 / np.maximum(chance, 1 / sheet.data.num_rows))),
        advice="Look at these labels, the first ones first.",
    )
