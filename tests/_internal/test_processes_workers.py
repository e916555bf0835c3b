"""Work on processes of this machine: replaced when killed, stopped when nobody waits, a thread each."""

from functools import partial

import psutil
import pytest

from centrality import tables
from centrality._internal import processes
from tests import errands


@pytest.mark.slow
def test_an_error_in_a_worker_comes_back_as_it_was_and_stops_the_others():
    with pytest.raises(tables.TableError, match="no threes"):
        list(processes.run(errands.refuses_three, range(1000), workers=2))
    assert not [child for child in psutil.Process().children() if "_internal.processes" in " ".join(child.cmdline())]


def test_a_killed_worker_is_replaced_and_its_item_done_by_another(tmp_path):
    done = list(processes.run(partial(errands.killed_once, str(tmp_path / "seen")), range(8), workers=2))
    assert sorted(done) == [(x, x * x) for x in range(8)]
    assert (tmp_path / "seen").exists()


def test_an_item_that_kills_every_worker_is_named():
    with pytest.raises(ChildProcessError, match=r"killed by signal 9 \(SIGKILL\) 3 times over 3\. If memory ran out"):
        list(processes.run(errands.killed_by_three, range(6), workers=2))


def test_leaving_early_stops_the_workers():
    running = processes.run(errands.slow_square, range(1000), workers=2)
    next(running)
    ours = [
        child for child in psutil.Process().children() if "centrality._internal.processes" in " ".join(child.cmdline())
    ]
    assert len(ours) == 2
    running.close()
    psutil.wait_procs(ours, timeout=10)
    assert not [child for child in ours if child.is_running()]


@pytest.mark.slow
def test_a_worker_computes_with_one_thread():
    assert list(processes.run(errands.threads, [0], workers=1)) == [(0, 1)]
