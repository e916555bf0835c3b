"""Measure how the code reads: what a call passes through, and what its lines are like. `make house` writes the table.

python docs/measures.py                  the measures of the working tree
python docs/measures.py --files CALL     the files that a call passes through; CALL is a part of its name
python docs/measures.py --list MEASURE   the places that a measure of the source counts; MEASURE is a part of its name

A call passes through a function of the package if that runs in it, for the first time or again. Functions without a
name of their own (lambdas, comprehensions) are part of the one around them. What runs because a module is imported does
not count. Each call is made in a process of its own, which has scored or fitted nothing before: what is computed once
and remembered counts too.
"""

import ast
import gc
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import CodeType, FrameType

ROOT = Path(__file__).parent.parent
SHORT = 8  # lines of a body, without its docstring
# Names that say nothing of what they hold; `given` is also a parameter of FUSE.
BANNED = {
    *("about", "both", "closed", "each", "found", "given", "held", "kept", "known", "made", "most", "own", "parted"),
    *("said", "seen", "shown", "some", "there", "told", "usual"),
}
NINE = {
    "about",
    "both",
    "found",
    "kept",
    "made",
    "own",
    "said",
    "some",
    "told",
}  # that other packages were searched for

Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[Path, int]  # a file and a line
Places = dict[str, list[Place]]  # by measure


# What a call passes through.


def fit() -> Callable[[], object]:
    from centrality import FUSE

    return partial(FUSE(random_state=0).fit, _rows())


def score() -> Callable[[], object]:
    model = _model()
    return lambda: model.centrality(_rows()[:1])


def explain() -> Callable[[], object]:
    model = _model()
    return lambda: model.explain(_rows()[:1])


def fit_command() -> Callable[[], object]:
    return partial(_command, "fit", _file(), "-o", "model.safetensors")


def score_command() -> Callable[[], object]:
    _model().save("model.safetensors")
    return partial(_command, "score", "model.safetensors", _file(), "-o", "scores.csv")


CALLS = {
    "FUSE.fit": fit,
    "centrality fit x.csv": fit_command,
    "centrality score m x.csv": score_command,
    "one scored row": score,
    "explain of a row": explain,
}


def _rows():
    import numpy as np

    return np.random.default_rng(0).normal(size=(500, 8))


def _model():
    from centrality import FUSE

    return FUSE(random_state=0).fit(_rows())


def _file() -> str:
    import numpy as np

    np.savetxt("x.csv", _rows(), delimiter=",", header="a,b,c,d,e,f,g,h", comments="")
    return "x.csv"


def _command(*arguments: str) -> None:
    sys.argv = ["centrality", *arguments]
    try:
        runpy.run_module("centrality", run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"centrality {' '.join(arguments)} ended with {end.code}.") from None


def traced(name: str) -> dict[str, object]:
    """Return the files, the functions and the native calls of a call, made in a process of its own."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(Path(__file__).resolve()), "--trace", name]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{name} could not be traced:\n{done.stderr}")
    last = done.stdout.splitlines()[-1]
    return dict(json.loads(last))


def trace(name: str) -> dict[str, object]:
    """Make the call in this process, and return what it passes through."""
    import centrality

    call = CALLS[name]()
    gc.collect()  # else what a fit before the call leaves behind might end within it, and be counted
    home = str(Path(centrality.__file__).parent)
    native_calls = count_native_calls(home)
    codes: set[CodeType] = set()
    skipped: set[CodeType] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event != "call" or code in codes or code in skipped:
            return
        if not code.co_filename.startswith(home) or code.co_name.startswith("<"):
            skipped.add(code)
        elif not _is_importing(frame):
            codes.add(code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    files = sorted({os.path.relpath(code.co_filename, home) for code in codes})
    return {"files": files, "functions": len(codes), "native": len(native_calls)}


def _is_importing(frame: FrameType | None) -> bool:
    """Say whether the frame runs because a module is imported."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


def count_native_calls(home: str) -> list[str]:
    """Return a list to which every call into a compiled module of the package, loaded by now, adds its name."""
    calls: list[str] = []

    def counted(function: Callable[..., object], name: str) -> Callable[..., object]:
        def call(*arguments: object, **options: object) -> object:
            calls.append(name)
            return function(*arguments, **options)

        return call

    compiled = (".so", ".pyd")
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None) or ""
        if not (file.startswith(home) and file.endswith(compiled)):
            continue
        for name, entry in list(vars(module).items()):
            if type(entry).__name__ == "nb_func":
                setattr(module, name, counted(entry, name))
            elif isinstance(entry, type):
                for method_name, method in list(vars(entry).items()):
                    if type(method).__name__ == "nb_method" and not method_name.startswith("__"):
                        setattr(entry, method_name, counted(method, method_name))
    return calls


