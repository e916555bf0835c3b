"""What the pages show is what the program does."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def tables():
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WITH_PYTHON = ("depths", "data", "explanations", "service", "scale", "explorer")
PAGES = ["README.md", *(f"docs/{name}.md" for name in WITH_PYTHON)]


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_the_pages_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for code in blocks:
        exec(compile(code, page, "exec"), names)
    for saved in tmp_path.iterdir():
        assert saved.stat().st_size < 1_000_000


def test_tables_in_the_pages_are_those_of_the_committed_results(tables):
    for path in tables.PAGES:
        page = path.read_text()
        assert "<!-- end -->" in page
        assert tables.filled(page) == page, f"{path.name} is stale: run make tables"


def test_links_between_pages_lead_somewhere():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "paper").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_docstring_examples_are_true():
    import doctest

    from centrality import fuse, pyod
    from centrality.scores import calibration, conformal

    for module in (calibration, conformal, fuse, pyod):
        result = doctest.testmod(module)
        assert result.attempted > 0
        assert result.failed == 0
