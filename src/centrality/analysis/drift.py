"""Tell whether data have changed: by score, by column, by window, in a stream.

Three kinds of tests share the level asked for equally, and within a kind Holm's rule adjusts for there being many:

heads    The scores of each head, against quantiles of what new rows would score: Kolmogorov and Smirnov's test, and an
         exact count of the rows that are odder than all but 0.5% of the training rows. Sees new groups and broken rows.
columns  Each column by itself (`drift_columns.py`). Sees shifts that leave rows as typical as they were.
pairs    The rank correlation of each pair of columns, where they are not too many.

Effect sizes do not grow with the number of rows: Cliff's delta is the chance that a new row is more central (or higher)
than a training row, minus the reverse.

The test of all rows together has a p-value of its own. Each window has one, too; they are adjusted for there being many
(Holm), so that with rows that have not changed, the chance of even one alarm over all windows is at most `ALPHA`.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from centrality._internal import text
from centrality._internal.arrays import FrozenArrays, column_quantiles
from centrality._internal.checks import InputError
from centrality._internal.input import CheckedRows
from centrality.analysis.drift_columns import (
    MANY,
    TAIL,
    ColumnDrift,
    PairDrift,
    TrainingColumns,
    distribution,
    gap_p_value,
    more_beyond,
)

KEPT = 1001  # quantiles kept of each head: the distribution is known to 0.001, in 16 kB
ALPHA, EFFECT = 0.001, 0.147  # what `detected` calls drift; 0.147 is where Cliff's delta is usually called small
BLUR = 0.08  # how far a head is off where what new rows would score can only be guessed: no gap is narrower
NAMED = 5  # changes named in words


@dataclass(frozen=True)
class HeadDrift:
    """Hold one head's drift: the largest gap between the two distributions, its p-value, and Cliff's delta.

    >>> import numpy as np
    >>> from centrality.analysis.drift import TrainingScores
    >>> old = np.column_stack([np.linspace(0.5, 1, 100)] * 2)
    >>> head = TrainingScores.of(old).compare(old - 0.5).global_head  # every new row is less central than every old one
    >>> round(head.effect, 2), head.p_value < 0.001
    (-1.0, True)
    """

    name: str
    statistic: float
    p_value: float
    effect: float  # -1: every new row is less central than every training row; 0: neither; 1: the reverse
    odd: float  # share of the new rows that are odder than all but about 0.5% of the training rows

    def matters(self, effect: float) -> bool:
        """Say whether the change is large: in all scores, or in the number of odd rows."""
        return abs(self.effect) >= effect or self.odd >= MANY

    def __str__(self) -> str:
        if self.odd >= MANY and abs(self.effect) < EFFECT:
            return f"{self.odd:.1%} of the rows have a {self.name} centrality that {TAIL:.1%} of the training rows have"
        way = "less" if self.effect < 0 else "more"
        return f"rows are {way} central ({self.name}, effect {self.effect:+.2f})"


Change = HeadDrift | ColumnDrift | PairDrift


@dataclass(frozen=True)
class Drift:
    """Hold what `drift` found in `rows` new rows: print it, or ask whether a change was `detected`, and in what.

    >>> import numpy as np
    >>> from centrality.analysis.drift import TrainingScores
    >>> old = np.column_stack([np.linspace(0.5, 1, 100)] * 2)
    >>> print(TrainingScores.of(old).compare(old - 0.5))
    100 new rows are less central than the training rows: effect -1.00 global, -1.00 local, p = ...
    >>> TrainingScores.of(old).compare(old).detected()
    False
    """

    rows: int
    global_head: HeadDrift
    local_head: HeadDrift
    columns: tuple[ColumnDrift, ...] = ()  # none where only scores were compared
    pairs: tuple[PairDrift, ...] = ()  # none where columns are many

    @property
    def p_value(self) -> float:
        """Return the p-value of everything together: at most a share a of samples that have not changed has p <= a."""
        return min(p for p, _ in self._adjusted())

    @property
    def effect(self) -> float:
        """Return the larger effect of the two heads, with its sign."""
        return max(self.global_head.effect, self.local_head.effect, key=abs)

    def changes(self, *, alpha: float = ALPHA, effect: float = EFFECT) -> list[Change]:
        """Return the heads, columns and pairs that changed beyond chance and by enough to matter, clearest first.

        Pairs with a changed column are left out: they would report the same change again.
        """
        found = [one for p, one in sorted(self._adjusted(), key=lambda pair: pair[0]) if p <= alpha]
        found = [one for one in found if one.matters(effect)]
        moved = {one.name for one in found if isinstance(one, ColumnDrift)}
        return [one for one in found if not (isinstance(one, PairDrift) and moved & set(one.names))]

    def detected(self, *, alpha: float = ALPHA, effect: float = EFFECT) -> bool:
        """Say whether something changed both beyond chance and by enough to matter."""
        return bool(self.changes(alpha=alpha, effect=effect))

    def _adjusted(self) -> list[tuple[float, Change]]:
        """Return each test's p-value, adjusted over all of them."""
        kinds: list[Sequence[Change]] = [(self.global_head, self.local_head), self.columns, self.pairs]
        kinds = [kind for kind in kinds if kind]
        return [
            (min(1.0, len(kinds) * p), one)
            for kind in kinds
            for p, one in zip(holm([one.p_value for one in kind]), kind, strict=True)
        ]

    def in_words(self) -> str:
        """Name what changed, the clearest first; an empty string if nothing did."""
        names: dict[str, str] = {}
        for one in self.changes():
            if not isinstance(one, HeadDrift):
                names.setdefault(one.name if isinstance(one, ColumnDrift) else " and ".join(one.names), str(one))
        more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return ", ".join(list(names.values())[:NAMED]) + more

    def _repr_html_(self) -> str:
        verdict = "changed" if self.detected() else "no change that matters"
        return text.joined([text.Markup(f"<b>{verdict}</b>: {text.text_of(self)}")], "p")

    def __str__(self) -> str:
        way = "less" if self.effect < 0 else "more"
        text = (
            f"{self.rows:,} new rows are {way} central than the training rows: effect "
            f"{self.global_head.effect:+.2f} global, {self.local_head.effect:+.2f} local, p = {self.p_value:.2g}"
        )
        return f"{text}; {words}" if (words := self.in_words()) else text


