"""What our own networks do on a CPU never imports torch."""

import os
import subprocess
import sys

import numpy as np
import pytest

from centrality.engine import VARIABLE
from tests.conftest import quick

NO_TORCH = "assert not [name for name in sys.modules if name.partition('.')[0] == 'torch']"


def run(code: str, *arguments: str, cwd: object = None) -> str:
    """Run code in a process of its own, where torch must not have been imported when it ends."""
    whole = f"import sys\n{code}\n{NO_TORCH}"
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE}
    done = subprocess.run(
        [sys.executable, "-c", whole, *arguments], capture_output=True, text=True, env=environment, cwd=cwd, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_does_not():
    run("import centrality")


SETTINGS = ("", "novelty=True", "ensemble=2, shared_encoder=False", "epochs=1", "metric='manhattan'", "scheme=4")


@pytest.mark.parametrize("settings", SETTINGS)
def test_fitting_scoring_saving_loading_and_explaining_does_not(tmp_path, settings):
    out = run(
        "import numpy as np\n"
        "from centrality import PaperFUSE, load\n"
        "X = np.random.default_rng(0).normal(size=(200, 3))\n"
        f"model = PaperFUSE(max_steps=20, random_state=0).set_params(**dict({settings})).fit(X)\n"
        "first = model.score_samples(X)\n"
        "model.save('m.safetensors')\n"
        "loaded = load('m.safetensors')\n"
        "assert (loaded.score_samples(X) == first).all()\n"
        "print(loaded.explain(X[:4]).shape)\n",
        cwd=tmp_path,
    )
    assert out == "(4, 3)\n"


def test_learning_on_does_not():
    run(
        "import numpy as np\n"
        "from centrality import FUSE\n"
        "X = np.random.default_rng(0).normal(size=(200, 3))\n"
        "FUSE(max_steps=20, random_state=0).fit(X).partial_fit(X[:50] + 1)"
    )


def test_pickling_a_model_does_not():
    run(
        "import pickle, numpy as np\n"
        "from centrality import FUSE\n"
        "X = np.random.default_rng(0).normal(size=(200, 3))\n"
        "model = FUSE(max_steps=5, random_state=0).fit(X)\n"
        "assert (pickle.loads(pickle.dumps(model)).raw(X) == model.raw(X)).all()"
    )


COMMAND = (
    "from centrality.cli import main\n"
    "try: status = main(sys.argv[1:])\n"
    "except SystemExit as ended: status = ended.code\n"
    "assert not status, status"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, blob):
    found = tmp_path_factory.mktemp("cli")
    quick().fit(blob).save(found / "m.safetensors")
    np.savetxt(found / "rows.csv", blob[:100], delimiter=",", header="a,b", comments="")
    return found


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        "--version",
        "score --help",
        "score m.safetensors rows.csv -o -",
        "score m.safetensors rows.csv -o scored/ --workers 2",
        "rank m.safetensors rows.csv",
        "fit rows.csv -o new.safetensors --max-steps 20",
        "explain m.safetensors rows.csv",
        "inspect m.safetensors",
    ],
)
def test_commands_do_not(folder, command):
    assert run(COMMAND, *command.split(), cwd=folder)
