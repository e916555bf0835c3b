"""Turn the outputs of networks into scores, and mix the two scores of a row into one.

For each row a network has a logit g and one or more potentials. From these outputs follow, in this order:

1. Raw scores. Each member of an ensemble has a global and a local score, rescaled by their quantiles on rows that it
   was not trained on. The raw score of a head is the minimum over members. A member that was trained on a row has
   overfitted it and scores it too high; the lowest score is that of a member which was not. So scoring need not know
   whether a row was in training.
2. Head scores, in units: both raw scores are rescaled so that 0 is the median of rows that were not learned, and 1
   their 95th percentile.
3. The mixture at t. The paper's is (1 - t) * global + t * local. Ours counts the local unit w times, since the local
   head is the better one at finding outliers, and divides by what a row with both units 1 would have:

       ((1 - t) * global + w * t * local) / (1 - t + w * t).

   The global unit caps the local one, except where training rows are clean: local is cut at
   global + ALLOWANCE / (1 - t). This is its veto. So a group of rows far from all others is odd, however dense it is,
   unless t = 1 asks for the local score alone, a density.
4. The centrality: the mixture squeezed into (0, 1), the same function at every t. It is 1/2 where the mixture is 0, and
   rows with different mixtures never tie. So centrality and mixture are two ways to write one number.

This is the calibration "soft". The other is the paper's, "clip". Its units lie in [0, 1]: the global logit passes
through a sigmoid, and the local potential is rescaled from its 1st to its 99th percentile and clipped, so that rows
below the 1st percentile tie at 0. They are mixed as in the paper, with neither weight nor veto nor squeezing.
"""

from __future__ import annotations  # else Python would evaluate the annotations of inner functions on every call

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from centrality._internal.arrays import FrozenArrays
from centrality._internal.checks import InputError
from centrality.engine import Engine, EngineCalibration, engine

LOCAL_WEIGHT = 9.0  # w, measured: benchmarks/detection and, given a context, benchmarks/contextual.py
ALLOWANCE = 0.5  # the local unit is cut at global + ALLOWANCE / (1 - t): at t = 1/2, one unit above it
EQUAL_WITHIN = 1e-9  # values that differ by less, relative to 1 + their size, count as equal

Matrix = NDArray[np.float64]
Dial = TypeVar("Dial", float, NDArray[np.float64])


