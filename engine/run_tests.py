"""Run the unit tests of every build of the engine that this CPU can run: python engine/run_tests.py FOLDER.

And look at the objects: code that the kernels and the module around them both define would be linked once, perhaps with
instructions that the CPU lacks, before the module can say so.
"""

import subprocess
import sys
from pathlib import Path

FLAGS = {"avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512dq", "avx512vl", "avx512bw"}}


def cpu_flags() -> set[str]:
    """Return what /proc says this CPU can do; of other systems, nothing."""
    info = Path("/proc/cpuinfo")
    return set(info.read_text(encoding="utf-8").split()) if info.exists() else set()


def weak_code(objects: list[Path]) -> set[str]:
    """Return the functions that these objects define and that another one may replace."""
    listed = subprocess.run(["nm", "--defined-only", *objects], check=True, capture_output=True, text=True).stdout
    lines = [line.split() for line in listed.splitlines()]
    return {line[2] for line in lines if len(line) == 3 and line[1] in "Wu" and not line[2].startswith("DW.ref.")}


def shared_code(folder: Path, name: str) -> set[str]:
    """Return the functions that both the kernels of a build and the rest of its module define."""
    made = folder / "CMakeFiles"
    kernels = [*made.glob(f"{name}_kernels.dir/**/*.o")]
    rest = [*made.glob(f"{name}.dir/**/*.o"), *made.glob("nanobind-static.dir/**/*.o")]
    if not kernels or not rest:
        raise SystemExit(f"{folder} holds no objects of {name}.")
    return weak_code(kernels) & weak_code(rest)


def main(folder: Path) -> int:
    tests = sorted(folder.glob("*_tests"))
    if not tests:
        raise SystemExit(f"{folder} holds no tests: configure with -DUNIT_TESTS=ON.")
    failed = 0
    for test in tests:
        name = test.name.removesuffix("_tests")
        if found := shared_code(folder, name):
            failed += 1
            print(f"{name}: its kernels and its module share {len(found)} functions: {', '.join(sorted(found)[:3])}")
        if not FLAGS.get(name, set()) <= cpu_flags():
            print(f"{name}: this CPU cannot run its tests")
            continue
        code = subprocess.run([test], check=False).returncode
        failed += code != 0
        print(f"{name}: {'failed' if code else 'passed'}")
    return failed


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
