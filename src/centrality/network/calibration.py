"""Turn outputs of networks into scores, and mix both scores into one.

A row is scored by a pair of units, the global and the local score on unbounded scales, 0 at the median of the training
rows and 1 at their 95th percentile. The local head is the better one at finding outliers, so its head score carries a
weight w: local = w times its unit, and global = its unit. The score at t is the paper's mixture of these two,

    f(x, t) = squeeze(((1 - t) * global + t * local) / (1 - t + w * t)),

linear in the head scores. The divisor is the mixture's own unit at t, that of a row at the 95th percentile of both
heads: it changes no rank, and lets one `squeeze` bring every mixture into [0, 1] alike. So a row's centrality and its
unbounded score are two ways to write one number. The global score has a veto: the local unit counts for no more than
ALLOWANCE / (1 - t) above it. A far group of rows, however dense, is not typical then, unless t = 1 asks for the local
score alone: a density. The paper's heads lie in [0, 1] already: w = 1, no veto, and nothing to squeeze.

Each member of an ensemble is calibrated on rows that it was not trained on. Of each head, the member decides that
scores the row lowest. A member trained on a row has overfitted it, and scores it high for that reason alone: one that
was not decides. So a score follows from the row and the weights, and no row need be recognised.

"clip" is the paper's: the global logit passes through a sigmoid, the local potential is rescaled between its 1st and
99th percentiles on the training rows and clipped. Every point below the 1st percentile gets 0, so the oddest points
tie. "soft" puts both heads into units of the upper half of the training rows, in which they are also mixed
(`Calibration` below), and squeezes these units into (0, 1): the median row has 1/2, and no two rows tie.
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays
from centrality._internal.checks import InputError
from centrality.engine import Engine, EngineCalibration, engine

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

    def constants_at(self, t: float) -> tuple[float, float]:
        """Return the share at t, and the allowance: by how much the local score may exceed the global one."""
        share = t if self.local_weight is None else self.local_weight * t / (1 + (self.local_weight - 1) * t)
        return share, ALLOWANCE / (1 - t) if self.veto and t < 1 else float("inf")

    def mixed(self, units: Matrix, t: float | Sequence[float]) -> Matrix:
        """Mix units at t, before they are squeezed: (n,) for one t, (n, len(t)) for several."""
        dial = checked_t(t)
        if dial.ndim:
            return np.column_stack([self.mixed(units, float(at)) for at in dial])
        share, allowance = self.constants_at(float(dial))
        of_global = units[:, 0]
        of_local = np.minimum(units[:, 1], of_global + allowance)
        return np.asarray((1 - share) * of_global + share * of_local)

    def weights(self, units: Matrix, t: float) -> Matrix:  # (n, 2) -> (n, 2)
        """Return the derivatives of `mixed` at t by the two units."""
        share, allowance = self.constants_at(t)
        vetoed = units[:, 1] > units[:, 0] + allowance
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
    >>> from centrality.network.calibration import LINEAR
    >>> blend(np.array([[0.2, 0.6]]), [0, 1])
    array([[0.2, 0.6]])
    >>> blend(np.array([[0.2, 0.6]]), 0.25, LINEAR)
    array([0.3])
    """
    return mixing(np.asarray(heads, dtype=np.float64), t)


def squeezed(units: Matrix) -> Matrix:
    """Map the real line onto (0, 1), smoothly and strictly increasing: 0 becomes 1/2; the lower tail is 1/distance.

    Above 0 it is 1/2 + u / 2 ∛(1 + u³). The engine computes it, with the same bits on every CPU.
    """
    return engine().squeeze(_contiguous(units).reshape(-1)).reshape(np.shape(units))


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


