"""Say when rows changed: compare all new rows, and windows of them, with the rows that a model was fitted on.

The test of all rows together has a p-value of its own. Each window has one, too; they are adjusted for there being many
(Holm), so that with rows that have not changed, the chance of even one alarm over all windows is at most `ALPHA`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._estimator import CheckedRows
from centrality.scores import html
from centrality.scores.drift import ALPHA, Drift, HeadDrift, Names, TrainingScores, holm

FEWEST = 20  # rows of a window: with fewer, only a complete change would be noticed
CHART_HEIGHT = 40  # pixels
IN_ORDER = (
    "If the rows are in order of time, windows may differ from the training rows as a whole although nothing is wrong, "
    "because of the season or a trend: then compare with a model of the same season."
)


@dataclass(frozen=True)
class Window:
    """Holds the drift of the rows from `first` to `last`, counted from 0, both included.

    >>> import numpy as np
    >>> from centrality.scores.drift import TrainingScores
    >>> from centrality.scores.drift_windows import compare_windows
    >>> old = np.column_stack([np.linspace(0.5, 1, 200)] * 2)
    >>> new = np.concatenate([old[::2], old[::2] - 0.5])  # the second hundred has changed
    >>> report = compare_windows(TrainingScores.of(old), new, window=100)
    >>> [(window.first, window.last, window.changed) for window in report.windows]
    [(0, 99, False), (100, 199, True)]
    """

    first: int
    last: int
    drift: Drift
    p_value: float  # adjusted for the number of windows

    @property
    def changed(self) -> bool:
        """Say whether the window differs beyond chance, and by enough to matter."""
        return self.p_value <= ALPHA and self.drift.detected()


@dataclass(frozen=True)
class DriftReport:
    """Holds what was found: the drift of all new rows together, and of each window of them.

    >>> import numpy as np
    >>> from centrality.scores.drift import TrainingScores
    >>> from centrality.scores.drift_windows import compare_windows
    >>> old = np.column_stack([np.linspace(0.5, 1, 200)] * 2)
    >>> report = compare_windows(TrainingScores.of(old), np.concatenate([old[::4], old[::4]]), window=50)
    >>> report.changed, len(report.windows)
    (False, 2)
    """

    whole: Drift
    windows: list[Window]
    reference_rows: int
    reference: str = "training rows"  # what the new rows were compared with

    @property
    def changed(self) -> bool:
        """Say whether all rows together, or a window, differ beyond chance and by enough to matter."""
        return self.whole.detected() or any(window.changed for window in self.windows)

    def __str__(self) -> str:
        compared = (
            f"Compared: {self.whole.rows:,} new rows with {self.reference_rows:,} {self.reference}, by their scores"
            f"{' and columns.' if self.whole.columns else '.'}"
        )
        lines = [compared, f"All rows:  {verdict(self.whole, changed=self.whole.detected())}"]
        if self.windows:
            changed = [window for window in self.windows if window.changed]
            size = max(window.last - window.first + 1 for window in self.windows)
            lines.append(f"Windows:   {len(changed)} of {len(self.windows)} windows of {size:,} rows differ")
            lines += [
                f"  rows {window.first:,} to {window.last:,}: {_with_words(effects(window.drift), window.drift)}, "
                f"adjusted p {small(window.p_value)}"
                for window in changed
            ]
            if changed:
                lines.append(IN_ORDER)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<div>{_chart(self.windows)}{html.joined(str(self).splitlines(), 'div')}</div>"


def compare_windows(
    training: TrainingScores,
    heads: NDArray[np.float64],
    window: int | None,
    reference: str = "training rows",
    *,
    rows: CheckedRows | None = None,
    names: Names | None = None,
) -> DriftReport:
    """Compare new rows, by their heads (m, 2) and their columns, with the training rows: all, and window by window.

    >>> old, new = np.random.default_rng(0).uniform(size=(2, 500, 2))
    >>> compare_windows(TrainingScores.of(old), new, 100).changed
    False
    """

    def compared(first: int, end: int) -> Drift:
        return training.compare(heads[first:end], None if rows is None else rows[first:end], names)

    parts: list[tuple[int, int]] = []
    if window is not None:
        starts = range(0, len(heads), window)
        parts = [(s, min(s + window, len(heads))) for s in starts if min(s + window, len(heads)) - s >= FEWEST]
    known = [(a, b) for a, b in parts if (~np.isnan(heads[a:b]).any(1)).sum() >= FEWEST]
    drifts = [compared(a, b) for a, b in known]
    adjusted = holm([drift.p_value for drift in drifts])
    windows = [Window(a, b - 1, drift, p) for (a, b), drift, p in zip(known, drifts, adjusted, strict=True)]
    return DriftReport(compared(0, len(heads)), windows, training.rows, reference)


def verdict(drift: Drift, *, changed: bool) -> str:
    """Say in words what was found."""
    numbers = f"({effects(drift)}, p {small(drift.p_value)})"
    if not changed:
        return f"no change that matters {numbers}"
    heads = [str(one) for one in drift.changes() if isinstance(one, HeadDrift)]
    return f"changed: {_with_words(heads[0], drift) if heads else drift.in_words()} {numbers}"


def _with_words(text: str, drift: Drift) -> str:
    return f"{text}; {words}" if (words := drift.in_words()) else text


def effects(drift: Drift) -> str:
    """Return the effects of both heads, from -1 (every new row is less central) to +1."""
    return f"effect {drift.global_head.effect:+.2f} global, {drift.local_head.effect:+.2f} local"


def small(p_value: float) -> str:
    """Write a p-value with few digits."""
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"


def _chart(windows: Sequence[Window]) -> str:
    """Draw the effect of each window as a bar, up for more central and down for less; those that changed in red."""
    if not windows:
        return ""
    half, bars = CHART_HEIGHT / 2, []
    for window in windows:
        effect, colour = window.drift.effect, html.RED if window.changed else html.GREY
        bars.append(html.Bar(half - max(effect, 0) * half, max(abs(effect) * half, 0.5), colour))
    zero = f"<line x1='0' x2='{html.BAR_WIDTH * len(bars)}' y1='{half}' y2='{half}' stroke='{html.GREY}'/>"
    return html.chart(bars, CHART_HEIGHT, "effect by window", zero)
