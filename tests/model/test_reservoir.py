import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from centrality import Chain, load
from centrality.model import reservoir
from centrality.model.reservoir import Reservoir
from centrality.network.scaling import dense
from centrality.representations import Table
from tests.conftest import quick


def held(memory: Reservoir) -> np.ndarray:
    """The rows that are remembered, dense."""
    assert memory.rows is not None
    return dense(memory.rows)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=6), st.integers(0, 10))
def test_memory_never_outgrows_its_room_and_counts_every_row(sizes, seed):
    rng = np.random.default_rng(seed)
    memory = Reservoir.of(np.zeros((sizes[0], 1024)), None, rng)  # 256 rows at most
    for size in sizes[1:]:
        memory = memory.with_new(np.ones((size, 1024)), None, rng)
    assert memory.seen == sum(sizes)
    assert held(memory).shape[0] == min(256, sum(sizes))


def test_all_rows_ever_seen_are_equally_likely_to_be_remembered(monkeypatch):
    monkeypatch.setattr(reservoir, "REMEMBERED_VALUES", 0)  # 256 rows
    shares = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        memory = Reservoir.of(np.zeros((1000, 1)), None, rng)
        for batch in range(1, 4):
            memory = memory.with_new(np.full((1000, 1), float(batch)), None, rng)
        shares.append(np.bincount(held(memory)[:, 0].astype(int), minlength=4) / 256)
    error = np.std(shares, axis=0) / np.sqrt(len(shares))
    assert (np.abs(np.mean(shares, axis=0) - 0.25) < 4 * error + 1e-3).all()


def remembered_after(batches: list[np.ndarray], rng: np.random.Generator) -> np.ndarray:
    memory = Reservoir.of(batches[0], None, rng)
    for batch in batches[1:]:
        memory = memory.with_new(batch, None, rng)
    return held(memory)[:, 0].astype(int)


@pytest.mark.parametrize("largest", [reservoir.HYPERGEOMETRIC_ROWS, 0], ids=["few rows", "as if they were billions"])
def test_memory_is_a_sample_without_repetition_of_all_rows_seen(monkeypatch, largest):
    """256 of 1200 rows that came in unequal batches, 2000 times over."""
    monkeypatch.setattr(reservoir, "REMEMBERED_VALUES", 0)  # 256 rows
    monkeypatch.setattr(reservoir, "HYPERGEOMETRIC_ROWS", largest)
    sizes, n, kept, runs = np.array([400, 100, 700]), 1200, 256, 2000
    batches = np.split(np.arange(n)[:, None], np.cumsum(sizes)[:-1])
    rng = np.random.default_rng(0)
    samples = np.stack([remembered_after(batches, rng) for _ in range(runs)])
    assert (np.diff(np.sort(samples, axis=1), axis=1) > 0).all()  # nobody is remembered twice

    share = kept / n  # each row's chance: its count over the runs is binomial
    counts = np.bincount(samples.ravel(), minlength=n)
    error = np.sqrt(runs * share * (1 - share))
    assert np.abs(counts - runs * share).max() < 5.5 * error  # of 1200 normal numbers all are, but once in 20 000 times

    batch = np.repeat(range(3), sizes)[samples]
    of_batch = np.stack([(batch == k).sum(1) for k in range(3)])  # (3, runs) hypergeometric
    part = sizes / n
    mean, variance = kept * part, kept * part * (1 - part) * (n - kept) / (n - 1)
    assert (np.abs(of_batch.mean(1) - mean) < 5 * np.sqrt(variance / runs)).all()
    if largest:  # with repetition it would be 27% more; a variance estimated from 2000 runs is within 3.2%
        np.testing.assert_allclose(of_batch.var(1), variance, rtol=5 * np.sqrt(2 / runs))


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_what_was_not_seen_again_after_loading_cannot_be_remembered(make):
    """A loaded model has seen a million rows and remembers none: the new ones fill its memory."""
    rng = np.random.default_rng(0)
    memory = Reservoir(None, None, 10**6).with_new(make(np.ones((100, 1024))), None, rng)
    assert held(memory).shape == (100, 1024)
    memory = memory.with_new(make(np.full((100, 1024), 2.0)), None, rng)
    assert (held(memory).shape[0], memory.seen) == (200, 10**6 + 200)
    memory = memory.with_new(make(np.full((100, 1024), 3.0)), None, rng)
    assert held(memory).shape == (256, 1024)
    # 100 of 1 000 300 rows are new: all old rows stay but for those that make room, and 56 rows are needed
    assert (held(memory)[:, [0]] == 3.0).sum() == 56


def test_more_rows_than_numpys_law_can_count_are_no_error():
    memory = Reservoir(np.zeros((256, 1024)), None, 3 * 10**9).with_new(
        np.ones((1000, 1024)), None, np.random.default_rng(0)
    )
    assert memory.seen == 3 * 10**9 + 1000
    assert held(memory).sum() == 0  # a new row's chance to be among the 256 is one in ten thousand


def test_a_remembered_row_keeps_its_fold():
    rng = np.random.default_rng(0)
    first, second = np.arange(400.0), 1000 + np.arange(300.0)

    def folds(x: np.ndarray) -> np.ndarray:
        return x.astype(np.int64) % 4

    memory = Reservoir.of(np.tile(first[:, None], 1024), folds(first), rng)
    memory = memory.with_new(np.tile(second[:, None], 1024), folds(second), rng)
    assert (held(memory)[:, 0] >= 1000).any()
    np.testing.assert_array_equal(memory.folds, folds(held(memory)[:, 0]))


def test_rows_without_folds_make_all_of_them_unknown():
    rng = np.random.default_rng(0)
    memory = Reservoir.of(np.zeros((10, 2)), np.zeros(10, dtype=np.int64), rng)
    assert memory.with_new(np.ones((10, 2)), None, rng).folds is None


# `calibrate` wants rows that are new, and says so while it can still tell.

RNG = np.random.default_rng(3)
X, FRESH = RNG.normal(size=(500, 3)), RNG.normal(size=(300, 3))
SAID = r"About \d+% of these rows are training rows, which the networks have seen"


@pytest.mark.parametrize("rows", [X, X[::-1], X[:100], X.tolist()])
def test_training_rows_in_any_order_and_number_are_warned_of(rows):
    with pytest.warns(UserWarning, match=SAID):
        quick().fit(X).calibrate(rows)


@pytest.mark.slow
def test_so_are_those_of_a_chain_and_of_many_rows_of_which_few_are_remembered():
    with pytest.warns(UserWarning, match=SAID):
        Chain(Table(), quick()).fit(X).calibrate(X)
    many = RNG.normal(size=(20_000, 40))
    model = quick(max_steps=5).fit(many)
    assert len(held(model.fitted_.remembered)) < 10_000
    with pytest.warns(UserWarning, match=SAID):
        model.calibrate(many[3000:9000])


def test_new_rows_rows_that_repeat_and_a_loaded_model_are_not(tmp_path):
    model = quick().fit(X)
    model.calibrate(FRESH)
    model.calibrate(np.concatenate([FRESH, X[:100]]))  # a quarter is known
    few = RNG.integers(8, size=(400, 3)).astype(float)  # 512 rows there can be
    quick().fit(few).calibrate(RNG.integers(8, size=(400, 3)).astype(float))
    model.save(tmp_path / "m.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path / "m.safetensors").calibrate(X)
