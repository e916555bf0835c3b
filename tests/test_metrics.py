"""Graph smoothness and rank correlation, by hand."""

import numpy as np
import pytest
from scipy import sparse

from centrality.metrics import graph_smoothness, rank_correlation

LINE = np.arange(4.0)[:, None]


def test_smoothness_is_the_laplacian_form_over_the_squared_norm():
    rows = np.array([[0.0], [1.0], [2.1], [3.3]])  # nearest: 0→1, 1→0, 2→1, 3→2: edges 01, 12, 23
    scores = [0.0, 4.0, 1.0, 2.0]  # rescaled 0, 1, 1/4, 1/2
    form = 1 + (3 / 4) ** 2 + (1 / 4) ** 2
    assert graph_smoothness(rows, scores, neighbors=1) == pytest.approx(form / (1 + 1 / 16 + 1 / 4))


def test_smoothness_is_that_of_the_dense_laplacian():
    rng = np.random.default_rng(0)
    rows, scores = rng.normal(size=(40, 3)), rng.normal(size=40)
    distance = np.linalg.norm(rows[:, None] - rows, axis=2)
    np.fill_diagonal(distance, np.inf)
    joined = np.zeros((40, 40))
    for i, nearest in enumerate(np.argsort(distance, axis=1)[:, :10]):
        joined[i, nearest] = joined[nearest, i] = 1
    laplacian = np.diag(joined.sum(1)) - joined
    s = (scores - scores.min()) / np.ptp(scores)
    assert graph_smoothness(rows, scores) == pytest.approx(s @ laplacian @ s / (s @ s))


def test_smoothness_does_not_depend_on_the_scores_scale():
    rows, scores = np.random.default_rng(0).normal(size=(2, 30, 1))
    assert graph_smoothness(rows, 5 - 3 * scores[:, 0]) != pytest.approx(graph_smoothness(rows, scores[:, 0]))
    assert graph_smoothness(rows, 5 + 3 * scores[:, 0]) == pytest.approx(graph_smoothness(rows, scores[:, 0]))


@pytest.mark.parametrize("size", [1e-200, 1e200])  # their squares are 0 and infinity in float64
def test_scores_of_any_size_are_as_smooth_as_small_whole_ones(size):
    scores = [0, 4, 1, 2]
    assert graph_smoothness(LINE, np.multiply(scores, size), neighbors=2) == pytest.approx(
        graph_smoothness(LINE, scores, neighbors=2)
    )


def test_sparse_rows_are_as_smooth_as_dense_ones():
    rng = np.random.default_rng(0)
    rows, scores = rng.normal(size=(30, 4)), rng.normal(size=30)
    for kind in (sparse.csr_array, sparse.coo_array):
        assert graph_smoothness(kind(rows), scores) == pytest.approx(graph_smoothness(rows, scores))


def test_equal_scores_are_perfectly_smooth():
    assert graph_smoothness(LINE, np.full(4, 0.3), neighbors=2) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scores": [1, 2, 3]}, "4 scores, one per row, were wanted"),
        ({"scores": [1, 2, np.nan, 3]}, "NaN or infinity"),
        ({"scores": [1, 2, 3, 4], "neighbors": 4}, "below the number of rows, got 4 for 4 rows"),
        ({"scores": [1, 2, 3, 4], "neighbors": 0}, "neighbors must be"),
    ],
)
def test_what_smoothness_cannot_use_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        graph_smoothness(LINE, **{"neighbors": 2, **arguments})


def test_rank_correlations_by_hand():
    a, b = [1, 2, 3, 4], [1, 3, 2, 4]  # squared rank differences 0, 1, 1, 0; five of six pairs agree
    assert rank_correlation(a, b) == pytest.approx(1 - 6 * 2 / (4 * 15))
    assert rank_correlation(a, b, method="kendall") == pytest.approx((5 - 1) / 6)


def test_two_scores_are_enough_for_a_correlation():
    assert rank_correlation([1, 2], [7, 3]) == pytest.approx(-1)


def test_any_increasing_map_keeps_the_ranks():
    scores = np.random.default_rng(0).normal(size=50)
    assert rank_correlation(scores, np.exp(scores)) == pytest.approx(1)
    assert rank_correlation(scores, -scores, method="kendall") == pytest.approx(-1)


@pytest.mark.parametrize(
    ("first", "second", "method", "message"),
    [
        ([1, 2], [1, 2], "pearson", "method must be one of spearman, kendall"),
        ([1, 2], [1, 1], "spearman", "two different values"),
        ([1, 1], [1, 2], "kendall", "two different values"),
        ([1, 2], [1, 2, 3], "spearman", "2 scores, one per row, were wanted"),
        ([[1, 2]], [1, 2], "spearman", "one score per row was wanted"),
        ([], [], "spearman", "two different values"),
    ],
)
def test_what_cannot_be_correlated_is_named(first, second, method, message):
    with pytest.raises(ValueError, match=message):
        rank_correlation(first, second, method=method)
