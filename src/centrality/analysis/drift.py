"""Tell whether data have changed: by their scores, column by column, window by window, in a stream.

Three kinds of tests share the level asked for equally, and within a kind Holm's rule adjusts for there being many:

heads    The scores of each head, against quantiles of what new rows would score: Kolmogorov and Smirnov's test, and an
         exact count of the rows that are odder than all but 0.5% of the training rows. Finds new groups, broken rows.
columns  Each column by itself (`drift_columns`). Finds shifts that leave rows as typical as they were.
pairs    The rank correlation of each pair of columns, unless there are too many.

Effect sizes do not grow with the number of rows: Cliff's delta is the chance that a new row is more central (or higher)
than a training row, minus the reverse. All rows together have one p-value. Each window has one, too, adjusted for there
being many: while rows do not change, the chance of even one alarm over all windows is at most `ALPHA`.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

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
    Constant,
    ConstantDrift,
    Names,
    PairDrift,
    TrainingColumns,
    distribution,
    gap_p_value,
    more_beyond,
)

QUANTILES = 1001  # of each head: the distribution is known to 0.001, in 16 kB
ALPHA = 0.001  # what `detected` calls drift: a p-value up to this,
EFFECT = 0.147  # and an effect from here on, where Cliff's delta is usually called small
BLUR = 0.08  # scores of new rows can only be estimated: gaps between heads narrower than this do not count
NAMED = 5  # changes named in words
FEWEST = 20  # rows of a window: with fewer, only a complete change would be noticed
CHART_HEIGHT = 40  # pixels
IN_ORDER = (
    "If the rows are in order of time, windows may differ from the training rows as a whole although nothing is wrong, "
    "because of the season or a trend: then compare with a model of the same season."
)

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class HeadDrift:
    """The drift of one head: the largest gap between the two distributions, its p-value, and Cliff's delta.

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


Change = HeadDrift | ColumnDrift | PairDrift | ConstantDrift


@dataclass(frozen=True)
class Drift:
    """What `drift` says of `rows` new rows: print it, or ask whether a change was `detected`, and in what.

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
    constants: tuple[ConstantDrift, ...] = ()  # columns that had one value in all training rows

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
        by_p_value = sorted(self._adjusted(), key=lambda pair: pair[0])
        changes = [change for p, change in by_p_value if p <= alpha and change.matters(effect)]
        columns = {change.name for change in changes if isinstance(change, ColumnDrift)}
        return [change for change in changes if not (isinstance(change, PairDrift) and columns & set(change.names))]

    def detected(self, *, alpha: float = ALPHA, effect: float = EFFECT) -> bool:
        """Say whether something changed both beyond chance and by enough to matter."""
        return bool(self.changes(alpha=alpha, effect=effect))

    def _adjusted(self) -> list[tuple[float, Change]]:
        """Return each test's p-value, adjusted over all of them."""
        heads = (self.global_head, self.local_head)
        kinds: list[Sequence[Change]] = [tests for tests in (heads, self.columns, self.pairs, self.constants) if tests]
        return [
            (min(1.0, len(kinds) * p), test)
            for tests in kinds
            for p, test in zip(holm([test.p_value for test in tests]), tests, strict=True)
        ]

    def in_words(self) -> str:
        """Name the columns and pairs that changed, the clearest first; an empty string if there is none."""
        words: dict[str, str] = {}
        for change in self.changes():
            if not isinstance(change, HeadDrift):
                name = " and ".join(change.names) if isinstance(change, PairDrift) else change.name
                words.setdefault(name, str(change))
        more = f", and {len(words) - NAMED} more" if len(words) > NAMED else ""
        return ", ".join(list(words.values())[:NAMED]) + more

    def _repr_html_(self) -> str:
        verdict = "changed" if self.detected() else "no change that matters"
        return text.joined([text.Markup(f"<b>{verdict}</b>: {text.text_of(self)}")], "p")

    def __str__(self) -> str:
        way = "less" if self.effect < 0 else "more"
        return with_words(
            f"{self.rows:,} new rows are {way} central than the training rows: {effects(self)}, p = {self.p_value:.2g}",
            self,
        )


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


