"""The map of the house in CONTRIBUTING.md is the tree, and its floors are those of the contract."""

import importlib.util
import re
from pathlib import Path

import pytest

from centrality import FUSE, Chain, PaperFUSE

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "centrality"


@pytest.fixture(scope="module")
def house():
    spec = importlib.util.spec_from_file_location("docs_house", ROOT / "docs" / "house.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rooms() -> set[str]:
    """The packages and the flat modules, as they lie on disk."""
    folders = {f"{path.parent.name}/" for path in PACKAGE.glob("*/__init__.py")}
    return folders | {path.name for path in PACKAGE.glob("*.py")} - {"__main__.py"}  # the front door of cli.py


def test_every_room_is_named_once_and_every_name_is_a_room(house):
    named = list(house.map_of_the_house())  # which refuses a name that stands there twice
    assert set(named) == rooms()


def test_a_room_that_is_named_twice_is_refused(house, tmp_path, monkeypatch):
    (tmp_path / "CONTRIBUTING.md").write_text("<!-- house -->\n| `a.py` | one |\n| `a.py` | two |\n<!-- end -->\n")
    monkeypatch.setattr(house, "ROOT", tmp_path)
    with pytest.raises(ValueError, match="names a room twice"):
        house.map_of_the_house()


def test_the_map_goes_from_the_top_floor_to_the_ground_as_the_contract_does(house):
    floors = house.floors()
    assert len(floors) <= 13
    mapped = [room.removesuffix("/").removesuffix(".py") for room in house.map_of_the_house()]
    assert mapped == ["__init__", *(room for floor in floors for room in floor)]


def test_the_count_sees_files_lines_and_long_functions(house, tmp_path):
    package = tmp_path / "centrality"
    (package / "room").mkdir(parents=True)
    (package / "one.py").write_text("x: Any = 1  # type: ignore\n")
    (package / "room" / "two.py").write_text("def long():\n" + "    pass\n" * house.LONG)
    (package / "__init__.py").write_text(
        "__all__ = ['FUSE']\nchain = None\nclass FUSE:\n    def __init__(self, a, b): ...\n"
    )
    found = house.counted(package)
    assert found["files of `room/`"] == 1
    assert found["lines of `room/`"] == house.LONG + 1
    assert found["files"] == 3
    assert found[f"functions of over {house.LONG} lines, docstrings included"] == 1
    assert (found["`Any`, as a word"], found["type-ignores"]) == (1, 1)
    assert (found["parameters of FUSE"], found["public names of a model"]) == (2, 0)


def test_the_folders_around_the_house_and_the_files_of_the_ten_changes_exist():
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    around = re.findall(r"^\| `([^`]+/)` \|", page.partition("Around it:")[2], flags=re.MULTILINE)
    assert set(around) == {"engine/", "web/", "tests/", "benchmarks/", "paper/", "docs/"}
    assert all((ROOT / folder).is_dir() for folder in around)
    changes = page.partition("## Ten changes")[2].partition("\n## ")[0]
    lines = re.findall(r"^\| (?!a new)[^-|].*$", changes, flags=re.MULTILINE)
    assert len(lines) == 10
    paths = {path for line in lines for path in re.findall(r"`([a-z_]+/[a-z0-9_/.]+)`", line)}
    assert len(paths) >= 15
    for path in paths:
        assert (ROOT / path).exists() or (PACKAGE / path).exists(), f"CONTRIBUTING.md names {path}, which is not there"


@pytest.mark.parametrize("kind", [FUSE, PaperFUSE, Chain])
def test_a_model_has_no_more_public_names_than_one_can_hold_in_the_head(kind):
    assert len([name for name in dir(kind) if not name.startswith("_")]) <= 36


def test_no_file_is_longer_than_400_lines():
    assert [path.name for path in PACKAGE.rglob("*.py") if len(path.read_text().splitlines()) > 400] == []
