"""Mix the two heads into one centrality, by the dial t.

A row is scored by a pair of units, the global and the local score on unbounded scales, 0 at the median of the training
rows and 1 at their 95th percentile. The local head is the better one at finding outliers, so its head score carries a
weight w: local = w times its unit, and global = its unit. The score at t is the paper's mixture of these two,

    f(x, t) = squeeze(((1 - t) * global + t * local) / (1 - t + w * t)),

linear in the head scores. The divisor is the mixture's own unit at t, that of a row at the 95th percentile of both
heads: it changes no rank, and lets one `squeeze` bring every mixture into [0, 1] alike. So a row's centrality and its
unbounded score are two ways to write one number. The global score has a veto: the local unit counts for no more than
ALLOWANCE / (1 - t) above it. A far group of rows, however dense, is not typical then, unless t = 1 asks for the local
score alone: a density. The paper's heads lie in [0, 1] already: w = 1, no veto, and nothing to squeeze.
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError

LOCAL_WEIGHT = 9.0  # w, measured: benchmarks/detection and, given a context, benchmarks/contextual.py
ALLOWANCE = 0.5  # at t = 1/2 the local score may exceed the global one by one unit, the upper half of the training rows
ALIKE = 1e-9  # mixtures that differ by less have the derivative for a chord

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Mixing:
    """Define how units are mixed and squeezed.

    `local_weight` None: units are heads in [0, 1], mixed linearly. Else the local one counts so many times as much as
    the global one. With `veto`, it may exceed the global one by ALLOWANCE / (1 - t) only.
    """

    local_weight: float | None
    veto: bool = False

    def share(self, t: Matrix | float) -> Matrix | float:
        """Return the weight of the local unit at t, w t / (1 - t + w t): from 0 to 1."""
        return t if self.local_weight is None else self.local_weight * t / (1 + (self.local_weight - 1) * t)

    def allowance(self, t: Matrix | float) -> Matrix:
        """Return by how many units the local score may exceed the global one at t."""
        with np.errstate(divide="ignore"):
            return np.asarray(ALLOWANCE / (1 - np.asarray(t))) if self.veto else np.full(np.shape(t), np.inf)

    def mixed(self, units: Matrix, t: float | Sequence[float]) -> Matrix:
        """Mix units at t, before they are squeezed: (n,) for one t, (n, len(t)) for several."""
        if type(t) is float and 0 <= t <= 1:  # many calls score one row at a time: plain numbers are quicker
            share, of_global, of_local = self.share(t), units[:, 0], units[:, 1]
            if self.veto and t < 1:
                of_local = np.minimum(of_local, of_global + ALLOWANCE / (1 - t))
            return np.asarray((1 - share) * of_global + share * of_local)
        dial = checked_t(t)
        of_global, of_local = (units[:, 0], units[:, 1]) if dial.ndim == 0 else (units[:, :1], units[:, 1:])
        shares, of_local = self.share(dial), np.minimum(of_local, of_global + self.allowance(dial))
        return np.asarray((1 - shares) * of_global + shares * of_local)

    def weights(self, units: Matrix, t: float) -> Matrix:  # (n, 2) -> (n, 2)
        """Return the derivatives of `mixed` at t by the two units."""
        share = float(self.share(t))
        vetoed = units[:, 1] > units[:, 0] + self.allowance(t)
        return np.where(vetoed[:, None], [1.0, 0.0], [1 - share, share])

    def squeeze(self, values: Matrix) -> Matrix:
        """Bring units, or mixtures of them, into [0, 1]."""
        return values if self.local_weight is None else squeezed(values)

    def centrality(self, units: Matrix, t: float | Sequence[float]) -> Matrix:
        """Return the centrality at t of rows with these units: (n,), or (n, len(t)) for several."""
        return self.squeeze(self.mixed(units, t))

    def contributions(self, parts: Matrix, units: Matrix, origin: Matrix, t: float) -> Matrix:
        """Return what each feature adds to the centrality at t, from what it adds to each unit.

        `parts` (n, 2, p) add up to `units` - `origin`, both (n, 2). The result, (n, p), adds up to the difference of
        centralities: the parts are mixed as the units are, and what a veto or squeezing make of that is a factor for
        each row. Where the global score vetoes the local one, the global parts take the local one's share too.
        """
        before, after = self.mixed(origin, t), self.mixed(units, t)
        weights = self.weights(units, t)
        mixed = weights[:, :1] * parts[:, 0] + weights[:, 1:] * parts[:, 1]
        moved = (weights * (units - origin)).sum(1)
        factor = np.divide(after - before, moved, out=np.ones_like(moved), where=np.abs(moved) > ALIKE)
        return np.asarray(mixed * (factor * chord(self.squeeze, before, after))[:, None])

    def __call__(self, heads: Matrix, t: float | Sequence[float]) -> Matrix:
        """Return the centrality at t of rows with these heads in [0, 1]: (n,), or (n, len(t)) for several.

        Heads so near to 0 or 1 that rounding cannot tell them apart are taken to be equal: code that has units mixes
        those.
        """
        return self.centrality(heads if self.local_weight is None else stretched(heads), t)


LINEAR = Mixing(local_weight=None)
SOFT = Mixing(LOCAL_WEIGHT, veto=True)
SOFT_IF_CLEAN = Mixing(LOCAL_WEIGHT)


def blend(heads: Matrix, t: float | Sequence[float], mixing: Mixing = SOFT) -> Matrix:
    """Mix heads as a model with default settings does; `model.fitted_.mixing` mixes those of any model.

    >>> import numpy as np
    >>> from centrality import blend
    >>> from centrality.scores.mixing import LINEAR
    >>> blend(np.array([[0.2, 0.6]]), [0, 1])
    array([[0.2, 0.6]])
    >>> blend(np.array([[0.2, 0.6]]), 0.25, LINEAR)
    array([0.3])
    """
    return mixing(np.asarray(heads, dtype=np.float64), t)


def squeezed(units: Matrix) -> Matrix:
    """Map the real line onto (0, 1), smoothly and strictly increasing: 0 becomes 1/2; the lower tail is 1/distance."""
    size = np.minimum(np.abs(units), 1e100)  # the cube of more would overflow
    return np.asarray(np.where(units <= 0, 0.5 / (1 + size), 0.5 + 0.5 * size / np.cbrt(1 + size**3)))


def stretched(heads: Matrix) -> Matrix:
    """Return the inverse of `squeezed`; the ends 0 and 1, which it does not reach, become very large numbers."""
    heads = np.clip(heads, 1e-18, np.nextafter(1.0, 0.0))
    above = np.maximum(2 * heads - 1, 0.0)
    return np.asarray(np.where(heads <= 0.5, 1 - 0.5 / heads, above / np.cbrt(1 - above**3)))


def chord(function: Callable[[Matrix], Matrix], a: Matrix, b: Matrix) -> Matrix:
    """Return (f(b) - f(a)) / (b - a), element by element; where a and b hardly differ, the derivative."""
    least = 1e-6 * (1 + np.abs(a))
    equal = np.abs(b - a) < ALIKE * (1 + np.abs(a))
    a, b = np.where(equal, a - least, a), np.where(equal, a + least, b)
    return np.asarray((function(b) - function(a)) / (b - a))


def checked_t(t: object) -> Matrix:
    """Return `t` as a float array of no or one dimension; raise unless every value is in [0, 1]."""
    if type(t) is float and 0 <= t <= 1:
        return np.array(t)
    try:
        dial = np.asarray(t, dtype=np.float64)
    except (TypeError, ValueError):
        dial = np.array(np.nan)
    if dial.ndim > 1 or dial.size == 0 or not ((dial >= 0) & (dial <= 1)).all():
        raise InputError(f"t must lie between 0 (global) and 1 (local), a number or a list of them, got {t!r}.")
    return dial


def one_t(t: object) -> float:
    """Return `t` as one number; raise if it is a list."""
    if type(t) is float and 0 <= t <= 1:
        return t
    dial = checked_t(t)
    if dial.ndim:
        raise InputError(f"t must be one number here, got {t!r}: this is computed for one t at a time.")
    return float(dial)


def name_at(kind: str, t: float, own: float) -> str:
    """Name the column of a score at t: as its kind if that is the model's own t, else with t in per cent, no dot.

    >>> name_at("centrality", 0.5, own=0.5), name_at("centrality", 0.25, own=0.5), name_at("p_value", 0.125, own=0.5)
    ('centrality', 'centrality_t25', 'p_value_t12_5')
    """
    return kind if t == own else f"{kind}_t{100 * t:.6f}".rstrip("0").rstrip(".").replace(".", "_")
