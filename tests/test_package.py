"""What users get: the wheel and the sdist hold the whole package, and its version."""

import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from centrality import __version__
from tests import versions

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def dist(tmp_path_factory) -> Path:
    """A folder with the wheel and the sdist of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)], cwd=ROOT, check=True)
    return folder


def package() -> set[str]:
    """Every file of the package in this checkout, from src/ on; none that was compiled."""
    files = (path for path in (ROOT / "src" / "centrality").rglob("*") if path.is_file())
    names = {path.relative_to(ROOT / "src").as_posix() for path in files if "__pycache__" not in path.parts}
    return {name for name in names if not name.endswith(".so")}


def engine() -> set[str]:
    """The modules of the engine, each a build for some instructions."""
    folder = ROOT / "src" / "centrality" / "engine"
    return {f"centrality/engine/{path.name}" for path in folder.glob(f"*{sysconfig.get_config_var('EXT_SUFFIX')}")}


@pytest.mark.slow
def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(dist):
    (path,) = dist.glob("*.whl")
    assert path.name.startswith(f"centrality-{__version__}-")
    with zipfile.ZipFile(path) as wheel:
        names = set(wheel.namelist())
        metadata = wheel.read(f"centrality-{__version__}.dist-info/METADATA").decode()
    assert {name for name in names if ".dist-info/" not in name} == package() | engine()
    assert any("/engine/portable." in name for name in names)
    assert {"centrality/apps/explorer/static/explorer.js", "centrality/py.typed"} <= names
    assert f"\nVersion: {__version__}\n" in metadata
    assert "\nClassifier: Programming Language :: Python :: 3.13\n" in metadata
    description = metadata.partition("\n\n")[2]
    assert description.startswith("# centrality")
    links = re.findall(r"\]\(([^)]+)\)", description)
    assert links
    assert all(link.startswith("https://") for link in links)  # so that a package index shows pages and pictures


def test_the_sdist_holds_every_file_of_the_package_and_its_tests_but_no_environment(dist):
    top = f"centrality-{__version__}"
    with tarfile.open(dist / f"{top}.tar.gz") as sdist:
        names = {name.removeprefix(f"{top}/") for name in sdist.getnames()}
    assert {f"src/{name}" for name in package()} <= names
    assert not [name for name in names if name.endswith(".so")]
    assert {"engine/training.h", "engine/CMakeLists.txt", "engine/hatch_build.py"} <= names
    assert {"pyproject.toml", "LICENSE", "README.md", "tests/test_package.py"} <= names
    assert not [name for name in names if name.startswith((".venv", ".versions", "web/node_modules"))]


@pytest.mark.slow
def test_without_a_compiler_an_installation_from_source_fails_and_says_what_to_install(dist, tmp_path):
    """Of the sdist, in which nothing is compiled, where no compiler can be found."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.4 and later
            sdist.extractall(tmp_path, filter="data")
        else:
            sdist.extractall(tmp_path)
    copy = tmp_path / f"centrality-{__version__}"
    nowhere = {name: value for name, value in os.environ.items() if name not in ("CXX", "PATH")} | {"PATH": "/nowhere"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    done = subprocess.run(command, cwd=copy, env=nowhere, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "needs a C++ compiler: install g++ (apt install g++)" in done.stderr
    assert not list((tmp_path / "dist").glob("*.whl"))


@pytest.mark.slow
def test_a_release_says_what_is_left_to_a_person(tmp_path):
    """Of a copy of this checkout, whose files are committed: the addresses are not real yet, the rest needs people."""
    copy = tmp_path / "checkout"
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{ROOT}", str(copy)], check=True)
    for module in (ROOT / "src" / "centrality" / "engine").glob("*.so"):  # compiled already: newer than all sources
        shutil.copy(module, copy / "src" / "centrality" / "engine")
    here = {"cwd": copy, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, ".ci/release.py"], **here)
    said = [line.removeprefix("  - ") for line in done.stdout.splitlines() if line.startswith("  - ")]
    expected = ("pyproject.toml still has addresses of example.org", "Push the tag", "Approve the job")
    others = [line for line in said if not line.startswith(expected) and " is not installed: " not in line]
    assert [line for line in others if "--check" not in line] == []  # figures may be older than the code
    assert [line.split(":")[0].split(",")[0] for line in said if line.startswith(expected)] == [
        "pyproject.toml still has addresses of example.org",
        "Push the tag",
        "Approve the job publish of that workflow",
    ]
    (copy / "CITATION.cff").write_text("version: 0")
    release = runpy.run_path(str(copy / ".ci" / "release.py"))
    found = release["missing"](__version__)
    assert found[:2] == [
        "The working tree is not clean: commit or stash first.",
        f"CITATION.cff does not have version {__version__}.",
    ]


def test_the_tests_that_other_versions_run_are_there():
    paths = [*versions.SELECTED, *versions.TORCHLESS]
    assert [path for path in paths if not (versions.ROOT / path).exists()] == []
    extras = versions.requirements()[1]
    assert {*versions.EXTRAS, *versions.WITHOUT_TORCH} <= set(extras)
