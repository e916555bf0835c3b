"""Say whether rows have changed: compare new scores with those of the training rows, kept as quantiles.

Each head is compared by Kolmogorov and Smirnov's two-sample test, and by an effect size that does not grow with the
number of rows: Cliff's delta, the chance that a new row is more central than a training row minus the reverse.
"""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality._values import Value

KEPT = 1001  # quantiles kept of each head: the distribution is known to 0.001, in 16 kB
ALPHA, EFFECT = 0.001, 0.147  # what `detected` calls drift; 0.147 is where Cliff's delta is usually called small

ODD, SUSPICIOUS = 0.01, 3.0  # what is odd among training rows; how many times as many calibration rows may be


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

    statistic: float
    p_value: float
    effect: float  # -1: every new row is less central than every training row; 0: neither; 1: the reverse


@dataclass(frozen=True)
class Drift:
    """Hold what `drift` found in `rows` new rows: each head's drift; print it, or ask whether it was `detected`.

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

    @property
    def p_value(self) -> float:
        """Return the p-value of both heads together (Bonferroni)."""
        return min(1.0, 2 * min(self.global_head.p_value, self.local_head.p_value))

    @property
    def effect(self) -> float:
        """Return the larger effect of the two heads, with its sign."""
        return max(self.global_head.effect, self.local_head.effect, key=abs)

    def detected(self, *, alpha: float = ALPHA, effect: float = EFFECT) -> bool:
        """Say whether the drift of a head is both beyond chance and large enough to matter."""
        heads = (self.global_head, self.local_head)
        return any(2 * head.p_value <= alpha and abs(head.effect) >= effect for head in heads)

    def _repr_html_(self) -> str:
        verdict = "changed" if self.detected() else "no change that matters"
        return f"<p><b>{verdict}</b>: {self}</p>"

    def __str__(self) -> str:
        way = "less" if self.effect < 0 else "more"
        return (
            f"{self.rows:,} new rows are {way} central than the training rows: effect "
            f"{self.global_head.effect:+.2f} global, {self.local_head.effect:+.2f} local, p = {self.p_value:.2g}"
        )


@dataclass(frozen=True, eq=False)
class TrainingScores(Value):
    """Hold what a model remembers of its training rows' heads."""

    quantiles: NDArray[np.float64]  # (2, k) of the global and of the local head, evenly spaced
    rows: int  # how many rows they stand for

    def __post_init__(self) -> None:
        """Refuse quantiles that are out of order."""
        super().__post_init__()
        if not (np.diff(self.quantiles) >= 0).all():
            raise InputError("training.quantiles must rise, got them in another order.")

    @classmethod
    def of(cls, heads: NDArray[np.float64]) -> "TrainingScores":  # (n, 2)
        """Return what to remember of these heads of training rows."""
        levels = np.linspace(0, 1, min(KEPT, max(len(heads), 2)))
        return cls(np.quantile(heads, levels, axis=0).T, len(heads))

    def compare(self, heads: NDArray[np.float64]) -> Drift:  # (m, 2)
        """Compare the heads of new rows with those of the training rows; rows without a score are left out."""
        heads = heads[~np.isnan(heads).any(1)]
        if len(heads) < 2:
            raise InputError(f"Drift needs at least 2 new rows, got {len(heads)}.")
        found = [self._head(kept, new) for kept, new in zip(self.quantiles, heads.T, strict=True)]
        return Drift(len(heads), *found)

    def warn_of_odd(self, heads: NDArray[np.float64]) -> None:  # (m, 2)
        """Warn if more of these calibration rows are odd than of the training rows, beyond chance."""
        from scipy.stats import binom  # 40 MiB that scoring alone does not need

        levels = np.linspace(0, 1, self.quantiles.shape[1])
        bounds = [np.interp(ODD, levels, kept) for kept in self.quantiles]
        heads = heads[~np.isnan(heads).any(1)]
        for name, odd in zip(("global", "local"), (heads < bounds).sum(0), strict=True):
            if odd > SUSPICIOUS * ODD * len(heads) and binom.sf(odd - 1, len(heads), ODD) < ALPHA:
                warnings.warn(
                    f"{odd / len(heads):.1%} of the calibration rows have a {name} centrality that only {ODD:.0%} of "
                    "the training rows fall below: are there outliers among them? They would hide others. Remove "
                    "them, or state how many there may be: calibrate(X, contamination=0.05).",
                    stacklevel=3,
                )
                return

    def _head(self, kept: NDArray[np.float64], new: NDArray[np.float64]) -> HeadDrift:
        from scipy.stats import kstwo  # 40 MiB that scoring alone does not need

        new = np.sort(new)
        below, upto = _distribution(kept, new)  # of the training rows: P(X < x) and P(X <= x)
        m = len(new)
        # Equal values are one step of the distribution: compare before the first and after the last of them.
        after = np.searchsorted(new, new, side="right") / m
        before = np.searchsorted(new, new, side="left") / m
        gap = float(max(np.abs(after - upto).max(), np.abs(below - before).max()))
        size = max(1, round(self.rows * m / (self.rows + m)))
        return HeadDrift(gap, float(kstwo.sf(gap, size)), float((below + upto - 1).mean()))


def _distribution(kept: NDArray[np.float64], x: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return P(X < x) and P(X <= x) for X with these evenly spaced quantiles; they differ where quantiles tie."""
    levels = np.linspace(0, 1, len(kept))
    values, first = np.unique(kept, return_index=True)
    last = len(kept) - 1 - np.unique(kept[::-1], return_index=True)[1]
    at = np.searchsorted(values, x)
    tied = (at < len(values)) & (values[np.minimum(at, len(values) - 1)] == x)
    # Between two values, rise from the end of the lower one's step to the start of the upper one's.
    low, high = np.clip(at - 1, 0, None), np.clip(at, None, len(values) - 1)
    width = np.where(values[high] > values[low], values[high] - values[low], 1.0)
    share = np.clip((x - values[low]) / width, 0.0, 1.0)
    between = levels[last[low]] + share * (levels[first[high]] - levels[last[low]])
    between = np.where(at == 0, 0.0, np.where(at == len(values), 1.0, between))
    step = np.minimum(at, len(values) - 1)
    return np.where(tied, levels[first[step]], between), np.where(tied, levels[last[step]], between)
