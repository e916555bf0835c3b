"""Small faults put into a source file, one at a time: each is a mutant that a test ought to notice."""

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType
from typing import Any

COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
    ast.Pow: ast.Mult,
    ast.MatMult: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
OPPOSITES = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("any", "all"),
    ("floor", "ceil"),
    ("argmin", "argmax"),
    ("sum", "mean"),
    ("zeros", "ones"),
    ("zeros_like", "ones_like"),
    ("sub_", "add_"),
    ("div_", "mul_"),
)
OPPOSITE = {a: b for one, other in OPPOSITES for a, b in ((one, other), (other, one))}


@dataclass(frozen=True)
class Mutant:
    where: str  # the function, with its class
    what: str  # the statement as it reads now
    lines: range | None  # of that statement; None if it runs when the module is imported
    code: CodeType

    def __str__(self) -> str:
        return f"{self.where}: {self.what}"


@dataclass
class _Place:
    """One node of the tree, where it hangs, and the statement and function it belongs to."""

    node: ast.AST
    parent: Any
    name: str  # the parent's field
    index: int | None  # in that field, if it is a list
    statement: ast.stmt | None = None
    where: tuple[str, ...] = ()
    imported: bool = True  # runs when the module is imported
    said: bool = False  # is part of a message

    def put(self, node: ast.AST) -> None:
        if self.index is None:
            setattr(self.parent, self.name, node)
        else:
            getattr(self.parent, self.name)[self.index] = node


@dataclass
class _Context:
    statement: ast.stmt | None = None
    where: tuple[str, ...] = ()
    imported: bool = True
    said: bool = False


def mutants(source: str, filename: str) -> Iterator[Mutant]:
    """Every mutant of a module, each with its compiled code."""
    tree = ast.parse(source)
    seen = {ast.unparse(tree)}
    for place in list(_places(tree, _Context())):
        before = _head(place.statement)
        for replacement in _replacements(place):
            place.put(ast.copy_location(replacement, place.node))
            text = ast.unparse(tree)
            if text not in seen:
                seen.add(text)
                what = _what(place, replacement, before)
                code = compile(ast.fix_missing_locations(copy.deepcopy(tree)), filename, "exec")
                yield Mutant(".".join(place.where) or "module", what, _lines(place), code)
            place.put(place.node)


def _places(node: ast.AST, context: _Context) -> Iterator[_Place]:
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list", "type_comment", "ctx"):
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.Assert | ast.Import | ast.ImportFrom):
                continue
            if name == "body" and isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue  # a docstring
            inner = _inner(node, name, child, context)
            yield _Place(child, node, name, index, inner.statement, inner.where, inner.imported, inner.said)
            yield from _places(child, inner)


def _inner(parent: ast.AST, name: str, child: ast.AST, context: _Context) -> _Context:
    """What is so of a node's child."""
    statement = child if isinstance(child, ast.stmt) else context.statement
    where, imported = context.where, context.imported
    if isinstance(parent, ast.FunctionDef) and name == "body":
        imported = False
    if isinstance(parent, ast.FunctionDef | ast.ClassDef) and name in ("body", "args"):
        where = (*where, parent.name)
    said = context.said or isinstance(child, ast.Raise | ast.JoinedStr)
    return _Context(statement, where, imported, said)


def _replacements(place: _Place) -> Iterator[ast.AST]:
    node = place.node
    match node:
        case ast.Compare():
            for k, op in enumerate(node.ops):
                for other in COMPARISONS[type(op)]:
                    yield ast.Compare(node.left, [*node.ops[:k], other(), *node.ops[k + 1 :]], node.comparators)
        case ast.BinOp(op=ast.BitOr()) if _is_union(place):
            yield node.left
            yield node.right
        case ast.BinOp():
            yield ast.BinOp(node.left, ARITHMETIC[type(node.op)](), node.right)
        case ast.BoolOp():
            yield ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)
            if len(node.values) > 2:
                for k in range(len(node.values)):
                    yield ast.BoolOp(node.op, [*node.values[:k], *node.values[k + 1 :]])
        case ast.UnaryOp(op=ast.Not() | ast.USub() | ast.Invert()):
            yield node.operand
        case ast.Constant():
            yield from _constants(place)
        case ast.Call():
            yield from _calls(place)
        case ast.Slice():
            if node.lower is not None:
                yield ast.Slice(None, node.upper, node.step)
            if node.upper is not None:
                yield ast.Slice(node.lower, None, node.step)
        case ast.stmt():
            yield from _statements(node)
    if _is_condition(place):
        yield ast.UnaryOp(ast.Not(), node)


