"""Write a fitted model as an ONNX graph.

Symbols pass through the formulas of `network/formulas.py` in place of torch's tensors, and write each operator as a
node: so a model is exported without torch. Scaling and calibration compute in float64, the network in float32 but for
its heads and its background. A user's own encoder is no formula of ours: such a model is not exported.
"""

import json
import os
from collections.abc import Callable, Sequence
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality import __version__
from centrality._internal.checks import InputError, optional
from centrality._internal.files import write_atomically
from centrality.network import formulas
from centrality.network.context import SAME_CATEGORY, CategoryEffects
from centrality.network.engine_backend import folded_head
from centrality.network.forest import Forest
from centrality.network.network import Network
from centrality.onnx import KEY, sealed

if TYPE_CHECKING:
    from centrality.model.fitted import FittedModel


Constant: TypeAlias = float | NDArray[np.generic] | Sequence[int]
Value: TypeAlias = "Symbol | Constant"  # a node's output, or a constant
LAST = int(np.iinfo(np.int64).max)  # the end of a slice that goes on as far as there is


class Graph:
    """Collect nodes: calling the graph adds an operator and returns the symbol of its output."""

    def __init__(self, width: int) -> None:
        self.onnx = optional("onnx", "onnx")
        self.width = width  # columns of the rows
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Value, **attributes: int) -> "Symbol":
        """Add an operator; inputs are symbols, or numbers and arrays, which become constants."""
        names = [i.name if isinstance(i, Symbol) else self._constant(i) for i in inputs]
        output = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [output], **attributes))
        return Symbol(self, output)

    def _constant(self, value: "Constant") -> str:
        """Add a constant; return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def named(self, name: str, output: "Symbol") -> None:
        """Give an output the name under which users get it."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [output.name], [name]))


def _unary(operator: str) -> Callable[["Symbol"], "Symbol"]:
    return lambda self: self.graph(operator, self)


def _binary(operator: str, *, swapped: bool = False) -> Callable[["Symbol", Value], "Symbol"]:
    def write(self: "Symbol", other: Value) -> "Symbol":
        other = float(other) if isinstance(other, int) else other  # both are of one type in ONNX
        return self.graph(operator, other, self) if swapped else self.graph(operator, self, other)

    return write


class Symbol:
    """Stand for the output of a node, with those of torch's operators and methods that scores are made of."""

    __array_ufunc__ = None  # so that `array + symbol` is the symbol's to answer

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    __add__ = __radd__ = _binary("Add")
    __mul__ = __rmul__ = _binary("Mul")
    __sub__ = _binary("Sub")
    __rsub__ = _binary("Sub", swapped=True)
    __truediv__ = _binary("Div")
    __rtruediv__ = _binary("Div", swapped=True)
    __matmul__ = _binary("MatMul")
    __pow__ = _binary("Pow")
    __gt__ = _binary("Greater")
    __le__ = _binary("LessOrEqual")
    maximum = _binary("Max")
    minimum = _binary("Min")
    abs, sign, sqrt, log, exp, sigmoid, gelu = map(_unary, ("Abs", "Sign", "Sqrt", "Log", "Exp", "Sigmoid", "Gelu"))

    def __getitem__(self, places: Any) -> "Symbol":
        """Return a part: by slices, numbers or an array of numbers, one for each axis; None adds an axis."""
        part = self
        axis = 0
        for place in places if isinstance(places, tuple) else (places,):
            if place is None:
                part = self.graph("Unsqueeze", part, [axis])
            elif not isinstance(place, slice):
                part = self.graph("Gather", part, np.asarray(place), axis=axis)
            elif place != slice(None):
                stop = LAST if place.stop is None else place.stop
                part = self.graph("Slice", part, [place.start or 0], [stop], [axis])
            axis += not isinstance(place, int)
        return part

    def index_copy(self, _: int, places: NDArray[np.intp], columns: "Symbol") -> "Symbol":
        """Return the rows with these columns in these places."""
        choice = np.arange(self.graph.width)  # of the columns of both side by side
        choice[places] = self.graph.width + np.arange(len(places))
        return self.graph("Concat", self, columns, axis=1)[:, choice]

    def float(self) -> "Symbol":
        return self.graph("Cast", self, to=self.graph.onnx.TensorProto.FLOAT)

    def double(self) -> "Symbol":
        return self.graph("Cast", self, to=self.graph.onnx.TensorProto.DOUBLE)

    def clamp(self, min: "Value | None" = None, max: "Value | None" = None) -> "Symbol":
        low = self if min is None else self.maximum(min)
        return low if max is None else low.minimum(max)

    def where(self, holds: "Symbol", other: Value) -> "Symbol":
        return self.graph("Where", holds, self, other)

    def sum(self, dim: int | tuple[int, ...], *, keepdim: bool = False) -> "Symbol":
        return self.graph("ReduceSum", self, np.atleast_1d(dim), keepdims=int(keepdim))

    def mean(self, dim: int) -> "Symbol":
        return self.graph("ReduceMean", self, [dim], keepdims=0)

    def amax(self, dim: int, *, keepdim: bool = False) -> "Symbol":
        return self.graph("ReduceMax", self, [dim], keepdims=int(keepdim))

    def amin(self, dim: int) -> "Symbol":
        return self.graph("ReduceMin", self, [dim], keepdims=0)

    def reshape(self, shape: tuple[int, ...]) -> "Symbol":
        return self.graph("Reshape", self, shape)

    def log1p(self) -> "Symbol":
        return (self + 1).log()

    def logsumexp(self, dim: int) -> "Symbol":
        highest = self.amax(dim, keepdim=True)
        total = (self - highest).exp().sum(dim, keepdim=True)
        return self.graph("Squeeze", highest + total.log(), [dim])


