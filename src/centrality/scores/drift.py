"""Test whether rows have changed: compare new rows with the summary that a model keeps of its training rows.

Three kinds of tests share the level asked for equally, and within a kind Holm's rule adjusts for there being many:

heads    The scores of each head, against quantiles of what new rows would score: Kolmogorov and Smirnov's test, and an
         exact count of the rows that are odder than all but 0.5% of the training rows. Sees new groups and broken rows.
columns  Each column by itself (`drift_columns.py`). Sees shifts that leave rows as typical as they were.
pairs    The rank correlation of each pair of columns, where they are not too many.

Effect sizes do not grow with the number of rows: Cliff's delta is the chance that a new row is more central (or higher)
than a training row, minus the reverse.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality._estimator import CheckedRows
from centrality._values import Value
from centrality.scores import html
from centrality.scores.drift_columns import (
    MANY,
    TAIL,
    ColumnDrift,
    PairDrift,
    TrainingColumns,
    distribution,
    gap_p_value,
    more_beyond,
)
from centrality.scores.quantiles import column_quantiles

KEPT = 1001  # quantiles kept of each head: the distribution is known to 0.001, in 16 kB
ALPHA, EFFECT = 0.001, 0.147  # what `detected` calls drift; 0.147 is where Cliff's delta is usually called small
BLUR = 0.08  # how far a head is off where what new rows would score can only be guessed: no gap is narrower
NAMED = 5  # changes named in words


@dataclass(frozen=True)
class HeadDrift:
    """Hold one head's drift: the largest gap between the two distributions, its p-value, and Cliff's delta.

    >>> import numpy as np
    >>> from centrality.scores.drift import TrainingScores
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
    >>> from centrality.scores.drift import TrainingScores
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
        return html.joined([html.Markup(f"<b>{verdict}</b>: {html.text_of(self)}")], "p")

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
class TrainingScores(Value):
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
