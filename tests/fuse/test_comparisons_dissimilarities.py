"""Dissimilarities that the user brings: a matrix, a function of two batches, a function of two row numbers."""

import numpy as np
import pytest
from sklearn.metrics import pairwise_distances

from centrality.fuse.comparisons import Comparison, compare, preference
from tests.fuse.test_comparisons import asked, rows_of

CLOUD = np.random.default_rng(3).normal(size=(40, 5))
D = pairwise_distances(CLOUD)
SQUARES = np.arange(12.0)[:, None] ** 2  # all distances differ
GAPS = np.abs(SQUARES - SQUARES.T)


def by_batches(distances: np.ndarray):
    """A function of two batches of rows whose first column holds their numbers."""
    return lambda a, b: distances[np.ix_(a[:, 0].astype(int), b[:, 0].astype(int))]


def brought(distances: np.ndarray, rows: np.ndarray) -> list[Comparison]:
    """The same dissimilarity in each of the ways to bring it."""
    numbered = rows_of(np.column_stack([np.arange(len(rows)), rows]))
    return [
        compare(numbered, "euclidean", distances),
        compare(numbered, by_batches(distances), None),
        compare(numbered, "euclidean", lambda i, j: distances[i, j]),
        compare(numbered, "euclidean", lambda i, j: float(distances[i, j])),
    ]


@pytest.mark.parametrize("own", [False, True], ids=["shared anchors", "own anchors"])
def test_however_it_is_brought_a_distance_judges_like_the_metric_of_its_name(own):
    rng = np.random.default_rng(0)
    first, second, anchors = np.arange(20), np.arange(20, 40), rng.integers(40, size=(20, 7) if own else 7)
    expected = asked(compare(rows_of(CLOUD), "euclidean", None), first, second, anchors)
    for comparison in brought(D, CLOUD):
        np.testing.assert_allclose(asked(comparison, first, second, anchors), expected, atol=1e-6)


def test_in_later_meetings_seconds_move_up_by_one_there_too():
    candidates, anchors = np.arange(10)[None], np.arange(10, 40)[None]
    expected = preference(compare(rows_of(CLOUD), "euclidean", None), candidates, anchors, opponents=3)
    for comparison in brought(D, CLOUD):
        np.testing.assert_allclose(preference(comparison, candidates, anchors, opponents=3), expected, atol=1e-6)


def test_small_whole_numbers_do_not_wrap_around():
    near, far, anchor = np.array([1]), np.array([3]), np.array([2])  # 3 and 5 from the anchor: 3 - 5 is 254 in uint8
    for comparison in brought(GAPS.astype(np.uint8), SQUARES):
        assert asked(comparison, near, far, anchor) == 1
        assert asked(comparison, far, near, anchor) == 0


def test_one_number_that_is_not_finite_is_one_too_many():
    holed = D.copy()
    holed[4, 30] = holed[4, 31] = np.inf
    numbers = np.arange(4, 6), np.arange(6, 8), np.array([29, 30, 31])
    rows = rows_of(np.column_stack([np.arange(40), CLOUD]))
    with pytest.raises(ValueError, match="metric must give finite dissimilarities"):
        asked(compare(rows, by_batches(holed), None), *numbers)
    with pytest.raises(ValueError, match="finite numbers, got inf for rows 4 and 30"):  # the first of the two
        asked(compare(rows, "euclidean", lambda i, j: holed[i, j]), *numbers)


def test_what_is_remembered_about_a_panel_does_not_answer_for_other_anchors():
    comparison = compare(rows_of(CLOUD), "euclidean", lambda i, j: D[i, j])
    panel = comparison.fixed_anchors(8, np.random.default_rng(0))
    first, second, others = np.arange(20), np.arange(20, 40), np.setdiff1d(np.arange(40), panel)[:8]
    by_metric = compare(rows_of(CLOUD), "euclidean", None)
    for anchors in (panel, others, panel):
        expected = asked(by_metric, first, second, anchors)
        np.testing.assert_allclose(asked(comparison, first, second, anchors), expected, atol=1e-6)


def test_a_function_that_takes_arrays_of_row_numbers_is_given_them():
    seen = []

    def gap(i, j):
        seen.append((i, j))
        return GAPS[i, j]

    comparison = compare(rows_of(SQUARES), "euclidean", gap)
    seen.clear()
    asked(comparison, np.arange(4), np.arange(4, 8), np.arange(8, 12))
    assert len(seen) == 2  # once for the first rows, once for the second
    assert all(isinstance(i, np.ndarray) and isinstance(j, np.ndarray) for i, j in seen)


@pytest.mark.parametrize("value", [np.nan, -1.0])
def test_one_bad_number_in_a_matrix_is_one_too_many(value):
    bad = D.copy()
    bad[7, 9] = bad[9, 7] = value
    with pytest.raises(ValueError, match="finite numbers that are not negative"):
        compare(rows_of(CLOUD), "euclidean", bad)


@pytest.mark.parametrize(("at", "off"), [(1.0, 1e-6), (0.0, 1e-12)])
def test_a_matrix_may_be_uneven_by_a_millionth_and_no_more(at, off):
    uneven = np.full((40, 40), at)
    uneven[2, 1] = at + 0.5 * off
    compare(rows_of(CLOUD), "euclidean", uneven)
    uneven[2, 1] = at + 1.5 * off
    with pytest.raises(ValueError, match=r"must be symmetric, but the entry \(1, 2\)"):
        compare(rows_of(CLOUD), "euclidean", uneven)


def test_in_a_large_matrix_the_uneven_entry_is_named_by_its_place_in_the_whole():
    large = np.ones((2100, 2100), dtype=np.float32)  # checked in blocks of less than 2,000 rows
    large[2050, 2060] = 3
    with pytest.raises(ValueError, match=r"entry \(2050, 2060\) is 3.0 and \(2060, 2050\) is 1.0"):
        compare(rows_of(np.arange(2100.0)[:, None]), "euclidean", large)


def test_candidates_without_anchors_of_their_member_are_an_error():
    candidates, anchors = np.arange(8).reshape(2, 4), np.arange(8, 14).reshape(1, 2, 3)
    for comparison in (compare(rows_of(CLOUD), "euclidean", None), *brought(D, CLOUD)):
        with pytest.raises(ValueError, match="shorter"):
            preference(comparison, candidates, anchors)
