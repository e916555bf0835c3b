"""Stand for tensors in an ONNX graph: each of torch's operators and methods that a symbol meets becomes a node."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._optional import optional

Constant: TypeAlias = float | NDArray[np.generic] | Sequence[int]
Value: TypeAlias = "Symbol | Constant"  # a node's output, or a constant
LAST = int(np.iinfo(np.int64).max)  # the end of a slice that goes on as far as there is


class Graph:
    """Collect nodes: calling the graph adds an operator and returns the symbol of its output."""

    def __init__(self, width: int) -> None:
        self.onnx, self.width = optional("onnx", "onnx"), width  # columns of the rows
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def __call__(self, operator: str, *inputs: Value, **attributes: int) -> "Symbol":
        """Add an operator; inputs are symbols, or numbers and arrays, which become constants."""
        names = [i.name if isinstance(i, Symbol) else self._constant(i) for i in inputs]
        made = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, names, [made], **attributes))
        return Symbol(self, made)

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
        return self.graph(operator, *((other, self) if swapped else (self, other)))

    return write


class Symbol:
    """Stand for the output of a node, with those of torch's operators and methods that scores are made of."""

    __array_ufunc__ = None  # so that `array + symbol` is the symbol's to answer

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph, self.name = graph, name

    __add__ = __radd__ = _binary("Add")
    __mul__ = __rmul__ = _binary("Mul")
    __sub__, __rsub__ = _binary("Sub"), _binary("Sub", swapped=True)
    __truediv__, __rtruediv__ = _binary("Div"), _binary("Div", swapped=True)
    __matmul__, __pow__ = _binary("MatMul"), _binary("Pow")
    __gt__, __le__ = _binary("Greater"), _binary("LessOrEqual")
    maximum, minimum = _binary("Max"), _binary("Min")
    abs, sign, sqrt, log, exp, sigmoid, gelu = map(_unary, ("Abs", "Sign", "Sqrt", "Log", "Exp", "Sigmoid", "Gelu"))

    def __getitem__(self, places: Any) -> "Symbol":
        """Return a part: by slices, numbers or an array of numbers, one for each axis; None adds an axis."""
        found, axis = self, 0
        for place in places if isinstance(places, tuple) else (places,):
            if place is None:
                found = self.graph("Unsqueeze", found, [axis])
            elif not isinstance(place, slice):
                found = self.graph("Gather", found, np.asarray(place), axis=axis)
            elif place != slice(None):
                stop = LAST if place.stop is None else place.stop
                found = self.graph("Slice", found, [place.start or 0], [stop], [axis])
            axis += not isinstance(place, int)
        return found

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
