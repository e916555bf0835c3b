"""What our own networks do on a CPU never imports torch."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from centrality.engine import VARIABLE
from tests.conftest import quick

pytestmark = pytest.mark.slow  # each starts a process
CHECK = """
import sys
def check(what):
    torch = [name for name in sys.modules if name.partition('.')[0] == 'torch']
    assert not torch, f"{what} imports {torch[0]}"
"""


def run(code: str, *arguments: str, cwd: Path) -> str:
    """Run code in a process of its own, in which `check` sees whether torch has been imported so far."""
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    command = [sys.executable, "-c", CHECK + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=cwd, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fitting_scoring_saving_loading_explaining_learning_on_and_pickling_do_not(tmp_path):
    run(
        """
import centrality
check("the package")
import pickle
import numpy as np
from centrality import PaperFUSE, load
X = np.random.default_rng(0).normal(size=(200, 3))
two = {"ensemble": 2, "shared_encoder": False}
for settings in ({}, {"novelty": True}, two, {"epochs": 1}, {"metric": "manhattan"}, {"scheme": 4}):
    model = PaperFUSE(max_steps=20, random_state=0).set_params(**settings).fit(X)
    model.save("m.safetensors")
    loaded = load("m.safetensors")
    assert (loaded.score_samples(X) == model.score_samples(X)).all()
    assert (pickle.loads(pickle.dumps(model)).raw(X) == model.raw(X)).all()
    assert loaded.explain(X[:4]).shape == (4, 3)
    check(settings)
load("m.safetensors").partial_fit(X[:50] + 1)
check("partial_fit")
""",
        cwd=tmp_path,
    )


COMMANDS = [
    "--help",
    "--version",
    "score --help",
    "score m.safetensors rows.csv -o -",
    "score m.safetensors rows.csv -o scored/ --workers 2",
    "rank m.safetensors rows.csv",
    "fit rows.csv -o new.safetensors --max-steps 20",
    "explain m.safetensors rows.csv",
    "inspect m.safetensors",
]


def test_commands_do_not(tmp_path, blob):
    quick().fit(blob).save(tmp_path / "m.safetensors")
    np.savetxt(tmp_path / "rows.csv", blob[:100], delimiter=",", header="a,b", comments="")
    code = """
from centrality.apps.cli import main
for command in sys.argv[1:]:
    try:
        status = main(command.split())
    except SystemExit as ended:
        status = ended.code
    assert not status, command
    check(command)
"""
    assert run(code, *COMMANDS, cwd=tmp_path)
