"""A graph of ONNX in the making: symbols write operators as nodes.

Symbols pass through the formulas of `network/formulas.py` in place of torch's tensors, and write each operator as a
node: so a model is exported without torch.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import optional

Constant: TypeAlias = float | str | NDArray[np.generic] | Sequence[int]
Value: TypeAlias = "Symbol | Constant"  # a node's output, or a constant
LAST = int(np.iinfo(np.int64).max)  # the end of a slice that goes on as far as there is
OPSET = 20  # the first with Gelu, and with operators on texts
IR_VERSION = 9  # what belongs to that opset: any ONNX Runtime since 1.17 reads it
OWN = "/"  # how names of our own nodes begin, so that none is the name of an input
MACHINE_LEARNING = "ai.onnx.ml"  # operators that every ONNX Runtime has beside ONNX's own
VERSION_OF_MACHINE_LEARNING = 3
OF_MACHINE_LEARNING = frozenset({"LabelEncoder"})
OF_PLACES = frozenset({"Shape", "NonZero", "ArgMin", "LabelEncoder", "ConstantOfShape"})  # whose outputs are whole
OF_CONDITIONS = frozenset(  # whose outputs are true or false
    {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Equal"}
    | {"And", "Or", "Not", "IsNaN", "IsInf", "RegexFullMatch"}
)
INT64 = 7  # as ONNX numbers its types
KINDS = {"float64": "DOUBLE", "float32": "FLOAT", "int64": "INT64", "text": "STRING", "bool": "BOOL"}


class Graph:
    """Collect nodes: calling the graph adds an operator and returns the symbol of its output."""

    def __init__(self, width: int) -> None:
        self.onnx = optional("onnx", "onnx")
        self.width = width  # columns of the rows
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        self.outputs: list[Any] = []
        self.domains = {"": OPSET}  # the operators' own domains, with their versions

    def __call__(self, operator: str, *inputs: Value, **attributes: Any) -> "Symbol":
        """Add an operator; inputs are symbols, or numbers and arrays, which become constants."""
        names = [i.name if isinstance(i, Symbol) else self._constant(i) for i in inputs]
        output = f"{OWN}{operator.lower()}_{len(self.nodes)}"
        if operator in OF_MACHINE_LEARNING:
            attributes["domain"] = MACHINE_LEARNING
            self.domains[MACHINE_LEARNING] = VERSION_OF_MACHINE_LEARNING
        # StringSplit has two outputs; only the first is of use here.
        outputs = [output, f"{output}_count"] if operator == "StringSplit" else [output]
        self.nodes.append(self.onnx.helper.make_node(operator, names, outputs, **attributes))
        return Symbol(self, output, is_whole=_is_whole(operator, inputs, attributes.get("to")))

    def _constant(self, value: "Constant") -> str:
        """Add a constant; return its name."""
        name = f"{OWN}constant_{len(self.constants)}"
        array = np.asarray(value)
        array = array.astype(object) if array.dtype.kind == "U" else array
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def input(self, name: str, kind: str, shape: tuple[str | int, ...]) -> "Symbol":
        """Add an input of this name, of one of the `KINDS`."""
        of_onnx = getattr(self.onnx.TensorProto, KINDS[kind])
        self.inputs.append(self.onnx.helper.make_tensor_value_info(name, of_onnx, shape))
        return Symbol(self, name, is_whole=kind == "int64")

    def output(self, name: str, output: "Symbol", kind: str, shape: tuple[str | int, ...]) -> None:
        """Give an output the name under which users get it."""
        of_onnx = getattr(self.onnx.TensorProto, KINDS[kind])
        self.nodes.append(self.onnx.helper.make_node("Identity", [output.name], [name]))
        self.outputs.append(self.onnx.helper.make_tensor_value_info(name, of_onnx, shape))

    def to_model(self, *, version: str, notes: dict[str, str]) -> Any:
        """Return all of it as an ONNX model, checked by onnx itself."""
        helper = self.onnx.helper
        model = helper.make_model(
            helper.make_graph(self.nodes, "centrality", self.inputs, self.outputs, self.constants),
            opset_imports=[helper.make_opsetid(*domain) for domain in self.domains.items()],
            ir_version=IR_VERSION,
            producer_name="centrality",
            producer_version=version,
        )
        helper.set_model_props(model, notes)
        self.onnx.checker.check_model(model, full_check=True)
        return model


def _is_whole(operator: str, inputs: Sequence[Value], cast_to: int | None) -> bool:
    """Say whether the output of an operator is whole numbers."""
    if operator == "Cast":
        return cast_to == INT64
    if operator in OF_CONDITIONS:
        return False
    if operator in OF_PLACES:
        return True
    data = inputs[:1] if operator in ("Gather", "GatherElements") else inputs[operator == "Where" :]
    symbols = [item.is_whole for item in data if isinstance(item, Symbol)]
    return any(symbols) if symbols else all(np.asarray(item).dtype.kind == "i" for item in data)


def _unary(operator: str) -> Callable[["Symbol"], "Symbol"]:
    return lambda self: self.graph(operator, self)


def _binary(operator: str, *, swapped: bool = False) -> Callable[["Symbol", Value], "Symbol"]:
    def write(self: "Symbol", other: Value) -> "Symbol":
        if isinstance(other, float | int) and not self.is_whole:
            other = float(other)  # both are of one type in ONNX
        return self.graph(operator, other, self) if swapped else self.graph(operator, self, other)

    return write


class Symbol:
    """Stand for the output of a node, with those of torch's operators and methods that scores are made of."""

    __array_ufunc__ = None  # so that `array + symbol` is the symbol's to answer

    def __init__(self, graph: Graph, name: str, *, is_whole: bool = False) -> None:
        self.graph = graph
        self.name = name
        self.is_whole = is_whole  # it stands for whole numbers (int64)

    __add__ = __radd__ = _binary("Add")
    __mul__ = __rmul__ = _binary("Mul")
    __sub__ = _binary("Sub")
    __rsub__ = _binary("Sub", swapped=True)
    __truediv__ = _binary("Div")
    __rtruediv__ = _binary("Div", swapped=True)
    __matmul__ = _binary("MatMul")
    __pow__ = _binary("Pow")
    __gt__ = _binary("Greater")
    __ge__ = _binary("GreaterOrEqual")
    __lt__ = _binary("Less")
    __le__ = _binary("LessOrEqual")
    __mod__ = _binary("Mod")
    __and__ = _binary("And")
    __or__ = _binary("Or")
    equals = _binary("Equal")
    maximum = _binary("Max")
    minimum = _binary("Min")
    abs, sign, sqrt, log, exp, sigmoid, gelu = map(_unary, ("Abs", "Sign", "Sqrt", "Log", "Exp", "Sigmoid", "Gelu"))
    __invert__, is_nan, is_infinite, floor = map(_unary, ("Not", "IsNaN", "IsInf", "Floor"))

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

    def whole(self) -> "Symbol":
        return self.graph("Cast", self, to=self.graph.onnx.TensorProto.INT64)

    def at(self, places: "Symbol | NDArray[np.intp]", axis: int = 0) -> "Symbol":
        """Return what is in these places."""
        return self.graph("Gather", self, places, axis=axis)

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


