"""Windows of a series as rows of numbers: their shape by a few cosines, and the size of what these leave.

A window is described twice: as it is, and by its differences, which see a change of noise or a kink that the slow shape
hides. Both are scaled by their channel, since a row must not depend on the unit of a sensor.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.fft import dct

from centrality._internal.arrays import safe_divide
from centrality.series.reading import BRIDGED

LONGEST = 125  # moments of a window: better than a period that is detected, as is anything from 96 to 160
PER_SERIES = 8  # a series has at least so many windows side by side
COSINES = 16
DENSITY = 32  # windows that begin within the length of one: all of them change VUS-PR by less than .003
FLOOR = 0.02  # in deviations a moment: less noise than this is none
CLIP = 10.0  # ranges beyond the usual range: a single spike must not flatten the rest
USUAL = (0.1, 99.9)  # percentiles
SCALED_BY = 1_000_000
GATHERED = 8192  # windows taken together: they stay in the processor's cache
VIEWS = ("values", "differences")

Values = NDArray[np.floating[Any]]  # scores have seven digits: of ten million moments that is enough
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]


def differences(values: Values) -> Values:
    """Return what each moment adds to the one before."""
    return np.diff(values, axis=0, prepend=values[:1])


@dataclass(frozen=True, eq=False)
class Scales:
    """How each channel is clipped and scaled, in both views: (2, channels) each."""

    low: Values
    high: Values
    centre: Values
    deviation: Values

    @classmethod
    def of(cls, values: Values, unknown: Mask) -> Self:
        """Learn the scales of channels whose gaps are bridged, by at most a million moments that are known."""
        moments = np.arange(0, len(values), -(-len(values) // SCALED_BY))
        sample = values[moments]
        views = [
            [_scale_of(column[~gap]) for column, gap in zip(view.T, unknown[moments].T, strict=True)]
            for view in (sample, sample - values[np.maximum(moments - 1, 0)])
        ]
        return cls(*np.moveaxis(np.array(views), 2, 0))

    def view(self, values: Values, number: int) -> Values:
        """Return the values, or for view 1 their differences, clipped and scaled."""
        signal = differences(values) if number else values
        signal = np.clip(signal, self.low[number], self.high[number])
        return np.asarray((signal - self.centre[number]) / self.deviation[number])


def _scale_of(values: Values) -> tuple[float, float, float, float]:
    """Return the lowest and highest value that is not clipped, the mean and the deviation."""
    if not len(values):
        return -np.inf, np.inf, 0.0, 1.0
    low, high = np.percentile(values, USUAL)
    reach = CLIP * (high - low) if high > low else np.inf
    clipped = np.clip(values, low - reach, high + reach)
    return low - reach, high + reach, clipped.mean(), clipped.std() or 1.0


def bridge(values: Values) -> Mask:
    """Bridge gaps of the values (n, channels) by straight lines, in place; return which gaps are too long for that."""
    if not has_gaps(values):
        return np.broadcast_to(np.False_, values.shape)
    unknown = np.zeros(values.shape, dtype=bool)
    for channel in range(values.shape[1]):
        missing = np.isnan(values[:, channel])
        if not missing.any():
            continue
        if missing.all():
            values[:, channel] = 0.0
            unknown[:, channel] = True
            continue
        present = np.flatnonzero(~missing)
        values[missing, channel] = np.interp(np.flatnonzero(missing), present, values[present, channel])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], missing.astype(np.int8), [0]])))
        for first, end in edges.reshape(-1, 2):
            unknown[first:end, channel] = end - first > BRIDGED
    return unknown


def has_gaps(values: Values) -> bool:
    """Say whether a value is missing."""
    blocks = range(0, len(values), SCALED_BY)
    return any(bool(np.isnan(values[first : first + SCALED_BY]).any()) for first in blocks)


def starts_of(moments: int, length: int) -> Places:
    """Return where the windows of a series of so many moments begin."""
    return np.arange(0, moments - length + 1, stride_of(length))


def stride_of(length: int) -> int:
    """Return the moments from one window's start to the next."""
    return max(1, length // DENSITY)


@lru_cache(maxsize=4)
def cosines(length: int) -> Values:
    """Return the first cosines of this length as columns, orthonormal."""
    return np.asarray(dct(np.eye(length), norm="ortho", axis=1)[:, :COSINES])


def shapes(signal: Values, starts: Places, length: int) -> NDArray[np.float32]:
    """Return for each window its weights on the cosines, and the logarithm of what they leave: (windows, 17).

    >>> import numpy as np
    >>> from centrality.series.windows import shapes
    >>> shapes(np.sin(np.arange(200) / 9), np.array([0, 50]), 64).shape
    (2, 17)
    """
    windows = sliding_window_view(signal, length)
    blocks = range(0, len(starts), GATHERED)
    return np.concatenate([shapes_of_windows(windows[starts[first : first + GATHERED]]) for first in blocks])


def shapes_of_windows(block: Values) -> NDArray[np.float32]:  # (windows, length) -> (windows, 17)
    """Return the shapes of these windows."""
    length = block.shape[1]
    weights = block @ cosines(length)
    left = np.einsum("ij,ij->i", block, block) - np.einsum("ij,ij->i", weights, weights)
    left = np.log(np.sqrt(np.maximum(left, 0.0)) + FLOOR * np.sqrt(length))
    return np.concatenate([weights, left[:, None]], axis=1, dtype=np.float32)


def complete(unknown: Mask, starts: Places, length: int) -> Mask:
    """Say which windows of which channels have no moment that is unknown: (windows, channels)."""
    if not unknown.any():
        return np.ones((len(starts), unknown.shape[1]), dtype=bool)
    count = np.concatenate([np.zeros((1, unknown.shape[1]), dtype=np.int64), np.cumsum(unknown, axis=0)])
    return np.asarray(count[starts + length] == count[starts])


def cover(
    scores: NDArray[np.floating[Any]], moments: int, length: int
) -> Values:  # (windows, channels) -> (moments, channels)
    """Return for each moment the mean score of the windows that cover it, NaN where none does.

    Windows begin every few moments. So a moment at the edge of a gap, or of the series, may have no window of its own;
    it has the score of the one that comes nearest.

    >>> import numpy as np
    >>> from centrality.series.windows import cover
    >>> cover(np.array([[1.0], [3.0]]), 4, 3)[:, 0]  # the middle two moments lie in both windows
    array([1., 2., 2., 3.])
    """
    stride = stride_of(length)
    is_judged = np.isfinite(scores)
    total = np.zeros((len(scores) + 1, scores.shape[1]))
    count = np.zeros_like(total)
    np.cumsum(np.where(is_judged, scores, 0.0), axis=0, out=total[1:])
    np.cumsum(is_judged, axis=0, out=count[1:])
    moment = np.arange(moments)
    end = np.minimum(moment // stride + 1, len(scores))
    first = np.minimum(np.maximum(-(-(moment - length + 1) // stride), 0), end)
    weight = count[end] - count[first]
    alone = (weight == 0).any(1)
    means = safe_divide(total[end] - total[first], weight, np.nan)
    first = np.maximum(first[alone] - 1, 0)
    end = np.minimum(end[alone] + 1, len(scores))
    nearest = safe_divide(total[end] - total[first], count[end] - count[first], np.nan)
    means[alone] = np.where(np.isnan(means[alone]), nearest, means[alone])
    return means
