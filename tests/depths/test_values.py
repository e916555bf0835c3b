"""The value of each depth against `data-depth`."""

import numpy as np
import pytest

from centrality.depths import (
    L2,
    Halfspace,
    Mahalanobis,
    Potential,
    Simplicial,
    Spatial,
    Zonoid,
)
from tests.depths.samples import cloud


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
