"""Builds of the engine lie side by side in one process: none may see what another defines."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from centrality import engine

BUILDS = sorted(Path(engine.__file__).parent.glob("*.so"))


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("nm") is None, reason="needs nm, of Linux's binutils")
@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.name.partition(".")[0])
def test_a_build_shows_its_module_and_nothing_else(build):
    listed = subprocess.run(["nm", "-D", "--defined-only", build], check=True, capture_output=True, text=True).stdout
    assert [line.split()[-1] for line in listed.splitlines()] == [f"PyInit_{build.name.partition('.')[0]}"]
