"""Many rows are scored block by block, by threads."""

import numpy as np
import pytest

from centrality.model.fitted import map_blocks, map_valid_rows
from centrality.network.scaling import dense
from tests.promise import assert_same_scores


def test_blocks_scored_by_threads_are_those_scored_at_once(fitted):
    X = np.random.default_rng(0).normal(size=(50_000, 2))  # several blocks
    assert_same_scores(fitted.heads(X)[-1000:], fitted.heads(X[-1000:]))
    assert fitted.centrality(X, t=[0, 1]).shape == (50_000, 2)


def test_ctrl_c_during_scoring_does_not_wait_for_the_blocks_ahead(fitted, blob):
    X = np.tile(blob, (2000, 1))
    calls = 0

    def score(rows):
        nonlocal calls
        calls += 1
        if calls == 3:
            raise KeyboardInterrupt
        return fitted.fitted_.raw(rows)

    with pytest.raises(KeyboardInterrupt):
        map_blocks(score, X, "cpu")
    assert calls < 0.5 * len(X) / 8192


def test_rows_without_a_vector_get_nan_and_are_called_nothing():
    vectors = np.array([[1.0, 2.0], [np.nan, np.nan], [3.0, 4.0]])
    sums = map_valid_rows(vectors, lambda rows: dense(rows).sum(1))
    np.testing.assert_array_equal(sums, [3.0, np.nan, 7.0])
    nothing = map_valid_rows(vectors[1:2], lambda rows: np.stack([np.asarray(rows)] * 2, axis=2))
    assert nothing.shape == (1, 2, 2)
    assert np.isnan(nothing).all()
