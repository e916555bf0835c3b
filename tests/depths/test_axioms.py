"""What a depth promises for any data (Zuo and Serfling's axioms), one property at a time, over all depths."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
)

quickly = settings(max_examples=12, deadline=None, derandomize=True)

AFFINE = [
    Mahalanobis(),
    Spatial(),
    L2(),
    Potential(whiten=True),
    Projection(random_state=0),
    Halfspace(random_state=0),
    Zonoid(),
]
ROTATION = [*AFFINE, Potential(), KernelDensity(), KernelDensity(bandwidth=0.5)]
ANY_DIRECTIONS = [
    Projection(directions="paper", random_state=0),
    Projection(directions=100, random_state=0),
    Halfspace(directions="paper", random_state=0),
    Halfspace(directions=100, random_state=0),
]
# Potential and kernel density are local: a sample may well be sparse at its centre of symmetry. Simplicial depth
# promises this only for continuous distributions: with ties it may be greater at a row beside the centre.
CENTRAL = [*(depth for depth in AFFINE if not isinstance(depth, Potential)), *ANY_DIRECTIONS]
# The level sets of these are convex whatever the sample; those of spatial and simplicial depth need not be.
CONVEX = [Mahalanobis(), L2(), Zonoid(), *ANY_DIRECTIONS]
EVERYTHING = [*ROTATION, *ANY_DIRECTIONS, Simplicial(random_state=0), Mahalanobis(robust=True, random_state=0)]


@st.composite
def samples(draw, max_columns=4):
    """Rows of some shape: light or heavy tails, skewed, in two groups, or on a lattice with ties."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, max_columns))
    n = draw(st.integers(3 * d + 6, 60))
    kind = draw(st.sampled_from(["normal", "heavy tails", "skewed", "two groups", "lattice"]))
    rows = {
        "normal": lambda: rng.normal(size=(n, d)),
        "heavy tails": lambda: rng.standard_t(2, size=(n, d)),
        "skewed": lambda: rng.exponential(size=(n, d)),
        "two groups": lambda: rng.normal(size=(n, d)) + 6 * (np.arange(n) % 2)[:, None],
        "lattice": lambda: rng.integers(0, 6, size=(n, d)) + np.eye(n, d),
    }[kind]()
    queries = np.concatenate([rows[:5], rng.normal(scale=2, size=(5, d)) + rows.mean(0)])
    return rng, rows, queries


def random_rotation(rng, d):
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


@pytest.mark.slow
@pytest.mark.parametrize("depth", AFFINE, ids=str)
@quickly
@given(samples())
def test_affine_maps_change_nothing(depth, sample):
    rng, rows, queries = sample
    d = rows.shape[1]
    stretch = np.exp2(rng.uniform(-2, 2, size=d))
    matrix = random_rotation(rng, d) * stretch @ random_rotation(rng, d)
    shift = rng.normal(scale=10, size=d)
    before = depth.fit(rows).score_samples(queries)
    after = depth.fit(rows @ matrix + shift).score_samples(queries @ matrix + shift)
    np.testing.assert_allclose(after, before, atol=1e-6)


@pytest.mark.parametrize("depth", [Halfspace(), Simplicial()], ids=str)
@quickly
@given(samples(max_columns=2))
def test_affine_maps_change_nothing_in_exact_planar_depths(depth, sample):
    rng, rows, queries = sample
    matrix = random_rotation(rng, rows.shape[1]) * np.exp2(rng.uniform(-2, 2, size=rows.shape[1]))
    before = depth.fit(rows).score_samples(queries)
    after = depth.fit(rows @ matrix + 3).score_samples(queries @ matrix + 3)
    np.testing.assert_allclose(after, before, atol=1e-12)


@pytest.mark.parametrize("depth", ROTATION, ids=str)
@quickly
@given(samples())
def test_rotations_and_shifts_change_nothing(depth, sample):
    rng, rows, queries = sample
    matrix = random_rotation(rng, rows.shape[1])
    before = depth.fit(rows).score_samples(queries)
    after = depth.fit(rows @ matrix - 5).score_samples(queries @ matrix - 5)
    np.testing.assert_allclose(after, before, atol=1e-6, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("depth", CENTRAL, ids=str)
@quickly
@given(samples())
def test_nothing_is_deeper_than_the_centre_of_symmetry(depth, sample):
    _, rows, queries = sample
    rows, queries = rows - rows[0], queries - rows[0]
    rows = np.concatenate([rows, -rows])
    centre, *others = depth.fit(rows).score_samples(np.concatenate([np.zeros((1, rows.shape[1])), queries, rows]))
    assert max(others) <= centre + 1e-7


@pytest.mark.slow
@pytest.mark.parametrize("depth", CONVEX, ids=str)
@quickly
@given(samples())
def test_depth_falls_along_rays_from_the_deepest_point(depth, sample):
    _, rows, queries = sample
    rows, queries = rows - rows[0], queries - rows[0]
    rows = np.concatenate([rows, -rows])  # so that the deepest point is known
    depth.fit(rows)
    along_ray = np.array([depth.score_samples(queries * t) for t in (0.0, 0.1, 0.3, 1.0, 2.0, 5.0, 20.0)])
    assert np.diff(along_ray, axis=0).max() <= 1e-7


@pytest.mark.parametrize("depth", [Halfspace(), Projection(random_state=0)], ids=str)
@quickly
@given(samples(max_columns=2))
def test_depth_falls_along_rays_where_all_directions_are_looked_along(depth, sample):
    _, rows, queries = sample
    rows, queries = rows - rows[0], queries - rows[0]
    depth.fit(np.concatenate([rows, -rows]))
    along_ray = np.array([depth.score_samples(queries * t) for t in (0.0, 0.1, 0.3, 1.0, 2.0, 5.0, 20.0)])
    # projection depth in the plane is by very many directions, not by all
    assert np.diff(along_ray, axis=0).max() <= (1e-12 if isinstance(depth, Halfspace) else 0.01)


@pytest.mark.parametrize("depth", EVERYTHING, ids=str)
@quickly
@given(samples())
def test_depth_vanishes_far_away(depth, sample):
    rng, rows, _ = sample
    far = rng.normal(size=(5, rows.shape[1]))
    far *= 1e7 / np.linalg.norm(far, axis=1, keepdims=True)
    depths = depth.fit(rows).score_samples(rows.mean(0) + far)
    if isinstance(depth, KernelDensity):
        depths = np.exp(depths)
    assert (depths >= 0).all()
    assert depths.max() < 1e-3


@pytest.mark.parametrize("depth", [*ROTATION, *ANY_DIRECTIONS, Simplicial(random_state=0)], ids=str)
@quickly
@given(samples())
def test_the_order_of_the_rows_does_not_matter(depth, sample):
    rng, rows, queries = sample
    if getattr(depth, "random_state", None) is not None and getattr(depth, "directions", None) == "auto":
        rows = rows[:, :1]  # beyond one column, a seed picks directions by the order of the rows
        queries = queries[:, :1]
    if isinstance(depth, Simplicial):
        rows, queries = rows[:, :2], queries[:, :2]  # beyond, a seed picks simplices so
    before = depth.fit(rows).score_samples(queries)
    after = depth.fit(rng.permutation(rows)).score_samples(queries)
    np.testing.assert_allclose(after, before, atol=1e-6, rtol=1e-6)
