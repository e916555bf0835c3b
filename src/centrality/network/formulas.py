"""Compute scores from rows and from networks' outputs: the formulas that torch and ONNX share.

A `Tensor` is torch's, or a symbol (`onnx/export.py`) with the same operators and methods, each of which adds a node to
a graph. A `Model` has the constants as attributes, by the names of `constants_of`: buffers of a torch module, or arrays
of an export. On a CPU the engine computes the same (`engine/scoring.h`), and numpy what belongs to a context.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality.network.calibration import ALLOWANCE, Calibration, Mixing, rescaling
from centrality.network.context import (
    CONTEXT_SCALE,
    FLATTEST,
    LARGEST_SHIFT,
    LEAST,
    NARROWEST,
    STRETCH,
    Context,
    ContextCalibration,
    log_odds,
)
from centrality.network.context import KNEE as KNEE_OF_CONTEXT
from centrality.network.refinement import Refinement
from centrality.network.scaling import KNEE, LIMIT, Scaling

Tensor: TypeAlias = Any
Model: TypeAlias = Any
Constants: TypeAlias = dict[str, NDArray[Any] | None]


def constants_of(scaling: Scaling, calibration: Calibration, refinement: Refinement | None) -> Constants:
    """Return the arrays of a fitted model that these formulas need beside the weights of its networks."""
    low, width = rescaling(calibration.potentials[:, None])  # (members, 1, k) each
    zero, one = rescaling(calibration.members[:, None])  # (members, 1, 2) what becomes 0, and how far above it is 1
    constants: Constants = {**scaling.parts(), "low": low, "range": width, "zero": zero, "one": one}
    constants |= {"ends": calibration.ends, "halves": calibration.halves}
    if refinement is None:
        return constants | dict.fromkeys(("knots", "lengths", "slopes", "start"))
    return constants | {
        "knots": refinement.knots[:, :-1],
        "lengths": np.diff(refinement.knots),
        "slopes": refinement.slopes(),
        "start": np.asarray(refinement.values[:, 0].sum()),  # the correction before the first knots
    }


def constants_of_context(context: Context) -> Constants:
    """Return the arrays that `relative` needs beside the forests and the categories' effects."""
    names = ("given", "behaviour", "line", "line_of_spread", "narrowest", "behaviour_range")
    constants: Constants = {name: getattr(context, name) for name in names}
    lowest, highest = context.wider_range()
    return constants | {"lowest": lowest, "highest": highest}


def constants_of_context_calibration(calibration: ContextCalibration) -> Constants:
    """Return the arrays that `shift_by_context` needs beside the forest and the categories' effects."""
    return {
        "given": calibration.given,
        "knots": calibration.knots,
        "shares": calibration.shares,
        "odds_of_all": log_odds(calibration.shares),
        "slopes": calibration.slopes(),
        "climb": np.pad(FLATTEST * np.diff(calibration.knots).cumsum(1), ((0, 0), (1, 0))),
    }


def scaled(model: Model, x: Tensor) -> Tensor:  # (n, p) -> (n, p)
    """Return rows in the user's units as `Scaling.scaled` does; given a context, relative to it."""
    z = (x - model.center) * model.weight
    if model.shrink is not None:
        size = z.abs()
        z = (z.sign() * (KNEE + (size - KNEE).clamp(min=0).log1p())).where(size > KNEE, z) * model.shrink
    if model.seen is not None:
        above = (z - model.seen[1]).clamp(min=0)
        below = (model.seen[0] - z).clamp(min=0)
        z = z + (model.beyond[1] * above - model.beyond[0] * below)
    if model.context is not None:
        z = model.context(z.clamp(-LIMIT, LIMIT))
    return z.clamp(-LIMIT, LIMIT)


def relative(model: Model, z: Tensor) -> Tensor:  # (n, p) -> (n, p)
    """Return scaled rows with behaviours relative to their context, as `Context.relative` does."""
    c = z[:, model.given]
    near = c.maximum(model.lowest).minimum(model.highest)
    middle = model.line[0] + near @ model.line[1:] + model.center_forest(c)
    for effects in model.center_effects:
        middle = middle + effects(c)
    spread = (model.line_of_spread[0] + near @ model.line_of_spread[1:]).maximum(model.narrowest)
    for effects in (*model.spread_effects, model.spread_forest):
        spread = spread * (1 + effects(c)).clamp(min=NARROWEST)
    middle = middle.maximum(model.behaviour_range[0]).minimum(model.behaviour_range[1])
    deviation = (z[:, model.behaviour] - middle) / (STRETCH * spread.maximum(model.narrowest))
    beyond_knee = (deviation.abs() - KNEE_OF_CONTEXT).clamp(min=0)
    bent = deviation.sign() * (deviation.abs().clamp(max=KNEE_OF_CONTEXT) + beyond_knee.log1p())
    return z.index_copy(1, model.given, CONTEXT_SCALE * c).index_copy(1, model.behaviour, bent)


