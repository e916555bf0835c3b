"""Odd stretches of series: where the rows are moments."""

from collections.abc import Iterator

import numpy as np

from centrality.findings.finding import EXAMPLES, Finding
from centrality.findings.sheet import Sheet
from centrality.series import Timeline

FALSE_ALARMS = 0.05  # expected in the whole file


def find(sheet: Sheet) -> Iterator[Finding]:
    """Find events, with the channels to blame; and what was done to read the rows as series."""
    if sheet.time is None:
        return
    model = Timeline(sheet.time, sheet.by, random_state=sheet.random_state).fit(sheet.data)
    centrality = model.centrality()
    typical = int(np.nanargmax(centrality))
    for event in model.events(false_alarms=FALSE_ALARMS):
        rows = np.array(event.rows, dtype=np.intp)
        oddest = rows[np.argsort(centrality[rows], kind="stable")][:EXAMPLES]
        yield Finding(
            "stretch",
            f"{event.series}: {event.span}" if event.series else event.span,
            event.sentence,
            tuple(name for name, _ in event.channels if name in sheet.data.column_names),
            rows,
            severity=event.severity,
            examples=tuple(oddest.tolist()),
            typical=typical,
            advice="Look at what happened then; centrality rank --time shows milder stretches, too.",
        )
    for note in model.notes_:
        yield Finding("stretch", note.rstrip("."), "", (), np.empty(0, dtype=np.intp))
