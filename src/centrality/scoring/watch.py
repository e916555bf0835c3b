"""Look for drift while rows are scored."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from centrality.scores.drift import Drift, TrainingScores

Heads = NDArray[np.float64]


@dataclass
class Watch:
    """Looks for drift in a stream, a window of rows at a time; says when it begins and when it ends."""

    training: TrainingScores
    window: int
    warn: Callable[[str], None]
    drifts: list[Drift] = field(default_factory=list)
    _waiting: list[Heads] = field(default_factory=list)
    _rows: int = 0
    _drifting: bool = False

    def add(self, heads: Heads) -> None:
        """Take the heads of the next rows, and compare every window that is full."""
        self._waiting.append(heads)
        while sum(map(len, self._waiting)) >= self.window:
            rows = np.concatenate(self._waiting)
            self._compare(rows[: self.window])
            self._waiting = [rows[self.window :]]

    def end(self) -> None:
        """Compare the rows that are left, if they are enough to say anything."""
        rest = np.concatenate(self._waiting) if self._waiting else np.empty((0, 2))
        if len(rest) >= min(self.window, 100):
            self._compare(rest)

    def _compare(self, heads: Heads) -> None:
        """Compare a window with the training rows, and warn of drift."""
        drift = self.training.compare(heads)
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