def look_up(table: NDArray[np.generic], places: Symbol) -> Symbol:  # (k, ...), (n,) -> (n, ...)
    """Return the entries of a constant table in these places."""
    return places.graph("Gather", table, places, axis=0)


def count_up_to(rising: NDArray[np.float64] | NDArray[np.int64], values: Symbol) -> Symbol:  # (m,), (n,) -> (n,) int64
    """Count the entries of a rising constant that are no larger than each value, as `np.searchsorted` from the right.

    By bisection: each step looks at one entry for each value.
    """
    bits = max(len(rising), 1).bit_length()
    padded = np.full(2**bits, LAST if rising.dtype.kind == "i" else np.inf, dtype=rising.dtype)
    padded[: len(rising)] = rising
    count = values.graph("ConstantOfShape", values.graph("Shape", values), value=_zero(values.graph))
    for bit in reversed(range(bits)):
        further = count + 2**bit
        is_no_larger = look_up(padded, further - 1) <= values
        count = further.where(is_no_larger, count)
    return count.graph("Min", count, len(rising))


def _zero(graph: Graph) -> Any:
    return graph.onnx.helper.make_tensor("zero", graph.onnx.TensorProto.INT64, [1], [0])


# Texts.


def matches(texts: Symbol, pattern: str) -> Symbol:
    """Say which texts match this pattern as a whole: one of RE2, as Arrow's are."""
    return texts.graph("RegexFullMatch", texts, pattern=pattern)


def pieces(texts: Symbol, mark: str, count: int) -> Symbol:  # (n,) -> (n, count)
    """Split texts at a mark, "" for blanks, and return the first pieces; where there are fewer, the rest is empty."""
    graph = texts.graph
    # One more text, which has so many pieces, so that there are as many whatever the texts are.
    with_one_more = graph("Concat", texts, np.array([(mark or "x ") * count]), axis=0)
    split = graph("StringSplit", with_one_more, **({"delimiter": mark} if mark else {}))
    return graph("Slice", split, [0, 0], [-1, count], [0, 1])


def replaced(texts: Symbol, mark: str, by: str, most_parts: int) -> Symbol:
    """Replace a mark, "" for blanks, which a text has at most so many times.

    What stands for it may also stand behind a text that has it fewer times.
    """
    graph = texts.graph
    count = 2 ** most_parts.bit_length()  # so that they can be joined by halves
    parts = pieces(texts, mark, count)
    while count > 1:
        even = graph("Slice", parts, [0], [LAST], [1], [2])
        odd = graph("Slice", parts, [1], [LAST], [1], [2])
        even = graph("StringConcat", even, by) if by else even
        parts = graph("StringConcat", even, odd)
        count //= 2
    return parts[:, 0]


def any_of(conditions: Sequence[Symbol]) -> Symbol:
    """Say where one of these holds."""
    first, *others = conditions
    for other in others:
        first = first | other
    return first
