"""Rows that cover all rows: each next one where it brings the others nearest to a chosen one."""

import numpy as np
import pytest

from centrality.selection.pick import SAMPLE, sample_for, spread


def cloud(n: int, p: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, p)).astype(np.float32)


def mean_distance(Z: np.ndarray, chosen: np.ndarray) -> float:
    return float(np.linalg.norm(Z[:, None] - Z[chosen], axis=2).min(1).mean())


def plain_greedy(Z: np.ndarray, k: int) -> list[int]:
    """Choose each next row among all rows, as the one that makes the mean distance the smallest."""
    between, chosen = np.linalg.norm(Z[:, None] - Z, axis=2), list[int]()
    for _ in range(k):
        rest = between[:, chosen].min(1, keepdims=True) if chosen else between.max()
        chosen.append(int(np.minimum(between, rest).mean(0).argmin()))
    return chosen


@pytest.mark.parametrize("seed", range(5))
def test_of_three_far_clusters_three_rows_are_one_each(seed):
    Z = np.concatenate([cloud(50, 2, seed) + np.float32(centre) for centre in (0, 100, 300)])
    assert sorted(spread(Z, 3, np.random.default_rng(seed)) // 50) == [0, 1, 2]


def test_it_covers_as_well_as_plain_greedy_within_three_per_cent():
    Z = cloud(500, 4)
    ours, plain = spread(Z, 25, np.random.default_rng(0)), plain_greedy(Z, 25)
    assert mean_distance(Z, ours) < 1.03 * mean_distance(Z, plain)


def test_the_first_of_many_are_those_of_few():
    Z = cloud(300, 3)
    for squared in (False, True):
        many, few = (spread(Z, k, np.random.default_rng(1), squared=squared) for k in (40, 9))
        np.testing.assert_array_equal(many[:9], few)


def test_every_row_is_chosen_once_when_all_are_asked_for():
    Z = cloud(40, 2)
    assert sorted(spread(Z, 40, np.random.default_rng(0))) == list(range(40))


def test_rows_that_are_all_the_same_are_chosen_once_each():
    chosen = spread(np.ones((10, 2), dtype=np.float32), 4, np.random.default_rng(0))
    assert len(set(chosen.tolist())) == 4


def test_rows_without_weight_come_last():
    Z, weight = cloud(30, 2), np.zeros(30, dtype=np.float32)
    weight[:5] = 1
    chosen = spread(Z, 8, np.random.default_rng(0), weight)
    assert sorted(chosen[:5]) == [0, 1, 2, 3, 4]
    assert (chosen[5:] >= 5).all()


def test_squares_make_a_far_row_count_more():
    """Without one of -1 and 1, 45 rows are 2 away, 90 in all; without 30, one is 29 away: less, but not its square."""
    line = np.concatenate([np.full(45, -1.0), np.full(45, 1.0), [30.0]])[:, None].astype(np.float32)
    assert sorted(line[spread(line, 2, np.random.default_rng(0)), 0]) == [-1, 1]
    assert 30 in line[spread(line, 2, np.random.default_rng(0), squared=True), 0]


def test_very_many_rows_are_stood_for_by_a_sample_of_them():
    rows = np.arange(7, 7 + 3 * SAMPLE)
    sample = sample_for(10, rows, np.random.default_rng(0))
    assert len(sample) == SAMPLE == len(np.unique(sample))
    assert np.isin(sample, rows).all()
    assert len(sample_for(SAMPLE // 5, rows, np.random.default_rng(0))) == 2 * SAMPLE  # ten for each row to choose
    np.testing.assert_array_equal(sample_for(10, rows[:50], np.random.default_rng(0)), rows[:50])