def _statements(node: ast.stmt) -> Iterator[ast.AST]:
    match node:
        case ast.AugAssign():
            yield ast.AugAssign(node.target, ARITHMETIC[type(node.op)](), node.value)
            yield ast.Pass()
        case ast.Expr() | ast.Raise():
            yield ast.Pass()
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]):
            yield ast.Pass()
        case ast.Return(value=ast.expr() as value) if not (isinstance(value, ast.Constant) and value.value is None):
            yield ast.Return(ast.Constant(None))


def _constants(place: _Place) -> Iterator[ast.AST]:
    value = place.node.value  # type: ignore[attr-defined]
    if isinstance(value, bool):
        yield ast.Constant(not value)
    elif isinstance(value, int):
        yield ast.Constant(value + 1)
        yield ast.Constant(value - 1)
    elif isinstance(value, float):
        yield ast.Constant(2 * value if value else 1.0)
    elif isinstance(value, str) and not place.said:
        yield ast.Constant(value + "!")
    elif isinstance(value, bytes):
        yield ast.Constant(value + b"!")


def _calls(place: _Place) -> Iterator[ast.AST]:
    node = place.node
    assert isinstance(node, ast.Call)
    match node.func:
        case ast.Name(id=name) if name in OPPOSITE:
            yield ast.Call(ast.Name(OPPOSITE[name], ast.Load()), node.args, node.keywords)
        case ast.Attribute(value=value, attr=name) if name in OPPOSITE:
            yield ast.Call(ast.Attribute(value, OPPOSITE[name], ast.Load()), node.args, node.keywords)
    for k, keyword in enumerate(node.keywords):
        if keyword.arg is not None:
            yield ast.Call(node.func, node.args, [*node.keywords[:k], *node.keywords[k + 1 :]])


def _is_union(place: _Place) -> bool:
    """Types to choose from, as in isinstance(x, int | float)."""
    node: Any = place.node
    while isinstance(node, ast.BinOp):
        node = node.right
    return isinstance(node, ast.Name | ast.Attribute) and ast.unparse(node).split(".")[-1] in (
        "float",
        "number",
        "ndarray",
        "Sequence",
        "int",
        "str",
    )


def _is_condition(place: _Place) -> bool:
    """A condition whose opposite is not among its own replacements already."""
    match place.node:
        case ast.Compare(ops=[_]) | ast.UnaryOp(op=ast.Not()):
            return False
    tests = isinstance(place.parent, ast.If | ast.While | ast.IfExp) and place.name == "test"
    return tests or (isinstance(place.parent, ast.comprehension) and place.name == "ifs")


def _head(statement: ast.stmt | None) -> str:
    """A statement without the block that follows it."""
    if statement is None:
        return ""
    bare = copy.copy(statement)
    if getattr(bare, "body", None):
        bare.body = [ast.Pass()]  # type: ignore[attr-defined]
        for rest in ("orelse", "handlers", "finalbody"):
            if hasattr(bare, rest):
                setattr(bare, rest, [])
    if isinstance(bare, ast.Try):
        return "try"
    return " ".join(ast.unparse(bare).removesuffix("pass").split())


def _what(place: _Place, replacement: ast.AST, before: str) -> str:
    if isinstance(replacement, ast.Pass):
        return f"without {before}"
    if place.node is place.statement and isinstance(replacement, ast.Return):
        return f"return None, not {before.removeprefix('return ')}"
    return _head(replacement if isinstance(replacement, ast.stmt) else place.statement)


def _lines(place: _Place) -> range | None:
    statement = place.statement
    if place.imported or statement is None or isinstance(statement, ast.FunctionDef):
        return None
    body = getattr(statement, "body", None)
    end = max(body[0].lineno - 1, statement.lineno) if body else statement.end_lineno
    return range(statement.lineno, (end or statement.lineno) + 1)
