"""Write a fitted model as an ONNX graph: from rows, or whatever a reader makes them of, to scores and their certainty.

Scaling and calibration compute in float64, the network in float32 but for its heads and its background. A user's own
encoder is no formula of ours: such a model is not exported.
"""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality import __version__
from centrality._internal.checks import InputError
from centrality._internal.files import write_atomically
from centrality.analysis.severity import CAP, Tail
from centrality.network import formulas
from centrality.network.calibration import one_t
from centrality.network.context import SAME_CATEGORY, CategoryEffects
from centrality.network.engine_backend import folded_head
from centrality.network.forest import Forest
from centrality.network.network import Network
from centrality.onnx import KEY, sealed
from centrality.onnx.graph import Graph, Symbol, count_up_to

if TYPE_CHECKING:
    from centrality.model.fitted import FittedModel


ROWS = ("float64", "float32")  # in which a file may take them
OUTPUTS = ("heads", "centrality", "p_value", "severity", "extrapolated")
TIE = 1e-6  # scores that differ by less, relative to 1 + their size, may differ by the runtime's rounding alone


@dataclass
class Rows:
    """What a graph scores: its inputs are there already."""

    vectors: Symbol  # (n, p) in float64
    facts: dict[str, Any]  # about the inputs, for the file's metadata
    unread: Symbol | None = None  # (n,) rows with a cell that the graph cannot read as Python does: without a score


Reader: TypeAlias = Callable[[Graph, str], Rows]  # for a graph, and the type of numbers that it takes


def write(
    fitted: "FittedModel",
    path: str | os.PathLike[str],
    *,
    t: float,
    rows: str = "float64",
    reader: Reader | None = None,
) -> None:
    """Write a fitted model to `path`, completely or not at all; `t` is used by calls that give none.

    A `reader` adds what turns columns into the vectors that the model scores; without one, the file takes vectors.
    """
    if rows not in ROWS:
        raise InputError(f"rows must be one of {', '.join(ROWS)}, got {rows!r}.")
    if not fitted.network.layout.standard:
        raise InputError(
            "A model with an encoder of your own cannot be written as ONNX. to_torch() gives all of it as one torch "
            "module."
        )
    content = sealed(model_of(fitted, t, rows, reader).SerializeToString())
    with write_atomically(path) as beside:
        beside.write_bytes(content)


def model_of(fitted: "FittedModel", t: float, rows: str = "float64", reader: Reader | None = None) -> Any:
    """Return the ONNX model of a fitted one, checked by onnx itself."""
    graph = Graph(fitted.width)
    source = _vectors(graph, rows, fitted) if reader is None else reader(graph, rows)
    dial = graph.input("t", "float64", ("m",))
    units = _units(graph, fitted, source.vectors)
    mixing = fitted.calibration.mixing
    mixed = formulas.mixed(mixing, units[:, :1], units[:, 1:], dial)

    def output(name: str, values: Symbol, kind: str, *shape: str | int) -> None:
        if source.unread is not None:
            unread = source.unread if len(shape) == 1 else source.unread[:, None]
            values = values & ~unread if kind == "bool" else graph("Where", unread, np.nan, values)
        graph.output(name, values, kind, shape)

    output("heads", formulas.squeezed(mixing, units), "float64", "n", 2)
    output("centrality", formulas.squeezed(mixing, mixed), "float64", "n", "m")
    facts = {
        "t": t,
        "calibration": fitted.calibration.kind,
        "noise_scale": list(fitted.noise_scale),
        "calibration_rows": 0,
        **source.facts,
    }
    if fitted.inliers is not None:
        at = one_t(t)
        with np.errstate(divide="ignore"):  # at t = 1 the veto is infinite
            scores = formulas.mixed(mixing, units[:, 0], units[:, 1], np.float64(at))
        inliers = fitted.inliers.scores(mixing, at)
        p_value, severity = _certainty(graph, scores, inliers, fitted.inliers.tail(mixing, at))
        output("p_value", p_value, "float64", "n")
        output("severity", severity, "float64", "n")
        output("extrapolated", severity > float(len(inliers) + 1), "bool", "n")
        facts["calibration_rows"] = len(inliers)
    return graph.to_model(version=__version__, notes={KEY: json.dumps(facts)})


