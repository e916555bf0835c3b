"""Count the house, then and now, and write the table into docs/internals/house.md: `make house`.

python docs/house.py [REVISION]     what is compared with the working tree (default: BEFORE)
python docs/house.py --check        CONTRIBUTING.md's map is the tree and the contract, no file is too long: `make lint`
"""

import ast
import io
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from collections import Counter
from pathlib import Path

import measures

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "internals" / "house.md"
BEFORE = "3b13b1ab"  # the last commit before files were merged and a fit was written on one page
LONG = 40  # lines of a function
LONGEST, MOST_FLOORS = 600, 14  # lines of a file; layers
CODE = "of these, code: no docstring, import, comment or blank"
MARKS = "<!-- figures: make house -->", "<!-- end of figures -->"
COUNT_NAMES = """
import inspect, centrality
from centrality import FUSE, chain
public = [name for name in dir(FUSE) if not name.startswith("_")]
print(len(inspect.signature(FUSE).parameters), len(public), len(centrality.__all__))
"""
# What calls passed through at BEFORE, counted by measures.py: the engine of an earlier revision is not compiled here.
CALLS_BEFORE = {
    "FUSE.fit: files / functions": "42 / 242",
    "centrality fit x.csv: files / functions": "88 / 389",
    "centrality score m x.csv: files / functions": "66 / 227",
    "one scored row: files / functions / native calls": "11 / 32 / 2",
    "explain of a row: files / functions / native calls": "14 / 62 / 20",
}


def map_of_the_house() -> dict[str, str]:
    """Return each room that CONTRIBUTING.md names, in its order, and what it holds."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("<!-- house")[2].partition("<!-- end -->")[0]
    rows = re.findall(r"^\| `([^`]+)` \| (.+) \|$", table, flags=re.MULTILINE)
    if len(rows) != len(dict(rows)):
        raise ValueError("CONTRIBUTING.md names a room twice.")
    return dict(rows)


def floors() -> list[list[str]]:
    """Return the rooms of each layer of the contract in pyproject.toml, from the top."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    found = next(one for one in settings["contracts"] if one["type"] == "layers")
    return [[room.strip().removeprefix("centrality.") for room in layer.split("|")] for layer in found["layers"]]


def counted(package: Path) -> dict[str, int | str]:
    """Count the files and lines of each room, and over all what the issue of plain code asks for."""
    found: Counter[str] = Counter()
    for path in sorted(package.rglob("*.py")):
        source, below = path.read_text(encoding="utf-8"), path.relative_to(package).parts
        room = f"`{below[0]}/`" if len(below) > 1 else "single modules"
        tree, lines = ast.parse(source), len(source.splitlines())
        code = _lines_of_code(source, tree)
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        long = sum((one.end_lineno or 0) - one.lineno >= LONG for one in functions)
        for name, number in {
            f"files of {room}": 1,
            f"lines of {room}": lines,
            "files": 1,
            "lines": lines,
            CODE: code,
            f"functions of over {LONG} lines, docstrings included": long,
            "`Any`, as a word": len(re.findall(r"\bAny\b", source)),
            "type-ignores": source.count("type: ignore"),
        }.items():
            found[name] += number
    names = subprocess.run([sys.executable, "-c", COUNT_NAMES], cwd=package.parent, capture_output=True, check=True)
    kinds = ("parameters of FUSE", "public names of a model", "public names of the package")
    return dict(zip(kinds, map(int, names.stdout.split()), strict=True)) | dict(found) | measures.of_source(package)


def _lines_of_code(source: str, tree: ast.Module) -> int:
    """Count the lines that are no docstring, import, comment or blank."""
    others: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            others.update(range(node.lineno, (node.end_lineno or 0) + 1))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            others.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    lines = enumerate(source.splitlines(), start=1)
    return sum(number not in others and bool(line.partition("#")[0].strip()) for number, line in lines)


def at_revision(revision: str) -> dict[str, int | str]:
    """Count the house as it was."""
    command = ["git", "archive", revision, "src"]
    archive = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive)) as held:
            held.extractall(folder, filter="data")
        return counted(Path(folder) / "src" / "centrality")


def table(before: dict[str, int | str], now: dict[str, int | str], revision: str) -> str:
    """Return both counts side by side: what is of the whole package, then a line for each room."""
    lines = [f"| | {revision} | now |", "|---|---|---|"]
    whole = [name for name in now if not name.startswith(("files of", "lines of"))]
    lines += [f"| {name} | {_cell(before.get(name, 0))} | {_cell(now[name])} |" for name in whole]
    rooms = sorted({name.removeprefix("files of ") for name in {*before, *now} if name.startswith("files of ")})
    lines += ["", f"| room: files / lines | {revision} | now |", "|---|---|---|"]
    for room in rooms:
        cells = [f"{kind.get(f'files of {room}', 0)} / {kind.get(f'lines of {room}', 0):,}" for kind in (before, now)]
        lines.append(f"| {room} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(figure: int | str) -> str:
    return f"{figure:,}" if isinstance(figure, int) else figure


def wrong() -> list[str]:
    """Return a line for whatever CONTRIBUTING.md says of the tree that is not so, and for each long file."""
    package, page = ROOT / "src" / "centrality", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = {f"{path.parent.name}/" for path in package.glob("*/__init__.py")}
    rooms |= {path.name for path in package.glob("*.py")} - {"__main__.py"}  # the front door of apps/cli.py
    named, layers = list(map_of_the_house()), floors()
    found = [f"the map of CONTRIBUTING.md and the tree differ in {room}" for room in sorted(rooms ^ set(named))]
    mapped = [room.removesuffix("/").removesuffix(".py") for room in named]
    if mapped != ["__init__", *(room for layer in layers for room in layer)]:
        found.append("the map of CONTRIBUTING.md is not in the order of the contract in pyproject.toml")
    if len(layers) > MOST_FLOORS:
        found.append(f"there are {len(layers)} layers, more than {MOST_FLOORS}")
    changes = page.partition("## Common changes")[2].partition("\n## ")[0]
    for path in sorted(set(re.findall(r"`([a-z_]+/[a-z0-9_/.]+)`", changes))):
        if not (ROOT / path).exists() and not (package / path).exists():
            found.append(f"CONTRIBUTING.md names {path}, which is not there")
    long = (path for path in package.rglob("*.py") if len(path.read_text(encoding="utf-8").splitlines()) > LONGEST)
    return found + [f"{path.relative_to(ROOT)} is longer than {LONGEST} lines" for path in long]


def main(revision: str = BEFORE) -> None:
    page = PAGE.read_text(encoding="utf-8")
    head, _, rest = page.partition(MARKS[0])
    tail = rest.partition(MARKS[1])[2]
    before = at_revision(revision) | (CALLS_BEFORE if revision == BEFORE else {})
    now = counted(ROOT / "src" / "centrality") | measures.of_calls()
    written = table(before, now, revision)
    print(written)
    PAGE.write_text(f"{head}{MARKS[0]}\n\n{written}\n\n{MARKS[1]}{tail}", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit("\n".join(wrong()) or 0)
    main(*sys.argv[1:])
