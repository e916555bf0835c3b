"""What the pages show is what the program does."""

import ast
import builtins
import doctest
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from centrality import FUSE

ROOT = Path(__file__).parents[2]
GENERATED = {"api", "cli", "_build"}  # pages that are made when the site is built


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WITH_PYTHON = ("data", "explanations", "service", "scale", "explorer")
GUIDES = sorted((ROOT / "docs" / "guides").glob("*.md"))
PAGES = [
    "README.md",
    *(f"docs/internals/{name}.md" for name in WITH_PYTHON),
    *(f"docs/guides/{path.name}" for path in GUIDES if "```python\n" in path.read_text()),
]


@pytest.mark.slow
@pytest.mark.usefixtures("short_fits")  # what the pages show as printed is compared by docs/printed.py, with whole fits
@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_the_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, page, "exec"), names)
    for saved in tmp_path.iterdir():
        assert saved.stat().st_size < 2_500_000  # four networks of 64 columns: 1.5 MB; six, given a context


@pytest.mark.slow
@pytest.mark.parametrize(("page", "file"), [("adult", "adult_train.parquet"), ("ag_news", "ag_news_test.csv.gz")])
def test_what_the_tutorials_on_faults_assert_holds(page, file):
    if not (Path(os.environ.get("CENTRALITY_DATA", "nowhere")) / "extra" / file).is_file():
        pytest.skip(f"There is no {file} below CENTRALITY_DATA.")
    pytest.importorskip("matplotlib").use("agg")
    names: dict[str, object] = {}
    cells = re.findall(r"```\{code-cell\}\n(.*?)```", (ROOT / f"docs/tutorials/{page}.md").read_text(), flags=re.DOTALL)
    assert sum("assert " in code for code in cells) >= 2
    for code in cells:
        exec(compile(code, page, "exec"), names)


@pytest.mark.slow
def test_model_files_are_as_large_as_the_pages_say(tmp_path):
    sizes = {}
    for n, p in ((20_000, 30), (1_000, 30), (1_000, 1_000)):  # many rows, few rows, many columns
        X = np.random.default_rng(0).normal(size=(n, p))
        FUSE(random_state=0, max_steps=2).fit(X).save(tmp_path / "m.safetensors")
        sizes[n, p] = (tmp_path / "m.safetensors").stat().st_size / 1e6
    assert sizes[20_000, 30] == pytest.approx(0.3, abs=0.05)
    assert sizes[1_000, 30] == pytest.approx(1.3, abs=0.1)
    assert sizes[1_000, 1_000] == pytest.approx(7.5, abs=0.5)


def test_tables_in_the_pages_are_those_of_the_committed_results(tables):
    for path in tables.PAGES:
        page = path.read_text()
        assert "<!-- end -->" in page
        assert tables.filled(page) == page, f"{path.name} is stale: run make tables"


def test_links_between_pages_lead_somewhere():
    docs = [page for page in (ROOT / "docs").glob("**/*.md") if not set(page.parts) & GENERATED]
    for page in [*ROOT.glob("*.md"), *docs, *(ROOT / "paper").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            if not set(Path(target).parts) & GENERATED:  # Sphinx looks at these when it has made them
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


def public() -> Iterator[tuple[str, Any]]:
    """Every class and function of the reference. Pytest runs their examples."""
    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    import api_pages  # type: ignore[import-not-found]

    for module in api_pages.MODULES:
        for name in api_pages.public_names(module):
            thing = getattr(import_module(module), name)
            if isinstance(thing, type) or inspect.isfunction(thing):
                yield name, thing


def undefined(example: str) -> set[str]:
    """The names that an example uses, and neither imports nor sets."""
    tree = ast.parse("".join(part.source for part in doctest.DocTestParser().get_examples(example)))
    known, used = set(dir(builtins)), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            known.add(node.asname or node.name)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            known.add(node.name)
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.Name):
            (known if isinstance(node.ctx, ast.Store) else used).add(node.id)
    return used - known


def test_examples_can_be_copied_as_they_are():
    assert undefined(">>> import a as b, c\n>>> d = b + c + e") == {"e"}
    lacking = {name: names for name, thing in public() if (names := undefined(thing.__doc__ or ""))}
    assert lacking == {}


def test_what_users_import_shows_an_example():
    assert [name for name, thing in public() if ">>>" not in (thing.__doc__ or "")] == []
    assert {"FUSE", "Mahalanobis", "median", "FUSEDetector", "Reasons"} <= {name for name, _ in public()}