def _vectors(graph: Graph, rows: str, fitted: "FittedModel") -> Rows:
    """Take vectors as they are."""
    names = None if fitted.names is None else list(fitted.names)
    facts = {"features": fitted.width, "feature_names": names}
    return Rows(graph.input("rows", rows, ("n", fitted.width)).double(), facts)


def _units(graph: Graph, fitted: "FittedModel", vectors: Symbol) -> Symbol:  # (n, 2)
    """Write the head scores of vectors."""
    constants = _constants(fitted)
    fine = formulas.scaled(constants, vectors)
    z = fine.float()
    logit, potentials = _outputs(graph, fitted.network, z)
    raw_global, raw_local = formulas.raw(constants, logit, potentials)
    of_global, of_local = formulas.calibrated(constants, raw_global, raw_local)
    units = graph("Concat", of_global[:, None], of_local[:, None], axis=1)
    if fitted.context_calibration is not None:
        calibration = fitted.context_calibration
        of_contexts = SimpleNamespace(
            forest=partial(_forest, calibration.forest),
            category_effects=[partial(_effects, effects) for effects in calibration.category_effects],
            rising=partial(_rising, calibration.knots.shape[1]),
            **formulas.constants_of_context_calibration(calibration),
        )
        units = formulas.shift_by_context(of_contexts, units, fine)
    if fitted.refinement is not None:
        units = units + formulas.shift_by_marks(constants, z.double())[:, None]
    return units


def _certainty(
    graph: Graph, scores: Symbol, inliers: NDArray[np.float64], tail: Tail | None
) -> tuple[Symbol, Symbol]:  # (n,), (n,)
    """Write p-values and severities, as `conformal.p_values` and `severity` compute them.

    A score within rounding of a calibration row's counts as a tie, and ties count against the row. So a p-value is
    never too small by rounding.
    """
    m = len(inliers)
    no_more_central = count_up_to(inliers - TIE * (1 + np.abs(inliers)), scores).double()
    p_value = (no_more_central + 1) * (1 / (m + 1))
    severity = (m + 1) / (no_more_central + 1)
    if tail is None:
        return p_value, severity
    odder = graph("NonZero", no_more_central < 0.5)[0]  # the tail takes long: only where it counts
    distance = (tail.start - scores.at(odder))[:, None]
    growth = (distance * (tail.shapes / tail.scales) + 1).maximum(0.0)
    share = (growth.log() * (-1 / tail.shapes)).exp() @ tail.weights[:, None]
    beyond_all = (1 / (share[:, 0] * tail.beyond)).clamp(float(m + 1), float(CAP * (m + 1)))
    return p_value, graph("ScatterElements", severity, odder, beyond_all, axis=0)


def _constants(fitted: "FittedModel") -> SimpleNamespace:
    """Return what the formulas need of the model, as attributes."""
    calibration = fitted.calibration
    context = fitted.context
    relative = None
    if context is not None:
        constants = SimpleNamespace(
            center_forest=partial(_forest, context.center_forest),
            spread_forest=partial(_forest, context.spread_forest),
            center_effects=[partial(_effects, effects) for effects in context.center_effects],
            spread_effects=[partial(_effects, effects) for effects in context.spread_effects],
            **formulas.constants_of_context(context),
        )
        relative = partial(formulas.relative, constants)
    scaling = fitted.scaling if context is None else context.scaling
    return SimpleNamespace(
        kind=calibration.kind,
        mixing=calibration.mixing,
        context=relative,
        **formulas.constants_of(scaling, calibration, fitted.refinement),
    )


