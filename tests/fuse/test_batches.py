import numpy as np
import pytest

from centrality.engine import engine
from centrality.fuse.batches import Batches, BatchSampler
from centrality.fuse.comparisons import compare
from centrality.fuse.paper import SCHEMES, Algorithm1
from centrality.fuse.train import EngineTrainer, Losses
from centrality.network.network import Layout, build
from tests.fuse.cases import config_of, data_of
from tests.present import present

X = np.random.default_rng(0).normal(size=(60, 2))


def sampler_of(
    members: int = 1, metric: object = "euclidean", X: np.ndarray = X, max_values: int = 1 << 20
) -> BatchSampler:
    scales = [0.5, 1.0, 2.0]
    config = config_of(X, ensemble=members, anchors=7, batch_size=16, max_steps=100, noise_scale=scales)
    data = data_of(X, max_values)
    return BatchSampler(data, compare(data, metric, None), config, np.random.default_rng(1))


def drawn(steps: int, **changes: object) -> Batches:
    return sampler_of(**changes).draw(steps)


def parts(batches: Batches) -> list[np.ndarray]:
    b, r = batches.candidates, batches.noised
    return np.split(batches.positions, [b, 2 * b, 2 * b + r], axis=-1)


def test_a_batch_is_a_quarter_first_candidates_and_as_many_noised_rows_for_every_scale():
    sampler = sampler_of()
    assert (sampler.candidates, sampler.opponents) == (4, 4)
    assert sampler.noised == 18  # 16 is no multiple of three scales
    assert sampler.rows_per_step == 2 * 4 + 18


def test_of_few_rows_there_are_few_candidates_with_as_few_opponents():
    sampler = sampler_of(X=X[:7])
    assert (sampler.candidates, sampler.opponents) == (2, 2)  # a third of the rows


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


class RecordingTrainer(EngineTrainer):
    """Keeps the batches that it learns from."""

    batches: list[Batches]

    def take_steps(self, batches: Batches, rates: np.ndarray) -> Losses:
        self.batches = [*getattr(self, "batches", []), batches]
        return super().take_steps(batches, rates)


def test_an_epoch_is_one_pass_of_pairs_then_its_noise_passes():
    data, rng = data_of(X), np.random.default_rng(1)
    network = build(Layout(width=2, hidden=(4,), members=2), np.random.default_rng(0))
    comparison = compare(data, "euclidean", None)
    trainer = RecordingTrainer(network, data, comparison, engine(), balance=1.0, weight_decay=0.0)
    algorithm = Algorithm1(scheme=SCHEMES[1], T=1, R=2, m=7, b=16, eta=[0.5], rate=1e-3)
    assert (
        [taken for taken, *_ in algorithm.train(trainer, 60, comparison, rng, rng)] == [10] == [algorithm.updates(60)]
    )
    compared, noised = trainer.batches[:2], trainer.batches[2:]  # 60 // 3 pairs by 16, then 60 rows by 16, twice
    assert [batch.candidates for batch in trainer.batches] == [16, 4] + [0] * 8
    assert [batch.noised for batch in trainer.batches] == [0, 0] + [16, 16, 16, 12] * 2
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
    monkeypatch.setattr("centrality.fuse.data.FEWEST_ROWS", 1)
    assert sampler_of(max_values=max_values).steps_at_once(budget) == expected
