"""A short part of `make faults`: every kind of job is killed and finishes as if nothing had been."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_killed_jobs_leave_what_is_whole_or_nothing_and_the_next_run_finishes_them():
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults", "--short", "--seed", "19"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert " 0 broken" in done.stdout