CALIBRATIONS = ("soft", "clip")
QUANTILES = (0.01, 0.99)  # the paper's
UPPER_HALF = (0.5, 0.95)
LOCAL_WIDTH_GIVEN = 3.0  # given a context a unit of the local score is so many times as wide: it says less, measured
# (members, n, 1 + k): each network's global logit and k potentials of n rows.
Outputs: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Calibration(FrozenArrays):
    """The constants of calibration: quantiles of outputs for rows that the networks were not trained on."""

    kind: str
    potentials: Matrix  # (members, k, 2) low and high of each noise scale's potential
    members: Matrix  # (members, 2, 2) what is 0 and what is 1 of each member's global and local score
    ends: Matrix  # (2, 2) low and high of the raw global score, and of the raw local one
    halves: Matrix  # (2, 2) their medians and 95th percentiles
    mixing: Mixing

    def __post_init__(self) -> None:
        """Raise if quantiles are out of order: heads would rise where rows get odder."""
        super().__post_init__()
        for name in ("potentials", "members", "ends", "halves"):
            pairs = getattr(self, name)
            if not (pairs[..., 0] <= pairs[..., 1]).all():
                raise InputError(f"calibration.{name} must hold a low and a high value, got them in another order.")

    @classmethod
    def fit(
        cls,
        kind: str,
        outputs: Outputs,
        unseen: NDArray[np.bool_],
        *,
        clean: bool,
        independent_halves: bool,
        center_logit: bool,
        has_context: bool,
    ) -> tuple[Calibration, Matrix]:
        """Estimate quantiles from outputs for training rows; return also the raw scores that such rows have when new.

        `unseen` (members, n) says which members were not trained on which rows. With `independent_halves` each member
        has not seen rows of its own. `center_logit` sets the logit to 0 at the median row: comparisons leave its level
        open.
        """
        checked_calibration(kind)
        count, _, k = outputs.shape
        identity = np.broadcast_to([0.0, 1.0], (count, 2, 2)).copy()
        soft = SOFT_IF_CLEAN if clean and not has_context else SOFT
        calibration = cls(
            kind,
            potentials=np.broadcast_to([0.0, 1.0], (1, 1, 2)) if (count, k) == (1, 2) else _ends(outputs, unseen),
            members=identity,
            ends=identity[0],
            halves=identity[0],
            mixing=soft if kind == "soft" else LINEAR,
        )
        # Bring the members into like units, by the rows that each has not seen.
        members = zip(calibration.of_members(outputs), unseen, strict=True)
        if count > 1:
            halves = np.stack([np.quantile(scores[rows], UPPER_HALF, axis=0).T for scores, rows in members])
            calibration = replace(calibration, members=halves)
        elif center_logit:
            level = [np.median(scores[rows, 0]) for scores, rows in members]
            centered = identity + np.multiply.outer(level, [[1.0, 1.0], [0.0, 0.0]])
            calibration = replace(calibration, members=centered)
        # Combine them, and take the quantiles of what new rows would get.
        raw = calibration.scores_as_unseen(outputs, unseen) if independent_halves else calibration.raw(outputs)
        ends, halves = np.quantile(raw, QUANTILES, axis=0).T, np.quantile(raw, UPPER_HALF, axis=0).T
        if has_context:
            halves[1, 1] = halves[1, 0] + LOCAL_WIDTH_GIVEN * (halves[1, 1] - halves[1, 0])
        return replace(calibration, ends=ends, halves=halves), raw

    def to_engine(self, engine: Engine) -> EngineCalibration:
        """Return these constants as a build of the engine takes them."""
        low, width = rescaling(self.potentials)
        center, spread = rescaling(self.members)
        return engine.Calibration(low, 1 / width, center, 1 / spread)

    @cached_property
    def _engine(self) -> EngineCalibration:
        return self.to_engine(engine())

    def of_members(self, outputs: Outputs) -> Matrix:  # (members, n, 2)
        """Return each member's global and local score, in its own units."""
        return self._engine.of_members(_contiguous(outputs))

    def raw(self, outputs: Outputs) -> Matrix:  # (n, 2)
        """Combine the networks' outputs into raw scores: of each head, the lowest of the members'."""
        return self._engine.raw(np.ascontiguousarray(outputs, dtype=np.float64))

    def raw_back(self, outputs: Outputs, by: Matrix) -> Matrix:  # (members, n, 1 + k)
        """Return derivatives by the outputs from derivatives by the raw scores, (n, 2)."""
        return self._engine.raw_back(_contiguous(outputs), _contiguous(by))

    def scores_as_unseen(self, outputs: Outputs, unseen: NDArray[np.bool_]) -> Matrix:  # (n, 2)
        """Return the raw scores that these training rows would have if no member had been trained on them.

        Scores of members trained on a row are replaced by draws from the r that were not: their mean, and beside it one
        of their deviations, with its sign changed. These are scaled by √((r + 1) / (r - 1)): a new draw differs from
        the mean of r others by (1 + 1/r) of the variance, and they themselves do by (1 - 1/r). A mean of r is also
        noisier than one of all members, so means are shrunk by what that adds to their spread, both by medians, which
        outliers do not move: that of r - 1 squares is (1 - 2 / (9 (r - 1)))³ of their mean.
        """
        pairs = self.of_members(outputs)
        means, noise = np.empty(pairs.shape[1:]), np.empty(pairs.shape[1:])
        for judges, rows in group_by_mask(unseen):
            scores, r = pairs[np.ix_(judges, rows)], max(int(judges.sum()), 2)
            means[rows] = scores.mean(0)
            median_variance = scores.var(0) * (r / (r - 1)) / (1 - 2 / (9 * (r - 1))) ** 3
            noise[rows] = median_variance * (1 / judges.sum() - 1 / len(pairs))
        low, middle, high = np.quantile(means, [0.16, 0.5, 0.84], axis=0)
        spread = np.square(0.5 * (high - low))
        shrinkage = np.sqrt(np.maximum(1 - np.median(noise, axis=0) / np.maximum(spread, np.finfo(float).tiny), 0.0))
        for judges, rows in group_by_mask(unseen):
            scores, r = pairs[np.ix_(judges, rows)], int(judges.sum())
            factor = np.sqrt((r + 1) / (r - 1)) if r > 1 else 0.0
            for place, member in enumerate(np.flatnonzero(~judges)):
                pairs[member, rows] = means[rows] - factor * (scores[place % r] - means[rows])
        pairs += (middle - means) * (1 - shrinkage)
        return np.asarray(pairs.min(0))

    def units(self, raw: Matrix) -> Matrix:  # (n, 2) -> (n, 2)
        """Return raw scores in the units in which they are mixed.

        Those of "soft" are 0 at the median of the training rows, 1 at the 95th percentile, which outliers among them do
        not move, and have no ends. Those of "clip" are heads in [0, 1].
        """
        if self.kind == "clip":
            low, width = rescaling(self.ends[1])
            return np.stack([sigmoid(raw[:, 0]), ((raw[:, 1] - low) / width).clip(0.0, 1.0)], axis=1)
        low, width = rescaling(self.halves)
        return np.asarray((raw - low) / width)

    def unit_slopes(self, raw: Matrix) -> Matrix:  # (n, 2) -> (n, 2)
        """Return the derivative of each unit by its raw score."""
        if self.kind == "clip":
            low, width = rescaling(self.ends[1])
            of_global, u = sigmoid(raw[:, 0]), (raw[:, 1] - low) / width
            return np.stack([of_global * (1 - of_global), np.where((u > 0) & (u < 1), 1 / width, 0.0)], axis=1)
        return np.broadcast_to(1 / rescaling(self.halves)[1], raw.shape)

    def as_soft(self) -> Calibration:
        """Return the soft calibration by the same quantiles, which has a slope also where "clip" is flat."""
        return self if self.kind == "soft" else replace(self, kind="soft", mixing=SOFT)


