"""Build the engine when the package is installed; without a C++ compiler, say what to install."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILERS = ("c++", "g++", "clang++", "cl")
STABLE = sys.version_info >= (3, 12) and not sysconfig.get_config_var("Py_GIL_DISABLED")  # one wheel from 3.12 on
OF_THIS_PYTHON = sysconfig.get_config_var("EXT_SUFFIX")
SUFFIX = (".pyd" if os.name == "nt" else ".abi3.so") if STABLE else OF_THIS_PYTHON  # of a compiled module's name
NEEDED = (
    "centrality is installed from source here, which compiles its engine and needs a C++ compiler: install g++ "
    "(apt install g++), clang++ (xcode-select --install), or MSVC, or name yours by CXX; or install a wheel instead."
)


class BuildEngine(BuildHookInterface):
    """Compiles the engine into `src/centrality/engine`: a wheel takes it from there, an editable install finds it."""

    def dependencies(self) -> list[str]:
        return ["nanobind>=2.4", "cmake>=3.18", "ninja>=1.10"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if not is_built(Path(self.root)):
            if not compiler():
                raise SystemExit(NEEDED)
            build(Path(self.root))
        build_data["artifacts"].append(f"src/centrality/engine/*{SUFFIX}")
        build_data["pure_python"] = False
        tag = self.build_config.builder.get_best_matching_tag()
        build_data["tag"] = f"cp312-abi3-{tag.rpartition('-')[2]}" if STABLE else tag


def compiler() -> str | None:
    """Return a C++ compiler, if there is one."""
    return os.environ.get("CXX") or next((found for name in COMPILERS if (found := shutil.which(name))), None)


def is_built(root: Path) -> bool:
    """Say whether the package holds modules for this Python that are newer than all sources."""
    modules = list((root / "src" / "centrality" / "engine").glob(f"*{SUFFIX}"))
    newest = max(path.stat().st_mtime for path in (root / "engine").iterdir() if path.is_file())
    return bool(modules) and min(path.stat().st_mtime for path in modules) > newest


def build(root: Path) -> None:
    """Compile the engine for this Python, and put its modules into the package."""
    work = root / "build" / f"engine-{sys.implementation.cache_tag}"
    configure = ["cmake", "-S", str(root / "engine"), "-B", str(work), "-G", "Ninja"]
    configure += ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
    tools = Path(sys.executable).parent  # of the environment, in which pip has put cmake and ninja
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"}
    shutil.rmtree(work, ignore_errors=True)  # what another environment configured names tools that are gone
    for command in (configure, ["cmake", "--build", str(work)]):
        subprocess.run(command, check=True, env=environment)
    for module in work.glob(f"*{SUFFIX}"):
        there = root / "src" / "centrality" / "engine" / module.name
        beside = there.with_name(f".{module.name}.new")
        shutil.copy(module, beside)
        beside.replace(there)  # never written over: a process that runs the old one would crash


if __name__ == "__main__":  # for who changes it: python engine/hatch_build.py
    build(Path(__file__).parents[1])
