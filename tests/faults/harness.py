"""Disturb a job at a moment drawn by lot, and see that what it leaves is whole or absent, and nothing else.

Every job runs in a child that is forked from a process in which everything is imported: faults then hit the work, not
the imports. A child's disturbances follow from the seed alone, which is logged.
"""

import os
import random
import shutil
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import cycle, islice
from pathlib import Path

from tests.faults.jobs import Job, prepare

KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
LONGEST = 600.0  # seconds that a job may take, however disturbed, on however busy a machine
IN_ORDER = (0, 2, 130, 143)  # what a job may exit with: never 70, which is a bug of ours


class BrokenError(AssertionError):
    """Says that a fault did damage."""


@dataclass
class Child:
    """A process that runs a job; what it prints goes to a file."""

    job: Job
    folder: Path
    limit: int | None = None  # the most bytes a file may have: a disk that is full then

    def __post_init__(self) -> None:
        self.log = self.folder / ".log"
        self.pid = os.fork()
        if self.pid == 0:
            self._run()

    def _run(self) -> None:
        """Be the child."""
        status = 1
        try:
            os.setpgid(0, 0)
            signal.signal(INT, signal.default_int_handler)  # a shell's background jobs ignore it, and so would this
            log = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(log, 1)
            os.dup2(log, 2)
            if self.limit is not None:
                import resource

                signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit, self.limit))
            status = self.job.run(self.folder)
        except KeyboardInterrupt:  # before the job had begun to listen
            status = 130
        except BaseException:  # the child must end here, whatever comes
            traceback.print_exc()
        finally:
            os._exit(status)

    def wait(self) -> int:
        """Wait for its end; return the status, negative for the signal that ended it."""
        deadline = time.monotonic() + LONGEST
        while time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.005)
        os.killpg(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise BrokenError(f"{self.job.name} did not end within {LONGEST:.0f} s")


@dataclass
class Trial:
    """One job in a folder of its own, to be disturbed again and again; `tally` counts what came of it."""

    job: Job
    folder: Path
    random: random.Random
    tally: Counter = field(default_factory=Counter)

    def begin(self) -> None:
        """Run the job undisturbed: for the bytes it writes, the names it leaves, and the time it takes."""
        prepare(self.folder)
        self.given = self._names()
        begun = time.monotonic()
        self._require(Child(self.job, self.folder).wait() == 0, "an undisturbed run failed")
        self.seconds = time.monotonic() - begun
        self.whole = {name: (self.folder / name).read_bytes() for name in self.job.outputs}
        self.names = self._names()
        self.clear()

    def clear(self) -> None:
        """Remove what the job has written."""
        for name in self._names() - self.given:
            (self.folder / name).unlink()

    def kill(self, number: int) -> None:
        """Send a signal at some moment; afterwards every output is whole or absent."""
        before = self._strays()  # a job that is ended before it writes cannot know of them
        child = Child(self.job, self.folder)
        time.sleep(self.random.uniform(0, 1.05 * self.seconds))
        os.kill(child.pid, number)
        status = child.wait()
        if number != KILL:
            self._require(status in IN_ORDER or status == -number, f"it ended with {status} after signal {number}")
            self._settle()
            strays = self._strays() - before
            self._require(not strays, f"it was asked to end, and left {strays}")
        self._note(signal.Signals(number).name)

    def fill_disk(self) -> None:
        """Let no file grow beyond a size drawn by lot."""
        most, before = max(map(len, self.whole.values())), self._strays()
        status = Child(self.job, self.folder, limit=self.random.randrange(1, most)).wait()
        self._require(status in (0, 2), f"it ended with {status} on a full disk")
        self._require(self._strays() <= before, f"it left {self._strays()}")
        self._note("full disk")

    def cut_input(self) -> None:
        """Cut what the job reads while it reads it; then put it back."""
        path = self.folder / self.job.data
        content, times, before = path.read_bytes(), path.stat(), self._strays()
        child = Child(self.job, self.folder)
        time.sleep(self.random.uniform(0, self.seconds))
        os.truncate(path, self.random.randrange(len(content)))
        status = child.wait()
        self._require(status in (0, 2), f"it ended with {status} when its input was cut")
        self._require(self._strays() <= before, f"it left {self._strays()}")
        path.write_bytes(content)
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        self.tally["input cut"] += 1
        self.clear()  # what it wrote was of other rows

    def lose_folder(self) -> None:
        """Take the folder of outputs away while the job runs, as if its permissions were revoked."""
        if "/" not in self.job.outputs[0]:
            return
        out = self.folder / "out"
        child = Child(self.job, self.folder)
        time.sleep(self.random.uniform(0, self.seconds))
        gone = out.exists()
        if gone:
            out.rename(self.folder / "gone")
            out.touch()  # nobody can make the folder anew
        status = child.wait()
        self._require(status in (0, 2), f"it ended with {status} when its folder was gone")
        if gone:
            out.unlink()
            shutil.rmtree(self.folder / "gone")
        self.tally["folder gone"] += 1

    def finish(self) -> None:
        """Run the job again: it ends with the bytes of an undisturbed run, and nothing is left of the faults."""
        self._settle()
        self._require(Child(self.job, self.folder).wait() == 0, "the next run failed")
        found = {name: (self.folder / name).read_bytes() for name in self.job.outputs}
        for name, content in self.whole.items():
            self._require(found[name] == content, f"{name} differs from an undisturbed run's")
        self._require(self._names() == self.names, f"strays are left: {self._names() - self.names}")
        self.tally["identical after the next run"] += 1
        self.clear()

    def _note(self, fault: str) -> None:
        """Count what came of a fault; what is whole is removed, so that the next fault meets work."""
        state = self._state()
        self.tally[f"{fault}: {state}"] += 1
        if state == "whole":
            self.clear()

    def _state(self) -> str:
        """Say whether the outputs are whole, absent, or whole in part; raise if one is neither."""
        there = [name for name in self.job.outputs if (self.folder / name).exists()]
        for name in there:
            self._require((self.folder / name).read_bytes() == self.whole[name], f"{name} is there, but not whole")
        return "absent" if not there else "whole" if len(there) == len(self.job.outputs) else "some whole"

    def _names(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()} - {".log"}

    def _strays(self) -> set[str]:
        return self._names() - self.given - set(self.job.outputs)

    def _settle(self) -> None:
        """Wait until no worker of a child that ended is left: a second is what they have."""
        for _ in range(100):
            if "workers" not in self.job.name or not self._strays():
                return
            time.sleep(0.05)

    def _require(self, is_right: bool, otherwise: str) -> None:
        if not is_right:
            log = self.folder / ".log"
            said = log.read_text(errors="replace")[-3000:] if log.exists() else ""
            raise BrokenError(f"{self.job.name}: {otherwise}\n{said}")


def disturb(job: Job, folder: Path, seed: int, faults: list[Callable[[Trial], None]]) -> Counter:
    """Disturb a job by each of the faults, and let it finish after every few; return what came of it."""
    trial = Trial(job, folder, random.Random(f"{seed} {job.name}"))
    trial.begin()
    for number, fault in enumerate(faults, 1):
        fault(trial)
        if number % 4 == 0 or number == len(faults):
            trial.finish()
    return trial.tally


def kills(count: int, *signals: int) -> list[Callable[[Trial], None]]:
    """Return so many kills, by these signals in turn."""
    return [partial(_kill, by=by) for by in islice(cycle(signals), count)]


def _kill(trial: Trial, by: int) -> None:
    trial.kill(by)