def background(member: Model, z: Tensor) -> list[Tensor]:  # (n, p) -> a (n,) for each level
    """Return the logarithm of a member's background at each level of blur (`fuse/background.py`).

    Everything is float64: what lies beside the axes is a difference of large squares.
    """
    count, axes, width = member.axes.shape
    shift = (member.axes * member.mean[:, None]).sum(2).reshape((1, count * axes))
    along = z @ member.axes.reshape((count * axes, width)).T - shift
    squares = (along * along).reshape((-1, count, axes))
    lengths = (z * z).sum(1, keepdim=True) - 2 * z @ member.mean.T + (member.mean * member.mean).sum(1)  # (n, C)
    beside = (lengths - squares.sum(2)).clamp(min=0)
    logarithms = []
    for precision, rest, level in zip(member.precision, member.rest, member.level, strict=True):
        square = (squares * precision).sum(2) + beside * rest
        fall = 0.5 * (member.degrees + width) * (square / member.degrees).log1p() if member.degrees else 0.5 * square
        logarithms.append((level - fall).logsumexp(1))
    return logarithms


def bounded(bounds: Tensor, added: Tensor) -> Tensor:  # (..., k, 2), (..., k) -> (..., k)
    """Return what a network adds to the background, within its bounds."""
    return added.maximum(bounds[..., 0]).minimum(bounds[..., 1])


def raw(model: Model, logit: Tensor, potentials: Tensor) -> tuple[Tensor, Tensor]:  # (n,), (n,)
    """Return the raw scores, as `Calibration.raw` does: of each head, the lowest member's.

    `logit` is (members, n), and `potentials` (members, n, k): a member's local score is the mean of these, rescaled.
    """
    rescaled = ((potentials - model.low) / model.range).mean(2)  # (members, n)
    of_global = (logit - model.zero[:, :, 0]) / model.one[:, :, 0]
    of_local = (rescaled - model.zero[:, :, 1]) / model.one[:, :, 1]
    return of_global.amin(0), of_local.amin(0)


def calibrated(model: Model, of_global: Tensor, of_local: Tensor) -> tuple[Tensor, Tensor]:  # (n,), (n,) each
    """Return the units of raw scores, as `Calibration.units` does."""
    if model.kind == "clip":
        return of_global.sigmoid(), _between(of_local, model.ends[1]).clamp(0, 1)
    return _between(of_global, model.halves[0]), _between(of_local, model.halves[1])


def shift_by_marks(model: Model, z: Tensor) -> Tensor:  # (n, p) -> (n,)
    """Return the correction learned from marks, which is added to both units of these scaled rows."""
    passed = (z[:, :, None] - model.knots).clamp(min=0).minimum(model.lengths)  # (n, p, k - 1)
    return model.start + (passed * model.slopes).sum((1, 2))


def shift_by_context(model: Model, units: Tensor, z: Tensor) -> Tensor:  # (n, 2), (n, p) -> (n, 2)
    """Return the units of relative rows, shifted as `ContextCalibration` does."""
    c = z[:, model.given] / CONTEXT_SCALE
    excess = model.forest(c)
    for effects in model.category_effects:
        excess = excess + effects(c)
    knots = model.knots
    targets = knots_shifted_to(model, excess.reshape((-1, *knots.shape)))  # (n, 2, k)
    gaps = knots[:, 1:] - knots[:, :-1]
    passed = (units[:, :, None] - knots[:, :-1]).clamp(min=0).minimum(gaps)
    beyond = (units - knots[:, 0]).clamp(max=0) + (units - knots[:, -1]).clamp(min=0)
    return targets[:, :, 0] + (passed * (targets[:, :, 1:] - targets[:, :, :-1]) / gaps).sum(2) + beyond


def knots_shifted_to(model: Model, excess: Tensor) -> Tensor:  # (n, 2, k) -> (n, 2, k)
    """Return where the knots are shifted to, as `ContextCalibration.targets` does."""
    share = (model.shares + excess).clamp(LEAST, 1 - LEAST)
    odds = (share / (1 - share)).log()
    odds_of_all = model.odds_of_all
    slopes = model.slopes
    gaps = (odds_of_all[:, 1:] - odds_of_all[:, :-1])[:, None]
    passed = (odds[:, :, :, None] - odds_of_all[:, None, :-1]).clamp(min=0).minimum(gaps)
    beyond = (odds - odds_of_all[:, :1]).clamp(max=0) * slopes[:, :1]
    beyond = beyond + (odds - odds_of_all[:, -1:]).clamp(min=0) * slopes[:, -1:]
    at = model.knots[:, :1] + (passed * slopes[:, None]).sum(3) + beyond
    at = at.maximum(model.knots - LARGEST_SHIFT).minimum(model.knots + LARGEST_SHIFT)
    return model.rising(at - model.climb) + model.climb


def mixed(mixing: Mixing, of_global: Tensor, of_local: Tensor, t: Tensor) -> Tensor:
    """Mix units at t, as `Mixing.mixed` does."""
    share: Tensor = mixing.share(t)
    if mixing.veto:  # at t = 1 ALLOWANCE / 0 is infinite: no veto
        of_local = of_local.minimum(of_global + ALLOWANCE / (1 - t))
    return (1 - share) * of_global + share * of_local


def squeezed(mixing: Mixing, units: Tensor) -> Tensor:
    """Bring units, or mixtures of them, into [0, 1], as `Mixing.squeeze` does."""
    if mixing.local_weight is None:
        return units
    size = units.abs().clamp(max=1e100)  # the cube of more would overflow
    return (0.5 / (1 + size)).where(units <= 0, 0.5 + 0.5 * size / (1 + size * size * size) ** (1 / 3))


def _between(values: Tensor, low_high: Any) -> Tensor:
    width = low_high[1] - low_high[0]
    return (values - low_high[0]) / (width + (width == 0))  # where both are equal, the width is 1
