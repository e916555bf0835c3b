"""Write what a fitted `Table` does as a part of an ONNX graph: an input for each column, a vector for each row."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from centrality._internal.checks import InputError
from centrality.onnx.export import OUTPUTS, Rows
from centrality.onnx.graph import OWN, Graph, any_of, look_up
from centrality.onnx.inputs import GAP, Column
from centrality.representations.base import Representation
from centrality.representations.columns import Categories, ColumnEncoder, Numbers
from centrality.representations.dates import Dates
from centrality.representations.lists import Vectors
from centrality.representations.onnx.cells import GraphCells
from centrality.representations.onnx.dates import date_cells
from centrality.representations.onnx.numbers import number_cells
from centrality.representations.table import Table
from centrality.tables.written_numbers import NumberFormat

TRAVEL: tuple[type[ColumnEncoder], ...] = (Numbers, Categories, Dates, Vectors)
# Why a column does not travel, by the kind of its encoder in a model file.
STAYS = {
    "words": "text, of which the n-grams count",
    "long texts": "long texts, of which the words count",
    "pictures": "pictures",
    "vector block": "vectors beside other columns, which are compared with them",
}
ADVICE = (
    "Fit without them, give texts of few values as categories (Table(cardinality=...)), or serve the whole model "
    "(centrality serve). What scores the vectors can be written alone: model.model_.to_onnx(path) (centrality export "
    "--vectors) takes model.representation_.transform(rows)."
)


def obstacles(representation: Representation) -> list[str]:
    """Say what of a fitted representation cannot be written as ONNX, in words; nothing if all of it can.

    >>> from centrality.datasets import houses
    >>> from centrality.representations import Table
    >>> from centrality.representations.onnx import obstacles
    >>> rows = houses()
    >>> obstacles(Table().fit(rows))
    []
    >>> notes = [f"{kind} house, number {number}" for number, kind in enumerate(rows["district"].to_pylist())]
    >>> obstacles(Table(blocks=False).fit(rows.append_column("note", [notes])))
    ["column 'note' is text, of which the n-grams count"]
    """
    if not isinstance(representation, Table):
        return [f"a model of {type(representation).__name__} reads more than columns of a table"]
    columns = _columns(representation)
    return [f"column {name!r} is {STAYS[state['kind']]}" for name, state in columns.items() if state["kind"] in STAYS]


def table_reader(representation: Representation) -> Callable[[Graph, str], Rows]:
    """Return what adds a representation's columns to a graph; raise if some of it cannot be written."""
    if why := obstacles(representation):
        raise InputError(f"This model cannot be written as ONNX as a whole: {'; '.join(why)}. {ADVICE}")

    def read(graph: Graph, numbers: str) -> Rows:
        kinds = {kind.kind: kind for kind in TRAVEL}
        columns = {
            name: kinds[state["kind"]](**{key: value for key, value in state.items() if key != "kind"})
            for name, state in _columns(representation).items()
            if state["kind"] in kinds
        }
        inputs = _input_names(list(columns))
        cells = [_cells(graph, encoder, inputs[name], numbers) for name, encoder in columns.items()]
        gaps = [cell.gaps.whole()[:, None] for cell in cells]
        count = graph("ReduceSum", graph("Concat", *gaps, axis=1), [1], keepdims=0)
        too_many = count > int(representation.state()[0]["most_gaps"])
        blocks = []
        for cell in cells:
            far_off = cell.gaps & too_many
            far_off = far_off if cell.far_off is None else far_off | cell.far_off
            blocks.append(graph("Where", far_off[:, None], cell.outlying, cell.block))
        unread = [cell.unread for cell in cells if cell.unread is not None]
        description = representation.describe()
        facts = {
            "features": len(columns),
            "feature_names": list(columns),
            "columns": [
                {"name": name, **_about(used), "reads": description[name], "zone": getattr(columns[name], "zone", None)}
                for name, used in zip(columns, graph.inputs, strict=True)
            ],
            "gap": GAP,
        }
        vectors = graph("Concat", *blocks, axis=1).float().double()  # rounded as `Table.transform` rounds them
        return Rows(vectors, facts, any_of(unread) if unread else None)

    return read