def group_by_mask(unseen: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Group rows by the members not trained on them: yield these members, and the rows of the group."""
    masks, mask_of_row = np.unique(unseen, axis=1, return_inverse=True)
    for number, mask in enumerate(masks.T):
        yield mask, np.flatnonzero(mask_of_row.ravel() == number)


def _ends(outputs: Outputs, unseen: NDArray[np.bool_]) -> Matrix:  # (members, k, 2)
    members = zip(outputs, unseen, strict=True)
    return np.stack([np.quantile(of[rows, 1:].astype(np.float64), QUANTILES, axis=0).T for of, rows in members])


def rescaling(low_high: Matrix) -> tuple[Matrix, Matrix]:
    """Return the low ends and the widths of intervals, given along the last dimension; an empty one gets width 1."""
    low, high = low_high[..., 0], low_high[..., 1]
    return low, np.where(high > low, high - low, 1.0)


def _contiguous(array: Outputs) -> Matrix:
    return np.ascontiguousarray(array, dtype=np.float64)


def checked_calibration(kind: str) -> str:
    """Return the name of a calibration; raise unless there is one of this name."""
    if kind not in CALIBRATIONS:
        raise InputError(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {kind!r}.")
    return kind


def sigmoid(g: Matrix) -> Matrix:
    """Return 1 / (1 + exp(-g)), without overflow at either end."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * g)))
