"""centrality fit: a model of the rows of a file."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest

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
