"""A short part of `make fuzz`: some hundred cases of every way in."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_no_changed_bytes_crash_hang_or_show_a_traceback():
    command = [sys.executable, "-m", "tests.fuzz", "--cases", "1000", "--seed", "19"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert done.stdout.endswith("cases, 0 findings\n")
