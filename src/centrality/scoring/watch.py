"""Look for drift while rows are scored."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from centrality.scores.drift import Drift, Names, TrainingScores

Rows = NDArray[np.float64]


@dataclass
class Watch:
    """Tests a stream for drift, one window of rows at a time; warns when drift begins and when it ends."""

    training: TrainingScores
    window: int
    warn: Callable[[str], None]
    names: Names | None = None  # of the columns
    drifts: list[Drift] = field(default_factory=list)
    _waiting: list[Rows] = field(default_factory=list)
    _rows: int = 0
    _drifting: bool = False

    def add(self, heads: Rows, rows: Rows | None = None) -> None:
        """Add the next rows and their heads, and compare every window that is full."""
        self._waiting.append(heads if rows is None else np.column_stack([heads, rows]))
        while sum(map(len, self._waiting)) >= self.window:
            together = np.concatenate(self._waiting)
            self._compare(together[: self.window])
            self._waiting = [together[self.window :]]

    def end(self) -> None:
        """Compare the rows that are left, if they are enough for a test."""
        rest = np.concatenate(self._waiting) if self._waiting else np.empty((0, 2))
        if len(rest) >= min(self.window, 100):
            self._compare(rest)

    def _compare(self, window: Rows) -> None:
        """Compare a window with the training rows, and warn of drift."""
        heads, rows = window[:, :2], window[:, 2:] if window.shape[1] > 2 else None
        drift = self.training.compare(heads, rows, self.names)
        first, self._rows = self._rows + 1, self._rows + len(heads)
        if drift.detected():
            self.drifts.append(drift)
            if not self._drifting:  # said once, not for every window that follows
                self.warn(
                    f"drift from row {first:,} on (rows {first:,} to {self._rows:,} against all training rows): {drift}"
                )
        elif self._drifting:
            self.warn(f"no drift any more from row {first:,} on.")
        self._drifting = drift.detected()