def holm(p_values: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p-values: calling those below a wrong even once has a chance of at most a.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in adjusted]


@dataclass(frozen=True)
class Names:
    """Hold the names of the columns of vectors, and which of them have an order (higher and lower)."""

    of_columns: Sequence[str]
    directions: Sequence[bool]

    @classmethod
    def numbered(cls, count: int) -> "Names":
        """Return the names x0, x1, ... for so many columns."""
        return cls([f"x{j}" for j in range(count)], [True] * count)


@dataclass(frozen=True, eq=False)
class TrainingScores(FrozenArrays):
    """Hold the summary of the training rows that a model keeps: quantiles of their heads and columns."""

    quantiles: NDArray[np.float64]  # (2, k) of the global and of the local head, evenly spaced
    rows: int  # how many rows they stand for
    columns: TrainingColumns | None = None  # None: only scores can be compared

    def __post_init__(self) -> None:
        """Raise if quantiles are out of order."""
        super().__post_init__()
        if not (np.diff(self.quantiles) >= 0).all():
            raise InputError("training.quantiles must rise, got them in another order.")

    @classmethod
    def of(
        cls, heads: NDArray[np.float64], rows: CheckedRows | None = None, columns: TrainingColumns | None = None
    ) -> "TrainingScores":  # (n, 2)
        """Return the summary of training rows from their heads, and from the rows themselves or their columns."""
        levels = np.linspace(0, 1, min(KEPT, max(len(heads), 2)))
        columns = columns if rows is None else TrainingColumns.of(rows)
        return cls(column_quantiles(heads, levels).T, len(heads), columns)

    def compare(
        self, heads: NDArray[np.float64], rows: CheckedRows | None = None, names: "Names | None" = None
    ) -> Drift:  # (m, 2), (m, p)
        """Compare new rows with the training rows, by their heads alone unless rows are given.

        Rows without a score are left out.
        """
        known = np.flatnonzero(~np.isnan(heads).any(1))
        if len(known) < 2:
            raise InputError(f"Drift needs at least 2 new rows, got {len(known)}.")
        of_global, of_local = (
            self._head(name, kept, new)
            for name, kept, new in zip(("global", "local"), self.quantiles, heads[known].T, strict=True)
        )
        if rows is None or self.columns is None:
            return Drift(len(known), of_global, of_local)
        names = Names.numbered(rows.shape[1]) if names is None else names
        rows = rows if len(known) == len(heads) else rows[known]
        columns, pairs = self.columns.compare(rows, names.of_columns, names.directions)
        return Drift(len(known), of_global, of_local, columns, pairs)

    def warn_of_odd(self, heads: NDArray[np.float64]) -> None:  # (m, 2)
        """Warn if a larger share of these calibration rows is odd than of the training rows, beyond chance."""
        from scipy.stats import binom  # 40 MiB that scoring alone does not need

        levels = np.linspace(0, 1, self.quantiles.shape[1])
        bounds = [np.interp(TAIL, levels, kept) for kept in self.quantiles]
        heads = heads[~np.isnan(heads).any(1)]
        for name, odd in zip(("global", "local"), (heads < bounds).sum(0), strict=True):
            if odd > MANY * len(heads) and binom.sf(odd - 1, len(heads), TAIL) < ALPHA:
                warnings.warn(
                    f"{odd / len(heads):.1%} of the calibration rows have a {name} centrality that only {TAIL:.1%} of "
                    "the training rows fall below: are there outliers among them? They would hide others. Remove "
                    "them, or state how many there may be: calibrate(X, contamination=0.05).",
                    stacklevel=3,
                )
                return

    def _head(self, name: str, kept: NDArray[np.float64], new: NDArray[np.float64]) -> HeadDrift:
        new = np.sort(new)
        m, (below, upto) = len(new), _distribution(kept, new)  # of the training rows: P(X < x) and P(X <= x)
        less, most = _distribution(kept, new - BLUR)[0], _distribution(kept, new + BLUR)[1]
        # Equal values are one step of the distribution: compare before the first and after the last of them.
        after = np.searchsorted(new, new, side="right") / m
        before = np.searchsorted(new, new, side="left") / m
        gap = float(max((after - most).max(), (less - before).max(), 0.0))
        bound = np.interp(TAIL, np.linspace(0, 1, len(kept)), kept)
        odd = int(np.searchsorted(new, bound))
        p = min(gap_p_value(gap, self.rows, m), more_beyond(odd, m, int(TAIL * (self.rows - 1)) + 1, self.rows))
        return HeadDrift(name, gap, min(1.0, 2 * p), float((below + upto - 1).mean()), odd / m)


def _distribution(kept: NDArray[np.float64], x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(X < x) and P(X <= x) for these rising x, and X with these evenly spaced quantiles."""
    levels = np.linspace(0, 1, len(kept))
    values, first = np.unique(kept, return_index=True)
    last = len(kept) - 1 - np.unique(kept[::-1], return_index=True)[1]
    return distribution((values, levels[first], levels[last]), x)


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
    >>> from centrality.analysis.drift import TrainingScores
    >>> from centrality.analysis.drift import compare_windows
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
    >>> from centrality.analysis.drift import TrainingScores
    >>> from centrality.analysis.drift import compare_windows
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
        return f"<div>{_chart(self.windows)}{text.joined(str(self).splitlines(), 'div')}</div>"


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
        effect, colour = window.drift.effect, text.RED if window.changed else text.GREY
        bars.append(text.Bar(half - max(effect, 0) * half, max(abs(effect) * half, 0.5), colour))
    zero = f"<line x1='0' x2='{text.BAR_WIDTH * len(bars)}' y1='{half}' y2='{half}' stroke='{text.GREY}'/>"
    return text.chart(bars, CHART_HEIGHT, "effect by window", zero)


Rows = NDArray[np.float64]


@dataclass
class DriftMonitor:
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
