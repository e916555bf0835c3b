"""Halfspace depth: by hand, against brute force in the plane and in space, against data-depth."""

from itertools import combinations

import numpy as np
import pytest

from centrality.depths import (
    Halfspace,
)
from tests.depths.samples import SQUARE, cloud


def test_halfspace_depth_in_one_dimension_counts_the_shorter_side():
    rows = [[1.0], [2.0], [2.0], [3.0], [10.0]]
    np.testing.assert_allclose(
        Halfspace().fit(rows).score_samples([[0], [1], [2], [2.5], [3], [10], [11]]),
        np.array([0, 1, 3, 2, 2, 1, 0]) / 5,
    )


def test_halfspace_depth_of_corners_centre_edges_and_outside_of_a_square():
    depth = Halfspace().fit(SQUARE)
    queries = [[1, 1], [0, 0], [1, 0], [0.5, 1], [-0.1, 1]]
    np.testing.assert_array_equal(depth.score_samples(queries), [0.5, 0.25, 0.25, 0.25, 0])


def brute_force_halfspace(points, rows):
    """Every halfplane between two rows' directions, tried one by one."""
    depth = []
    for point in points:
        seen = rows - point
        away = seen[np.abs(seen).max(1) > 0]
        angles = np.arctan2(away[:, 1], away[:, 0])
        turns = np.sort(np.concatenate([angles, angles + np.pi, angles - np.pi])) % (2 * np.pi)
        turns = np.sort(turns)
        between = (turns + np.roll(turns, -1) + np.where(np.roll(turns, -1) < turns, 2 * np.pi, 0)) / 2
        normals = np.column_stack([-np.sin(between), np.cos(between)])
        far_enough = np.abs(normals @ away.T).min(1) > 1e-9 if len(away) else np.ones(len(between), bool)
        sides = (normals[far_enough] @ away.T > 0).sum(1)
        depth.append((len(rows) - len(away) + sides.min(initial=len(away))) / len(rows))
    return np.array(depth)


@pytest.mark.parametrize("kind", ["normal", "lattice", "decimal lattice"])
def test_planar_halfspace_depth_is_that_of_all_halfplanes(kind):
    rng = np.random.default_rng(0)
    if kind == "normal":
        rows, queries = cloud(40, 2), cloud(20, 2, seed=1)
    else:
        unit = 1 if kind == "lattice" else 0.1  # many collinear rows and duplicates; not exact in binary
        rows, queries = rng.integers(0, 6, size=(2, 40, 2)) * unit
    queries = np.concatenate([queries, rows])
    np.testing.assert_allclose(
        Halfspace().fit(rows).score_samples(queries), brute_force_halfspace(queries, rows), atol=1e-12
    )


def brute_force_in_space(points, rows):
    """The fewest rows on a side of all planes through the point and two rows, those on the plane shared out best."""
    found = []
    for point in points:
        seen = rows - point
        seen = seen[np.abs(seen).max(1) > 1e-9]
        fewest = len(seen)
        for first, second in combinations(range(len(seen)), 2):
            normal = np.cross(seen[first], seen[second])
            if np.abs(normal).max() > 1e-12:
                beyond = seen @ normal / np.linalg.norm(normal)
                on_it = seen[np.abs(beyond) < 1e-9]
                along = seen[first] / np.linalg.norm(seen[first])
                across = np.cross(normal / np.linalg.norm(normal), along)
                shared = brute_force_halfspace(np.zeros((1, 2)), on_it @ np.stack([along, across]).T)[0] * len(on_it)
                fewest = min(fewest, *(int((sign * beyond > 1e-9).sum() + shared.round()) for sign in (1, -1)))
        found.append((len(rows) - len(seen) + fewest) / len(rows))
    return np.array(found)


RNG = np.random.default_rng(5)


IN_SPACE = {
    "normal": lambda: RNG.normal(size=(22, 3)),
    "a lattice": lambda: RNG.integers(3, size=(22, 3)).astype(float),
    "other units": lambda: RNG.normal(size=(22, 3)) * [1, 100, 0.01],
    "rows that repeat": lambda: np.repeat(RNG.normal(size=(8, 3)), 3, axis=0),
    "a plane and one row": lambda: np.vstack([np.c_[RNG.normal(size=(21, 2)), np.zeros(21)], [[0, 0, 1.0]]]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", IN_SPACE)
@pytest.mark.parametrize("seed", range(3))
def test_halfspace_depth_of_few_rows_in_space_is_that_of_all_planes(kind, seed):
    rows = IN_SPACE[kind]()
    queries = np.concatenate([rows[:6], RNG.normal(size=(4, 3)), 0.5 * (rows[:4] + rows[4:8])])
    expected = brute_force_in_space(queries, rows)
    np.testing.assert_allclose(Halfspace(random_state=seed).fit(rows).score_samples(queries), expected, atol=1e-12)


def test_it_is_that_of_data_depth_and_of_rows_that_lie_in_space_among_more_columns(package):
    rows = cloud(80, 3)
    exact = package.halfspace(rows, rows, exact=True)
    np.testing.assert_allclose(Halfspace().fit(rows).score_samples(rows), exact, atol=1e-12)
    turned = rows @ RNG.normal(size=(3, 6))
    np.testing.assert_allclose(Halfspace().fit(turned).score_samples(turned), exact, atol=1e-12)


@pytest.mark.slow
def test_halfspace_depth_beyond_space_is_a_close_upper_bound(package):
    rows = cloud(60, 4)
    exact = package.halfspace(rows, rows, exact=True)
    found = Halfspace(random_state=0).fit(rows).score_samples(rows)
    assert (found >= exact - 1e-12).all()
    assert (found - exact).mean() < 0.5 / 60  # half a row on average
    assert found.mean() < Halfspace(directions=100, random_state=0).fit(rows).score_samples(rows).mean()
