"""Zonoid depth by hand."""

import numpy as np

from centrality.depths import (
    Zonoid,
)


def test_zonoid_depth_by_hand():
    # At an end of 0, 1, 2, 3 one row alone averages to it; at 2.5, rows 2 and 3; at 2, rows 1, 2 and 3 do.
    depth = Zonoid().fit([[0.0], [1.0], [2.0], [3.0]])
    np.testing.assert_allclose(depth.score_samples([[1.5], [2], [2.5], [3], [3.1]]), [1, 0.75, 0.5, 0.25, 0], atol=1e-7)
