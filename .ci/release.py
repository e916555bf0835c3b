"""Say what is left to a person before a release: `make release`. It uploads nothing.

Checks that the tree is clean, that version, changelog and citation agree, that the addresses are real and no figure is
older than the files it rests on; builds sdist and wheel, looks into both, runs the wheel in a fresh environment, and
lets twine, check-wheel-contents and pyroma judge them. Wheels for other systems, and the upload, are the work of
.github/workflows/wheels.yml.
"""

import argparse
import re
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
TOOLS = {"twine": ["check", "--strict"], "check_wheel_contents": [], "pyroma": ["--min", "10"]}
ALWAYS = (
    "Push the tag: git tag v{number} && git push origin v{number}. The workflow wheels then builds for Linux, macOS, "
    "Windows and ARM.",
    "Approve the job publish of that workflow: it uploads.",
)


def version() -> str:
    text = (ROOT / "src" / "centrality" / "__init__.py").read_text(encoding="utf-8")
    return re.search(r'__version__ = "([^"]+)"', text)[1]


def missing(number: str) -> list[str]:
    """Name what is not ready, in sentences."""
    found = []
    if subprocess.run(["git", "status", "--porcelain"], cwd=ROOT, capture_output=True, text=True, check=True).stdout:
        found.append("The working tree is not clean: commit or stash first.")
    if f"## {number}" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        found.append(f'CHANGELOG.md has no entry "## {number}".')
    if f"version: {number}" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        found.append(f"CITATION.cff does not have version {number}.")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if "example.org" in str([project["urls"], project["authors"]]):
        found.append("pyproject.toml still has addresses of example.org: say where the project lives.")
    tags = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    if f"v{number}" in tags:
        found.append(f"There is a tag v{number} already: raise the version.")
    return found


def old_figures() -> list[str]:
    """Say how many figures are older than the files they rest on."""
    figures = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if not figures.returncode:
        return []
    count = figures.stdout.splitlines()[-1] if figures.stdout else figures.stderr
    return [f"{count.strip()} `make benchmarks ARGS=--check` lists them."]


def built() -> tuple[Path, Path]:
    """Build the sdist and the wheel, and return them."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-d", str(DIST)], cwd=ROOT, check=True)
    return next(DIST.glob("*.tar.gz")), next(DIST.glob("*.whl"))


def wrong(sdist: Path, wheel: Path) -> list[str]:
    """Name what is wrong with the files, in sentences."""
    found = []
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("METADATA"))).decode()
    if re.search(r"\]\((?!https?://|#)", metadata):
        found.append("The description of the package has links that work in the repository only.")
    found += [
        f"The wheel lacks {name}." for name in ("centrality/py.typed", "centrality/apps/cli.py") if name not in names
    ]
    found += [f"The wheel has {name}." for name in names if name.startswith(("tests", "docs", "benchmarks"))]
    with tarfile.open(sdist) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    found += [f"The sdist lacks {name}." for name in ("README.md", "LICENSE", "hatch_build.py") if name not in inside]
    return found


def runs(wheel: Path) -> list[str]:
    """Install the wheel without its requirements, which this environment lends, and ask it for its version."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder)
        python = Path(folder) / "bin" / "python"
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "-q", "--no-deps", "--no-compile", wheel]
        subprocess.run(pip, check=True)
        lent = subprocess.run(
            [sys.executable, "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
            capture_output=True, text=True, check=True,
        ).stdout.strip()  # fmt: skip
        site = next((Path(folder) / "lib").glob("python*/site-packages"))
        (site / "zz_lent.pth").write_text(lent)
        for arguments in (["--help"], ["version"], ["datasets"]):
            done = subprocess.run(
                [python, "-P", "-m", "centrality", *arguments], capture_output=True, text=True, check=False
            )
            if done.returncode:
                return [
                    f"The installed wheel fails at `centrality {' '.join(arguments)}`: {done.stderr.strip()[-300:]}"
                ]
    return []


def judged(sdist: Path, wheel: Path) -> list[str]:
    """Let other people's tools judge the files: those of them that are installed (.ci/release-tools.txt)."""
    found = []
    for module, arguments in TOOLS.items():
        files = [str(sdist), str(wheel)] if module == "twine" else [str(sdist if module == "pyroma" else wheel)]
        if find_spec(module) is None:
            found.append(f"{module} is not installed: pip install -r .ci/release-tools.txt")
            continue
        done = subprocess.run(
            [sys.executable, "-m", module, *arguments, *files], capture_output=True, text=True, check=False
        )
        if done.returncode:
            found.append(f"{module} finds fault: {(done.stdout + done.stderr).strip()[-300:]}")
    return found


def main() -> int:
    argparse.ArgumentParser(description=__doc__).parse_args()
    number = version()
    problems = missing(number) + old_figures()
    for old in DIST.glob("*"):
        old.unlink()
    sdist, wheel = built()
    problems += wrong(sdist, wheel) + runs(wheel) + judged(sdist, wheel)
    print(
        f"centrality {number}: {sdist.name} {sdist.stat().st_size:,} bytes, {wheel.name} {wheel.stat().st_size:,} bytes"
    )
    print("Left to a person:")
    for step in [*problems, *(step.format(number=number) for step in ALWAYS)]:
        print(f"  - {step}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