@dataclass(frozen=True, eq=False)
class TrainingScores(FrozenArrays):
    """The summary of the training rows that a model keeps: quantiles of their heads, and of their columns."""

    quantiles: Matrix  # (2, k) of the global and of the local head, evenly spaced
    rows: int  # how many rows they stand for
    columns: TrainingColumns | None = None  # None: only scores can be compared

    def __post_init__(self) -> None:
        """Raise if quantiles are out of order."""
        super().__post_init__()
        if not (np.diff(self.quantiles) >= 0).all():
            raise InputError("training.quantiles must rise, got them in another order.")

    @classmethod
    def of(
        cls, heads: Matrix, rows: CheckedRows | None = None, columns: TrainingColumns | None = None
    ) -> "TrainingScores":
        """Summarise training rows by their heads, (n, 2), and by the rows themselves or a summary of their columns."""
        levels = np.linspace(0, 1, min(QUANTILES, max(len(heads), 2)))
        columns = columns if rows is None else TrainingColumns.of(rows)
        return cls(column_quantiles(heads, levels).T, len(heads), columns)

    def compare(
        self,
        heads: Matrix,
        rows: CheckedRows | None = None,
        names: Names | None = None,
        constants: Sequence[Constant] = (),
    ) -> Drift:
        """Compare new rows, (m, p), with the training rows, by their heads alone, (m, 2), unless rows are given.

        Rows without a score are left out. `constants` are columns that the rows (m, p) do not have.
        """
        scored = np.flatnonzero(~np.isnan(heads).any(1))
        if len(scored) < 2:
            raise InputError(f"Drift needs at least 2 new rows, got {len(scored)}.")
        global_head = self._head("global", self.quantiles[0], heads[scored, 0])
        local_head = self._head("local", self.quantiles[1], heads[scored, 1])
        unchanging = tuple(replace(column, changed=column.changed[scored]).compare(self.rows) for column in constants)
        if rows is None or self.columns is None:
            return Drift(len(scored), global_head, local_head, (), (), unchanging)
        names = Names.numbered(rows.shape[1]) if names is None else names
        rows = rows if len(scored) == len(heads) else rows[scored]
        columns, pairs = self.columns.compare(rows, names)
        return Drift(len(scored), global_head, local_head, columns, pairs, unchanging)

    def warn_of_odd(self, heads: Matrix) -> None:  # (m, 2)
        """Warn if a larger share of these calibration rows is odd than of the training rows, beyond chance."""
        from scipy.stats import binom  # 40 MiB that scoring alone does not need

        levels = np.linspace(0, 1, self.quantiles.shape[1])
        bounds = [np.interp(TAIL, levels, quantiles) for quantiles in self.quantiles]
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

    def _head(self, name: str, quantiles: Matrix, heads: Matrix) -> HeadDrift:
        heads = np.sort(heads)
        m = len(heads)
        below, upto = _distribution_of_head(quantiles, heads)  # of the training rows: P(X < x) and P(X <= x)
        below_blurred = _distribution_of_head(quantiles, heads - BLUR)[0]
        upto_blurred = _distribution_of_head(quantiles, heads + BLUR)[1]
        # Equal values are one step of the distribution: compare before the first and after the last of them.
        after = np.searchsorted(heads, heads, side="right") / m
        before = np.searchsorted(heads, heads, side="left") / m
        gap = float(max((after - upto_blurred).max(), (below_blurred - before).max(), 0.0))
        bound = np.interp(TAIL, np.linspace(0, 1, len(quantiles)), quantiles)
        odd = int(np.searchsorted(heads, bound))
        p = min(gap_p_value(gap, self.rows, m), more_beyond(odd, m, int(TAIL * (self.rows - 1)) + 1, self.rows))
        return HeadDrift(name, gap, min(1.0, 2 * p), float((below + upto - 1).mean()), odd / m)


def _distribution_of_head(quantiles: Matrix, x: Matrix) -> tuple[Matrix, Matrix]:
    """Return P(X < x) and P(X <= x) for these rising x, and X with these evenly spaced quantiles."""
    levels = np.linspace(0, 1, len(quantiles))
    values, first = np.unique(quantiles, return_index=True)
    last = len(quantiles) - 1 - np.unique(quantiles[::-1], return_index=True)[1]
    return distribution((values, levels[first], levels[last]), x)