OPSET = 20  # the first with Gelu
ROWS = ("float64", "float32")  # in which a file may take them
IR_VERSION = 9  # what belongs to that opset: any ONNX Runtime since 1.17 reads it


def write(fitted: "FittedModel", path: str | os.PathLike[str], *, t: float, rows: str = "float64") -> None:
    """Write a fitted model to `path`, completely or not at all; `t` is used by calls that give none."""
    if rows not in ROWS:
        raise InputError(f"rows must be one of {', '.join(ROWS)}, got {rows!r}.")
    if not fitted.network.layout.standard:
        raise InputError(
            "A model with an encoder of your own cannot be written as ONNX. to_torch() gives all of it as one torch "
            "module."
        )
    content = sealed(model_of(fitted, t, rows).SerializeToString())
    with write_atomically(path) as beside:
        beside.write_bytes(content)


def model_of(fitted: "FittedModel", t: float, rows: str = "float64") -> Any:
    """Return the ONNX model of a fitted one, checked by onnx itself."""
    graph = Graph(fitted.width)
    constants = _constants(fitted)
    mixing = fitted.calibration.mixing
    fine = formulas.scaled(constants, Symbol(graph, "rows").double())
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
    mixed = formulas.mixed(mixing, units[:, :1], units[:, 1:], Symbol(graph, "t"))
    graph.named("heads", formulas.squeezed(mixing, units))
    graph.named("centrality", formulas.squeezed(mixing, mixed))
    facts = {
        "t": t,
        "features": fitted.width,
        "feature_names": None if fitted.names is None else list(fitted.names),
        "calibration": fitted.calibration.kind,
        "noise_scale": list(fitted.noise_scale),
    }
    helper = graph.onnx.helper
    float64 = graph.onnx.TensorProto.DOUBLE
    type_of_rows = graph.onnx.TensorProto.FLOAT if rows == "float32" else float64
    body = helper.make_graph(
        graph.nodes,
        "centrality",
        [
            helper.make_tensor_value_info("rows", type_of_rows, ("n", fitted.width)),
            helper.make_tensor_value_info("t", float64, ("m",)),
        ],
        [
            helper.make_tensor_value_info("heads", float64, ("n", 2)),
            helper.make_tensor_value_info("centrality", float64, ("n", "m")),
        ],
        graph.constants,
    )
    model = helper.make_model(
        body,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="centrality",
        producer_version=__version__,
    )
    helper.set_model_props(model, {KEY: json.dumps(facts)})
    graph.onnx.checker.check_model(model, full_check=True)
    return model


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
