"""Runs what the pages show as run, and compares what it prints with what they say: `make docs` fails where they differ.

A page shows output in two ways: below the commands of a console block, and in a text block right after a Python block.
A lone `...` stands for lines left out. Words and whole numbers must be the same; a number with a decimal point may
differ by two units of its last digit or by 2%, which other versions of numpy and scikit-learn may change.

    python docs/printed.py [PAGE ...]      --write puts what was printed into the pages
"""

import argparse
import ast
import contextlib
import functools
import io
import os
import re
import shlex
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(console|python|text)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
DECIMAL = re.compile(r"-?\d[\d,]*\.\d+")
RUN = ("centrality", "curl", "cat", "head")  # commands that are run; nobody's `pip install` is
OWN_TOLERANCE, LAST_DIGITS = 0.02, 2
PORT = "8000"  # of the pages; a free one is taken when they are run


@dataclass
class Step:
    """A command or a Python block, and the lines that the page shows below it; None where it shows none."""

    source: str
    shown: list[str] | None
    console: bool
    start: int  # where the shown lines stand in the page
    end: int


@dataclass
class Place:
    """Where the steps of a page are run: a folder, the names that Python has set, servers that run."""

    folder: Path
    names: dict[str, object] = field(default_factory=dict)
    servers: list["subprocess.Popen[str]"] = field(default_factory=list)
    port: str = PORT


def pages() -> list[Path]:
    """Return the README and every page of the site that was written by hand."""
    made = {"api", "cli", "_build", "jupyter_execute"}
    docs = sorted(path for path in (ROOT / "docs").rglob("*.md") if not made & set(path.relative_to(ROOT).parts))
    return [ROOT / "README.md", *docs]


def console_steps(content: str, start: int) -> list[Step]:
    """Split a console block into commands, each with the lines below it."""
    steps: list[Step] = []
    at = start
    for line in content.splitlines(keepends=True):
        end = at + len(line)
        if line.startswith("$ "):
            steps.append(Step(line[2:].strip(), None, console=True, start=end, end=end))
        elif steps:
            last = steps[-1]
            last.shown, last.end = [*(last.shown or []), line.rstrip("\n")], end
        at = end
    return steps


def steps_of(text: str) -> list[Step]:
    """Return what a page runs, in its order."""
    steps: list[Step] = []
    blocks = list(BLOCK.finditer(text))
    executed = "file_format: mystnb" in text
    for block, after in zip_longest(blocks, blocks[1:]):
        kind, content = block[1], block[2]
        if kind == "console":
            steps += console_steps(content, block.start(2))
        elif kind == "python" and not executed:
            follows = after is not None and after[1] == "text" and not text[block.end() : after.start()].strip()
            place = after.span(2) if follows and after else (0, 0)
            shown = after[2].rstrip("\n").split("\n") if follows and after else None
            steps.append(Step(content, shown, False, *place))
    return steps


def run_python(source: str, names: dict[str, object]) -> str:
    """Run a block as a notebook would: what it prints, then its last expression."""
    body = ast.parse(source).body
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
        exec(compile(ast.Module(body, []), "page", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "page", "eval"), names)
            if value is not None:
                print(value if type(value).__module__.startswith(("pandas", "polars")) else repr(value))
    return out.getvalue()


def wait_for(port: str) -> None:
    """Wait until a server answers."""
    for _ in range(300):
        with contextlib.suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=1):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing answers at port {port}")


def run_command(command: str, place: Place) -> str:
    """Run a command of ours as a terminal of 100 columns shows it; nothing for those that are not run."""
    if command.split()[0] not in RUN:
        return ""
    command = command.replace(PORT, place.port)
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1", "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    if command.endswith("&"):
        words = shlex.split(command.removesuffix("&"))
        quiet = subprocess.DEVNULL
        server = subprocess.Popen(words, cwd=place.folder, env=environment, stdout=quiet, stderr=quiet, text=True)
        place.servers.append(server)
        wait_for(place.port)
        return ""
    done = subprocess.run(
        ["bash", "-c", command], cwd=place.folder, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"`{command}` ended with status {done.returncode}: {done.stdout.strip()}")
    return done.stdout


def same_line(shown: str, printed: str) -> bool:
    """Say whether two lines are the same: words and whole numbers equal, decimals within the tolerance."""
    if DECIMAL.sub("#", shown).split() != DECIMAL.sub("#", printed).split():
        return False
    for left, right in zip(DECIMAL.findall(shown), DECIMAL.findall(printed), strict=True):
        allowed = LAST_DIGITS * 10.0 ** -len(left.partition(".")[2])
        first, second = (float(number.replace(",", "")) for number in (left, right))
        if abs(first - second) > max(allowed, OWN_TOLERANCE * abs(first)) * (1 + 1e-9):
            return False
    return True


def same(shown: list[str], printed: list[str]) -> bool:
    """Say whether the printed lines are those shown, where a lone `...` stands for any lines."""
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(same(shown[1:], printed[k:]) for k in range(len(printed) + 1))
    return bool(printed) and same_line(shown[0], printed[0]) and same(shown[1:], printed[1:])


def free_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return str(listener.getsockname()[1])


@functools.cache
def run_page(steps: tuple[tuple[str, bool], ...]) -> list[list[str]]:
    """Run the steps of a page, each a source and whether it is a command, and return the lines that each prints.

    They are run in a folder of their own, so that pages with the same steps (README and landing page) run once.
    """
    printed, here = [], Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder), port=free_port())
        os.chdir(folder)
        try:
            for source, console in steps:
                run = run_command(source, place) if console else run_python(source, place.names)
                printed.append([line.rstrip() for line in run.rstrip("\n").replace(place.port, PORT).split("\n")])
        finally:
            os.chdir(here)
            for server in place.servers:
                server.terminate()
                server.wait()
    return printed


def differences(path: Path, *, write: bool = False) -> tuple[int, list[str]]:
    """Run a page if it shows output; return how many outputs it shows, and name those that differ."""
    text = path.read_text(encoding="utf-8")
    steps = steps_of(text)
    while steps and steps[-1].shown is None:  # what comes after the last output need not be run
        steps.pop()
    if not steps:
        return 0, []
    name = path.relative_to(ROOT).as_posix()
    try:
        printed = run_page(tuple((step.source, step.console) for step in steps))
    except Exception as error:  # whatever a page does wrong, it is the page that is named
        return 0, [f"{name}: {type(error).__name__}: {error}"]
    found = []
    for step, lines in reversed(list(zip(steps, printed, strict=True))):
        if step.shown is None or same(step.shown, lines):
            continue
        found.append(f"{name}: this is not what is printed below `{step.source.strip().splitlines()[-1]}`:\n")
        found[-1] += "\n".join(["  shown:", *step.shown, "  printed:", *lines])
        if write and "..." not in step.shown:
            text = text[: step.start] + "\n".join(lines) + "\n" + text[step.end :]
    if write:
        path.write_text(text, encoding="utf-8")
    return sum(step.shown is not None for step in steps), found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    shown, found = 0, []
    for path in [given.resolve() for given in chosen.pages] or pages():
        number, wrong = differences(path, write=chosen.write)
        shown, found = shown + number, found + wrong
    print(*found, f"{shown} printed outputs compared, {len(found) or 'none'} differ", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
