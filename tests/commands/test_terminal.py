"""What a terminal, a pipe or a full disk behind stdout can do: no commands get through, no tracebacks come out."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality import Chain, tables
from centrality.apps.cli import main
from centrality.representations import Table
from tests.conftest import quick
from tests.foreground import background, foreground

ESCAPES = "\x1b]0;pwned\x07\x1b[2J\x9b31m\u202eevil\rgone"


@pytest.fixture(scope="module")
def evil(tmp_path_factory):
    """A table and a model whose column names and cells try to command the terminal."""
    folder = tmp_path_factory.mktemp("evil")
    rng = np.random.default_rng(0)
    rows = pa.table({f"a{ESCAPES}": rng.normal(size=60), "b": rng.choice([f"x{ESCAPES}", "y"], 60)})
    tables.write(rows, folder / "t.parquet")
    Chain(Table(), quick(max_steps=5)).fit(rows).save(folder / "m.safetensors")
    quick(max_steps=5).fit(rows.select([0])).save(folder / "n.safetensors")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "inspect {0}/m.safetensors",
        "inspect {0}/n.safetensors",
        "rank {0}/m.safetensors {0}/t.parquet",
        "fit {0}/t.parquet -o {0}/f.safetensors --represent table --max-steps 5",
        "fit {0}/t.parquet -o {0}/f.safetensors",  # which is an error that names the columns
        "score {0}/m.safetensors {0}/t.parquet -o {0}/o.parquet --explain",
    ],
)
def test_no_command_to_the_terminal_gets_through(evil, capfd, command):
    main(command.format(evil).split())
    said = "".join(capfd.readouterr())
    assert "pwned" in said or "Scored" in said
    assert not set(said) & set("\x1b\x07\x9b\u202e\r")


def run(*arguments, **options) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "centrality.apps.cli", *map(str, arguments)]
    return subprocess.run(command, stderr=subprocess.PIPE, timeout=120, check=False, **options)


@pytest.mark.slow
def test_ascii_is_enough(evil):
    done = run(
        "rank", evil / "n.safetensors", evil / "t.parquet", stdout=-1, env=os.environ | {"PYTHONIOENCODING": "ascii"}
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u2588" in done.stdout or rb"\u2581" in done.stdout


@pytest.mark.slow
def test_a_full_stdout_is_an_error_in_one_line(evil):
    with Path("/dev/full").open("wb") as full:
        done = run("inspect", evil / "n.safetensors", stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode() == "centrality: [Errno 28] No space left on device\n"


@pytest.mark.slow
def test_a_reader_that_stops_reading_ends_the_command_quietly(evil):
    reading, writing = os.pipe()
    os.close(reading)
    done = run("inspect", evil / "n.safetensors", stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


SWALLOWS = """
import sys, time, signal, os, threading
from centrality.apps.commands import _terminal
_terminal.AGAIN = 0.2
with _terminal.ending_in_order() as interrupted:
    try:
        threading.Timer(0.2, os.kill, (os.getpid(), int(sys.argv[1]))).start()
        try:
            time.sleep(20)
        except KeyboardInterrupt:
            pass  # as a destructor or a callback would
        time.sleep(20)
        print("went on")
    except KeyboardInterrupt:
        print("ended", interrupted.status)
print(signal.getsignal(int(sys.argv[1])) is not None)
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_that_was_swallowed_comes_again(number):
    with foreground():
        done = subprocess.run(
            [sys.executable, "-c", SWALLOWS, str(int(number))], capture_output=True, text=True, timeout=60, check=True
        )
    assert done.stdout.splitlines() == [f"ended {128 + number}", "True"]


IN_BACKGROUND = """
import os, signal
from centrality.apps.commands._terminal import ending_in_order
with ending_in_order():
    os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGHUP)
    print("goes on")
"""


def test_a_command_in_the_background_is_not_ended_by_ctrl_c_nor_by_a_terminal_that_closes():
    with background():
        done = subprocess.run([sys.executable, "-c", IN_BACKGROUND], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("goes on\n", "")


@pytest.mark.slow
def test_workers_do_not_outlive_a_killed_caller(tmp_path):
    code = (
        "import sys, functools, time\n"
        "from centrality._internal import processes\n"
        "from tests.errands import tells_its_number_and_sleeps\n"
        "list(processes.run(functools.partial(tells_its_number_and_sleeps, sys.argv[1]), [1, 2], 2))\n"
    )
    caller = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)])
    while len(list(tmp_path.iterdir())) < 2:
        time.sleep(0.05)
        assert caller.poll() is None
    caller.kill()
    caller.wait()
    numbers = [int(path.name) for path in tmp_path.iterdir()]
    for _ in range(100):
        if not any(Path(f"/proc/{number}").exists() for number in numbers):
            break
        time.sleep(0.1)
    else:
        pytest.fail("workers outlived their caller by ten seconds")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("closed", "status", "said"),
    [
        ("<&-", 0, ""),
        ("2>&-", 0, ""),
        (">&-", 2, "centrality: stdout is closed: there is no place for results.\n"),
        ("<&- >&- 2>&-", 2, ""),
    ],
)
def test_a_closed_stream_is_one_line_or_none_and_no_file_takes_its_place(tmp_path, closed, status, said):
    np.save(tmp_path / "rows.npy", np.random.default_rng(0).normal(size=(30, 2)))
    command = f"{sys.executable} -m centrality depth mahalanobis rows.npy -o depths.csv {closed}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, said)
    if status == 0:
        assert len((tmp_path / "depths.csv").read_text().splitlines()) == 31


@pytest.mark.slow
def test_rows_from_a_closed_stdin_are_none(tmp_path):
    quick().fit(np.random.default_rng(0).normal(size=(30, 2))).save(tmp_path / "m.safetensors")
    command = f"{sys.executable} -m centrality score m.safetensors - <&-"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "centrality: stdin is empty: it has 0 rows and 0 columns.\n")


def test_a_program_without_stdin_says_so(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(tables.TableError, match="stdin is closed"):
        tables.open_rows("-")


@pytest.mark.slow
def test_a_working_folder_that_is_gone_is_said(tmp_path):
    (tmp_path / "gone").mkdir()
    command = f"rmdir ../gone; {sys.executable} -m centrality depth mahalanobis wine -o depths.csv"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path / "gone", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "centrality: The working folder is gone: go to one that is there.\n"
