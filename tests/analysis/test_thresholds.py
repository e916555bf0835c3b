"""Thresholds and holdouts at their borders: where a count, a tie or a rounding decides."""

from fractions import Fraction

import numpy as np
import pytest

from centrality.analysis.conformal import (
    largest_rejected,
    p_values,
    subsample_evenly,
    threshold_by_contamination,
    threshold_by_false_positives,
    threshold_by_fdr,
)
from centrality.network.folds import restrict_dissimilarity, split_off_holdout
from tests.conftest import quick


def shuffled(n: int) -> np.ndarray:
    """1, 2, ..., n in some order."""
    return np.random.default_rng(0).permutation(np.arange(1.0, n + 1))


def test_with_just_enough_inliers_a_row_below_all_of_them_is_found():
    # p = 1 / (19 + 1) = .05, the bound for a lone row. Two rows would need half of it.
    assert threshold_by_fdr(shuffled(19), np.array([0.0]), 0.05) == 1.0


@pytest.mark.parametrize(("fdr", "needed"), [(0.05, 19), (0.3, 3), (0.5, 1)])  # the smallest m with 1 / (m + 1) <= fdr
def test_one_inlier_fewer_than_an_fdr_needs_is_too_few(fdr, needed):
    assert threshold_by_fdr(shuffled(needed), np.array([0.0]), fdr) == 1.0
    with pytest.raises(ValueError, match=f"needs at least {needed} calibration rows, got {needed - 1}"):
        threshold_by_fdr(shuffled(needed - 1), np.array([0.0]), fdr)


@pytest.mark.parametrize(("expected", "needed"), [(2, 4), (3, 3), (5, 1)])  # of 10 rows: 1 / (m + 1) <= expected / 10
def test_one_inlier_fewer_than_so_many_false_positives_need_is_too_few(expected, needed):
    assert threshold_by_false_positives(shuffled(needed), np.zeros(10), expected) == 1.0
    with pytest.raises(ValueError, match=f"among 10 rows needs at least {needed} calibration rows, got {needed - 1}"):
        threshold_by_false_positives(shuffled(needed - 1), np.zeros(10), expected)


