import numpy as np
import pytest

from centrality.network.network import Layout, build
from centrality.network.scaling import Scaling
from centrality.training.batches import BatchSampler, BatchSizes, DrawnSteps
from centrality.training.comparisons import compare
from centrality.training.plan import Plan, Task
from centrality.training.rows import Rows

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
    rows = Rows(X, Scaling.fit(X, "none"), rng, max_values=max_values)
    return Task(
        network=build(Layout(width=2, hidden=(4,), potentials=3, members=members), np.random.default_rng(0)),
        rows=rows,
        comparison=compare(rows, metric, None),
        plan=plan,
        rng=rng,
        noise=np.random.default_rng(1),
        seed=1,
        device="cpu",
    )


def drawn(steps: int, **changes: object) -> tuple[BatchSizes, DrawnSteps]:
    given = task(**changes)
    sizes = BatchSizes.of(given)
    return sizes, BatchSampler(given, sizes).draw(steps)


def parts(sizes: BatchSizes, positions: np.ndarray) -> list[np.ndarray]:
    b, r = sizes.candidates, sizes.noised
    return np.split(positions, [b, 2 * b, 2 * b + r], axis=-1)


def test_a_batch_is_a_quarter_first_candidates_and_as_many_noised_rows_for_every_scale():
    sizes = BatchSizes.of(task())
    assert sizes == BatchSizes(members=1, candidates=4, opponents=4, noised=18)  # 16 is no multiple of three scales
    assert sizes.rows_per_step == 2 * 4 + 18


def test_of_few_rows_there_are_few_candidates_with_as_few_opponents():
    sizes = BatchSizes.of(task(X=X[:7]))
    assert (sizes.candidates, sizes.opponents) == (2, 2)  # a third of the rows


def test_candidates_and_anchors_of_a_batch_are_different_rows():
    sizes, steps = drawn(50, members=2)
    assert steps.positions.shape == (50, 2, 2 * 4 + 18 + 7)
    first, second, _, anchors = parts(sizes, steps.positions)
    together = np.concatenate([first, second, anchors], axis=2).reshape(100, -1)
    assert all(len(set(row)) == 4 + 4 + 7 for row in together.tolist())


def test_every_row_is_noised_once_before_any_is_noised_again():
    sizes, steps = drawn(10)  # 180 rows: three passes over 60
    _, _, noised, _ = parts(sizes, steps.positions)
    for one_pass in noised.reshape(3, 60).tolist():
        assert sorted(one_pass) == list(range(60))


def test_members_have_batches_and_noise_of_their_own():
    _, steps = drawn(5, members=2)
    assert (steps.positions[:, 0] != steps.positions[:, 1]).any(1).all()
    noise = task(members=2).standard_normal(5, 2, 18, 2)
    assert (noise[:, 0] != noise[:, 1]).all()


def test_after_skipped_steps_come_those_that_would_have_come_had_they_been_drawn():
    whole, resumed = (BatchSampler(given, BatchSizes.of(given)) for given in (task(), task()))
    for _ in range(3):
        whole.draw(6)
        resumed.skip(6)
    np.testing.assert_array_equal(resumed.draw(6).positions, whole.draw(6).positions)


def test_noise_is_standard_normal():
    noise = task().standard_normal(400, 18, 2).ravel()
    error = len(noise) ** -0.5
    assert abs(float(noise.mean())) < 5 * error
    assert abs(float(noise.var()) - 1) < 5 * 2**0.5 * error


def test_what_the_host_compares_is_compared_when_drawn_and_all_else_in_the_step():
    assert drawn(3)[1].preferred is None
    _, steps = drawn(3, metric=lambda a, b: np.abs(a[:, None] - b).sum(2))
    assert steps.preferred.shape == (3, 1, 4, 4)


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
    monkeypatch.setattr("centrality.training.rows.FEWEST_ROWS_HELD", 1)
    given = task(max_values=max_values)
    assert BatchSampler(given, BatchSizes.of(given)).steps_at_once(budget) == expected
