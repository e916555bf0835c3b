"""Write the context model as ONNX operators: rows relative to their kinds, and units within kinds."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from centrality.network.context import CLEAN, KNEE, NARROWEST, OUTSIDE, SAME_LEVEL, STRETCH, Context, Levels
from centrality.network.forest import Forest
from centrality.network.kinds import FARTHEST, FLATTEST, LEAST, Kinds, log_odds

if TYPE_CHECKING:
    from centrality.onnx.graph import Graph


def relative(graph: "Graph", context: Context, z: str) -> str:  # (n, p) -> (n, p)
    """Write `Context.relative` of rows that are scaled already, in float64."""
    c, width = graph("Gather", z, context.given, axis=1), OUTSIDE * (context.seen[1] - context.seen[0])
    near = graph("Min", graph("Max", c, context.seen[0] - width), context.seen[1] + width)
    middle = graph("Add", _line(graph, near, context.line), _forest(graph, context.usual, c))
    for level in context.levels:
        middle = graph("Add", middle, _effects(graph, level, c))
    middle = graph("Min", graph("Max", middle, context.reach[0]), context.reach[1])
    spread = graph("Max", _line(graph, near, context.line_of_spread), context.narrowest)
    for said in (*(_effects(graph, level, c) for level in context.widths), _forest(graph, context.spread, c)):
        spread = graph("Mul", spread, graph("Max", graph("Add", 1.0, said), NARROWEST))
    unit = graph("Mul", STRETCH, graph("Max", spread, context.narrowest))
    off = graph("Div", graph("Sub", graph("Gather", z, context.behaviour, axis=1), middle), unit)
    size = graph("Abs", off)
    far = graph("Log", graph("Add", 1.0, graph("Max", graph("Sub", size, KNEE), 0.0)))
    bent = graph("Mul", graph("Sign", off), graph("Add", graph("Min", size, KNEE), far))
    order = np.argsort(np.concatenate([context.given, context.behaviour]))  # of the columns side by side
    return graph("Gather", graph("Concat", graph("Mul", CLEAN, c), bent, axis=1), order, axis=1)


def _line(graph: "Graph", c: str, line: NDArray[np.float64]) -> str:
    return graph("Add", graph("MatMul", c, line[1:]), line[0])


def _effects(graph: "Graph", levels: Levels, c: str) -> str:  # (n, q) -> (n, d)
    """Write `Levels`: the effects of the rows' levels, 0 for a level not seen in fitting."""
    own = graph("Unsqueeze", graph("Gather", c, levels.columns, axis=1), np.array([1]))
    off = graph(
        "ReduceMax", graph("Abs", graph("Sub", own, levels.keys[None])), np.array([2]), keepdims=0
    )  # (n, levels)
    known = graph("LessOrEqual", graph("ReduceMin", off, np.array([1]), keepdims=1), SAME_LEVEL)
    found = graph("Gather", levels.effects, graph("ArgMin", off, axis=1, keepdims=0), axis=0)
    return graph("Where", known, found, 0.0)


def _forest(graph: "Graph", forest: Forest, c: str) -> str:  # (n, q) -> (n, d)
    """Write `Forest`: every row goes down every tree, whose nodes lie one tree after the other."""
    trees, nodes, d = forest.value.shape
    roots = nodes * np.arange(trees, dtype=np.int64)
    left, right = (forest.children[:, :, side] + roots[:, None] for side in (0, 1))
    grown = graph.as_float64(graph.as_float32(c))  # as the trees were
    rows = graph("Slice", graph("Shape", c), np.array([0]), np.array([1]))
    node = graph("Expand", roots[None], graph("Concat", rows, np.array([1]), axis=0))  # (n, trees)
    for _ in range(forest.depth()):
        feature = graph("Gather", forest.feature.ravel().astype(np.int64), node)
        held = graph("GatherElements", grown, feature, axis=1)
        goes_right = graph("Greater", held, graph("Gather", forest.threshold.ravel(), node))
        ways = (graph("Gather", side.ravel().astype(np.int64), node) for side in (right, left))
        node = graph("Where", goes_right, *ways)
    values = graph("Gather", forest.value.reshape(-1, d).astype(np.float64), node)  # (n, trees, d)
    return graph("ReduceMean", values, np.array([1]), keepdims=0)


