"""Projection depth: by hand, and how many directions it takes."""

import numpy as np
import pytest
from scipy import stats

from centrality.depths import (
    Projection,
)
from tests.depths.samples import cloud


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


@pytest.mark.parametrize(("n", "d", "count"), [(3, 1, 100), (200, 3, 800), (30, 40, 50_000)])
def test_the_papers_direction_budget(n, d, count):
    assert len(Projection(directions="paper", random_state=0).fit(cloud(n, d))._directions) == count  # noqa: SLF001  (nothing else tells their number)


def test_the_default_projection_depth_hardly_depends_on_the_seed():
    rows = cloud(400, 50)
    first, second = (Projection(random_state=seed).fit(rows).score_samples(rows) for seed in (0, 1))
    assert stats.spearmanr(first, second).statistic > 0.99
