"""The parts that judge windows: each view of each channel alone, and of several channels jointly.

A part is a FUSE with the windows it learned from. All channels alone share one: their windows are scaled, so a row of
one sensor is like a row of another, and a fit costs the same for forty channels as for one. Its scores are used as they
are, without ends, 0 at the median and 1 at the 95th percentile of one kind of windows, so those of the parts add up.
(Ranks of them, -log p, are level with that in VUS-PR: .674 against .673 on 62 series.)
"""

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import safe_divide
from centrality._internal.text import number
from centrality.fuse import FUSE
from centrality.network.calibration import squeezed
from centrality.series import windows
from centrality.series.reading import Track
from centrality.series.windows import Mask, Places, Scales, Values

JOINT = 8  # principal signals of many channels
HIGHEST = 3  # channels whose scores count together
MOVED = 0.5  # deviations that a level must move to be worth a sentence
VARIES = 1.5  # the ratio of spreads that is worth one
LEFT_WEIGHT = 2.0  # of what the cosines leave, in deviations of the weights
TAIL = 1000  # scores kept of the odd end
BODY = 1000  # quantiles kept of the rest
IN_BLOCK = 1_000_000


@dataclass(frozen=True, eq=False)
class Prepared:
    """A series ready to be judged: its channels without gaps, and which of their moments are invented."""

    values: Values
    unknown: Mask
    scales: Scales

    @property
    def has_unknown(self) -> bool:
        """Say whether a moment of a channel is invented."""
        return self.unknown.strides != (0, 0)  # else one False stands for all

    @classmethod
    def of(cls, track: Track, channels: Places, scales: Scales | None) -> Self:
        """Bridge the gaps of these channels, and learn their scales if they are not known."""
        all_channels = np.array_equal(channels, np.arange(track.values.shape[1]))
        values = track.values if all_channels and not windows.has_gaps(track.values) else track.values[:, channels]
        unknown = windows.bridge(values)
        scales = Scales.of(values, unknown) if scales is None else scales
        if unknown.any():
            values[unknown] = np.broadcast_to(scales.centre[0], values.shape)[unknown]
        return cls(values, unknown, scales)

    def view(self, number: int, moments: slice) -> Values:
        """Return these moments scaled, or for view 1 their differences, of which the first needs the moment before."""
        before = min(number, moments.start)
        return self.scales.view(self.values[moments.start - before : moments.stop], number)[before:]


def channel_changes(names: Sequence[str], series: Sequence[Prepared]) -> list[str]:
    """Say which channels have another level or another spread than the scales learned in fitting."""
    changes = []
    for place, name in enumerate(names):
        centre = float(np.median([prepared.scales.centre[0, place] for prepared in series]))
        deviation = float(np.median([prepared.scales.deviation[0, place] for prepared in series]))
        level = float(np.median([prepared.values[:, place].mean() for prepared in series]))
        spread = float(np.median([prepared.values[:, place].std() for prepared in series]))
        if abs(level - centre) > MOVED * deviation:
            word = "higher" if level > centre else "lower"
            changes.append(f"{name} is {word}: {number(level)} on average, {number(centre)} before.")
        if not 1 / VARIES < spread / deviation < VARIES:
            word = "more" if spread > deviation else "less"
            changes.append(f"{name} varies {word}: by {number(spread)}, by {number(deviation)} before.")
    return changes


@dataclass(frozen=True, eq=False)
class Part:
    """Score windows by one FUSE: those of each channel alone, or of the principal signals of all."""

    view: int
    loadings: Values | None  # (channels, signals); None: each channel alone
    weight: float  # of what the cosines leave
    model: FUSE

    @property
    def alone(self) -> bool:
        return self.loadings is None

    def rows(self, scaled: Values, starts: Places, length: int) -> NDArray[np.float32]:
        """Return the windows of scaled channels as rows, channel after channel if each is alone."""
        signals = scaled if self.loadings is None else scaled @ self.loadings
        if len(signals) == length:  # one window of each signal, as in a stream: all at once
            rows = windows.shapes_of_windows(np.ascontiguousarray(signals.T))
            rows[:, -1] *= self.weight
            return rows if self.alone else rows.reshape(1, -1)
        parts = [windows.shapes(signal, starts, length) for signal in np.ascontiguousarray(signals.T)]
        for rows in parts:
            rows[:, -1] *= self.weight
        return np.concatenate(parts, axis=0 if self.alone else 1)

    def oddness(self, scaled: Values, starts: Places, length: int) -> NDArray[np.float32]:
        """Return how odd each window is, without an upper end: (windows, channels), or (windows, 1) jointly."""
        scores = -self.model.score_samples(self.rows(scaled, starts, length))
        return np.ascontiguousarray(scores.astype(np.float32).reshape(-1, len(starts)).T)

    def learn(self, rows: NDArray[np.float32]) -> "Part":
        """Return this part fitted to rows whose last numbers do not carry their weight yet."""
        width = rows.shape[1] // (1 if self.loadings is None else self.loadings.shape[1])
        left = np.s_[width - 1 :: width]
        weight = LEFT_WEIGHT * float(np.delete(rows, left, axis=1).std())
        rows[:, left] *= weight
        self.model.fit(rows)
        return replace(self, weight=weight)

    def learn_more(self, rows: NDArray[np.float32]) -> "Part":
        """Return this part with its FUSE trained on by further rows."""
        return replace(self, model=copy(self.model).partial_fit(rows))