@pytest.mark.parametrize("m", [99, 199])
def test_the_threshold_is_the_inlier_of_that_rank_whatever_the_order_and_the_rounding(m):
    """p = rank / (m + 1) <= k / 100 for ranks up to k (m + 1) / 100, a whole number though .29 * 100 is not 29."""
    inliers = shuffled(m)
    found = [threshold_by_false_positives(inliers, np.zeros(100), k) for k in range(1, 100)]
    assert found == [k * (m + 1) // 100 for k in range(1, 100)]


def test_where_as_many_false_positives_as_rows_are_allowed_all_rows_are_called():
    assert threshold_by_false_positives(shuffled(4), np.zeros(10), 10) == np.inf


@pytest.mark.parametrize("fdr", [0.05, 0.07, 0.29])
def test_p_values_that_equal_the_bound_are_rejected_whatever_the_rounding(fdr):
    for k in range(1, 101):
        bound = float(Fraction(str(fdr)) * k / 100)
        p = np.where(np.arange(100) < k, bound, 1.0)
        assert (p <= largest_rejected(p, fdr)).sum() == k


def test_too_few_inliers_for_outliers_beyond_them_all_are_warned_of_with_how_many_it_takes():
    scores = np.where(np.arange(100) < 3, 0.0, 50.0)  # p = 1 / (m + 1) <= .1 * 3 / 100 from m = 333 on, about 340
    for m in (19, 332):
        with pytest.warns(
            UserWarning,
            match=f"{m} calibration rows are too few for 100 new rows. About 340 would do if the 3 oddest are",
        ):
            assert threshold_by_fdr(shuffled(m), scores, 0.1) == -np.inf
    assert threshold_by_fdr(shuffled(333), scores, 0.1) == 1.0


def test_a_row_that_ties_with_the_least_inlier_is_not_beyond_it():
    assert threshold_by_fdr(shuffled(19), np.array([1.0, 7.0]), 0.05) == -np.inf  # and nothing to warn of


def test_the_warning_points_at_the_line_that_asked(blob):
    model = quick().fit(blob).calibrate(blob[:19] * 0.1)
    far = np.concatenate([np.zeros((99, 2)), [[50.0, 50.0]]])
    for ask in (model.detect, model.threshold):
        with pytest.warns(UserWarning, match="19 calibration rows are too few") as caught:
            ask(far, fdr=0.05)
        assert caught[0].filename == __file__


def test_two_rules_or_none_are_refused_with_what_came(blob):
    model = quick().fit(blob)
    with pytest.raises(ValueError, match=r"got false_positives=1 and contamination=0\.2\."):
        model.threshold(blob, false_positives=1, contamination=0.2)
    with pytest.raises(ValueError, match=r"got none\."):
        model.threshold(blob)


def test_a_row_on_the_threshold_is_no_outlier(blob):
    inliers = blob[:99] + 1e-9
    model = quick().fit(blob).calibrate(inliers)
    called = model.detect(inliers, false_positives=9.9)  # its own inliers: each ties with itself
    np.testing.assert_array_equal(called, model.p_values(inliers) <= 0.1 + 1e-12)
    assert called.sum() == 9  # ranks 2 to 10 of 100


@pytest.mark.parametrize("share", [0, 1, 0.0, 1.0, False, True, "half", -0.5, 1.5, None])
def test_what_is_no_share_is_refused_by_name(share):
    with pytest.raises(ValueError, match=f"contamination must be a share above 0 and below 1, got {share!r}"):
        threshold_by_contamination(np.arange(3.0), share)
    with pytest.raises(ValueError, match="fdr must be a share"):
        largest_rejected(np.ones(3), share)
    with pytest.raises(ValueError, match="fdr must be a share"):
        threshold_by_fdr(np.ones(30), np.ones(3), share)


def test_a_numpy_number_is_a_share_too():
    assert threshold_by_contamination(np.arange(5.0), np.float32(0.25)) == 1.0


def test_of_too_many_rows_evenly_spaced_ones_are_kept():
    heads = np.column_stack([np.arange(10.0), np.arange(10.0)])
    assert subsample_evenly(heads, 4)[:, 0].tolist() == [0, 3, 6, 9]
    assert subsample_evenly(heads, 10).tolist() == heads.tolist()
    assert len(subsample_evenly(np.zeros((20_001, 2)))) == len(subsample_evenly(np.zeros((20_000, 2)))) == 20_000


def test_a_lot_decides_only_among_equals():
    inliers, scores = np.array([1.0, 1.0, 3.0, 3.0, 5.0]), np.array([0.0, 2.0, 4.0, 6.0])
    for seed in range(20):
        p = p_values(inliers, scores, np.random.default_rng(seed))
        np.testing.assert_allclose(p, [1 / 6, 3 / 6, 5 / 6, 1])


# Rows set aside


def test_a_holdout_parts_the_rows_and_keeps_their_order():
    learned, aside = split_off_holdout(0.25, np.zeros((8, 3)), np.random.default_rng(0))
    assert learned is not None
    assert aside is not None
    assert (len(learned), len(aside)) == (6, 2)
    assert sorted([*learned, *aside]) == list(range(8))
    assert (np.diff(learned) > 0).all()
    assert (np.diff(aside) > 0).all()


def test_the_dissimilarity_follows_the_rows_that_are_learned():
    x, learned = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0]), np.array([0, 2, 3, 5])
    for dissimilarity in (np.abs(x[:, None] - x), lambda i, j: np.abs(x[i] - x[j])):
        between = restrict_dissimilarity(dissimilarity, learned, len(x))
        between = between(*np.indices((4, 4))) if callable(between) else between
        np.testing.assert_array_equal(between, np.abs(x[learned, None] - x[learned]))


def test_without_a_holdout_no_row_is_chosen():
    assert split_off_holdout(None, np.zeros((4, 1)), np.random.default_rng(0)) == (None, None)


def test_the_smallest_holdout_is_a_row_and_the_largest_leaves_three():
    rng = np.random.default_rng(0)
    assert len(split_off_holdout(0.01, np.zeros((10, 2)), rng)[1]) == 1
    assert len(split_off_holdout(0.4, np.zeros((5, 2)), rng)[0]) == 3
    with pytest.raises(ValueError, match=r"holdout=0\.6 of 5 rows leaves 2 to train on"):
        split_off_holdout(0.6, np.zeros((5, 2)), rng)
