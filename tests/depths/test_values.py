"""The value of each depth: by hand on tiny sets, against brute force, against `data-depth`."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.neighbors import KernelDensity as SklearnKernelDensity

from centrality.depths import (
    L2,
    Halfspace,
    KernelDensity,
    Mahalanobis,
    Potential,
    Projection,
    Simplicial,
    Spatial,
    Zonoid,
    _directions,
)

SQUARE = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])


def cloud(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)


@pytest.fixture(scope="module")
def package():
    """The multivariate depths of the `data-depth` package."""
    return pytest.importorskip("depth.model.multivariate", reason="`make test` installs data-depth where it can")


# By hand


def test_mahalanobis_depth_is_one_at_the_mean_and_half_one_deviation_away():
    depth = Mahalanobis(ridge=0).fit([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
    # each column has variance 2/3, so (1, 0) lies at squared distance 3/2
    np.testing.assert_allclose(depth.score_samples([[0, 0], [1, 0], [1, 1]]), [1, 1 / 2.5, 1 / 4], rtol=1e-12)


def test_mahalanobis_depth_is_by_the_inverse_covariance():
    rows, queries = cloud(50, 4), cloud(10, 4, seed=1)
    away = queries - rows.mean(0)
    squared = np.diag(away @ np.linalg.inv(np.cov(rows.T)) @ away.T)
    np.testing.assert_allclose(Mahalanobis(ridge=0).fit(rows).score_samples(queries), 1 / (1 + squared), atol=1e-10)


def test_the_mahalanobis_ridge_is_added_to_the_variance():
    depth = Mahalanobis(ridge=0.5).fit([[0.0], [1.0]])  # variance 1/2, with the ridge 1
    np.testing.assert_allclose(depth.score_samples([[1.5]]), [0.5], rtol=1e-12)


def test_robust_mahalanobis_depth_is_not_moved_by_outliers():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=(180, 2)), rng.normal([30, 30], 0.1, size=(20, 2))])
    planted = [[30.0, 30.0]]
    assert Mahalanobis(robust=True, random_state=0).fit(rows).score_samples(planted) < 0.002
    assert Mahalanobis().fit(rows).score_samples(planted) > 0.05


def test_spatial_depth_without_whitening_is_the_formula_in_the_columns_as_they_are():
    X, Q = cloud(60, 3) * [1, 10, 0.1], cloud(5, 3, seed=1)
    away = Q[:, None] - X
    expected = 1 - np.linalg.norm((away / np.linalg.norm(away, axis=2, keepdims=True)).mean(1), axis=1)
    np.testing.assert_allclose(Spatial(whiten=False).fit(X).score_samples(Q), expected, atol=1e-12)
    assert np.abs(Spatial().fit(X).score_samples(Q) - expected).max() > 0.01


def test_spatial_depth_by_hand_in_the_plane():
    # Whitening turns these four rows into (±1, 0), (0, ±1) times a constant c. Seen from (c, 0) the row itself gives
    # no unit vector, (-c, 0) gives (1, 0), the other two (1, ±1)/√2: their sum is 1 + √2.
    depth = Spatial().fit([[-3.0, 0.0], [3.0, 0.0], [0.0, -5.0], [0.0, 5.0]])
    np.testing.assert_allclose(depth.score_samples([[0, 0], [3, 0]]), [1, 1 - (1 + np.sqrt(2)) / 4], atol=1e-9)


def test_rows_that_nearly_coincide_lose_no_digits():
    rows = np.repeat(cloud(10, 2), 5, axis=0)
    rows += np.random.default_rng(1).normal(scale=1e-9, size=rows.shape)  # pairs whose squared distance is rounding
    root = np.linalg.cholesky(np.linalg.inv(np.cov(rows.T)))
    apart = (rows[:, None] - rows) @ root  # (n, n, 2) whitened
    length = np.linalg.norm(apart, axis=2, keepdims=True)
    towards = np.divide(apart, length, out=np.zeros_like(apart), where=length > 0)
    expected = 1 - np.linalg.norm(towards.mean(1), axis=1)
    np.testing.assert_allclose(Spatial().fit(rows).score_samples(rows), expected, atol=1e-6)
    sharp = Potential(beta=1e18).fit(rows).score_samples(rows)
    distance = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.testing.assert_allclose(sharp, np.exp(-1e18 * distance**2).mean(1), atol=1e-6)


def test_l2_depth_is_one_over_one_plus_the_mean_whitened_distance():
    depth = L2().fit([[-2.0], [0.0], [2.0]])  # standard deviation 2
    np.testing.assert_allclose(depth.score_samples([[0], [4]]), [1 / (1 + 2 / 3), 1 / (1 + 2)], rtol=1e-9)


def test_potential_depth_takes_scotts_bandwidth_and_raw_distances():
    rows = np.array([[0.0, 0.0], [3.0, 4.0]])
    beta = 2 ** (-2 / 6)
    np.testing.assert_allclose(
        Potential().fit(rows).score_samples(rows), np.full(2, (1 + np.exp(-25 * beta)) / 2), rtol=1e-12
    )


def test_kernel_density_is_scipys_with_scotts_rule_and_scikit_learns_with_a_number():
    rows, queries = cloud(80, 3), cloud(20, 3, seed=1)
    np.testing.assert_allclose(
        KernelDensity().fit(rows).score_samples(queries), stats.gaussian_kde(rows.T).logpdf(queries.T), atol=1e-8
    )
    np.testing.assert_allclose(
        KernelDensity(bandwidth=0.7).fit(rows).score_samples(queries),
        SklearnKernelDensity(bandwidth=0.7).fit(rows).score_samples(queries),
        atol=1e-8,
    )


def test_projection_depth_in_one_dimension_is_by_median_and_mad():
    rows = [[1.0], [2.0], [4.0], [8.0]]  # median 3, absolute deviations 2, 1, 1, 5: MAD 1.5
    np.testing.assert_allclose(Projection().fit(rows).score_samples([[3], [4.5], [0]]), [1, 1 / 2, 1 / 3], rtol=1e-12)


def test_projection_depth_on_the_axes_of_a_cross():
    # Along the axis (1, 0) the rows 0, ±1, ±2 (and four zeros from the other arm) have median 0 and MAD 0: a point
    # off that axis is infinitely far out.
    arm = np.arange(-2.0, 3.0)
    rows = np.concatenate([np.column_stack([arm, 0 * arm]), np.column_stack([0 * arm, arm])])
    depth = Projection(random_state=0).fit(rows).score_samples([[0.0, 0.0], [5.0, 5.0]])
    assert depth[0] == 1
    assert depth[1] < 1 / 6  # along (1, 1)/√2 alone: |10 - 0| / MAD 1


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


def test_zonoid_depth_by_hand():
    # At an end of 0, 1, 2, 3 one row alone averages to it; at 2.5, rows 2 and 3; at 2, rows 1, 2 and 3 do.
    depth = Zonoid().fit([[0.0], [1.0], [2.0], [3.0]])
    np.testing.assert_allclose(depth.score_samples([[1.5], [2], [2.5], [3], [3.1]]), [1, 0.75, 0.5, 0.25, 0], atol=1e-7)


# Against brute force


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


# Against data-depth


@pytest.mark.parametrize("d", [2, 5])
def test_values_are_those_of_data_depth_where_both_are_exact(package, d):
    rows = cloud(200, d)
    queries = np.concatenate([cloud(30, d, seed=1), rows[:30]])
    bandwidth = 200 ** (-2 / (d + 4))
    # The package's Gaussian kernel is exp(-r² / 2b) / (2πb)^⌊d/2⌋, summed; ours exp(-beta r²), averaged.
    potential = Potential(beta=1 / (2 * bandwidth), whiten=True).fit(rows).score_samples(queries)
    pairs = [
        (Spatial(), package.spatial(queries, rows), 1e-8),
        (L2(), package.L2(queries, rows), 1e-8),
        (Zonoid(), package.zonoid(queries, rows), 1e-6),
        (Mahalanobis(ridge=0), package.mahalanobis(queries, rows, exact=True, mah_estimate="moment"), 1e-10),
    ]
    for depth, theirs, tolerance in pairs:
        np.testing.assert_allclose(depth.fit(rows).score_samples(queries), theirs, atol=tolerance, err_msg=str(depth))
    np.testing.assert_allclose(
        potential,
        package.potential(queries, rows, kernel="GKernel") * (2 * np.pi * bandwidth) ** (d // 2) / 200,
        atol=1e-8,
    )


def test_exact_planar_depths_are_those_of_data_depth(package):
    rows = cloud(300, 2)
    queries = np.concatenate([cloud(50, 2, seed=1), rows[:50]])
    np.testing.assert_allclose(
        Halfspace().fit(rows).score_samples(queries), package.halfspace(queries, rows, exact=True), atol=1e-12
    )
    fresh = queries[:50]  # at its own rows the package counts triangles otherwise
    np.testing.assert_allclose(Simplicial().fit(rows).score_samples(fresh), package.simplicial(fresh, rows), atol=1e-12)


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


# Directions


@pytest.mark.parametrize(("n", "d", "count"), [(3, 1, 100), (200, 3, 800), (30, 40, 50_000)])
def test_the_papers_direction_budget(n, d, count):
    assert len(Projection(directions="paper", random_state=0).fit(cloud(n, d))._directions) == count  # noqa: SLF001  (nothing else tells their number)


@pytest.mark.parametrize("depth", [Projection, Halfspace])
def test_the_search_is_tighter_than_as_many_random_directions(depth):
    rows = cloud(300, 20)
    auto = depth(random_state=0).fit(rows).score_samples(rows)
    random = depth(directions=2000, random_state=0).fit(rows).score_samples(rows)
    assert auto.mean() < 0.8 * random.mean()


@pytest.mark.parametrize("depth", [Projection, Halfspace])
def test_climbing_finds_directions_that_show_points_worse(depth, monkeypatch):
    rows = cloud(300, 5)
    climbed = depth(random_state=0).fit(rows).score_samples(rows)
    monkeypatch.setattr(_directions, "SEARCH_STEPS", 0)
    before = depth(random_state=0).fit(rows).score_samples(rows)
    assert (climbed <= before).all()
    assert (climbed < before).mean() > 0.25


def test_the_default_projection_depth_hardly_depends_on_the_seed():
    rows = cloud(400, 50)
    first, second = (Projection(random_state=seed).fit(rows).score_samples(rows) for seed in (0, 1))
    assert stats.spearmanr(first, second).statistic > 0.99


@pytest.mark.parametrize("depth", [Projection, Halfspace])
def test_a_search_guided_by_some_rows_still_judges_by_all(depth, monkeypatch):
    rows = cloud(300, 4)
    by_all = depth(random_state=0).fit(rows).score_samples(rows)
    monkeypatch.setattr(_directions, "SEARCH_ROWS", 100)
    by_some = depth(random_state=0).fit(rows).score_samples(rows)
    # Any direction gives an upper bound: shares of all rows for one, and close to the full search for both.
    assert np.abs(by_some - by_all).max() < 0.05
    if depth is Halfspace:
        np.testing.assert_allclose(by_some * 300, np.rint(by_some * 300), atol=1e-9)


@pytest.mark.parametrize("depth", [Projection, Halfspace])
@pytest.mark.parametrize("wrong", ["all", 0, -3, 2.5, True])
def test_wrong_directions_are_named(depth, wrong):
    with pytest.raises(ValueError, match="directions must be"):
        depth(directions=wrong).fit(SQUARE)