# What the lines are like.


def places(package: Path) -> Places:
    """Return where in the package's source the reader stumbles: a file and a line of each place, by measure."""
    result: Places = defaultdict(list)
    for path in sorted(package.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        words = Counter(re.findall(r"\w+", source))
        for node in ast.walk(ast.parse(source)):
            for measure in _measures(node, words):
                result[measure].append((path.relative_to(package), getattr(node, "lineno", 1)))
    return result


def _measures(node: ast.AST, words: Counter[str]) -> Iterator[str]:
    """Yield the measures that count this node, once each time; `words` are those of its file."""
    if isinstance(node, ast.ClassDef):
        yield "classes"
        if any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list):
            yield "dataclasses"
    elif isinstance(node, Function):
        yield "functions"
        names = set(_locals(node))
        yield from ["locals of nine empty names"] * len(names & NINE)
        parameters = {argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg)}
        yield from ["names of the banned list"] * len((names | parameters - {"given"}) & BANNED)
        if node.name.startswith("_") and not node.name.startswith("__") and words[node.name] == 2:
            yield "private functions used once"
            if _lines_of_body(node) <= SHORT:
                yield f"of these, {SHORT} lines or less"
    elif isinstance(node, ast.Assign) and any(isinstance(target, ast.Tuple | ast.List) for target in node.targets):
        if isinstance(node.value, ast.Tuple):
            yield "several assignments on a line"
        elif isinstance(node.value, ast.GeneratorExp):
            yield "names from a generator"
    elif isinstance(node, ast.Call):
        starred = [argument.value for argument in node.args if isinstance(argument, ast.Starred)]
        if any(isinstance(value, ast.Name) for value in starred):
            yield "bundled arguments"


def _locals(function: Function) -> Iterator[str]:
    """Yield the names that the function's statements set, but for those of functions within it."""
    waiting: list[ast.AST] = list(function.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function | ast.ClassDef | ast.Lambda):
            continue
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        waiting.extend(ast.iter_child_nodes(node))


def _lines_of_body(function: Function) -> int:
    first = function.body[1] if ast.get_docstring(function) and len(function.body) > 1 else function.body[0]
    return (function.end_lineno or 0) - first.lineno + 1


ORDER = (
    "classes",
    "dataclasses",
    "private functions used once",
    f"of these, {SHORT} lines or less",
    "several assignments on a line",
    "names from a generator",
    "bundled arguments",
    "locals of nine empty names",
    "names of the banned list",
)


def of_source(package: Path) -> dict[str, int | str]:
    """Return the measures of a package's source."""
    counted = places(package)
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in package.rglob("*.py"))
    per_thousand = f"{1000 * len(counted['functions']) / lines:.1f}"
    return {"functions per 1,000 lines": per_thousand} | {measure: len(counted[measure]) for measure in ORDER}


def of_calls() -> dict[str, str]:
    """Return the measures of what calls pass through; for rows also how often they enter the compiled engine."""
    result = {}
    for name in CALLS:
        passed = traced(name)
        figures = f"{len(list(passed['files']))} / {passed['functions']}"  # type: ignore[call-overload]
        is_row = "row" in name
        label = f"{name}: files / functions{' / native calls' if is_row else ''}"
        result[label] = f"{figures} / {passed['native']}" if is_row else figures
    return result


def main(arguments: list[str]) -> None:
    package = ROOT / "src" / "centrality"
    if arguments[:1] == ["--trace"]:
        print(json.dumps(trace(arguments[1])))
    elif arguments[:1] == ["--files"]:
        for name in CALLS:
            if arguments[1] in name:
                print(f"{name}:", *traced(name)["files"], sep="\n    ")
    elif arguments[:1] == ["--list"]:
        for measure, where in places(package).items():
            if arguments[1] in measure:
                print(f"{measure}:", *(f"{path}:{line}" for path, line in where), sep="\n    ")
    else:
        for name, value in (of_source(package) | of_calls()).items():
            print(f"{name}: {value}")


if __name__ == "__main__":
    main(sys.argv[1:])
