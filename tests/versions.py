"""Tests the package on the oldest and the newest versions of what it stands on: `make test-versions`.

Each environment is made once, below .versions/ (delete the folder to make them anew), from a wheel built here
(for other Pythons than this one: from the sdist). `oldest`
has every requirement at the minimum that pyproject.toml declares, `newest` whatever the registry has, and `core` the
package without any extra, installed from the sdist, for a smoke test. Torch is the one of constraints.txt throughout:
another would pull in several GB of CUDA packages. Its CPU build exists for one Python only, so other Pythons are tested
on what works without torch; `--torch VERSION` (and time, and disk) tests another version, or these Pythons as a whole.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".versions"
EXTRAS = ("plots", "data", "excel", "series", "onnx")  # light, and each with its tests in SELECTED
WITHOUT_TORCH = ("plots", "data", "excel")  # of these, what TORCHLESS wants
TOOLS = ("pytest", "hypothesis", "psutil", "pandas", "polars")
SELECTED = [
    *("tests/tables", "tests/depths/test_values.py", "tests/depths/test_depths.py", "tests/analysis"),
    *(
        "tests/fuse/test_estimator.py",
        "tests/_internal/test_input.py",
        "tests/_internal/test_model_file.py",
        "tests/test_cli.py",
    ),
    *("tests/bulk/test_score_stream.py", "tests/bulk/test_ranking.py", "tests/bulk/test_sample.py"),
    *(
        "tests/model/test_explain_explanations.py",
        "tests/representations/test_table.py",
        "tests/representations/test_series.py",
    ),
    *("tests/onnx/test_scorer.py", "tests/plots/test_plots.py", "tests/test_metrics.py"),
    "tests/properties/test_sklearn_contract.py",
]
TORCHLESS = [
    *("tests/tables", "tests/depths", "tests/analysis", "tests/datasets", "tests/golden", "tests/test_metrics.py"),
    *("tests/engine/test_odd_input.py", "tests/engine/test_without_torch.py", "tests/model/test_explain_typical.py"),
    *("tests/representations/test_table.py", "tests/test_chain.py", "tests/properties/test_unreadable.py"),
    *("tests/bulk/test_score_stream.py", "tests/bulk/test_ranking.py", "tests/bulk/test_sample.py"),
]
LEFT_OUT = ["-m", "not data", "-k", "not umap"]  # data sets, and the one test here of an extra that is heavy
# Old packages warn of what newer ones beside them will drop; that is no error of ours.
OLD_NEWS = ("Deprecation", "PendingDeprecation", "Future")
LENIENT = [part for kind in OLD_NEWS for part in ("-W", f"ignore::{kind}Warning")]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")


def main() -> int:
    """Test the environments that were asked for; 0 if all pass."""
    everything = ["core", "oldest", "newest", *(f"python{version}" for version in PYTHONS[1:])]
    parser = argparse.ArgumentParser(description="Test the package on its oldest and newest requirements.")
    parser.add_argument("environments", nargs="*", metavar="ENVIRONMENT", help=f"default: {', '.join(everything)}")
    parser.add_argument("--torch", metavar="VERSION", help="default: that of constraints.txt, on Python 3.11 only")
    asked = parser.parse_args()
    unknown = set(asked.environments) - set(everything)
    if unknown:
        parser.error(f"one of {', '.join(everything)} was wanted, got {', '.join(sorted(unknown))}")
    wheel, sdist = built()
    results = {}
    for name in asked.environments or everything:
        python = found(name.removeprefix("python") if name.startswith("python") else PYTHONS[0])
        if python is None:
            results[name] = "not tested: there is no such Python here"
        elif name == "core":
            results[name] = smoke(python, sdist, asked.torch)
        else:
            own = wheel if name in ("oldest", "newest") else sdist  # the wheel's engine is compiled for this Python
            results[name] = tested(name, python, own, asked.torch)
        print(f"== {name}: {results[name]}", flush=True)
    print("\n".join(f"{name:12} {result}" for name, result in results.items()))
    return int(any(result.startswith("FAILED") for result in results.values()))


def requirements() -> tuple[list[str], dict[str, list[str]]]:
    """The core requirements and those of each extra, as pyproject.toml has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["dependencies"], project["optional-dependencies"]