@dataclass(frozen=True)
class Window:
    """The drift of the rows from `first` to `last`, counted from 0, both included.

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
    """The drift of all new rows together, and of each window of them.

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
    threshold: str = ""  # whether the model's threshold still holds, in words
    drawn_from: int | None = None  # of how many rows those compared as a whole are a sample; None: they are all

    @property
    def changed(self) -> bool:
        """Say whether all rows together, or a window, differ beyond chance and by enough to matter."""
        return self.whole.detected() or any(window.changed for window in self.windows)

    def __str__(self) -> str:
        by = "scores and columns" if self.whole.columns else "scores"
        new_rows = f"{self.whole.rows:,} new rows"
        if self.drawn_from is not None:
            new_rows += f" drawn at random from {self.drawn_from:,}"
        lines = [
            f"Compared: {new_rows} with {self.reference_rows:,} {self.reference}, by their {by}.",
            f"All rows:  {verdict(self.whole)}",
        ]
        if self.threshold:
            lines.append(f"Threshold: {self.threshold}")
        if self.windows:
            changed = [window for window in self.windows if window.changed]
            size = max(window.last - window.first + 1 for window in self.windows)
            lines.append(f"Windows:   {len(changed)} of {len(self.windows)} windows of {size:,} rows differ")
            lines += [
                f"  rows {window.first:,} to {window.last:,}: {with_words(effects(window.drift), window.drift)}, "
                f"adjusted p {small(window.p_value)}"
                for window in changed
            ]
            if changed:
                lines.append(IN_ORDER)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # The effect of each window is a bar, up for more central and down for less; those that changed are red.
        half = CHART_HEIGHT / 2
        bars = [
            text.Bar(
                half - max(window.drift.effect, 0) * half,
                max(abs(window.drift.effect) * half, 0.5),
                text.RED if window.changed else text.GREY,
            )
            for window in self.windows
        ]
        zero = f"<line x1='0' x2='{text.BAR_WIDTH * len(bars)}' y1='{half}' y2='{half}' stroke='{text.GREY}'/>"
        chart = text.chart(bars, CHART_HEIGHT, "effect by window", zero) if bars else ""
        return f"<div>{chart}{text.joined(str(self).splitlines(), 'div')}</div>"


def compare_windows(
    training: TrainingScores,
    heads: Matrix,
    window: int | None,
    reference: str = "training rows",
    *,
    rows: CheckedRows | None = None,
    names: Names | None = None,
    constants: Sequence[Constant] = (),
    threshold: str = "",
) -> DriftReport:
    """Compare new rows, by their heads (m, 2) and their columns, with the training rows: all, and window by window.

    >>> old, new = np.random.default_rng(0).uniform(size=(2, 500, 2))
    >>> compare_windows(TrainingScores.of(old), new, 100).changed
    False
    """

    def compare(first: int, end: int) -> Drift:
        part = None if rows is None else rows[first:end]
        columns = [replace(column, changed=column.changed[first:end]) for column in constants]
        return training.compare(heads[first:end], part, names, columns)

    m = len(heads)
    parts = [] if window is None else [(start, min(start + window, m)) for start in range(0, m, window)]
    scored = np.asarray(~np.isnan(heads).any(1))
    parts = [(first, end) for first, end in parts if scored[first:end].sum() >= FEWEST]
    windows = adjusted_windows([(first, end, compare(first, end)) for first, end in parts])
    return DriftReport(compare(0, m), windows, training.rows, reference, threshold)


def adjusted_windows(drifts: Sequence[tuple[int, int, Drift]]) -> list[Window]:
    """Return the windows of the rows from a first one up to an end, their p-values adjusted for there being many.

    >>> old = np.column_stack([np.linspace(0.5, 1, 100)] * 2)
    >>> drift = TrainingScores.of(old).compare(old - 0.5)
    >>> [window.last for window in adjusted_windows([(0, 100, drift), (100, 200, drift)])]
    [99, 199]
    """
    adjusted = holm([drift.p_value for _, _, drift in drifts])
    return [Window(first, end - 1, drift, p) for (first, end, drift), p in zip(drifts, adjusted, strict=True)]


