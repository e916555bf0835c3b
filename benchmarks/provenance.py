"""Where figures come from: at which commit, on which machine, when and under which load each result was measured.

`note` writes a line of results/measured.csv for a result, `measured` reads it, and `old` lists the results that rest on
files which have changed since. Whether they have is told by a digest of those files, not by dates: it holds for
changes that are not committed, and in any order of merges. The digest is that of what the files say to a compiler:
comments, docstrings and formatting can change without making a figure old (see `meaning`).
"""

import ast
import csv
import hashlib
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path

from benchmarks.figures import FIGURES, PAPER, Figure

ROOT = Path(__file__).resolve().parent.parent
LEDGER = ROOT / "benchmarks" / "results" / "measured.csv"
UNKNOWN = "not noted"


@dataclass(frozen=True)
class Origin:
    """A line of the ledger: how one result came to be."""

    result: str  # the file, from the root of the repository
    commit: str
    date: str  # of the clock's UTC
    machine: str
    load: str  # processes that wanted a core, on average over the last minute, when the result was written
    sources: str  # the digest of the files it rests on

    def __str__(self) -> str:
        load = "" if self.load == UNKNOWN else f", load {self.load}"
        machine = "machine and load not noted" if self.machine == UNKNOWN else self.machine + load
        return f"measured {self.date[:10]} at {self.commit}, {machine}"


def note(*paths: Path) -> None:
    """Write down that these results were measured now and here; those elsewhere, of a quick trial, are let be."""
    here = [path.resolve() for path in paths if any(path.resolve().is_relative_to(folder) for folder in _folders())]
    names = [str(path.relative_to(ROOT)) for path in here]
    if not names:
        return
    known, digests = ledger(), _Digests()
    now, load = datetime.now(UTC).isoformat(timespec="seconds"), f"{os.getloadavg()[0]:.1f}"
    commit = (_git("rev-parse", "--short", "HEAD") or UNKNOWN).strip()
    for name in names:
        known[name] = Origin(name, commit, now, machine(), load, digests.of(figure_of(name)))
    write(known)


def measured(path: Path) -> Origin | None:
    """Return how a result came to be, or None where nobody noted it."""
    path = path.resolve()
    return ledger().get(str(path.relative_to(ROOT))) if path.is_relative_to(ROOT) else None


def ledger() -> dict[str, Origin]:
    """Return what is known of every result. Where a merge left two lines of one result, the later one holds."""
    if not LEDGER.exists():
        return {}
    with LEDGER.open(newline="") as file:
        lines = [Origin(**row) for row in csv.DictReader(file)]
    return {line.result: line for line in sorted(lines, key=lambda line: line.date)}


def write(known: dict[str, Origin]) -> None:
    with LEDGER.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Origin)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(known[name]) for name in sorted(known))


def results() -> list[str]:
    """Return every file of results that is in the repository, but for the ledger itself and pictures."""
    found = (path for folder in _folders() for path in folder.rglob("*.csv") if path != LEDGER)
    return sorted(str(path.relative_to(ROOT)) for path in found)


def _folders() -> tuple[Path, Path]:
    return ROOT / "benchmarks" / "results", ROOT / "paper" / "results"


def figure_of(result: str) -> Figure:
    """Return the figure that this result belongs to."""
    of, _, name = result.removesuffix(".csv").partition("/results/")
    for figure in (PAPER,) if of == "paper" else FIGURES:
        if any(name.count("/") == pattern.count("/") and fnmatchcase(name, pattern) for pattern in figure.results):
            return figure
    raise SystemExit(f"{result}: no figure in benchmarks/figures.py has this result. Add it there, or delete the file.")


def old() -> Iterator[tuple[str, Figure, str]]:
    """Give each result whose files have changed since it was measured, its figure, and why it is old."""
    known, digests = ledger(), _Digests()
    for name in results():
        figure = figure_of(name)
        origin = known.get(name)
        if origin is None:
            yield name, figure, "nobody noted where it was measured"
        elif origin.sources != digests.of(figure):
            yield name, figure, f"{origin}; {_changes(origin, figure)}"


def _changes(origin: Origin, figure: Figure) -> str:
    patterns = [f":(glob){pattern}" for pattern in figure.sources]
    told = _git("diff", "--name-only", origin.commit, "--", *patterns)
    if told is None:
        return "its files have changed since"
    changed = told.splitlines()
    few = ", ".join(changed[:3]) + (" ..." if changed[3:] else "")
    return f"since then {len(changed)} of its files changed: {few}"


class _Digests:
    """Digests of the files behind figures, each computed once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, ...], str] = {}

    def of(self, figure: Figure) -> str:
        if figure.sources not in self._known:
            files = {path for pattern in figure.sources for path in ROOT.glob(pattern)}
            blobs = ((str(path.relative_to(ROOT)), _blob(meaning(path).encode())) for path in files)
            self._known[figure.sources] = digest(blobs)
        return self._known[figure.sources]


def digest(blobs: Iterable[tuple[str, str]]) -> str:
    """Return twelve digits that change when a file's name or content does."""
    text = "\n".join(f"{name} {blob}" for name, blob in sorted(blobs))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _blob(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def meaning(path: Path) -> str:
    """Return what a file says to a compiler: its code without comments, docstrings and layout."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        tree = ast.parse(text)
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and _documented(
                node
            ):
                node.body = node.body[1:]
        return _spelled(tree)
    if path.suffix in (".h", ".cpp", ".ts"):
        return " ".join(_CODE.sub(_without_comment, text).split())
    return text


def _documented(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None


def _spelled(node: object) -> str:
    """Return a syntax tree as text, the same by every Python: without empty fields, of which newer ones have more."""
    if isinstance(node, ast.AST):
        fields_of = ((name, value) for name, value in ast.iter_fields(node) if value is not None and value != [])
        return f"{type(node).__name__}({', '.join(f'{name}={_spelled(value)}' for name, value in fields_of)})"
    return f"[{', '.join(map(_spelled, node))}]" if isinstance(node, list) else repr(node)


# A string, which may hold what looks like a comment; or a comment of one line, or of several.
_CODE = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/', re.DOTALL)


def _without_comment(found: re.Match[str]) -> str:
    return " " if found[0].startswith("/") else found[0]


def machine() -> str:
    """Name the CPU and count the cores of this machine."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        name = platform.processor() or platform.machine()
    cores = os.cpu_count() or 1
    return f"{name}, {cores} core{'s' * (cores > 1)}"


def _git(*arguments: str) -> str | None:
    """Return what git says, or None where there is no git or it does not know the commit."""
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return done.stdout if done.returncode == 0 else None
