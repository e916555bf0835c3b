"""Compute scores from rows and from networks' outputs, in one spelling for torch and for ONNX.

Values are torch tensors, or symbols (`onnx/export.py`) that have the same operators and methods, and write each as a
node of a graph. `model` holds the constants by the names of `constants_of`: a module as buffers, an export as arrays.
On a CPU the engine computes the same (`engine/scoring.h`), and a context model in numpy.
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
    OUTSIDE,
    STRETCH,
    Context,
    ContextCalibration,
    log_odds,
)
from centrality.network.context import KNEE as KNEE_OF_CONTEXT
from centrality.network.refinement import Refinement
from centrality.network.scaling import KNEE, LIMIT, Scaling

Tensor: TypeAlias = Any  # torch's, or a symbol
Model: TypeAlias = Any  # has the constants as attributes
Constants: TypeAlias = dict[str, NDArray[Any] | None]


def constants_of(scaling: Scaling, calibration: Calibration, refinement: Refinement | None) -> Constants:
    """Return the arrays of a fitted model that these formulas need beside the weights of its networks."""
    low, width = rescaling(calibration.potentials[:, None])  # (members, 1, k) each
    zero, one = rescaling(calibration.members[:, None])  # (members, 1, 2) what is 0 of a member's scores, and up to 1
    constants: Constants = {**scaling.parts(), "low": low, "range": width, "zero": zero, "one": one}
    constants |= {"ends": calibration.ends, "halves": calibration.halves}
    if refinement is None:
        return constants | dict.fromkeys(("knots", "lengths", "slopes", "start"))
    start = np.asarray(refinement.values[:, 0].sum())  # the correction before the first knots
    knots, lengths = refinement.knots[:, :-1], np.diff(refinement.knots)
    return constants | {"knots": knots, "lengths": lengths, "slopes": refinement.slopes(), "start": start}


def constants_of_context(context: Context) -> Constants:
    """Return the arrays that `relative` needs beside the forests and levels."""
    width = OUTSIDE * (context.seen[1] - context.seen[0])
    names = ("given", "behaviour", "line", "line_of_spread", "narrowest", "reach")
    constants: Constants = {name: getattr(context, name) for name in names}
    return constants | {"lowest": context.seen[0] - width, "highest": context.seen[1] + width}


def constants_of_kinds(kinds: ContextCalibration) -> Constants:
    """Return the arrays that `shift_by_context` needs beside the forest and the categories' effects."""
    climb = np.pad(FLATTEST * np.diff(kinds.knots).cumsum(1), ((0, 0), (1, 0)))
    constants: Constants = {"given": kinds.given, "knots": kinds.knots, "shares": kinds.shares}
    return constants | {"odds_of_all": log_odds(kinds.shares), "slopes": kinds.slopes(), "climb": climb}


def scaled(model: Model, x: Tensor) -> Tensor:  # (n, p) -> (n, p)
    """Return rows in the user's units as `Scaling.scaled` does; given a context, relative to it."""
    z = (x - model.center) * model.weight
    if model.shrink is not None:
        size = z.abs()
        z = (z.sign() * (KNEE + (size - KNEE).clamp(min=0).log1p())).where(size > KNEE, z) * model.shrink
    if model.seen is not None:
        above, below = (z - model.seen[1]).clamp(min=0), (model.seen[0] - z).clamp(min=0)
        z = z + (model.beyond[1] * above - model.beyond[0] * below)
    if model.context is not None:
        z = model.context(z.clamp(-LIMIT, LIMIT))
    return z.clamp(-LIMIT, LIMIT)


def relative(model: Model, z: Tensor) -> Tensor:  # (n, p) -> (n, p)
    """Return scaled rows with behaviours relative to their context, as `Context.relative` does."""
    c = z[:, model.given]
    near = c.maximum(model.lowest).minimum(model.highest)
    middle = model.line[0] + near @ model.line[1:] + model.usual(c)
    for level in model.levels:
        middle = middle + level(c)
    spread = (model.line_of_spread[0] + near @ model.line_of_spread[1:]).maximum(model.narrowest)
    for more in (*model.widths, model.spread):
        spread = spread * (1 + more(c)).clamp(min=NARROWEST)
    middle = middle.maximum(model.reach[0]).minimum(model.reach[1])
    off = (z[:, model.behaviour] - middle) / (STRETCH * spread.maximum(model.narrowest))
    far = (off.abs() - KNEE_OF_CONTEXT).clamp(min=0)
    bent = off.sign() * (off.abs().clamp(max=KNEE_OF_CONTEXT) + far.log1p())
    return z.index_copy(1, model.given, CONTEXT_SCALE * c).index_copy(1, model.behaviour, bent)


def background(member: Model, z: Tensor) -> list[Tensor]:  # (n, p) -> a (n,) for each level
    """Return the logarithm of a member's background at each level of blur (`fuse/background.py`).

    Everything is float64: squares cancel in what lies beside the axes.
    """
    count, directions, width = member.axes.shape
    shift = (member.axes * member.mean[:, None]).sum(2).reshape((1, count * directions))
    along = z @ member.axes.reshape((count * directions, width)).T - shift
    squares = (along * along).reshape((-1, count, directions))
    lengths = (z * z).sum(1, keepdim=True) - 2 * z @ member.mean.T + (member.mean * member.mean).sum(1)  # (n, C)
    beside = (lengths - squares.sum(2)).clamp(min=0)
    logarithms = []
    for precision, rest, level in zip(member.precision, member.rest, member.level, strict=True):
        square = (squares * precision).sum(2) + beside * rest
        depth = 0.5 * (member.degrees + width) * (square / member.degrees).log1p() if member.degrees else 0.5 * square
        logarithms.append((level - depth).logsumexp(1))
    return logarithms