def wanted(names: tuple[str, ...], oldest: bool) -> list[str]:
    """The core, these extras and what tests need, without torch; pinned to the declared minima for the oldest."""
    core, extras = requirements()
    needed = [*core, *(line for name in names for line in extras[name])]
    needed += [line for line in extras["test"] if re.split(r"[^\w-]", line)[0] in TOOLS]
    needed = [line.partition(";")[0].strip() for line in needed if not line.startswith("torch")]
    return [line.replace(">=", "==") for line in needed] if oldest else needed


def built() -> tuple[Path, Path]:
    """The wheel and the sdist of this checkout."""
    folder = CACHE / "dist"
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "hatchling", "build", "-d", str(folder)])
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def found(version: str) -> str | None:
    """An interpreter of this version: on the path, or one that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    places = [shutil.which(f"python{version}"), *sorted(kept.glob(f"{version}.*/bin/python"), reverse=True)]
    for place in filter(None, places):
        if subprocess.run([str(place), "-c", ""], capture_output=True).returncode == 0:  # pyenv's shims may be empty
            return str(place)
    return None


def environment(name: str, python: str, packages: list[str]) -> Path:
    """The virtual environment of this name with these packages, made anew only if they changed."""
    mark = hashlib.sha256("\n".join(packages).encode()).hexdigest()[:12]
    folder = CACHE / f"{name}-{mark}"
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)
        run([python, "-m", "venv", str(folder)])
        pip(folder, *packages)
        (folder / "ready").touch()
    return folder


def pip(folder: Path, *arguments: str) -> None:
    run([str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--no-compile", *arguments])


def torch_pin(python: str, asked: str | None) -> list[str]:
    """The torch to install, if any: the pinned CPU build is for the first of our Pythons."""
    if asked:
        return [f"torch=={asked}"]
    version = subprocess.run([python, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    if not version.startswith(f"{PYTHONS[0]}."):
        return []
    return [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch==")]


def tested(name: str, python: str, package: Path, torch: str | None) -> str:
    """Run the selected tests in this environment, and return their last line."""
    pin = torch_pin(python, torch)
    folder = environment(name, python, [*pin, *wanted(EXTRAS if pin else WITHOUT_TORCH, oldest=name == "oldest")])
    pip(folder, "--no-deps", "--force-reinstall", str(package))
    paths = SELECTED if pin else TORCHLESS
    command = [str(folder / "bin" / "python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short"]
    command += [*LEFT_OUT, *(LENIENT if name == "oldest" else []), *paths]
    done = subprocess.run(command, cwd=ROOT, env=alone(), stdout=subprocess.PIPE, text=True)
    last = done.stdout.strip().splitlines()[-1]
    if done.returncode:
        print(done.stdout)
        return f"FAILED: {last}"
    return last if pin else f"{last} (without torch)"


def smoke(python: str, sdist: Path, torch: str | None) -> str:
    """Install the sdist without any extra, and try what must work then, far from the checkout."""
    core = [line for line in requirements()[0] if not line.startswith("torch")]
    folder = environment("core", python, [*torch_pin(python, torch), *core])
    pip(folder, "--no-deps", "--force-reinstall", str(sdist))
    script = ROOT / "tests" / "smoke.py"
    done = subprocess.run([str(folder / "bin" / "python"), str(script)], cwd=folder, env=alone(), text=True)
    return "FAILED: the smoke test" if done.returncode else "smoke test passed"


def alone() -> dict[str, str]:
    """The variables without those that let this checkout's sources be found."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | {"OMP_NUM_THREADS": "1"}


def run(command: list[str]) -> None:
    print("$", " ".join(command), flush=True)
    subprocess.run(command, cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main())
