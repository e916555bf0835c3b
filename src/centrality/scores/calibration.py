"""Calibrate the two raw heads to [0, 1].

"clip" is the paper's: the global logit passes through a sigmoid, the local potential is rescaled between its 1st and
99th percentiles on the training rows and clipped. Every point below the 1st percentile gets 0, so the oddest points
tie. "soft" puts both heads into units of the upper half of the training rows, in which they are also mixed
(`scores/mixing.py`), and squeezes these units into (0, 1): the median row has 1/2, and no two rows tie.
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError
from centrality.engine import engine
from centrality.scores.mixing import LINEAR, LOCAL_WEIGHT, SOFT, SOFT_IF_CLEAN, Mixing

CALIBRATIONS = ("soft", "clip")
OLD_SOFT = "soft, linear"  # what files of version 0.1 call "soft": bent where it nears 0 and 1, and mixed linearly
QUANTILES = (0.01, 0.99)  # the paper's
UPPER_HALF = (0.5, 0.95)
BEND = 0.02  # `soft_clip` is the identity on [BEND, 1 - BEND]
LOGIT_BEND = 6.0  # `soft_sigmoid` is the sigmoid up to |g| = 6, that is on [0.0025, 0.9975]

# (members, n, 1 + k): each network's global logit and k potentials of n rows, in float32 or float64.
Outputs: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Calibration:
    """Hold what fitting fixed: the percentiles of each potential and of the raw heads on the training rows."""

    kind: str
    potentials: NDArray[np.float64]  # (members, k, 2) low and high of each noise scale's potential
    ends: NDArray[np.float64]  # (2, 2) low and high of the raw global score, and of the raw local one
    halves: NDArray[np.float64]  # (2, 2) their medians and 95th percentiles
    mixing: Mixing

    def __post_init__(self) -> None:
        """Refuse quantiles that are out of order: heads would rise where rows get odder."""
        for name in ("potentials", "ends", "halves"):
            pairs = getattr(self, name)
            if not (pairs[..., 0] <= pairs[..., 1]).all():
                raise InputError(f"calibration.{name} must hold a low and a high value, got them in another order.")

    @classmethod
    def fit(cls, kind: str, outputs: Outputs, *, clean: bool = False) -> Calibration:
        """Return the calibration that the networks' outputs on training rows, `clean` or not, call for."""
        checked_calibration(kind)
        potentials = np.moveaxis(np.quantile(outputs[:, :, 1:].astype(np.float64), QUANTILES, axis=1), 0, 2)
        raw = raw_scores(outputs, Rescaling.of(potentials[:, :, None]))
        ends, halves = (np.quantile(raw, levels, axis=0).T for levels in (QUANTILES, UPPER_HALF))
        soft = SOFT_IF_CLEAN if clean else SOFT
        return cls(kind, potentials, ends, halves, soft if kind == "soft" else LINEAR)

    @cached_property
    def _rescale_potentials(self) -> Rescaling:
        return Rescaling.of(self.potentials[:, :, None])

    @cached_property
    def _rescale_local(self) -> Rescaling:
        return Rescaling.of(self.ends[1])

    @cached_property
    def _in_upper_halves(self) -> Rescaling:
        return Rescaling.of(self.halves)

    def raw(self, outputs: Outputs) -> NDArray[np.float64]:  # (n, 2)
        """Return the raw global and local scores that the networks' outputs amount to."""
        return raw_scores(outputs, self._rescale_potentials)

    def heads_of(self, outputs: Outputs) -> NDArray[np.float64]:  # (n, 2)
        """Return the heads, calibrated to [0, 1], that the networks' outputs amount to."""
        return self.heads(self.raw(outputs))

    def heads_of_each(self, outputs: Outputs) -> NDArray[np.float64]:  # (members, n, 2)
        """Return the heads that each member of the ensemble would give by itself."""
        rescalings = (Rescaling.of(potentials) for potentials in self.potentials[:, None, :, None])
        by_member = (average(own[None], rescale) for own, rescale in zip(outputs, rescalings, strict=True))
        return np.stack([self.heads(raw) for raw in by_member])

    def units(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:  # (n, 2) -> (n, 2)
        """Return raw scores in the units in which heads are mixed.

        Those of "soft" are the upper half of the training rows, which outliers among them do not move: 0 at their
        median, 1 at the 95th percentile, and no ends. Those of the others are [0, 1].
        """
        if self.kind == "soft":
            return self._in_upper_halves(raw)
        local, heads = self._rescale_local(raw[:, 1]), np.empty_like(raw)
        if self.kind == "clip":
            heads[:, 0], heads[:, 1] = sigmoid(raw[:, 0]), local.clip(0.0, 1.0)
        else:
            heads[:, 0], heads[:, 1] = soft_sigmoid(raw[:, 0]), soft_clip(local)
        return heads

    def heads(self, raw: NDArray[np.float64]) -> NDArray[np.float64]:  # (n, 2) -> (n, 2)
        """Return raw scores calibrated to [0, 1]."""
        return self.mixing.heads(self.units(raw))

    def centrality(self, raw: NDArray[np.float64], t: float | Sequence[float]) -> NDArray[np.float64]:
        """Return the heads mixed at t."""  # (n, 2) -> (n,), or (n, len(t)) for several
        return self.mixing.of_units(self.units(raw), t)

    def scores(self, raw: NDArray[np.float64], t: float) -> NDArray[np.float64]:  # (n, 2) -> (n,)
        """Return the same before it is squeezed into [0, 1], so that far outliers keep their distances."""
        if self.kind == OLD_SOFT:
            half = self._in_upper_halves(raw) * (1 / LOCAL_WEIGHT, 1.0)
            return LINEAR(half, t)
        return self.mixing.in_units(self.units(raw), t)

    def softened(self) -> Calibration:
        """Return the soft calibration by the same quantiles: what "clip" cuts off has no slope to follow."""
        return self if self.mixing.local_weight is not None else replace(self, kind="soft", mixing=SOFT)

    def slopes(self, before: Outputs, after: Outputs, t: float) -> NDArray[np.float64]:  # (members, n, 1 + k)
        """Say how steeply each output moves the mixture at t, in units, from `before` to `after`.

        These are slopes of chords: slope times change, summed over the outputs, is what the mixture changes by,
        exactly, however the calibration bends or breaks in between. Where nothing changes they are derivatives.
        """
        ends = [self.raw(outputs) for outputs in (before, after)]
        by_raw = chord(self.units, *ends) * self._parts_in_mixture([self.units(raw) for raw in ends], t)  # (n, 2)
        members = len(before)
        slopes = np.empty(before.shape)
        slopes[:, :, 0] = by_raw[:, 0] / members
        slopes[:, :, 1:] = by_raw[:, 1:] / members
        if self.potentials[..., 0].size > 1:  # a lone potential is not rescaled: see `raw_scores`
            local = [outputs[:, :, 1:].swapaxes(1, 2) for outputs in (before, after)]
            shares = _shares(_weights, *(bend_top(self._rescale_potentials(each)) for each in local))
            shares *= chord(lambda each: bend_top(self._rescale_potentials(each)), *local)
            slopes[:, :, 1:] *= shares.swapaxes(1, 2)
        return slopes

    def _parts_in_mixture(self, ends: list[NDArray[np.float64]], t: float) -> NDArray[np.float64]:  # (n, 2)
        """Say what part of each head's change, in units, the mixture takes over; a vetoed local head has none."""
        share, room = self.mixing.share(t), self.mixing.room(t)
        parts = np.empty_like(ends[0])
        parts[:] = 1 - share, share
        if np.isfinite(room):
            limits = [np.stack([units[:, 0] + room, units[:, 1]])[None] for units in ends]  # (1, 2, n)
            of_limit, of_local = _shares(_lowest, *limits)[0]
            parts[:, 0] += share * of_limit
            parts[:, 1] = share * of_local
        return parts


@dataclass(frozen=True)
class Rescaling:
    """Rescale values so that a low one becomes 0 and a high one 1.

    It is made once and kept, because a request loop scores one row at a time.
    """

    low: NDArray[np.float64]
    per_unit: NDArray[np.float64]

    @classmethod
    def of(cls, low_high: NDArray[np.float64]) -> Rescaling:  # (..., 2)
        """Return the rescaling of pairs of a low and a high value, which lie along the last dimension."""
        low, high = low_high[..., 0], low_high[..., 1]
        width = np.where(high > low, high - low, 1.0)  # a flat potential stays flat instead of dividing by zero
        return cls(np.ascontiguousarray(low), np.ascontiguousarray(1 / width))

    def __call__(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((values - self.low) * self.per_unit)


def raw_scores(outputs: Outputs, rescale: Rescaling) -> NDArray[np.float64]:  # (n, 2)
    """Return the raw scores: of one network with one potential its outputs as they are, else their `average`."""
    if outputs.shape[::2] == (1, 2):
        return np.asarray(outputs[0], dtype=np.float64)
    found = engine()
    if found is None or outputs.dtype != np.float64 or not outputs.flags.c_contiguous or rescale.low.ndim != 3:
        return average(outputs, rescale)
    return found.raw(outputs, rescale.low[:, :, 0], rescale.per_unit[:, :, 0], BEND)  # `average`, written in C++


def average(outputs: Outputs, rescale: Rescaling) -> NDArray[np.float64]:  # (n, 2)
    """Return the mean global logit beside the local score, the mean of the rescaled potentials.

    Of three or more potentials of a network, the lowest and the highest are left out: beyond the training rows each
    falls at a pace of its own, and the steepest would outvote all others. And none may exceed the most central
    training rows by much (`bend_top`): between distant groups of rows a potential learned with little noise has no
    way to know which one is the denser, and may be far too high.
    """
    by_output = np.empty((len(outputs), outputs.shape[2], outputs.shape[1]))  # rows last: sums run along them
    by_output[:] = outputs.transpose(0, 2, 1)
    raw = np.empty((outputs.shape[1], 2))
    raw[:, 0] = _sums(by_output[:, 0])  # means by hand: a request loop scores one row at a time
    middle = bend_top(_without_ends(rescale(by_output[:, 1:])))
    raw[:, 1] = _sums(middle.reshape(-1, len(raw)))
    raw /= len(outputs), len(outputs) * middle.shape[1]
    return raw


def _sums(addends: NDArray[np.float64]) -> NDArray[np.float64]:  # (m, n) -> (n,)
    """Return sums over the first dimension, one addend after another: of a row alone, `reduce` would take pairs."""
    whole = addends.shape[1] > 1
    return np.asarray(np.add.reduce(addends, axis=0) if whole else np.add.accumulate(addends, axis=0)[-1])


def checked_calibration(kind: str) -> None:
    """Refuse a calibration that does not exist."""
    if kind not in CALIBRATIONS:
        raise InputError(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {kind!r}.")


def soft_clip(u: NDArray[np.float64], bend: float = BEND) -> NDArray[np.float64]:
    """Map the real line onto (0, 1), smoothly and strictly increasing: the identity on [bend, 1 - bend]."""
    # Value and slope at u = bend: bend and 1.
    return _bent(bend_top(u, bend), u < bend, lambda low: bend**2 / (2 * bend - low))


def bend_top(u: NDArray[np.float64], bend: float = BEND) -> NDArray[np.float64]:
    """Apply the upper half of `soft_clip`: strictly increasing, the identity up to 1 - bend, below 1 everywhere."""
    return _bent(u, u > 1 - bend, lambda high: 1 - bend**2 / (2 * bend - (1 - high)))


def soft_sigmoid(g: NDArray[np.float64], bend: float = LOGIT_BEND) -> NDArray[np.float64]:
    """Apply the sigmoid on [-bend, bend], and beyond a tail of the same slope that never rounds to 0 or 1."""

    def tail(odd: NDArray[np.float64]) -> NDArray[np.float64]:
        edge = sigmoid(-bend)
        low = edge / (1 + (1 - edge) * (np.abs(odd) - bend))
        return np.asarray(np.where(odd > 0, 1 - low, low))

    return _bent(np.asarray(sigmoid(g)), np.abs(g) > bend, tail, g)


def _bent(
    values: NDArray[np.float64],
    where: NDArray[np.bool_],
    tail: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    of: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return `values` with those in the tail replaced; most are not in it, and often none is."""
    if not where.any():
        return values
    bent = values.copy()
    bent[where] = tail((values if of is None else of)[where])
    return bent


def chord(
    function: Callable[[NDArray[np.float64]], NDArray[np.float64]], a: Outputs, b: Outputs
) -> NDArray[np.float64]:
    """Return (f(b) - f(a)) / (b - a), element by element; where a and b hardly differ, the derivative."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    least = 1e-6 * (1 + np.abs(a))
    equal = np.abs(b - a) < least
    a, b = np.where(equal, a - least, a), np.where(equal, a + least, b)
    return np.asarray((function(b) - function(a)) / (b - a))


def _without_ends(values: NDArray[np.float64]) -> NDArray[np.float64]:  # (members, k, n) -> (members, k - 2, n)
    """Drop the lowest and the highest of each k values, if k is 3 or more; `values` is overwritten.

    The highest bubbles up and the lowest down, for all n at once: to sort each k would take ten times as long.
    """
    k = values.shape[1]
    if k < 3:
        return values
    for i in (*range(k - 1), *range(k - 3, -1, -1)):
        below, above = values[:, i], values[:, i + 1]
        lower = np.minimum(below, above)
        np.maximum(below, above, out=above)
        values[:, i] = lower
    return values[:, 1:-1]


def _shares(
    weights: Callable[[NDArray[np.float64]], NDArray[np.float64]],
    before: NDArray[np.float64],
    after: NDArray[np.float64],
) -> NDArray[np.float64]:  # (members, k, n)
    """Say how much each of k values contributes to the change of their weighted sum from `before` to `after`.

    That is the mean of its weights at both ends; what is missing to the true change, where values overtake one
    another on the way, goes to those that changed.
    """
    half = [weights(values) for values in (before, after)]
    shares = 0.5 * (half[0] + half[1])
    change = after - before
    missing = ((half[1] * after) - (half[0] * before) - shares * change).sum(1, keepdims=True)
    size = np.square(change).sum(1, keepdims=True)
    shares += np.divide(missing * change, size, out=np.zeros_like(change), where=size > 0)
    return shares


def _weights(values: NDArray[np.float64]) -> NDArray[np.float64]:  # (members, k, n)
    """Return 1 / (k - 2) for values that are neither the lowest nor the highest of k, else 0; 1 / k if k < 3."""
    k = values.shape[1]
    if k < 3:
        return np.full(values.shape, 1 / k)
    ranks = values.argsort(1, kind="stable").argsort(1, kind="stable")
    return np.where((ranks > 0) & (ranks < k - 1), 1 / (k - 2), 0.0)


def _lowest(values: NDArray[np.float64]) -> NDArray[np.float64]:  # (1, 2, n)
    """Return 1 for the lower of two values, else 0: the weights of their minimum."""
    first = values[:, :1] < values[:, 1:]
    return np.concatenate([first, ~first], axis=1).astype(np.float64)


def sigmoid(g: Any) -> Any:
    """Return 1 / (1 + exp(-g)), without overflow at either end."""
    return 0.5 * (1 + np.tanh(0.5 * g))
