"""A row has the same bits alone, in any company, order, batch and thread, and by every build of the engine."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from centrality import FUSE, load
from centrality.engine import engine
from centrality.fuse.batches import Batches, RowScales
from centrality.network.engine_backend import EngineScorer
from centrality.network.network import Layout
from centrality.network.scaling import Scaling, with_column_range
from tests.conftest import quick
from tests.engine.cases import BUILDS, ROWS, computed_by, network_of, rows_of, task_of
from tests.properties.test_promise import KINDS, model_of, places

pytestmark = pytest.mark.numbers
CASES = [
    (Layout(width=1, hidden=(1,), potentials=1), False),
    (Layout(width=17, hidden=(20, 33), shared=False, members=2, potentials=5), True),
    (Layout(width=100, hidden=(64, 64, 64), members=3, potentials=5), True),
    (Layout(width=33, hidden=(128, 5), potentials=2), False),
]
SCORES = ("raw", "heads", "centrality", "score_samples", "decision_function", "predict")


def bits(array: np.ndarray) -> list[int]:
    return np.ascontiguousarray(array).view(np.uint64).ravel().tolist()


@pytest.mark.slow
@settings(max_examples=25)
@given(st.sampled_from(sorted(KINDS)), st.integers(1, 60), st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_scores_have_the_same_bits_alone_and_in_any_company_and_order(kind, n, others, seed):
    rng, model = np.random.default_rng(seed), model_of(kind)
    Q, company = places(kind, n, rng), places(kind, others, rng)
    order = rng.permutation(n + others)
    for name in SCORES:
        score = getattr(model, name)
        together = score(np.concatenate([Q, company])[order])
        here = np.argsort(order)[:n]
        np.testing.assert_array_equal(score(Q), together[here], err_msg=name)
        alone = np.concatenate([score(row[None]) for row in Q[:5]])
        np.testing.assert_array_equal(alone, together[here[:5]], err_msg=name)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("kind", ["32 columns", "ensemble", "clean"])
def test_threads_change_no_bit_of_scores(monkeypatch, threads, kind):
    model, Q = model_of(kind), places(kind, 1000, np.random.default_rng(2))
    expected = model.raw(Q[-300:])
    monkeypatch.setattr("centrality.model.fitted.rows_per_block", lambda width: 150)  # several blocks
    monkeypatch.setattr("centrality.model.fitted.count_threads", lambda: threads)
    np.testing.assert_array_equal(model.raw(Q)[-300:], expected)


@pytest.mark.parametrize(("layout", "background"), CASES)
def test_every_build_gives_the_same_bits(layout, background):
    network = network_of(layout, background=background)
    rng = np.random.default_rng(0)
    z = rows_of(layout.width, 107) * rng.choice([1e-30, 1e-3, 1, 30, 1e6, 1e15], size=(107, 1)).astype(np.float32)
    lines = rows_of(layout.width, 4), rows_of(layout.width, 4, seed=1), rng.random((4, 7), dtype=np.float32)
    by = rng.normal(size=(layout.members, 4, 7, 1 + network.potentials)).astype(np.float32)
    found = []
    for build in BUILDS.values():
        scorer = EngineScorer(network, build)
        outputs, back = scorer.along(*lines)
        found.append((bits(scorer(z)), bits(outputs), back(by).view(np.uint32).tolist()))
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize(("layout", "background"), CASES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "given"])
def test_every_build_learns_the_same_bits_in_some_steps(layout, background, metric):
    found = []
    for build in BUILDS.values():
        task = task_of(layout, background=background, metric=metric)
        learner = task.engine_trainer(build, balance=0.5)
        losses = learner.take_steps(task.sampler().draw(5), np.full(5, 0.01))
        found.append([part.tobytes() for part in (learner._weights, learner._mean, learner._square, losses)])
    assert all(each == found[0] for each in found)


FITS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "two trunks": {"shared_encoder": False},
    "clean": {"novelty": True},
    "manhattan": {"metric": "manhattan", "scheme": 4},
    "epochs": {"epochs": 2, "max_steps": None},
}


def fitted_by(build: str, kind: str) -> FUSE:
    X = np.random.default_rng(0).standard_t(3, size=(300, 5))
    with computed_by(build):
        return quick(max_steps=30, **{name: value for name, value in FITS[kind].items() if name != "max_steps"}).fit(X)


@pytest.mark.parametrize("kind", FITS)
def test_whole_fits_leave_the_same_file_by_every_build(tmp_path, kind):
    files = []
    for build in BUILDS:
        fitted_by(build, kind).save(tmp_path / build)
        files.append((tmp_path / build).read_bytes())
    assert len(set(files)) == 1


@pytest.mark.parametrize("build", BUILDS)
def test_heads_with_a_trunk_each_learn_the_same_together_and_apart(build):
    layout = Layout(width=19, hidden=(37, 20), potentials=3, shared=False)
    learned = []
    for together in (True, False):
        with computed_by(build):
            learner = task_of(layout, weight_decay=0.01).engine_trainer(engine(), balance=0.5)
            rng = np.random.default_rng(0)
            positions, noise = rng.integers(ROWS, size=(7, 1, 16 + 9 + 20)), rng.normal(size=(7, 1, 9, 19))
            scales = RowScales.assign([0.3, 1.0, 2.0], 9, balanced=True)
            batches = Batches(positions, 8, 3, None, noise.astype(np.float32), scales)
            rates, losses = np.full(7, 1e-2, dtype=np.float32), np.zeros((1, 7, 2), dtype=np.float32)
            for heads in ("both",) if together else ("local", "global"):
                learner._train_member(0, heads, batches, rates=rates, losses=losses)
            learned.append([bits(array) for array in (learner._weights, learner._mean, learner._square, losses)])
    assert learned[0] == learned[1]


@pytest.mark.parametrize("kind", ["defaults", "clean"])
def test_threads_change_no_bit_of_a_fit(tmp_path, monkeypatch, kind):
    """Members of an ensemble are taught by threads of their own."""
    files = []
    for threads in (1, 2, 3):
        monkeypatch.setattr("centrality.fuse.train.count_threads", lambda threads=threads: threads)
        monkeypatch.setattr("centrality.model.fitted.count_threads", lambda threads=threads: threads)
        monkeypatch.setattr("centrality._internal.devices.count_threads", lambda threads=threads: threads)
        fitted_by(next(iter(BUILDS)), kind).save(tmp_path / str(threads))
        files.append((tmp_path / str(threads)).read_bytes())
    assert len(set(files)) == 1


@pytest.mark.parametrize("kind", ["ensemble", "clean, in narrow groups", "two trunks", "heavy tails"])
def test_a_file_scores_with_the_same_bits_by_every_build(tmp_path, kind):
    model_of(kind).save(tmp_path / "m.safetensors")
    Q, found = places(kind, 100, np.random.default_rng(3)), []
    for build in BUILDS:
        with computed_by(build):
            model = load(tmp_path / "m.safetensors")
            found.append([bits(model.raw(Q)), bits(model.explain(Q[:3]))])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_build_scales_rows_and_finds_the_ends_of_columns_with_the_same_bits(dtype):
    rng = np.random.default_rng(0)
    rows = rng.lognormal(0, 3, size=(301, 21)).astype(dtype)
    scaling = with_column_range(Scaling.fit(rows, "auto"), rows[:200])
    first, *others = [
        (by.scale(rows, scaling.to_engine(by)), by.scale_to_floats(rows, scaling.to_engine(by)), by.ends(rows))
        for by in BUILDS.values()
    ]
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_array_equal(np.asarray(a).view(np.uint8), np.asarray(b).view(np.uint8))


@pytest.mark.parametrize("build", BUILDS)
def test_ends_tell_which_columns_hold_no_finite_numbers(build):
    rows = np.random.default_rng(0).normal(size=(100, 5))
    rows[70, 1], rows[99, 3] = np.nan, -np.inf
    found = BUILDS[build].ends(rows)
    np.testing.assert_array_equal(np.isnan(found), [[False, True, False, True, False]] * 2)
    finite = [0, 2, 4]
    np.testing.assert_array_equal(found[:, finite], [rows[:, finite].min(0), rows[:, finite].max(0)])


def test_every_build_finds_the_same_groups():
    rows = rows_of(17, 500)
    rows[100:300] = rows[:200]  # copies, and rows between two centres: ties
    drawn = np.random.default_rng(0).random((39, 3))
    found = []
    for build in BUILDS.values():
        start = build.far_apart(rows, 5, drawn)
        centres = rows[start].astype(np.float64)
        found.append((start.tolist(), build.k_means(rows, centres, 10).tolist(), bits(centres)))
    assert all(each == found[0] for each in found)