def _rising(count: int, x: Symbol) -> Symbol:  # (n, 2, count)
    """Write that each value rises to the largest before it."""
    highest = [x[:, :, :1]]
    for place in range(1, count):
        highest.append(x[:, :, place : place + 1].maximum(highest[-1]))
    return x.graph("Concat", *highest, axis=2)


def _outputs(graph: Graph, network: Network, z: Symbol) -> tuple[Symbol, Symbol]:  # (members, n), (members, n, k)
    """Write the networks: each one's global logit and local potentials, in float64."""
    last = network.layout.trunks - 1
    logits = []
    potentials = []
    for member in range(network.members):  # one after another: runtimes are quickest with plain matrices
        features = []
        for trunk in range(last + 1):  # without its projection, which is folded into the head
            x = z
            for layer in range(len(network.layout.hidden)):
                weight, bias = network.linear(f"trunks.{trunk}.{2 * layer}", member)
                x = (x @ weight.T + bias).gelu()
            features.append(x.double())
        logits.append(_head(network, member, "global_head", 0, features[0])[None])
        local = _head(network, member, "local_head", last, features[-1])
        potentials.append(_with_background(network, member, z, local)[None])
    return graph("Concat", *logits, axis=0)[:, :, 0], graph("Concat", *potentials, axis=0)


def _with_background(network: Network, member: int, z: Symbol, local: Symbol) -> Symbol:  # (n, k) -> (n, k + 1)
    """Write the potentials on a member's background: the sharp one, the last, is the background alone."""
    if not network.background:
        return local
    parts = {name: part[member].astype(np.float64) for name, part in network.background.items()}
    degrees = float(parts.pop("degrees"))
    levels = formulas.background(SimpleNamespace(degrees=degrees, **parts), z.double())
    local = formulas.bounded(parts["bounds"], local)
    blurred = local.graph("Concat", *(level[:, None] for level in levels[:-1]), axis=1)
    return local.graph("Concat", local + blurred, levels[-1][:, None], axis=1)


def _head(network: Network, member: int, head: str, trunk: int, features: Symbol) -> Symbol:
    weight, bias = folded_head(network, member, head, trunk)
    return features @ weight.T + bias


def _effects(effects: CategoryEffects, c: Symbol) -> Symbol:  # (n, q) -> (n, d)
    """Write `CategoryEffects`: the effects of the rows' categories, 0 for one that did not occur in fitting."""
    distance = (c[:, effects.columns][:, None] - effects.keys).abs().amax(2)  # (n, categories)
    of_nearest = c.graph("Gather", effects.effects, c.graph("ArgMin", distance, axis=1, keepdims=0), axis=0)
    return of_nearest.where(c.graph("ReduceMin", distance, [1], keepdims=1) <= SAME_CATEGORY, 0.0)


def _forest(forest: Forest, c: Symbol) -> Symbol:  # (n, q) -> (n, d)
    """Write `Forest`: every row goes down every tree, whose nodes lie one tree after the other."""
    graph = c.graph
    trees, nodes, d = forest.value.shape
    roots = nodes * np.arange(trees, dtype=np.int64)
    left = (forest.children[:, :, 0] + roots[:, None]).ravel().astype(np.int64)
    right = (forest.children[:, :, 1] + roots[:, None]).ravel().astype(np.int64)
    x = c.float().double()  # thresholds were found for float32
    rows = graph("Slice", graph("Shape", c), [0], [1])
    node = graph("Expand", roots[None], graph("Concat", rows, [1], axis=0))  # (n, trees)
    for _ in range(forest.depth()):
        feature = graph("Gather", forest.feature.ravel().astype(np.int64), node)
        goes_right = graph("GatherElements", x, feature, axis=1) > graph("Gather", forest.threshold.ravel(), node)
        node = graph("Where", goes_right, graph("Gather", right, node), graph("Gather", left, node))
    return graph("Gather", forest.value.reshape(-1, d).astype(np.float64), node).mean(1)  # of (n, trees, d)
