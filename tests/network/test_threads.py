"""How many threads torch takes: lowered where we compute, and left as it was for everybody else."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import centrality.network.threads as holding
from centrality.model.blocks import block_by_block
from centrality.network.network import Layout, build
from centrality.network.threads import threads
from centrality.network.torch_scorer import TorchScorer

WANTED = 3  # unlike any machine's default that these tests know of, and unlike one


@pytest.fixture(autouse=True)
def wanted():
    before = torch.get_num_threads()
    torch.set_num_threads(WANTED)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["own", "everybody's"])
def way(request, monkeypatch):
    """Both ways to lower the number: the thread's own, and the process's, where there is no other."""
    if request.param == "own":
        assert holding._lower_mine() is not None  # else there is nothing here to test it by
    else:
        monkeypatch.setattr(holding, "_lower_mine", lambda: None)
    return request.param


class Other:
    """A thread that does one thing after another, as it is told."""

    def __init__(self) -> None:
        self.pool = ThreadPoolExecutor(1)

    def does(self, work, *what):
        return self.pool.submit(work, *what).result()


def mkls() -> int:
    """How many threads MKL would take here; one where there is no MKL."""
    found = re.search(r"mkl_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info())
    return 1 if found is None else int(found[1])


def test_the_number_is_lowered_inside_and_restored_after(way):
    with threads(1) as before:
        assert (before, torch.get_num_threads(), mkls()) == (WANTED, 1, 1)
        with threads(2) as inner:
            assert (inner, torch.get_num_threads()) == (1, 1)
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == WANTED
    assert mkls() in (1, WANTED)
    with threads(8):
        assert torch.get_num_threads() == WANTED
    with threads(0):
        assert torch.get_num_threads() == 1
    with pytest.raises(ZeroDivisionError), threads(1):
        raise ZeroDivisionError
    assert torch.get_num_threads() == WANTED


def test_a_thread_that_first_touches_torch_while_another_scores_gets_its_whole_number():
    other = Other()
    with threads(1):
        assert other.does(torch.get_num_threads) == WANTED
    assert other.does(torch.get_num_threads) == WANTED
    assert Other().does(torch.get_num_threads) == WANTED


ORDERS = ["abAB", "abBA", "aAbB", "abcBAC", "abAcBC"]  # a: thread a goes in, A: it comes out


@pytest.mark.parametrize("order", ORDERS)
def test_threads_that_score_at_once_all_find_their_number_again(way, order):
    others = {name: Other() for name in order.lower()}
    open_ = {}
    for step in order:
        if step.islower():
            open_[step] = threads(1)
            assert others[step].does(open_[step].__enter__) == WANTED
            assert others[step].does(torch.get_num_threads) == 1
        else:
            others[step.lower()].does(open_[step.lower()].__exit__, None, None, None)
            assert others[step.lower()].does(torch.get_num_threads) == WANTED
    assert [other.does(torch.get_num_threads) for other in others.values()] == [WANTED] * len(others)
    assert torch.get_num_threads() == Other().does(torch.get_num_threads) == WANTED


MET = threading.Barrier(2, timeout=60)
SEEN: dict[int, tuple[int, int]] = {}  # by thread: how many threads torch and MKL would take in it


class Meeting(torch.nn.Module):
    """An encoder that two threads must be in at once. It looks at all that it is given but the two rows of a probe."""

    def forward(self, rows):
        if len(rows) != 2:
            MET.wait()
            SEEN.setdefault(threading.get_ident(), (torch.get_num_threads(), mkls()))
        return rows


def test_blocks_are_taken_by_several_threads_that_compute_alone(way, monkeypatch):
    monkeypatch.setattr("centrality.model.blocks.cores", lambda: 2)
    SEEN.clear()
    network = build(Layout(width=1, hidden=(1,), encoder=Meeting()), np.random.default_rng(0))
    scorer = TorchScorer(network, "cpu")
    X = np.arange(12.0, dtype=np.float32).reshape(12, 1)
    found = block_by_block(X, 3, lambda rows: scorer(rows)[0], "cpu")
    MET.reset()
    weight = network.weights["global_head.weight"][0, 0]
    np.testing.assert_allclose(found[:, 0], X[:, 0] * weight + network.weights["global_head.bias"][0], rtol=1e-6)
    assert len(SEEN) == 2
    assert set(SEEN.values()) == {(1, 1)}
    assert torch.get_num_threads() == Other().does(torch.get_num_threads) == WANTED
