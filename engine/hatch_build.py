"""Build the engine when the package is installed, where there is a C++ compiler; else say so and go on without it."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

COMPILERS = ("c++", "g++", "clang++", "cl")
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")  # of a compiled module's name: for this Python, on this machine
REQUIRED = "CENTRALITY_REQUIRE_ENGINE"  # set where a package without an engine would be a mistake: wheels, CI

SKIPPED = "CENTRALITY_SKIP_ENGINE"  # set where none is wanted


class BuildEngine(BuildHookInterface):
    """Compiles the engine into `src/centrality/engine`: a wheel takes it from there, an editable install finds it."""

    def dependencies(self) -> list[str]:
        return ["nanobind>=2.4", "cmake>=3.18", "ninja>=1.10"] if compiler() and not os.environ.get(SKIPPED) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or os.environ.get(SKIPPED):
            return
        if not compiler():
            self._do_without("there is no C++ compiler (set CXX, or install g++ or clang++)")
            return
        try:
            if not is_built(Path(self.root)):
                build(Path(self.root))
        except (OSError, subprocess.CalledProcessError) as error:
            self._do_without(f"it could not be compiled: {error}")
            return
        build_data["artifacts"].append(f"src/centrality/engine/*{SUFFIX}")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True

    def _do_without(self, why: str) -> None:
        if os.environ.get(REQUIRED):
            raise SystemExit(f"{REQUIRED} asks for the engine, but {why}.")
        self.app.display_warning(f"centrality is installed without its engine, and computes with torch: {why}.")


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
