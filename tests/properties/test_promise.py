"""A row's scores do not depend on its company, order or batch, and lie where exact arithmetic puts them."""

import copy
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from centrality import FUSE, load
from centrality.torch.module import TorchScorer
from tests.conftest import quick
from tests.promise import ROOM, Exact, assert_kept, assert_same_scores

pytestmark = pytest.mark.numbers
RNG = np.random.default_rng(0)
GROUPS = 10.0 * RNG.integers(4, size=(600, 1)) + 0.01 * RNG.normal(size=(600, 8))  # far apart for how narrow they are
KINDS = {
    "plane": (RNG.normal(size=(600, 2)), {"max_steps": 300, "hidden": (128, 128)}),
    "32 columns": (RNG.normal(size=(600, 32)), {"max_steps": 300, "hidden": (128, 128)}),
    "200 columns": (RNG.normal(size=(600, 200)), {"hidden": (128, 128)}),
    "heavy tails": (RNG.standard_cauchy(size=(600, 5)), {"max_steps": 300, "hidden": (128, 128)}),
    "ensemble": (RNG.normal(size=(600, 5)), {"ensemble": 3}),
    "two trunks": (RNG.normal(size=(600, 5)), {"shared_encoder": False}),
    "one noise scale, clipped": (RNG.normal(size=(600, 5)), {"noise_scale": 1.0, "calibration": "clip"}),
    "the paper's": (RNG.normal(size=(300, 5)), FUSE.as_in_paper("synthetic", epochs=3, random_state=0).get_params()),
    "clean": (RNG.normal(size=(600, 3)), {"novelty": True}),
    "clean, in narrow groups": (GROUPS, {"novelty": True}),
    "clean, an ensemble": (RNG.normal(size=(300, 40)), {"novelty": True, "ensemble": 2}),
}
MODELS: dict[str, FUSE] = {}
SAVED = (
    "CENTRALITY_TEST_MODELS"  # a folder with their files: an emulated CPU would take minutes to fit what every CPU fits
)


def scored_by_torch(model: FUSE) -> FUSE:
    """The same model, its networks computed by torch as on a GPU."""
    other, fitted = copy.copy(model), replace(model.fitted_)
    vars(fitted)["scorer"] = TorchScorer(fitted.network, "cpu")
    other.fitted_ = fitted
    return other


def model_of(kind: str) -> FUSE:
    if kind not in MODELS:
        X, changes = KINDS[kind]
        saved = os.environ.get(SAVED)
        MODELS[kind] = load(file_of(kind, Path(saved)), device="cpu") if saved else quick(**changes).fit(X)
    return MODELS[kind]


def file_of(kind: str, folder: Path) -> Path:
    return folder / f"{list(KINDS).index(kind)}.safetensors"


def places(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    """Rows like those of training, and others ever farther away."""
    X = KINDS[kind][0]
    far = rng.choice([0, 1, 100, 1e6, 1e15], size=(n, 1), p=[0.6, 0.1, 0.1, 0.1, 0.1])
    return X[rng.integers(len(X), size=n)] + far * X.std(0) * rng.normal(size=(n, X.shape[1]))


@pytest.mark.parametrize("n", [1, 33, pytest.param(517, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_scores_lie_twice_as_close_to_exact_ones_as_promised(kind, n):
    model, Q = model_of(kind), places(kind, n, np.random.default_rng(n))
    exact = Exact(model, Q)
    assert_kept(model, Q, exact=exact)
    assert_kept(scored_by_torch(model), Q, exact=exact)


@pytest.mark.slow
@settings(max_examples=22)
@given(st.sampled_from(sorted(KINDS)), st.integers(1, 60), st.integers(0, 200), st.integers(0, 2**32 - 1))
def test_company_order_and_subsets_do_not_matter(kind, n, others, seed):
    rng, model = np.random.default_rng(seed), model_of(kind)
    Q, company = places(kind, n, rng), places(kind, others, rng)
    assert_kept(model, Q, company=company)
    order, some = rng.permutation(n), rng.choice(n, size=rng.integers(1, n + 1), replace=False)
    assert_same_scores(model.heads(Q[order]), model.heads(Q)[order])
    assert_same_scores(model.centrality(Q[some]), model.centrality(Q)[some])
    assert_kept(model, Q[some])


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_call_repeats_bits_wherever_in_memory_its_rows_lie(kind):
    model = model_of(kind)
    for n in (7, 300):
        Q = places(kind, n, np.random.default_rng(1))
        first = model.raw(Q)
        held = np.empty(Q.size + 16)
        for start in (1, 3, 8):
            moved = held[start : start + Q.size].reshape(Q.shape)
            moved[:] = Q
            np.testing.assert_array_equal(model.raw(moved), first)


@pytest.mark.slow
def test_threads_do_not_matter():
    model, Q = model_of("32 columns"), places("32 columns", 5000, np.random.default_rng(2))
    model, before = scored_by_torch(model), torch.get_num_threads()  # the engine's threads: tests/engine
    try:
        torch.set_num_threads(2)
        two = model.heads(Q)
        torch.set_num_threads(1)
        assert_same_scores(model.heads(Q), two)
    finally:
        torch.set_num_threads(before)
    assert_same_scores(two, Exact(model, Q).heads, ROOM)


@pytest.mark.slow
@pytest.mark.parametrize("novelty", [False, True])
def test_with_an_encoder_of_ones_own_the_promise_holds_too(novelty):
    """It computes in float32 whatever the batch; the prior beside it does not."""
    torch.manual_seed(0)
    encoder = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))
    model = quick(encoder=encoder, novelty=novelty).fit(GROUPS)
    together = model.heads(GROUPS)
    assert_same_scores(np.vstack([model.heads(row[None]) for row in GROUPS[:40]]), together[:40])