def within_kinds(graph: "Graph", kinds: Kinds, units: tuple[str, str], z: str) -> tuple[str, str]:
    """Write `Kinds`: two units, (n, 1) each, of rows relative to their kinds, in float64; the same out."""
    c = graph("Div", graph("Gather", z, kinds.given, axis=1), CLEAN)
    said = _forest(graph, kinds.forest, c)
    for level in kinds.levels:
        said = graph("Add", said, _effects(graph, level, c))
    k = kinds.knots.shape[1]

    def moved(head: int) -> str:
        unit, knots = units[head], kinds.knots[head]
        more = graph("Gather", said, np.arange(head * k, (head + 1) * k), axis=1)
        targets, gaps = _targets(graph, kinds, head, more), np.diff(knots)
        passed = graph("Min", graph("Max", graph("Sub", unit, knots[:-1]), 0.0), gaps)
        first, last = (graph("Gather", targets, place, axis=1) for place in (np.arange(k - 1), np.arange(1, k)))
        inner = graph("Mul", passed, graph("Div", graph("Sub", last, first), gaps))
        start = graph("Gather", targets, np.array([0]), axis=1)
        beyond = _beyond(graph, unit, (knots[0], knots[-1]), (1.0, 1.0))
        return graph("Add", graph("Add", start, _sum(graph, inner, 1, keepdims=1)), beyond)

    return moved(0), moved(1)


def _targets(graph: "Graph", kinds: Kinds, head: int, more: str) -> str:  # (n, k) -> (n, k)
    """Write `Kinds.targets`; a value rises to the largest before it, one place after the other."""
    knots, usual, slopes = kinds.knots[head], log_odds(kinds.shares[head]), kinds.slopes()[head]
    share = graph("Min", graph("Max", graph("Add", kinds.shares[head], more), LEAST), 1 - LEAST)
    odds = graph("Log", graph("Div", share, graph("Sub", 1.0, share)))
    passed = graph("Sub", graph("Unsqueeze", odds, np.array([2])), usual[:-1])  # (n, k, k - 1)
    passed = graph("Min", graph("Max", passed, 0.0), np.diff(usual))
    inside = _sum(graph, graph("Mul", passed, slopes), 2, keepdims=0)
    beyond = _beyond(graph, odds, (usual[0], usual[-1]), (slopes[0], slopes[-1]))
    climb = FLATTEST * np.concatenate([[0.0], np.cumsum(np.diff(knots))])
    at = graph("Add", knots[0], graph("Add", inside, beyond))
    at = graph("Sub", graph("Min", graph("Max", at, knots - FARTHEST), knots + FARTHEST), climb)
    highest = [graph("Gather", at, np.array([0]), axis=1)]
    for place in range(1, len(knots)):
        highest.append(graph("Max", highest[-1], graph("Gather", at, np.array([place]), axis=1)))
    return graph("Add", graph("Concat", *highest, axis=1), climb)


def _beyond(graph: "Graph", value: str, ends: tuple[float, float], slopes: tuple[float, float]) -> str:
    """Write how far a value lies below the first end or above the last, times the slopes there."""
    below, above = graph("Min", graph("Sub", value, ends[0]), 0.0), graph("Max", graph("Sub", value, ends[1]), 0.0)
    return graph("Add", graph("Mul", below, slopes[0]), graph("Mul", above, slopes[1]))


def _sum(graph: "Graph", values: str, axis: int, *, keepdims: int) -> str:
    return graph("ReduceSum", values, np.array([axis]), keepdims=keepdims)
