"""centrality fit: a model of the rows of a file."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from centrality import load, tables
from centrality.apps.cli import main
from tests.commands.said import said
from tests.foreground import foreground
from tests.present import present

# A flag of 1 tells a function from a module or a class that is being imported.
TELLS_WHEN_IT_TRAINS = """
import sys, threading, time

def frames():
    for frame in list(sys._current_frames().values()):
        while frame is not None:
            yield frame.f_code
            frame = frame.f_back

def watch():
    while not any("/centrality/fuse/train" in c.co_filename and c.co_flags & 1 for c in frames()):
        time.sleep(0.01)
    print("It trains.", flush=True)

threading.Thread(target=watch, daemon=True).start()
"""


@pytest.mark.slow
def test_ctrl_c_during_a_fit_leaves_no_file(blob, tmp_path):
    np.save(tmp_path / "rows.npy", blob)
    (tmp_path / "sitecustomize.py").write_text(TELLS_WHEN_IT_TRAINS)  # from inside the real program
    arguments = ["fit", "rows.npy", "-o", "m.safetensors", "--max-steps", "1000000"]
    with foreground():
        process = subprocess.Popen(
            [sys.executable, "-m", "centrality.apps.cli", *arguments],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        )
    try:
        assert present(process.stdout).readline() == "It trains.\n"
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=60)
    finally:
        process.kill()  # where it goes on training
    assert process.returncode == 130
    assert "interrupted, nothing was written" in error
    assert not list(tmp_path.glob("*.safetensors"))


def test_an_update_says_whether_the_threshold_still_holds(tmp_path, capsys):
    """Rows of the same kind: about a tenth is called, as before; two standard errors of .011 make 4% to 16% usual."""
    rng = np.random.default_rng(0)
    for name, rows in (("old", 2000), ("new", 800)):
        values = rng.normal(size=(rows, 3))
        tables.write(pa.table(dict(zip("abc", values.T, strict=True))), tmp_path / f"{name}.csv")
    old, new = tmp_path / "old.safetensors", tmp_path / "new.safetensors"
    fit = ["fit", str(tmp_path / "old.csv"), "-o", str(old), "--random-state", "0", "--max-steps", "200", "--quiet"]
    assert main(fit) == 0
    capsys.readouterr()
    update = ["fit", tmp_path / "new.csv", "--update", old, "-o", new]
    text = said(capsys, *update)
    found = re.search(r"The threshold of before, centrality 0\.\d{3}, still holds: (\d+\.\d)% of the new rows", text)
    assert found is not None
    assert 4 < float(found[1]) < 16
    assert load(new).fitted_.remembered.seen == 2800
    assert main([str(argument) for argument in [*update, "--t", "0.3"]]) == 2
    assert "--update goes on with the model as it is: leave out --t." in capsys.readouterr().err
