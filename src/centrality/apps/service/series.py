"""Serve a model of series: each series, by its name, keeps its last moments, and the newest are judged."""

import threading
from typing import Any

from centrality._internal.checks import InputError
from centrality.apps.service.queue import JsonRows, RequestError
from centrality.series import Stream, Timeline

MOST_MOMENTS = 10_000  # of a request: each takes about half a millisecond
MOST_VALUES = 20_000_000  # remembered of all series together; then the one that was silent longest is forgotten


class ServedSeries:
    """Judges moments as they come, of many series, with a model that was fitted to series."""

    def __init__(self, model: Timeline, version: str) -> None:
        self.model = model
        self.version = version
        self.stream = Stream(model, max(1, MOST_VALUES // ((model.window_ + 1) * len(model.channels_))))
        self._lock = threading.Lock()

    def continue_from(self, other: object) -> None:
        """Take over what an earlier version of the model's file remembers of its series."""
        if isinstance(other, ServedSeries):
            self.stream.continue_from(other.stream)

    def judge(self, rows: JsonRows, series: object) -> dict[str, Any]:
        """Return what is said of each moment; if one of them is wrong, none is remembered."""
        if not isinstance(series, str):
            raise RequestError(422, f"series, the name of one, must be a text, got {series!r:.60}.")
        if not 0 < len(rows) <= MOST_MOMENTS:
            raise RequestError(422, f"From 1 to {MOST_MOMENTS:,} moments were wanted, got {len(rows):,}.")
        for place, row in enumerate(rows):
            try:
                self.stream.numbers(row)
            except InputError as error:
                raise RequestError(422, f"Row {place}: {error}") from None
        names = [str(row.get(self.model.by, series)) if isinstance(row, dict) else series for row in rows]
        with self._lock:
            moments = [self.stream.push(row, name) for row, name in zip(rows, names, strict=True)]
        return {
            "centrality": [moment and moment.centrality for moment in moments],
            "p_value": [moment and moment.p_value for moment in moments],
            "channels": [dict(moment.channels) if moment else {} for moment in moments],
        }

    def describe(self) -> dict[str, object]:
        """Return the answer of GET /model."""
        return {
            "model": "Timeline",
            "version": self.version,
            "columns": list(self.model.channels_),
            "by": self.model.by,
            "window": self.model.window_,
            "t": self.model.t,
        }