def bounded(bounds: Tensor, added: Tensor) -> Tensor:  # (..., k, 2), (..., k) -> (..., k)
    """Return what a network adds to the background, within its bounds."""
    return added.maximum(bounds[..., 0]).minimum(bounds[..., 1])


def raw(model: Model, logit: Tensor, potentials: Tensor) -> tuple[Tensor, Tensor]:  # (n,), (n,)
    """Return the uncalibrated global and local score: of each head, the lowest of the members'.

    Each member has a logit, (members, n), and potentials, (members, n, k), of which the rescaled ones' mean counts.
    """
    rescaled = ((potentials - model.low) / model.range).mean(2)  # (members, n)
    of_global = (logit - model.zero[:, :, 0]) / model.one[:, :, 0]
    of_local = (rescaled - model.zero[:, :, 1]) / model.one[:, :, 1]
    return of_global.amin(0), of_local.amin(0)


def calibrated(model: Model, of_global: Tensor, of_local: Tensor) -> tuple[Tensor, Tensor]:  # (n,), (n,) each
    """Return raw scores in the units in which they are mixed, as `Calibration.units` does."""
    if model.kind == "clip":
        return of_global.sigmoid(), _between(of_local, model.ends[1]).clamp(0, 1)
    return _between(of_global, model.halves[0]), _between(of_local, model.halves[1])


def shift_by_marks(model: Model, z: Tensor) -> Tensor:  # (n, p) -> (n,)
    """Return the correction learned from marks, which is added to both units of scaled rows."""
    passed = (z[:, :, None] - model.knots).clamp(min=0).minimum(model.lengths)  # (n, p, k - 1)
    return model.start + (passed * model.slopes).sum((1, 2))


def shift_by_context(model: Model, units: Tensor, z: Tensor) -> Tensor:  # (n, 2), (n, p) -> (n, 2)
    """Return head scores of relative rows, shifted so that they compare between contexts: see `ContextCalibration`."""
    c = z[:, model.given] / CONTEXT_SCALE
    excess = model.forest(c)
    for effects in model.levels:
        excess = excess + effects(c)
    knots, gaps = model.knots, model.knots[:, 1:] - model.knots[:, :-1]
    targets = _targets(model, excess.reshape((-1, *knots.shape)))  # (n, 2, k)
    passed = (units[:, :, None] - knots[:, :-1]).clamp(min=0).minimum(gaps)
    beyond = (units - knots[:, 0]).clamp(max=0) + (units - knots[:, -1]).clamp(min=0)
    return targets[:, :, 0] + (passed * (targets[:, :, 1:] - targets[:, :, :-1]) / gaps).sum(2) + beyond


def _targets(model: Model, excess: Tensor) -> Tensor:  # (n, 2, k) -> (n, 2, k)
    """Return where the knots are shifted to, as `ContextCalibration.targets` does."""
    of_all, slopes, share = model.odds_of_all, model.slopes, (model.shares + excess).clamp(LEAST, 1 - LEAST)
    odds = (share / (1 - share)).log()
    gaps = (of_all[:, 1:] - of_all[:, :-1])[:, None]
    passed = (odds[:, :, :, None] - of_all[:, None, :-1]).clamp(min=0).minimum(gaps)
    beyond = (odds - of_all[:, :1]).clamp(max=0) * slopes[:, :1]
    beyond = beyond + (odds - of_all[:, -1:]).clamp(min=0) * slopes[:, -1:]
    at = model.knots[:, :1] + (passed * slopes[:, None]).sum(3) + beyond
    at = at.maximum(model.knots - LARGEST_SHIFT).minimum(model.knots + LARGEST_SHIFT)
    return model.rising(at - model.climb) + model.climb


def mixed(mixing: Mixing, of_global: Tensor, of_local: Tensor, t: Tensor) -> Tensor:
    """Mix head scores at t; with a veto, the local one is at most ALLOWANCE / (1 - t) above the global one."""
    share: Tensor = mixing.share(t)
    if mixing.veto:  # ALLOWANCE / 0 is infinite at t = 1: no veto
        of_local = of_local.minimum(of_global + ALLOWANCE / (1 - t))
    return (1 - share) * of_global + share * of_local


def squeezed(mixing: Mixing, units: Tensor) -> Tensor:
    """Map the real line onto (0, 1), as `mixing.squeezed` does; units of "clip" lie there already."""
    if mixing.local_weight is None:
        return units
    size = units.abs().clamp(max=1e100)  # the cube of more would overflow
    return (0.5 / (1 + size)).where(units <= 0, 0.5 + 0.5 * size / (1 + size * size * size) ** (1 / 3))


def _between(values: Tensor, low_high: Any) -> Tensor:
    low, width = low_high[0], low_high[1] - low_high[0]
    return (values - low) / (width + (width == 0))  # where both are equal, the width is 1
