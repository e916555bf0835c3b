"""Near copies: rows so much nearer to each other than to their other neighbours that it is no chance."""

import numpy as np
import pytest

from centrality.selection.duplicates import groups_of, near_copies


def found(Z: np.ndarray) -> list[list[int]]:
    return [group.tolist() for group in near_copies(Z.astype(np.float32), np.random.default_rng(0))]


def spacing(Z: np.ndarray) -> float:
    """Return the median distance of a row to the nearest other one."""
    between = np.linalg.norm(Z[:, None] - Z, axis=2)
    np.fill_diagonal(between, np.inf)
    return float(np.median(between.min(1)))


@pytest.mark.slow
@pytest.mark.parametrize("p", [8, 32])
@pytest.mark.parametrize("part", [1e-3, 1e-1])
def test_copies_with_noise_of_a_tenth_of_the_spacing_or_less_are_found_and_nothing_else(p, part):
    rng = np.random.default_rng(p)
    Z = rng.normal(size=(800, p))
    noise = rng.normal(size=(40, p))
    noise *= part * spacing(Z) / np.linalg.norm(noise, axis=1, keepdims=True)
    called = found(np.vstack([Z, Z[:40] + noise]))
    true = [group for group in called if len(group) == 2 and group[1] == group[0] + 800]
    assert len(true) >= 0.98 * 40
    assert len(called) - len(true) <= 0.02 * 40


@pytest.mark.parametrize("p", [1, 2, 5, 30])
def test_rows_drawn_at_random_hold_hardly_a_copy(p):
    """In a hundred such sets there should be one false call, if the rate of false discoveries is 1%: here are ten."""
    called = [found(np.random.default_rng(seed).normal(size=(500, p))) for seed in range(10)]
    assert sum(map(len, called)) <= 1


@pytest.mark.parametrize("kind", ["lattice", "few values", "rounded", "walk", "tight cluster"])
def test_rows_that_lie_as_close_as_their_other_neighbours_are_no_copies(kind):
    rng = np.random.default_rng(0)
    made = {
        "lattice": lambda: np.stack(np.meshgrid(*[np.arange(9.0)] * 3), -1).reshape(-1, 3),
        "few values": lambda: np.unique(rng.integers(0, 3, (400, 6)), axis=0),
        "rounded": lambda: np.unique(np.round(rng.normal(size=(600, 3)), 1), axis=0),
        "walk": lambda: np.column_stack([np.sin(np.linspace(0, 50, 600)), np.cos(np.linspace(0, 65, 600))]),
        "tight cluster": lambda: np.vstack([rng.normal(size=(500, 4)), 5 + 0.01 * rng.normal(size=(100, 4))]),
    }
    assert found(made[kind]().astype(float)) == []


def test_a_row_that_was_copied_nine_times_is_one_group():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(500, 8))
    Z[100:109] = Z[3] + 1e-3 * rng.normal(size=(9, 8))
    assert found(Z) == [[3, *range(100, 109)]]


def test_rows_that_are_all_in_one_place_are_not_called():
    assert found(np.ones((50, 3))) == []


def test_pairs_are_joined_to_groups():
    groups = groups_of(np.array([1, 5, 2]), np.array([2, 6, 4]), 8)
    assert [group.tolist() for group in groups] == [[1, 2, 4], [5, 6]]
    assert groups_of(np.array([], dtype=int), np.array([], dtype=int), 3) == []
