"""What counts as a tie, and what large or shifted numbers must not change."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from centrality.training.comparisons import compare, preference
from tests.training.test_comparisons import asked, rows_of, share_nearer


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
@pytest.mark.parametrize(("ties", "expected"), [(0.6, 0.5), (1.5, 1.0)], ids=["below", "above"])
def test_a_difference_of_a_millionth_of_what_is_compared_is_a_tie(metric, ties, expected):
    """Rows at ±4 and 0 along an axis. Seen from 0, one at 4 + δ is farther than one at 4 by δ; in half squares, by 4δ.

    On average the rows are 8/3 long, their squares 32/3: by either measure δ ties up to 8/3 millionths. In float32 the
    numbers compared lie 4.8e-7 apart (at 4) and 9.5e-7 (at 8, where 4δ is compared), well below what is told apart.
    """
    X = np.zeros((6, 2))
    X[:, 0] = 4, 4 + ties * 8 / 3 * 1e-6, 0, -4, -4, 0
    assert asked(compare(rows_of(X), metric, None), np.array([0]), np.array([1]), np.array([2])) == expected


@pytest.mark.parametrize("shift", [[3000.0, 0.0], [3000.0, -3000.0]])  # whose squares float32 knows to a unit only
def test_columns_far_from_the_origin_do_not_drown_what_tells_rows_apart(shift):
    X = np.random.default_rng(0).normal(size=(60, 2)) * 0.3 + shift
    D = pairwise_distances(X - shift)
    first, second, anchors = np.arange(20), np.arange(20, 40), np.arange(40, 60)
    found = asked(compare(rows_of(X), "euclidean", None), first, second, anchors)
    expected = [share_nearer(D, i, j, anchors) for i, j in zip(first, second, strict=True)]
    np.testing.assert_allclose(found, expected, atol=0.06)  # one vote in twenty may fall to rounding


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
@pytest.mark.parametrize("shift", [0, 5])
def test_comparing_rows_leaves_them_as_the_network_sees_them(metric, shift):
    rows = rows_of(np.random.default_rng(0).normal(size=(20, 3)) + shift)
    before = rows.z.copy()
    compare(rows, metric, None)
    np.testing.assert_array_equal(rows.z, before)


def test_rows_meet_once_unless_told_otherwise():
    comparison = compare(rows_of(np.random.default_rng(0).normal(size=(9, 2))), "euclidean", None)
    candidates, anchors = np.arange(6)[None], np.arange(6, 9)[None]
    assert preference(comparison, candidates, anchors).shape == (1, 1, 3)


def test_a_pairs_own_anchors_in_blocks_count_like_all_at_once(monkeypatch):
    rng = np.random.default_rng(0)
    comparison = compare(rows_of(rng.normal(size=(40, 3))), "euclidean", None)
    arguments = np.arange(4), np.arange(4, 8), rng.integers(8, 40, size=(4, 11))
    whole = asked(comparison, *arguments)
    monkeypatch.setattr("centrality.training.comparisons.ANCHORS_AT_ONCE", 3)
    np.testing.assert_allclose(asked(comparison, *arguments), whole)
