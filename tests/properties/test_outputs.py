"""Outputs: never over an input, through links and into devices, with the mode they had, refused before the work."""

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality import load, tables
from centrality._internal import files
from centrality._internal.files import remove_leftovers, require_writable, write_atomically
from centrality.apps.cli import main
from tests.conftest import quick

FIT = ["--max-steps", "5", "--random-state", "0"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with data and a model, in which commands run."""
    monkeypatch.chdir(tmp_path)
    tables.write(pa.table({"a": np.sqrt(np.arange(50.0)), "b": np.arange(50.0) ** 2 % 7}), "data.csv")
    tables.write(tables.read("data.csv"), "data.parquet")
    quick(max_steps=5).fit(tables.read("data.csv")).save("m.safetensors")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


ONTO_INPUTS = [
    "fit data.csv -o data.safetensors",
    "fit data.csv -o ./link.safetensors",
    "score m.safetensors data.csv -o data.csv",
    "score m.safetensors data.parquet -o ./",
    "explore m.safetensors data.csv --export data.csv",
    "explore m.safetensors data.csv --export m.safetensors",
    "depth mahalanobis data.csv -o data.csv",
    "export m.safetensors -o m.onnx",
    "plot scores m.safetensors data.csv -o data.png",
    "fit folder -o folder/1.safetensors",
    "detect m.safetensors data.csv -o data.csv",
    "drift m.safetensors data.csv --plot data.png",
]


@pytest.mark.parametrize("command", ONTO_INPUTS)
def test_an_output_that_is_read_is_refused_and_nothing_changes(here, capsys, command):
    (here / "link.safetensors").symlink_to("data.csv")
    (here / "data.safetensors").hardlink_to(here / "data.csv")
    (here / "m.onnx").symlink_to("m.safetensors")
    (here / "data.png").hardlink_to(here / "data.csv")
    (here / "folder").mkdir()
    tables.write(tables.read("data.csv"), "folder/1.parquet")
    (here / "folder" / "1.safetensors").hardlink_to(here / "folder" / "1.parquet")
    before = contents(here)
    assert main(command.split()) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert contents(here) == before


def test_a_file_keeps_its_mode_and_a_new_one_gets_the_usual(here):
    before = os.umask(0o027)
    try:
        assert main(["fit", "data.csv", "-o", "new.safetensors", *FIT]) == 0
        (here / "secret.safetensors").touch(mode=0o600)
        (here / "shared.safetensors").touch()
        (here / "shared.safetensors").chmod(0o664)
        (here / "fixed.safetensors").touch()
        (here / "fixed.safetensors").chmod(0o444)
        for name in ("secret", "shared", "fixed"):
            assert main(["fit", "data.csv", "-o", f"{name}.safetensors", *FIT]) == 0
    finally:
        os.umask(before)
    modes = {path.stem: stat.S_IMODE(path.stat().st_mode) for path in here.glob("*.safetensors") if path.stem != "m"}
    assert modes == {"new": 0o640, "secret": 0o600, "shared": 0o664, "fixed": 0o444}


def test_nobody_else_can_read_meanwhile_what_nobody_else_may_read(tmp_path):
    (tmp_path / "secret").touch(mode=0o600)
    with write_atomically(tmp_path / "secret") as beside:
        assert stat.S_IMODE(beside.stat().st_mode) == 0o600
        beside.write_text("new")
    assert (tmp_path / "secret").read_text() == "new"


def test_a_link_stays_and_what_it_leads_to_is_written(here):
    (here / "elsewhere").mkdir()
    (here / "link.safetensors").symlink_to("elsewhere/real.safetensors")
    for _ in range(2):  # to nowhere, then to a file
        assert main(["fit", "data.csv", "-o", "link.safetensors", *FIT]) == 0
        assert (here / "link.safetensors").is_symlink()
        assert load(here / "elsewhere" / "real.safetensors").n_features_in_ == 2


def test_a_pipe_is_written_to_and_not_replaced(here):
    os.mkfifo("pipe.safetensors")
    received = []
    reader = threading.Thread(target=lambda: received.append(Path("pipe.safetensors").read_bytes()))
    reader.start()
    assert main(["fit", "data.csv", "-o", "pipe.safetensors", *FIT]) == 0
    reader.join(20)
    assert stat.S_ISFIFO(Path("pipe.safetensors").stat().st_mode)
    Path("copy.safetensors").write_bytes(received[0])
    assert load("copy.safetensors").n_features_in_ == 2


def test_a_device_is_written_to_and_not_replaced(here, capsys):
    (here / "null.safetensors").symlink_to("/dev/null")
    assert main(["fit", "data.csv", "-o", "null.safetensors", *FIT]) == 0
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    (here / "full.safetensors").symlink_to("/dev/full")
    assert main(["fit", "data.csv", "-o", "full.safetensors", *FIT]) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_said_before_training(here, capsys, monkeypatch):
    monkeypatch.setattr("centrality.fuse.FUSE.fit", lambda *_: pytest.fail("it trained"))
    assert main(["fit", "data.csv", "-o", "/proc/m.safetensors", *FIT]) == 2  # nobody, not even root, can write there
    assert "Cannot write /proc/m.safetensors: its folder cannot be written" in capsys.readouterr().err
    assert main(["fit", "data.csv", "-o", "no/m.safetensors", *FIT]) == 2
    assert "the folder no does not exist" in capsys.readouterr().err


def test_looking_whether_a_file_can_be_written_leaves_nothing(tmp_path):
    require_writable(tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys, time
from centrality._internal.files import write_atomically
with write_atomically(sys.argv[1]) as beside:
    beside.write_text("half")
    print(beside.name, flush=True)
    sys.stdin.read()
"""


def writing(path: Path) -> subprocess.Popen:
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdin=-1, stdout=-1, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_what_the_killed_left_is_gone_after_the_next_and_what_the_living_write_stays(tmp_path):
    place = tmp_path / "f.txt"
    killed, other, living = writing(place), writing(place), writing(place)
    assert len(list(tmp_path.iterdir())) == 3
    for process in (killed, other):
        process.kill()
        process.communicate()
    remove_leftovers([place])
    assert [path.read_text() for path in tmp_path.iterdir()] == ["half"]
    with write_atomically(place) as beside:
        beside.write_text("whole")
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["half", "whole"]
    living.communicate("")
    assert [path.name for path in tmp_path.iterdir()] == ["f.txt"]
    assert place.read_text() == "half"  # it was the last to finish


def test_a_killed_writers_file_is_taken_over_without_looking_through_the_folder(tmp_path, monkeypatch):
    killed = writing(tmp_path / "f.txt")
    killed.kill()
    killed.communicate()
    monkeypatch.setattr(Path, "glob", lambda *_: pytest.fail("it looked through the folder"))
    with write_atomically(tmp_path / "f.txt") as beside:
        assert beside.read_text() == ""
    assert list(tmp_path.iterdir()) == [tmp_path / "f.txt"]


@pytest.mark.parametrize("trap", ["link", "hard link", "another's"])
def test_a_trap_beside_the_place_is_not_stepped_into(tmp_path, trap):
    """In a folder that others can write to, they may guess the name beside a place."""
    victim, beside = tmp_path / "victim", tmp_path / ".f.00000000.txt"
    victim.write_text("precious")
    if trap == "link":
        beside.symlink_to(victim)
    elif trap == "hard link":
        beside.hardlink_to(victim)
    else:
        beside.write_text("precious")
        if os.geteuid() != 0:
            pytest.skip("only root can give a file away")
        os.chown(beside, 12345, 12345)
    with write_atomically(tmp_path / "f.txt") as used:
        used.write_text("new")
    assert (tmp_path / "f.txt").read_text() == "new"
    assert (tmp_path / "f.txt").stat().st_uid == os.geteuid()
    assert victim.read_text() == "precious"
    assert beside.read_text() == "precious"


def test_without_locks_names_are_drawn_by_lot(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "fcntl", None)
    with write_atomically(tmp_path / "f.txt") as one, write_atomically(tmp_path / "f.txt") as other:
        assert one != other
        one.write_text("1")
        other.write_text("2")
    assert list(tmp_path.iterdir()) == [tmp_path / "f.txt"]


class _InterruptAt:
    """Raises KeyboardInterrupt at the n-th moment at which Python would: a function begins, or one of C's has ended."""

    def __init__(self, moment: int) -> None:
        self.left = moment

    def __call__(self, frame, event, _) -> None:
        if event in ("call", "c_return"):
            self.left -= 1
            if self.left == 0:
                sys.setprofile(None)
                raise KeyboardInterrupt


def test_an_interrupt_at_any_moment_leaves_no_file_behind(tmp_path):
    for moment in range(1, 1000):
        interrupt = _InterruptAt(moment)
        sys.setprofile(interrupt)
        try:
            require_writable(tmp_path / "f.txt")
        except KeyboardInterrupt:
            assert not list(tmp_path.iterdir()), f"interrupted at moment {moment}"
        else:
            break
        finally:
            sys.setprofile(None)
    assert interrupt.left > 0
    assert 20 < moment < 999


def test_a_full_disk_is_told_with_the_file_that_it_was_full_for(tmp_path, capsys):
    import resource

    (tmp_path / "out.csv").write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        status = main(["depth", "mahalanobis", "iris", "-o", str(tmp_path / "out.csv"), "--columns", "sepal_length"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert status == 2
    assert f"Cannot write {tmp_path / 'out.csv'}: there is no space left for it." in capsys.readouterr().err
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("out.csv", "old")]
