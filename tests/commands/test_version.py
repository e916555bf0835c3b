"""centrality version, and both ways to ask for it."""

import subprocess
import sys

import numpy as np

from tests.commands.said import as_json


def test_version_names_the_libraries(capsys):
    found = as_json(capsys, "version")
    assert found["numpy"] == np.__version__
    assert found["python"] == sys.version.split()[0]


def test_python_m_centrality_runs_the_command_line():
    done = subprocess.run([sys.executable, "-m", "centrality", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("centrality ")
