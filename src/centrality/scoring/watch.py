"""Looking for drift while rows are scored."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from centrality.scores.drift import Drift, TrainingScores

Heads = NDArray[np.float64]


@dataclass
class Watch:
    """Looks for drift in a stream, a window of rows at a time."""

    training: TrainingScores
    window: int
    warn: Callable[[str], None]
    found: list[Drift] = field(default_factory=list)
    _waiting: list[Heads] = field(default_factory=list)
    _rows: int = 0

    def see(self, heads: Heads) -> None:
        self._waiting.append(heads)
        while sum(map(len, self._waiting)) >= self.window:
            rows = np.concatenate(self._waiting)
            self._judge(rows[: self.window])
            self._waiting = [rows[self.window :]]

    def end(self) -> None:
        """Judge what is left, if it is enough to say anything."""
        rest = np.concatenate(self._waiting) if self._waiting else np.empty((0, 2))
        if len(rest) >= min(self.window, 100):
            self._judge(rest)

    def _judge(self, heads: Heads) -> None:
        drift = self.training.compare(heads)
        first, self._rows = self._rows + 1, self._rows + len(heads)
        if drift.detected():
            self.found.append(drift)
            self.warn(f"drift in rows {first:,} to {self._rows:,}: {drift}")