def principal_signals(series: list[Prepared], view: int) -> Values:
    """Return the loadings (channels, signals) of the directions in which the scaled channels vary most."""
    channels = series[0].values.shape[1]
    moment = np.zeros((channels, channels))
    for prepared in series:
        scaled = prepared.view(view, slice(0, len(prepared.values)))
        moment += scaled.T @ scaled
    directions = np.linalg.eigh(moment)[1][:, ::-1]
    return np.ascontiguousarray(directions[:, :JOINT])


@dataclass(frozen=True, eq=False)
class Oddness:
    """How odd moments, or windows, are: (n,) in all, and (n, channels) each channel alone."""

    whole: Values
    channels: Values

    @classmethod
    def of(cls, parts: list[Part], scores: Sequence[Values]) -> Self:
        """Add up the scores of the parts: jointly, and the mean of the three channels that are oddest alone."""
        joint = [score[:, 0] for part, score in zip(parts, scores, strict=True) if not part.alone]
        alone = [score for part, score in zip(parts, scores, strict=True) if part.alone]
        channels = reduce(np.add, alone)
        if channels.shape[1] == 1:
            return cls(channels[:, 0], channels)
        is_judged = np.isfinite(channels)
        few = min(HIGHEST, channels.shape[1])
        whole = np.partition(np.where(is_judged, channels, 0.0), -few, axis=1)[:, -few:].mean(1)
        for score in joint:
            whole += np.nan_to_num(score)
        whole[~is_judged.any(1)] = np.nan
        return cls(whole, channels)

    def shares(self) -> NDArray[np.float64]:
        """Return each channel's share of the oddness of a moment beyond the usual; zeros if none is odd alone."""
        excess = np.maximum(np.nan_to_num(self.channels.astype(np.float64)), 0.0)
        total = excess.sum(1, keepdims=True)
        return safe_divide(excess, total)


@dataclass(frozen=True, eq=False)
class Judgement:
    """How odd the moments of a series are, and the windows of which they are the mean."""

    moments: Oddness
    windows: Values  # in all


@dataclass(frozen=True, eq=False)
class Levels:
    """The distribution of many scores: rising scores, and the share of all that are at least as high."""

    scores: Values
    shares: Values
    count: int

    @classmethod
    def of(cls, scores: Sequence[Values]) -> Self:
        """Keep the highest of these scores one by one, and quantiles of the others."""
        finite = [each_series[np.isfinite(each_series)] for each_series in scores]
        ordered = finite[0] if len(finite) == 1 else np.concatenate(finite)
        ordered.sort()
        count = len(ordered)
        body = np.linspace(0, count - 1, min(count, BODY)).astype(np.intp)
        places = np.union1d(body, np.arange(max(0, count - TAIL), count))
        return cls(ordered[places].astype(np.float64), (count - places) / (count + 1), count)

    def joined(self, other: Self) -> Self:
        """Return the levels of both samples together."""
        scores = np.union1d(self.scores, other.scores)
        count = self.count + other.count
        shares = (self.count * self.p_values(scores) + other.count * other.p_values(scores)) / count
        return type(self)(scores, shares, count)

    def p_values(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return the share of the scores learned from that are at least as high."""
        log_shares = np.log(self.shares)
        return _in_blocks(lambda block: np.exp(np.interp(block, self.scores, log_shares)), scores)

    def centrality(self, scores: NDArray[Any]) -> NDArray[np.float64]:
        """Return scores in [0, 1], as FUSE does: the median has 1/2, and the 95th percentile of oddness 1/4."""
        middle = float(np.interp(-0.5, -self.shares, self.scores))
        high = float(np.interp(-0.05, -self.shares, self.scores))

        def squeeze(block: NDArray[Any]) -> Values:
            units = (middle - block.astype(np.float64)) / max(high - middle, 1e-9)
            return np.where(np.isnan(units), np.nan, squeezed(np.nan_to_num(units)))

        return _in_blocks(squeeze, scores)


def _in_blocks(function: Callable[[NDArray[Any]], Values], scores: NDArray[Any]) -> NDArray[np.float64]:
    """Return what a function makes of scores, a million at a time: what it needs besides stays small."""
    result = np.empty(len(scores))
    for first in range(0, len(scores), IN_BLOCK):
        result[first : first + IN_BLOCK] = function(scores[first : first + IN_BLOCK])
    return result
