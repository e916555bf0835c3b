"""Simplicial depth: by hand and against all simplices."""

from itertools import combinations

import numpy as np

from centrality.depths import (
    Simplicial,
)
from tests.depths.samples import SQUARE, cloud


def test_simplicial_depth_counts_triangles_with_their_borders():
    # Of the square's four triangles all hold its centre, three each corner, two the middle of an edge.
    depth = Simplicial().fit(SQUARE)
    np.testing.assert_array_equal(depth.score_samples([[1, 1], [0, 0], [1, 0], [5, 5]]), [1, 0.75, 0.5, 0])


def test_simplicial_depth_in_one_dimension_counts_intervals():
    depth = Simplicial().fit([[0.0], [1.0], [2.0], [4.0]])  # six intervals
    np.testing.assert_allclose(depth.score_samples([[0], [1.5], [3], [5]]), [3 / 6, 4 / 6, 3 / 6, 0], rtol=1e-12)


def test_random_simplices_come_close_to_the_share_of_all_simplices():
    rows = cloud(12, 3)
    queries = np.concatenate([rows.mean(0, keepdims=True), rows[:2], rows[:1] + 100])
    weights = [
        np.linalg.solve(np.vstack([rows[list(corners)].T, np.ones(4)]), np.vstack([queries.T, np.ones(len(queries))]))
        for corners in combinations(range(12), 4)
    ]
    share = (np.min(weights, axis=1) >= -1e-9).mean(0)
    found = Simplicial(simplices=4000, random_state=0).fit(rows).score_samples(queries)
    np.testing.assert_allclose(found, share, atol=4 * np.sqrt(0.25 / 4000))


def brute_force_triangles(point, rows):
    """Share of the closed triangles, degenerate ones too, that hold the point: exact for small integers."""
    holds = 0
    for corners in combinations(rows.astype(int) - np.asarray(point, dtype=int), 3):
        turns = [int(a[0] * b[1] - a[1] * b[0]) for a, b in zip(corners, corners[1:] + corners[:1], strict=True)]
        if any(turns):
            holds += min(turns) >= 0 or max(turns) <= 0
        else:  # the point and the corners lie on one line: it is held if it is not beyond all of them
            a, b, c = corners
            holds += min(int(a @ b), int(b @ c), int(a @ c)) <= 0
    return holds / (len(rows) * (len(rows) - 1) * (len(rows) - 2) / 6)


def test_planar_simplicial_depth_is_that_of_all_triangles():
    rows = np.random.default_rng(0).integers(0, 5, size=(15, 2)).astype(float)
    queries = np.array([[x, y] for x in range(-1, 6) for y in range(-1, 6)], dtype=float)
    expected = []
    for query in queries:
        expected.append(brute_force_triangles(query, rows))
    np.testing.assert_allclose(Simplicial().fit(rows).score_samples(queries), expected, atol=1e-12)
