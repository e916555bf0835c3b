"""Write a fitted model as an ONNX graph: rows and t in; heads and centrality out.

The computation of `torch/module.py` is written again in ONNX operators, with the same folded weights: torch's own
exporter would do without these lines, but it needs torch and onnxscript, and this way a model is exported without
either. Scaling and calibration compute in float64 as they do there, the network in float32 but for its heads and its
prior.
"""

import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality import __version__
from centrality._atomic import write_atomically
from centrality._checks import InputError
from centrality._optional import optional
from centrality.network.gaussians import LOWEST
from centrality.network.network import Network, Weights
from centrality.network.scaling import KNEE, LIMIT, Scaling
from centrality.network.scorer import folded_head
from centrality.onnx.context import relative, within_kinds
from centrality.onnx.scorer import KEY, SEALED, sealed
from centrality.scores.calibration import BEND, Calibration
from centrality.scores.mixing import ALLOWANCE
from centrality.scores.refinement import Refinement

if TYPE_CHECKING:  # the layer above: it says what a model is, and this room writes it
    from centrality.model.fitted import Fitted

Value: TypeAlias = str | float | np.generic | NDArray[np.generic] | Sequence[int]  # an output's name, or a constant

OPSET = 20  # the first with Gelu
ROWS = ("float64", "float32")  # in which a file may take them
IR_VERSION = 9  # what belongs to that opset: any ONNX Runtime since 1.17 reads it


class Graph:
    """Collect nodes: calling the graph adds an operator and returns the name of its output."""

    def __init__(self) -> None:
        self.onnx = optional("onnx", "onnx")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Value, **attributes: int) -> str:
        """Add an operator; inputs are names, or numbers and arrays, which become constants."""
        names = [i if isinstance(i, str) else self.constant(i) for i in inputs]
        made = f"{operator.lower()}_{len(self.nodes)}"
        outputs = [made, f"{made}_places"] if operator == "TopK" else [made]  # TopK also gives their indices
        self.nodes.append(self.onnx.helper.make_node(operator, names, outputs, **attributes))
        return made

    def as_float32(self, x: str) -> str:
        """Add a conversion to float32."""
        return self("Cast", x, to=self.onnx.TensorProto.FLOAT)

    def as_float64(self, x: str) -> str:
        """Add a conversion to float64."""
        return self("Cast", x, to=self.onnx.TensorProto.DOUBLE)

    def constant(self, value: Value) -> str:
        """Add a constant; return its name."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def named(self, name: str, output: str) -> None:
        """Give an output the name under which users get it."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [output], [name]))


def write(fitted: "Fitted", path: str | os.PathLike[str], *, t: float, rows: str = "float64") -> None:
    """Write a fitted model to `path`, completely or not at all; `t` is used by calls that give none."""
    if rows not in ROWS:
        raise InputError(f"rows must be one of {', '.join(ROWS)}, got {rows!r}.")
    content = sealed(model_of(fitted, t, rows).SerializeToString())
    with write_atomically(path) as beside:
        beside.write_bytes(content)


def model_of(fitted: "Fitted", t: float, rows: str = "float64") -> Any:
    """Return the ONNX model of a fitted one, checked by onnx itself."""
    graph = Graph()
    fine = _scaled(graph, fitted)
    scaled = graph.as_float32(fine)
    logits, potentials = _outputs(graph, fitted.network, scaled, fitted.width)
    logit, local = _raw(graph, fitted.calibration, logits, potentials)
    shift = None if fitted.refinement is None else _shift(graph, fitted.refinement, scaled)
    units = _units(graph, fitted.calibration, logit, local)
    if fitted.kinds is not None:
        units = within_kinds(graph, fitted.kinds, units, fine)
    heads, centrality = _calibrated(graph, fitted.calibration, units, shift)
    graph.named("heads", heads)
    graph.named("centrality", centrality)
    facts = {
        "t": t,
        "features": fitted.width,
        "feature_names": None if fitted.names is None else list(fitted.names),
        "calibration": fitted.calibration.kind,
        "noise_scale": list(fitted.noise_scale),
        SEALED: "sha256",
    }
    return _finished(graph, fitted.width, facts, rows)


