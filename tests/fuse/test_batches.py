from dataclasses import replace

import numpy as np
import pytest

from centrality.fuse.batches import Batches, BatchSampler, batches_of_epoch
from centrality.fuse.comparisons import compare
from centrality.fuse.config import Plan, Task
from centrality.fuse.data import TrainingData
from centrality.network.network import Layout, build
from centrality.network.scaling import Scaling
from tests.present import present

PLAN = Plan(
    noise_scales=(0.5, 1.0, 2.0),
    scheme=1,
    anchors=7,
    resamples=1,
    epochs=None,
    max_steps=100,
    batch_size=16,
    learning_rate=1e-3,
    weight_decay=0.0,
    progress=False,
)
X = np.random.default_rng(0).normal(size=(60, 2))


def task(
    plan: Plan = PLAN, members: int = 1, metric: object = "euclidean", X: np.ndarray = X, max_values: int = 1 << 20
) -> Task:
    rng = np.random.default_rng(1)
    rows = TrainingData(X, Scaling.fit(X, "none"), rng, max_values=max_values)
    return Task(
        network=build(Layout(width=2, hidden=(4,), potentials=3, members=members), np.random.default_rng(0)),
        rows=rows,
        comparison=compare(rows, metric, None),
        plan=plan,
        rng=rng,
        seed=1,
        device="cpu",
    )


def drawn(steps: int, **changes: object) -> Batches:
    return BatchSampler(task(**changes)).draw(steps)


def parts(batches: Batches) -> list[np.ndarray]:
    b, r = batches.candidates, batches.noised
    return np.split(batches.positions, [b, 2 * b, 2 * b + r], axis=-1)


def test_a_batch_is_a_quarter_first_candidates_and_as_many_noised_rows_for_every_scale():
    sampler = BatchSampler(task())
    assert (sampler.candidates, sampler.comparisons_per_candidate) == (4, 4)
    assert sampler.noised == 18  # 16 is no multiple of three scales
    assert sampler.rows_per_step == 2 * 4 + 18


def test_of_few_rows_there_are_few_candidates_with_as_few_opponents():
    sampler = BatchSampler(task(X=X[:7]))
    assert (sampler.candidates, sampler.comparisons_per_candidate) == (2, 2)  # a third of the rows


def test_the_rows_of_a_batch_have_one_scale_after_another_and_count_by_its_square():
    scales = drawn(1).row_scales
    np.testing.assert_array_equal(scales.eta, np.tile(np.float32([0.5, 1, 2]), 6))
    np.testing.assert_array_equal(scales.weight, scales.eta**2)
    assert scales.potentials == 3


def test_candidates_and_anchors_of_a_batch_are_different_rows():
    batches = drawn(50, members=2)
    assert batches.positions.shape == (50, 2, 2 * 4 + 18 + 7)
    first, second, _, anchors = parts(batches)
    together = np.concatenate([first, second, anchors], axis=2).reshape(100, -1)
    assert all(len(set(row)) == 4 + 4 + 7 for row in together.tolist())


def test_every_row_is_noised_once_before_any_is_noised_again():
    _, _, noised, _ = parts(drawn(10))  # 180 rows: three passes over 60
    for one_pass in noised.reshape(3, 60).tolist():
        assert sorted(one_pass) == list(range(60))


def test_members_have_batches_and_noise_of_their_own():
    batches = drawn(5, members=2)
    assert (batches.positions[:, 0] != batches.positions[:, 1]).any(1).all()
    assert batches.noise.shape == (5, 2, 18, 2)
    assert (batches.noise[:, 0] != batches.noise[:, 1]).all()


def test_noise_is_standard_normal():
    noise = drawn(400).noise.ravel()
    error = len(noise) ** -0.5
    assert abs(float(noise.mean())) < 5 * error
    assert abs(float(noise.var()) - 1) < 5 * 2**0.5 * error


def test_what_the_host_compares_is_compared_when_drawn_and_all_else_in_the_step():
    assert drawn(3).preferences is None
    batches = drawn(3, metric=lambda a, b: np.abs(a[:, None] - b).sum(2))
    assert present(batches.preferences).shape == (3, 1, 4, 4)


def test_an_epoch_is_one_pass_of_pairs_then_its_noise_passes():
    plan = replace(PLAN, epochs=1, resamples=2, noise_scales=(0.5,))
    batches = list(batches_of_epoch(task(plan=plan, members=2)))
    compared, noised = batches[:2], batches[2:]  # 60 // 3 pairs by 16, then 60 rows by 16, twice
    assert [batch.candidates for batch in batches] == [16, 4] + [0] * 8
    assert [batch.noised for batch in batches] == [0, 0] + [16, 16, 16, 12] * 2
    assert all(batch.positions.shape == (1, 2, 2 * batch.candidates) for batch in compared)
    for one_pass in (noised[:4], noised[4:]):
        for member in range(2):
            rows = np.concatenate([batch.positions[0, member] for batch in one_pass])
            assert sorted(rows.tolist()) == list(range(60))


@pytest.mark.parametrize(
    ("budget", "max_values", "expected"),
    [
        (100, 1 << 20, 10),  # a tenth of the budget
        (5, 1 << 20, 1),  # at least one
        (10**9, 1 << 20, (1 << 20) // (18 * 2)),  # a million values of noise
        (10**9, 2 * 52, 2),  # 52 of the 60 rows are held, and each step uses 26 of them
    ],
)
def test_no_more_steps_are_drawn_at_once_than_there_is_use_or_room_for(monkeypatch, budget, max_values, expected):
    monkeypatch.setattr("centrality.fuse.data.FEWEST_ROWS_HELD", 1)
    assert BatchSampler(task(max_values=max_values)).steps_at_once(budget) == expected