@dataclass(frozen=True)
class Mixing:
    """Define how units are mixed and squeezed.

    `local_weight` is w. None: units are heads in [0, 1], mixed as in the paper. With `veto`, the global
    unit caps the local one.
    """

    local_weight: float | None
    veto: bool = False

    def share(self, t: Dial) -> Dial:
        """Return the weight of the local unit at t, from 0 to 1; the global weight is 1 minus it."""
        return t if self.local_weight is None else self.local_weight * t / (1 + (self.local_weight - 1) * t)

    def allowance(self, t: float) -> float:
        """Return how far the local unit counts above the global one at t."""
        return ALLOWANCE / (1 - t) if self.veto and t < 1 else float("inf")

    def mixed(self, units: Matrix, t: float | Sequence[float]) -> Matrix:
        """Mix units at t, before they are squeezed: (n,) for one t, (n, len(t)) for several."""
        dial = checked_t(t)
        if dial.ndim:
            return np.column_stack([self.mixed(units, float(at)) for at in dial])
        share = self.share(float(dial))
        of_global = units[:, 0]
        of_local = np.minimum(units[:, 1], of_global + self.allowance(float(dial)))
        return np.asarray((1 - share) * of_global + share * of_local)

    def weights(self, units: Matrix, t: float) -> Matrix:  # (n, 2) -> (n, 2)
        """Return the derivatives of `mixed` at t by the two units."""
        share = self.share(t)
        is_capped = units[:, 1] > units[:, 0] + self.allowance(t)
        return np.where(is_capped[:, None], [1.0, 0.0], [1 - share, share])

    def squeeze(self, values: Matrix) -> Matrix:
        """Bring units, or mixtures of them, into [0, 1]."""
        return values if self.local_weight is None else squeezed(values)

    def centrality(self, units: Matrix, t: float | Sequence[float]) -> Matrix:
        """Return the centrality at t of rows with these units: (n,), or (n, len(t)) for several."""
        return self.squeeze(self.mixed(units, t))

    def contributions(self, parts: Matrix, units: Matrix, origin: Matrix, t: float) -> Matrix:
        """Return what each feature adds to the centrality at t, from what it adds to each unit.

        For each row, `parts` (n, 2, p) sum to `units` - `origin`, both (n, 2); the result, (n, p), sums to the
        difference of the centralities. The parts are mixed by the same weights as the units; in a row with a veto only
        global parts count. Then a factor for each row makes them add up.
        """
        before = self.mixed(origin, t)
        after = self.mixed(units, t)
        weights = self.weights(units, t)
        mixed = weights[:, :1] * parts[:, 0] + weights[:, 1:] * parts[:, 1]
        sum_of_parts = (weights * (units - origin)).sum(1)
        can_divide = np.abs(sum_of_parts) > EQUAL_WITHIN
        factor = np.divide(after - before, sum_of_parts, out=np.ones_like(sum_of_parts), where=can_divide)
        return np.asarray(mixed * (factor * chord(self.squeeze, before, after))[:, None])

    def __call__(self, heads: Matrix, t: float | Sequence[float]) -> Matrix:
        """Return the centrality at t of rows with these heads in [0, 1]: (n,), or (n, len(t)) for several.

        Heads near 0 or 1 are rounded to so few values that far outliers may tie. Units do not: where you have them, mix
        those (`centrality`).
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
    """Map the real line onto (0, 1), smoothly and strictly increasing.

    Up to 0 it is 1 / (2 - 2u), above 0 it is 1/2 + u / (2 ∛(1 + u³)). The engine computes it, with the same bits on
    every CPU.
    """
    return engine().squeeze(np.ascontiguousarray(units, dtype=np.float64).reshape(-1)).reshape(np.shape(units))


def stretched(heads: Matrix) -> Matrix:
    """Return the inverse of `squeezed`; the ends 0 and 1, which it does not reach, become huge, of either sign."""
    heads = np.clip(heads, 1e-18, np.nextafter(1.0, 0.0))
    above = np.maximum(2 * heads - 1, 0.0)
    return np.asarray(np.where(heads <= 0.5, 1 - 0.5 / heads, above / np.cbrt(1 - above**3)))


def chord(function: Callable[[Matrix], Matrix], a: Matrix, b: Matrix) -> Matrix:
    """Return (f(b) - f(a)) / (b - a), element by element; where a and b hardly differ, the derivative."""
    step = 1e-6 * (1 + np.abs(a))
    equal = np.abs(b - a) < EQUAL_WITHIN * (1 + np.abs(a))
    left = np.where(equal, a - step, a)
    right = np.where(equal, a + step, b)
    return np.asarray((function(right) - function(left)) / (right - left))


def checked_t(t: object) -> Matrix:
    """Return `t` as a float array of no or one dimension; raise unless every value is in [0, 1]."""
    if type(t) is float and 0 <= t <= 1:
        return np.array(t)
    try:
        dial = np.asarray(t)
        dial = dial.astype(np.float64) if dial.dtype.kind in "iuf" else np.array(np.nan)
    except ValueError:  # lists of different lengths
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
QUANTILES = (0.01, 0.99)  # by which the paper rescales potentials
UPPER_HALF = (0.5, 0.95)  # the quantiles that become 0 and 1: of the upper half, where hardly any outliers are
# Given a context, local raw scores are divided by so many times the width: the local head tells less there (measured).
LOCAL_WIDTH_GIVEN = 3.0
# (members, n, 1 + k): each network's global logit and k potentials of n rows.
Outputs: TypeAlias = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Calibration(FrozenArrays):
    """The constants of calibration: pairs of quantiles of scores, on rows that the networks were not trained on.

    Each array except `potentials` has a line for the global head, and one for the local head.
    """

    kind: str  # "soft" or "clip"
    potentials: Matrix  # (members, k, 2) the QUANTILES of each potential
    members: Matrix  # (members, 2, 2) the UPPER_HALF of each member's global and local score
    ends: Matrix  # (2, 2) the QUANTILES of the raw global and the raw local score
    halves: Matrix  # (2, 2) their UPPER_HALF
    mixing: Mixing

    def __post_init__(self) -> None:
        """Raise if quantiles are out of order: scores would rise where rows get odder."""
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
        members_differ: bool,
        center_logit: bool,
        has_context: bool,
    ) -> tuple[Calibration, Matrix]:
        """Take quantiles of outputs for training rows; return also the raw scores of these rows as if they were new.

        `unseen` (members, n) says which members were not trained on which rows; with `members_differ` each was trained
        on different rows. `center_logit` sets the logit of one network to 0 at the median row: comparisons learn it up
        to a constant.
        """
        checked_calibration(kind)
        count = len(outputs)
        unchanged = np.broadcast_to([0.0, 1.0], (count, 2, 2)).copy()
        potentials = np.broadcast_to([0.0, 1.0], (1, 1, 2))
        if count > 1 or outputs.shape[2] > 2:  # rescale only if several potentials are combined
            potentials = np.stack(
                [
                    np.quantile(of_member[rows, 1:].astype(np.float64), QUANTILES, axis=0).T
                    for of_member, rows in zip(outputs, unseen, strict=True)
                ]
            )
        mixing = LINEAR
        if kind == "soft":
            mixing = SOFT_IF_CLEAN if clean and not has_context else SOFT
        calibration = cls(
            kind,
            potentials=potentials,
            members=unchanged,
            ends=unchanged[0],
            halves=unchanged[0],
            mixing=mixing,
        )
        # Rescale the members' scores by the rows that each was not trained on, so that they can be compared.
        members = zip(calibration.of_members(outputs), unseen, strict=True)
        if count > 1:
            upper_quantiles = np.stack([np.quantile(scores[rows], UPPER_HALF, axis=0).T for scores, rows in members])
            calibration = replace(calibration, members=upper_quantiles)
        elif center_logit:
            median_logit = [np.median(scores[rows, 0]) for scores, rows in members]
            centered = unchanged + np.multiply.outer(median_logit, [[1.0, 1.0], [0.0, 0.0]])
            calibration = replace(calibration, members=centered)
        # Combine them, and take the quantiles of the scores that new rows would get.
        raw = calibration.scores_as_unseen(outputs, unseen) if members_differ else calibration.raw(outputs)
        ends = np.quantile(raw, QUANTILES, axis=0).T
        upper_quantiles = np.quantile(raw, UPPER_HALF, axis=0).T
        if has_context:
            zero, one = upper_quantiles[1]
            upper_quantiles[1, 1] = zero + LOCAL_WIDTH_GIVEN * (one - zero)
        return replace(calibration, ends=ends, halves=upper_quantiles), raw

    def to_engine(self, engine: Engine) -> EngineCalibration:
        """Return these constants as the engine takes them."""
        low, width = rescaling(self.potentials)
        center, spread = rescaling(self.members)
        return engine.Calibration(low, 1 / width, center, 1 / spread)

    @cached_property
    def _engine(self) -> EngineCalibration:
        return self.to_engine(engine())

    def of_members(self, outputs: Outputs) -> Matrix:  # (members, n, 2)
        """Return each member's global and local score, rescaled by its own quantiles."""
        return self._engine.of_members(np.ascontiguousarray(outputs, dtype=np.float64))

    def raw(self, outputs: Outputs) -> Matrix:  # (n, 2)
        """Combine the networks' outputs into raw scores: that of a head is the minimum over members."""
        return self._engine.raw(np.ascontiguousarray(outputs, dtype=np.float64))

    def raw_back(self, outputs: Outputs, gradient: Matrix) -> Matrix:  # (members, n, 1 + k)
        """Return the gradient by the outputs, given that by the raw scores, (n, 2): the chain rule."""
        outputs = np.ascontiguousarray(outputs, dtype=np.float64)
        return self._engine.raw_back(outputs, np.ascontiguousarray(gradient, dtype=np.float64))

    def scores_as_unseen(self, outputs: Outputs, unseen: NDArray[np.bool_]) -> Matrix:  # (n, 2)
        """Return the raw scores that these training rows would have if no member had been trained on them.

        The r members that were not trained on a row keep their scores. Each other member gets a score that one more
        such member might give: mean - √((r + 1) / (r - 1)) · (score - mean), where mean is that of the r members, and
        score that of one of them. The factor corrects the variance about the mean: it is (1 + 1/r) s² for a new score,
        and (1 - 1/r) s² for one of the r.

        A mean of r members varies by s² (1/r - 1/members) more than a mean of all. So the means are shrunk toward their
        median, which removes this excess. Both variances are estimated by medians, which outliers do not move: the
        median of a sample variance of r scores is (1 - 2 / (9 (r - 1)))³ of its mean.
        """
        of_members = self.of_members(outputs)
        means = np.empty(of_members.shape[1:])
        excess_variance = np.empty(of_members.shape[1:])
        for is_unseen, rows in group_by_mask(unseen):
            scores = of_members[np.ix_(is_unseen, rows)]
            r = max(len(scores), 2)
            means[rows] = scores.mean(0)
            variance = scores.var(0) * (r / (r - 1)) / (1 - 2 / (9 * (r - 1))) ** 3
            excess_variance[rows] = variance * (1 / len(scores) - 1 / len(of_members))
        low, middle, high = np.quantile(means, [0.16, 0.5, 0.84], axis=0)
        variance_of_means = np.maximum(np.square(0.5 * (high - low)), np.finfo(float).tiny)
        shrinkage = np.sqrt(np.maximum(1 - np.median(excess_variance, axis=0) / variance_of_means, 0.0))
        for is_unseen, rows in group_by_mask(unseen):
            scores = of_members[np.ix_(is_unseen, rows)]
            r = len(scores)
            factor = np.sqrt((r + 1) / (r - 1)) if r > 1 else 0.0
            for place, member in enumerate(np.flatnonzero(~is_unseen)):
                of_members[member, rows] = means[rows] - factor * (scores[place % r] - means[rows])
        of_members += (middle - means) * (1 - shrinkage)
        return np.asarray(of_members.min(0))

    def units(self, raw: Matrix) -> Matrix:  # (n, 2) -> (n, 2)
        """Return the units of raw scores: what is mixed."""
        if self.kind == "clip":
            low, width = rescaling(self.ends[1])
            return np.stack([sigmoid(raw[:, 0]), ((raw[:, 1] - low) / width).clip(0.0, 1.0)], axis=1)
        low, width = rescaling(self.halves)
        return np.asarray((raw - low) / width)

    def unit_slopes(self, raw: Matrix) -> Matrix:  # (n, 2) -> (n, 2)
        """Return the derivative of each unit by its raw score."""
        if self.kind == "clip":
            low, width = rescaling(self.ends[1])
            of_global = sigmoid(raw[:, 0])
            u = (raw[:, 1] - low) / width
            return np.stack([of_global * (1 - of_global), np.where((u > 0) & (u < 1), 1 / width, 0.0)], axis=1)
        return np.broadcast_to(1 / rescaling(self.halves)[1], raw.shape)

    def as_soft(self) -> Calibration:
        """Return the soft calibration with the same quantiles: it has slopes also where "clip" is flat."""
        return self if self.kind == "soft" else replace(self, kind="soft", mixing=SOFT)


def group_by_mask(unseen: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.bool_], NDArray[np.intp]]]:
    """Group rows by the members not trained on them: yield which members these are, and the rows of the group."""
    masks, mask_of_row = np.unique(unseen, axis=1, return_inverse=True)
    for number, mask in enumerate(masks.T):
        yield mask, np.flatnonzero(mask_of_row.ravel() == number)


def rescaling(intervals: Matrix) -> tuple[Matrix, Matrix]:  # (..., 2) -> (...), (...)
    """Return the lower ends and the widths of intervals; a width of 0 becomes 1, so that one can divide by it."""
    low = intervals[..., 0]
    high = intervals[..., 1]
    return low, np.where(high > low, high - low, 1.0)


def checked_calibration(kind: str) -> str:
    """Return the name of a calibration; raise unless there is one of this name."""
    if kind not in CALIBRATIONS:
        raise InputError(f"calibration must be one of {', '.join(CALIBRATIONS)}, got {kind!r}.")
    return kind


def sigmoid(g: Matrix) -> Matrix:
    """Return 1 / (1 + exp(-g)), without overflow at either end."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * g)))