def _finished(graph: Graph, width: int, facts: dict[str, Any], rows: str) -> Any:
    helper, types = graph.onnx.helper, graph.onnx.TensorProto

    def value(name: str, *shape: int | str) -> Any:
        is_single = name == "rows" and rows == "float32"
        return helper.make_tensor_value_info(name, types.FLOAT if is_single else types.DOUBLE, shape)

    body = helper.make_graph(
        graph.nodes,
        "centrality",
        [value("rows", "n", width), value("t", "m")],
        [value("heads", "n", 2), value("centrality", "n", "m")],
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


def _scaled(graph: Graph, fitted: "Fitted") -> str:  # (n, p) -> (n, p)
    """Write the scaling of rows in the user's units for the network, still in float64."""
    if (context := fitted.context) is None:
        return _in_scaled_units(graph, fitted.scaling)
    made = relative(graph, context, _in_scaled_units(graph, context.scaling))
    return graph("Min", graph("Max", made, -LIMIT), LIMIT)


def _in_scaled_units(graph: Graph, scaling: Scaling) -> str:  # (n, p) -> (n, p)
    """Write `Scaling.scaled`, in float64."""
    u = graph("Mul", graph("Sub", graph.as_float64("rows"), scaling.center), scaling.weight)
    if len(scaling.heavy):
        bent = _asinh(graph, graph("Gather", u, scaling.heavy, axis=1))
        bent = graph("Mul", graph("Sub", bent, scaling.shift), scaling.gain)
        choice = np.arange(len(scaling.center))  # of the columns of u and bent side by side
        choice[scaling.heavy] = len(choice) + np.arange(len(scaling.heavy))
        u = graph("Gather", graph("Concat", u, bent, axis=1), choice, axis=1)
    if scaling.shrink is not None:
        size = graph("Abs", u)
        beyond = graph("Max", graph("Sub", size, KNEE), 0.0)
        u = graph(
            "Mul", graph("Sign", u), graph("Add", graph("Min", size, KNEE), graph("Log", graph("Add", 1.0, beyond)))
        )
        u = graph("Mul", u, scaling.shrink)
    if scaling.seen is not None and scaling.beyond is not None:
        above = graph("Mul", graph("Max", graph("Sub", u, scaling.seen[1]), 0.0), scaling.beyond[1])
        below = graph("Mul", graph("Max", graph("Sub", scaling.seen[0], u), 0.0), scaling.beyond[0])
        u = graph("Add", u, graph("Sub", above, below))
    return graph("Min", graph("Max", u, -LIMIT), LIMIT)


def _asinh(graph: Graph, u: str) -> str:
    """Write asinh in float64, which runtimes lack: sign(u) log(a + √(a² + 1)), a = |u|, without overflow."""
    size = graph("Min", graph("Abs", u), 1e300)
    unit = graph("Max", size, 1.0)
    share = graph("Div", size, unit)  # at most 1
    rest = graph("Reciprocal", unit)
    root = graph("Sqrt", graph("Add", graph("Mul", share, share), graph("Mul", rest, rest)))
    return graph("Mul", graph("Sign", u), graph("Add", graph("Log", unit), graph("Log", graph("Add", share, root))))


def _outputs(graph: Graph, network: Network, z: str, width: int) -> tuple[str, str]:
    """Write the networks: (n, members) global logits and (n, members * k) local potentials, in float64."""
    logits: list[str] = []
    potentials: list[str] = []
    prior = _mixture(graph, network.prior, z) if network.prior else None
    for member in range(network.members):
        last = network.layout.trunks - 1
        features = [_features(graph, network, (member, trunk), z, width) for trunk in range(last + 1)]
        logits.append(_head(graph, features[0], network, (member, 0), "global_head"))
        local = _head(graph, features[-1], network, (member, last), "local_head")
        local = local if prior is None else graph("Add", local, prior)
        shape = {name: part[member].astype(np.float64) for name, part in network.shape.items()}
        potentials.append(graph("Add", local, _shaped(graph, shape, z)) if shape else local)
    return graph("Concat", *logits, axis=1), graph("Concat", *potentials, axis=1)


def _features(graph: Graph, network: Network, place: tuple[int, int], z: str, width: int) -> str:
    """Write a member's trunk, (n, p) -> (n, q); ours without its projection, which is folded into the head."""
    member, trunk = place
    if not network.layout.standard:
        from centrality.onnx.encoder import encoder_of, nodes_of  # brings torch

        encoder = encoder_of(network, trunk, member)
        nodes, constants, made = nodes_of(encoder, width, OPSET, z, f"encoder_{len(graph.nodes)}_")
        graph.nodes += nodes
        graph.constants += constants
        return made
    for layer in range(len(network.layout.hidden)):
        z = graph("Gelu", _linear(graph, z, *network.linear(f"trunks.{trunk}.{2 * layer}", member)))
    return z


def _head(graph: Graph, features: str, network: Network, place: tuple[int, int], head: str) -> str:
    member, trunk = place
    if network.layout.standard:
        weight, bias = folded_head(network, member, head, trunk)
    else:
        weight, bias = (part.astype(np.float64) for part in network.linear(head, member))
    return _linear(graph, graph.as_float64(features), weight, bias)


def _linear(graph: Graph, x: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
    return graph("Add", graph("MatMul", x, weight.T), bias)


def _mixture(graph: Graph, prior: Weights, z: str) -> str:
    """Write the mixture's potentials, (n, p) -> (n, k), in float64: squares that cancel are in it."""
    mean, centres = prior["mean"].astype(np.float64), prior["centres"].astype(np.float64)
    off = graph("Sub", graph.as_float64(z), mean)
    own = graph("ReduceSum", graph("Mul", off, off), [1], keepdims=1)
    lengths = graph("Add", own, np.square(centres).sum(1))
    distances = graph("Max", graph("Add", lengths, graph("MatMul", off, -2 * centres.T)), 0.0)
    potentials = []
    for level, precision in zip(*(prior[name].astype(np.float64) for name in ("level", "precision")), strict=True):
        exponents = graph("Max", graph("Add", graph("Mul", distances, -0.5 * precision), level), LOWEST)
        highest = graph("ReduceMax", exponents, [1], keepdims=1)
        total = graph("ReduceSum", graph("Exp", graph("Sub", exponents, highest)), [1], keepdims=1)
        potentials.append(graph("Add", highest, graph("Log", total)))
    return graph("Concat", *potentials, axis=1)


def _shaped(graph: Graph, shape: Weights, z: str) -> str:
    """Write -sqrt(1 + d²) times the weight of each potential, (n, p) -> (n, k), in float64 (`network/shape.py`)."""
    off = graph("Sub", graph.as_float64(z), shape["mean"])
    mapped = graph("MatMul", off, shape["map"].T)
    square = graph("ReduceSum", graph("Mul", mapped, mapped), [1], keepdims=1)
    if shape["rest"] > 0:
        length = graph("ReduceSum", graph("Mul", off, off), [1], keepdims=1)
        square = graph("Max", graph("Sub", graph("Mul", length, float(shape["rest"])), square), 0.0)
    return graph("Mul", graph("Sqrt", graph("Add", square, 1.0)), -shape["weight"])


def _raw(graph: Graph, calibration: Calibration, logits: str, potentials: str) -> tuple[str, str]:
    """Write `Calibration.raw`: (n, 1) the global and (n, 1) the local score, the members' weighted mean."""
    members, k, _ = calibration.potentials.shape
    if members * k > 1:
        potentials = _rescaled(graph, potentials, calibration.potentials.reshape(-1, 2))
        potentials = graph("Reshape", potentials, np.array([-1, members, k]))
        if k > 2:  # without each member's lowest and highest: the k - 1 highest, but for the first of them
            highest = graph("TopK", potentials, np.array([k - 1]), axis=2)
            potentials = graph("Slice", highest, np.array([1]), np.array([k - 1]), np.array([2]))
        potentials = graph("ReduceMean", _bend_top(graph, potentials), [2], keepdims=0)
    pair = [
        _rescaled(graph, each, calibration.members[:, head]) for head, each in enumerate((logits, potentials))
    ]  # (n, members)
    share, doubt = float(calibration.mixing.share(0.5)), calibration.doubt
    doubted = [graph("Mul", each, -doubt * part) for each, part in zip(pair, (1 - share, share), strict=True)]
    weights = graph("Softmax", graph("Add", *doubted), axis=1)
    logit, local = (graph("ReduceSum", graph("Mul", weights, each), [1], keepdims=1) for each in pair)
    return logit, local


def _shift(graph: Graph, refinement: Refinement, z: str) -> str:
    """Write `Refinement.shift`: (n, 1) the correction learned from marks, added to both units."""
    passed = graph("Sub", graph("Unsqueeze", graph.as_float64(z), np.array([2])), refinement.knots[:, :-1])
    passed = graph("Min", graph("Max", passed, 0.0), np.diff(refinement.knots))  # (n, p, k - 1)
    moved = graph("ReduceSum", graph("Mul", passed, refinement.slopes()), np.array([1, 2]), keepdims=0)
    return graph("Unsqueeze", graph("Add", moved, refinement.values[:, 0].sum()), np.array([1]))


def _units(graph: Graph, calibration: Calibration, logit: str, local: str) -> tuple[str, str]:
    """Write `Calibration.units`: (n, 1) the global and (n, 1) the local one."""
    if calibration.mixing.local_weight is None:
        local = graph("Min", graph("Max", _rescaled(graph, local, calibration.ends[1:]), 0.0), 1.0)
        return graph("Sigmoid", logit), local
    of_global, of_local = calibration.halves
    return _rescaled(graph, logit, of_global[None]), _rescaled(graph, local, of_local[None])


def _calibrated(graph: Graph, calibration: Calibration, units: tuple[str, str], shift: str | None) -> tuple[str, str]:
    """Write the heads, (n, 2), and their mixture, (n, m), at each t."""
    weight = calibration.mixing.local_weight
    (of_global, of_local), share = units, "t"
    if weight is not None:
        if shift is not None:
            of_global, of_local = (graph("Add", unit, shift) for unit in units)
        share = graph("Div", graph("Mul", "t", weight), graph("Add", 1.0, graph("Mul", "t", weight - 1)))
    heads = graph("Concat", of_global, of_local, axis=1)
    if calibration.mixing.veto:  # ALLOWANCE / 0 is infinite at t = 1: no veto
        of_local = graph("Min", of_local, graph("Add", of_global, graph("Div", ALLOWANCE, graph("Sub", 1.0, "t"))))
    mixed = graph("Add", graph("Mul", graph("Sub", 1.0, share), of_global), graph("Mul", share, of_local))
    return (heads, mixed) if weight is None else (_squeezed(graph, heads), _squeezed(graph, mixed))


def _squeezed(graph: Graph, units: str) -> str:
    """Write `mixing.squeezed`: the real line onto (0, 1)."""
    size = graph("Min", graph("Abs", units), 1e100)
    below = graph("Div", 0.5, graph("Add", 1.0, size))
    cubes = graph("Mul", graph("Mul", size, size), size)
    root = graph("Pow", graph("Add", 1.0, cubes), 1 / 3)
    above = graph("Add", 0.5, graph("Mul", 0.5, graph("Div", size, root)))
    return graph("Where", graph("Greater", units, 0.0), above, below)


def _bend_top(graph: Graph, u: str) -> str:
    above = graph("Sub", 1.0, graph("Max", u, 1 - BEND))
    bent = graph("Sub", 1.0, graph("Div", BEND**2, graph("Sub", 2 * BEND, above)))
    return graph("Where", graph("Greater", u, 1 - BEND), bent, u)


def _rescaled(graph: Graph, values: str, limits: NDArray[np.float64]) -> str:
    low, high = limits.T
    return graph("Div", graph("Sub", values, low), np.where(high > low, high - low, 1.0))
