"""Mix the two heads into one centrality, by the dial t.

The paper's mixture is linear, f = (1 - t) * global + t * local, and so is that of clipped heads. In [0, 1] there is
little room below the oddest training rows, though: among points beyond them a linear mixture follows the head that has
more of that room. So soft heads are stretched first to scales without ends, mixed there, and squeezed again. A row's
centrality and its unbounded score are then two ways to write one number, and rank rows alike.
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError

LOCAL_WEIGHT = 3.0  # measured: benchmarks/detection
LOCAL_WEIGHT_IF_CLEAN = 9.0  # of clean rows the local head knows more: they were learned for longer, from a prior
ROOM = 0.5  # at t = 1/2 the local head may exceed the global one by one unit, the upper half of the training rows


@dataclass(frozen=True)
class Mixing:
    """Hold how heads in [0, 1] are mixed.

    `local_weight` None: linearly. Else in units of the upper half of the training rows, where the local head counts so
    many times as much as the global one. With `veto`, it may exceed the global head by ROOM / (1 - t) of these units: a
    far group of rows, however dense, is not typical then, unless t = 1 asks for the local head alone.
    """

    local_weight: float | None
    veto: bool = False

    def __call__(self, heads: NDArray[np.float64], t: float | Sequence[float]) -> NDArray[np.float64]:
        """Return the centrality at t: (n,) for one t, (n, len(t)) for several."""
        if self.local_weight is None:
            return _linear(heads, t)
        return squeezed(self.in_units(stretched(heads), t))

    def of_units(self, units: NDArray[np.float64], t: float | Sequence[float]) -> NDArray[np.float64]:
        """Return the centrality where the heads have not been squeezed yet."""
        mixed = self.in_units(units, t)
        return mixed if self.local_weight is None else squeezed(mixed)

    def in_units(self, units: NDArray[np.float64], t: float | Sequence[float]) -> NDArray[np.float64]:
        """Mix heads in units; the result, in the same units, has no ends unless the mixture is linear."""
        if self.local_weight is None:
            return _linear(units, t)
        if type(t) is float and 0 <= t < 1:  # a request loop asks for one row at a time: plain numbers are quicker
            share_of_local = float(self.share(t))
            of_global, of_local = units[:, 0], units[:, 1]
            if self.veto:
                of_local = np.minimum(of_local, of_global + ROOM / (1 - t))
            return np.asarray((1 - share_of_local) * of_global + share_of_local * of_local)
        dial = checked_t(t)
        of_global, of_local = (units[:, 0], units[:, 1]) if dial.ndim == 0 else (units[:, :1], units[:, 1:])
        share = self.share(dial)
        if self.veto:
            of_local = np.minimum(of_local, of_global + self.room(dial))
        return np.asarray((1 - share) * of_global + share * of_local)

    def share(self, t: NDArray[np.float64] | float) -> NDArray[np.float64] | float:
        """Return how much the local head counts at t, from 0 to 1."""
        return t if self.local_weight is None else self.local_weight * t / (1 + (self.local_weight - 1) * t)

    def room(self, t: NDArray[np.float64] | float) -> NDArray[np.float64]:
        """Return by how many units the local head may exceed the global one at t."""
        with np.errstate(divide="ignore"):
            return np.asarray(ROOM / (1 - np.asarray(t))) if self.veto else np.full(np.shape(t), np.inf)

    def units(self, heads: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return heads in the units in which they are mixed."""
        return heads if self.local_weight is None else stretched(heads)

    def heads(self, units: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what is in these units as heads in [0, 1]."""
        return units if self.local_weight is None else squeezed(units)


LINEAR = Mixing(local_weight=None)
SOFT = Mixing(LOCAL_WEIGHT, veto=True)
SOFT_IF_CLEAN = Mixing(LOCAL_WEIGHT_IF_CLEAN)


def blend(heads: NDArray[np.float64], t: float | Sequence[float], mixing: Mixing = SOFT) -> NDArray[np.float64]:
    """Mix heads as a model with default settings does; `model.mixing_` says how another one does.

    >>> import numpy as np
    >>> from centrality import blend
    >>> from centrality.scores.mixing import LINEAR
    >>> blend(np.array([[0.2, 0.6]]), [0, 1])
    array([[0.2, 0.6]])
    >>> blend(np.array([[0.2, 0.6]]), 0.25, LINEAR)
    array([0.3])
    """
    return mixing(np.asarray(heads, dtype=np.float64), t)


def squeezed(units: NDArray[np.float64]) -> NDArray[np.float64]:
    """Map the real line onto (0, 1), smoothly and strictly increasing: 0 becomes 1/2; the lower tail is 1/distance."""
    size = np.minimum(np.abs(units), 1e100)  # the cube of more would overflow
    return np.asarray(np.where(units <= 0, 0.5 / (1 + size), 0.5 + 0.5 * size / np.cbrt(1 + size**3)))


def stretched(heads: NDArray[np.float64]) -> NDArray[np.float64]:
    """Undo `squeezed`; the ends 0 and 1, which it does not reach, become very far."""
    heads = np.clip(heads, 1e-18, np.nextafter(1.0, 0.0))
    above = np.maximum(2 * heads - 1, 0.0)
    return np.asarray(np.where(heads <= 0.5, 1 - 0.5 / heads, above / np.cbrt(1 - above**3)))


def _linear(heads: NDArray[np.float64], t: float | Sequence[float]) -> NDArray[np.float64]:
    dial = checked_t(t)
    if dial.ndim == 1:
        return heads[:, :1] * (1 - dial) + heads[:, 1:] * dial
    return np.asarray((1 - dial) * heads[:, 0] + dial * heads[:, 1])


def checked_t(t: object) -> NDArray[np.float64]:
    """Return `t` as a float array of no or one dimension; an error unless every value is in [0, 1]."""
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
    """Return `t` as one number; an error if it is a list."""
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