def threshold_in_words(threshold: float, new: Matrix, calibration: Matrix) -> str:
    """Say whether a threshold calls about as many of the new scores outliers as of the calibration rows'.

    >>> calibration = np.linspace(0, 1, 1000)
    >>> threshold_in_words(0.1, calibration[::2], calibration)
    'it still holds: 10.0% of the new rows are called outliers, 10.0% of the calibration rows.'
    >>> threshold_in_words(0.1, calibration[:300], calibration)
    'it no longer holds: 33.3% of the new rows are called outliers, 10.0% of the calibration rows (p < 0.001).'
    """
    new = new[~np.isnan(new)]
    return calls_in_words(
        (int((new < threshold).sum()), len(new)), (int((calibration < threshold).sum()), len(calibration))
    )


def calls_in_words(of_new: tuple[int, int], of_calibration: tuple[int, int]) -> str:
    """Say whether about as many of the new rows are called outliers as of the calibration rows: so many of so many.

    >>> calls_in_words((96, 1000), (100, 1000))
    'it still holds: 9.6% of the new rows are called outliers, 10.0% of the calibration rows.'
    """
    called, m = of_new
    expected, n = of_calibration
    if not m or not n:
        return ""
    more = more_beyond(called, m, expected, n)
    fewer = more_beyond(m - called, m, n - expected, n)
    p = min(1.0, 2 * min(more, fewer))
    shares = f"{called / m:.1%} of the new rows are called outliers, {expected / n:.1%} of the calibration rows"
    return f"it no longer holds: {shares} (p {small(p)})." if p <= ALPHA else f"it still holds: {shares}."


def verdict(drift: Drift) -> str:
    """Say in words whether something changed, and what."""
    numbers = f"({effects(drift)}, p {small(drift.p_value)})"
    changes = drift.changes()
    if not changes:
        return f"no change that matters {numbers}"
    heads = [str(change) for change in changes if isinstance(change, HeadDrift)]
    return f"changed: {with_words(heads[0], drift) if heads else drift.in_words()} {numbers}"


def with_words(sentence: str, drift: Drift) -> str:
    """Return the sentence, followed by the columns and pairs that changed, if any did."""
    return f"{sentence}; {words}" if (words := drift.in_words()) else sentence


def effects(drift: Drift) -> str:
    """Return the effects of both heads, from -1 (every new row is less central) to +1."""
    return f"effect {drift.global_head.effect:+.2f} global, {drift.local_head.effect:+.2f} local"


def small(p_value: float) -> str:
    """Write a p-value with few digits."""
    return "< 0.001" if p_value < 0.001 else f"= {p_value:.3f}"


@dataclass
class DriftMonitor:
    """Tests a stream for drift, one window of rows at a time; warns when drift begins and when it ends."""

    training: TrainingScores
    window: int
    warn: Callable[[str], None]
    names: Names | None = None  # of the columns
    drifts: list[Drift] = field(default_factory=list)
    _waiting: list[Matrix] = field(default_factory=list)
    _rows: int = 0
    _drifting: bool = False

    def add(self, heads: Matrix, rows: Matrix | None = None) -> None:
        """Add the next rows and their heads, and compare every window that is full."""
        self._waiting.append(heads if rows is None else np.column_stack([heads, rows]))
        while sum(map(len, self._waiting)) >= self.window:
            waiting = np.concatenate(self._waiting)
            self._compare(waiting[: self.window])
            self._waiting = [waiting[self.window :]]

    def end(self) -> None:
        """Compare the rows that are left, if they are enough for a test."""
        rest = np.concatenate(self._waiting) if self._waiting else np.empty((0, 2))
        if len(rest) >= min(self.window, 100):
            self._compare(rest)

    def _compare(self, window: Matrix) -> None:
        """Compare a window with the training rows, and warn where drift begins or ends."""
        rows = window[:, 2:] if window.shape[1] > 2 else None
        drift = self.training.compare(window[:, :2], rows, self.names)
        first = self._rows + 1
        self._rows += len(window)
        if drift.detected():
            self.drifts.append(drift)
            if not self._drifting:  # said once, not for every window that follows
                self.warn(
                    f"drift from row {first:,} on (rows {first:,} to {self._rows:,} against all training rows): {drift}"
                )
        elif self._drifting:
            self.warn(f"no drift any more from row {first:,} on.")
        self._drifting = drift.detected()