def _columns(table: Representation) -> dict[str, dict[str, Any]]:
    """Return what each column's encoder has learned, as a model file holds it."""
    state, arrays = table.state()
    columns: dict[str, dict[str, Any]] = {}
    for number, (name, plain) in enumerate(state["columns"].items()):
        mark = f"{number}."
        learned = {key.removeprefix(mark): array for key, array in arrays.items() if key.startswith(mark)}
        columns[name] = {**plain, **learned}
        if plain.get("writing") is not None:
            columns[name]["writing"] = NumberFormat(**plain["writing"])
    return columns


def _input_names(columns: list[str]) -> dict[str, str]:
    """Return names of inputs for columns: their own, but where an output or another input has it."""
    names: dict[str, str] = {}
    used = {*columns, *OUTPUTS, "t"}
    for column in columns:
        name = column
        while name in (*OUTPUTS, "t", "") or name.startswith(OWN) or (name != column and name in used):
            name = f"column {name}"
        names[column] = name
        used.add(name)
    return names


def _about(used: Any) -> Column:
    """Return name, type and shape of an input."""
    kinds = {1: "float32", 7: "int64", 8: "text", 11: "float64"}  # as ONNX numbers them
    shape = [dimension.dim_param or dimension.dim_value for dimension in used.type.tensor_type.shape.dim]
    return {"input": used.name, "type": kinds[used.type.tensor_type.elem_type], "shape": shape}


def _cells(graph: Graph, encoder: ColumnEncoder, name: str, numbers: str) -> GraphCells:
    if isinstance(encoder, Numbers):
        return number_cells(graph, encoder, name, numbers)
    if isinstance(encoder, Dates):
        return date_cells(graph, encoder, name)
    if isinstance(encoder, Vectors):
        return _vector_cells(graph, encoder, name, numbers)
    assert isinstance(encoder, Categories)
    return _category_cells(graph, encoder, name)


def _category_cells(graph: Graph, encoder: Categories, name: str) -> GraphCells:
    """Look up the codes of levels, which the encoder itself gives: one more for a gap, and one for what is new."""
    levels = [level for level in dict.fromkeys([*encoder.levels, *encoder.rare]) if level != GAP]
    new = "+".join(levels)  # longer than any of them; of one level, the text is another
    new = f"not {new}" if new in levels else new
    codes = encoder.encode(name, pa.chunked_array([[*levels, None, new]], pa.string()))
    is_far_off = np.logical_or.reduce(list(codes.faults.values()))
    place = graph(
        "LabelEncoder",
        graph.input(name, "text", ("n",)),
        keys_strings=[*levels, GAP],
        values_int64s=list(range(len(levels) + 1)),
        default_int64=len(levels) + 1,
    )
    return GraphCells(
        look_up(codes.block, place),
        look_up(codes.gaps, place),
        look_up(is_far_off, place),
        encoder.outlying_code(),
        None,
    )


def _vector_cells(graph: Graph, encoder: Vectors, name: str, numbers: str) -> GraphCells:
    """Take lists of equally many numbers as a matrix; a row of NaN stands for a missing list."""
    width = len(encoder.center)
    x = graph.input(name, numbers, ("n", width)).double()
    missing = graph("ReduceSum", x.is_nan().whole(), [1], keepdims=0)
    infinite = graph("ReduceSum", x.is_infinite().whole(), [1], keepdims=0)
    gaps = missing.equals(width)
    unread = (missing + infinite > 0) & ~gaps
    z = (graph("Where", x.is_nan(), encoder.center, x) - encoder.center) / encoder.factor
    if encoder.missing:
        z = graph("Concat", z, (gaps.double() - encoder.missing)[:, None], axis=1)
        return GraphCells(z, gaps, None, encoder.outlying_code(), unread)
    return GraphCells(z, gaps, gaps, encoder.outlying_code(), unread)
