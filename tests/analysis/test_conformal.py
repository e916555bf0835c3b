"""What p-values promise, who is called an outlier, which rows stand apart, and what weights change."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.exceptions import NotFittedError

from centrality import FUSE, load
from centrality._internal.checks import InputError
from centrality.analysis.conformal import (
    CALIBRATION_ROWS,
    count_apart,
    draw_rows,
    estimate_weights,
    largest_rejected,
    p_values,
    threshold_by_contamination,
    threshold_by_false_positives,
    threshold_by_fdr,
)
from tests.conftest import quick

REPETITIONS = 100
few_levels = st.lists(st.integers(0, 6), min_size=2, max_size=40).map(lambda x: np.array(x) / 7)
FAR = np.array([[50.0, 50.0]])


@pytest.fixture(scope="module")
def calibrated(blob):
    """A model of the blob, calibrated on 999 fresh points of its kind. Shared: tests must not change it."""
    return FUSE(random_state=0, max_steps=300).fit(blob).calibrate(np.random.default_rng(1).normal(size=(999, 2)))


def test_a_p_value_is_the_rank_among_the_inliers():
    inliers = np.array([0.1, 0.2, 0.3, 0.4])
    np.testing.assert_array_equal(p_values(inliers, np.array([0.05, 0.1, 0.25, 0.9])), [1 / 5, 2 / 5, 3 / 5, 1])


@given(few_levels)
def test_among_exchangeable_points_no_p_value_is_reached_too_often_whatever_the_ties(scores):
    """Each of n points in turn against the others: at most j of n may have p <= j / n. That is P(p <= a) <= a."""
    n = len(scores)
    p = np.array([p_values(np.delete(scores, i), scores[i : i + 1])[0] for i in range(n)])
    for j in range(1, n + 1):
        assert (p <= j / n + 1e-12).sum() <= j
    if len(set(scores)) == n:
        np.testing.assert_allclose(np.sort(p), np.arange(1, n + 1) / n)  # without ties: exactly uniform


def test_ties_broken_by_lot_make_p_values_exactly_uniform():
    """All scores are equal: by lot each of the five ranks comes up in a fifth of 20,000 draws, within 4 deviations."""
    rng, inliers = np.random.default_rng(0), np.full(4, 0.5)
    p = np.array([p_values(inliers, np.array([0.5]), rng)[0] for _ in range(20_000)])
    for rank in range(1, 6):
        assert (p == rank / 5).mean() == pytest.approx(0.2, abs=4 * np.sqrt(0.2 * 0.8 / 20_000))
    assert p_values(inliers, np.array([0.5]))[0] == 1.0  # and without a lot they count against the row


@given(few_levels, few_levels, st.integers(0, 99))
def test_a_lot_never_makes_a_p_value_larger_and_keeps_the_order_of_what_does_not_tie(inliers, scores, seed):
    by_lot, against = p_values(inliers, scores, np.random.default_rng(seed)), p_values(inliers, scores)
    assert (by_lot <= against).all()
    assert (by_lot >= (1 + np.searchsorted(np.sort(inliers), scores, side="left")) / (len(inliers) + 1)).all()


def rejected(p: np.ndarray, fdr: float) -> np.ndarray:
    return p <= largest_rejected(p, fdr)


def test_benjamini_and_hochbergs_own_example():
    """Their 1995 paper, section 3: of these fifteen, four are rejected at .05 (Bonferroni: three)."""
    small = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459]
    p = np.array([*small, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0])
    assert rejected(p, 0.05).tolist() == [True] * 4 + [False] * 11
    assert not rejected(np.ones(3), 0.05).any()


@given(few_levels, few_levels, st.sampled_from([0.3, 0.5, 0.8]))
def test_below_the_threshold_lie_those_whom_benjamini_and_hochberg_reject(inliers, scores, fdr):
    inliers = np.concatenate([inliers, [0.5, 0.5]])  # at least as many as the smallest fdr needs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about too few inliers
        below = scores < threshold_by_fdr(inliers, scores, fdr)
    np.testing.assert_array_equal(below, rejected(p_values(inliers, scores), fdr))


@given(few_levels, few_levels)
def test_below_the_threshold_by_false_positives_lie_the_p_values_up_to_that_share(inliers, scores):
    expected = 0.6 * len(scores)
    below = scores < threshold_by_false_positives(np.append(inliers, 0.5), scores, expected)
    np.testing.assert_array_equal(below, p_values(np.append(inliers, 0.5), scores) <= 0.6 + 1e-12)


def test_the_threshold_by_contamination_cuts_off_that_share():
    scores = np.random.default_rng(0).permutation(np.linspace(0, 1, 201))
    assert (scores < threshold_by_contamination(scores, 0.1)).sum() == 20


@pytest.mark.slow
@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_over_100_calls_of_detect_the_false_discovery_rate_is_what_theory_says(blob, t):
    """Theory: on average a share fdr * .9 of the discoveries is false, .9 being the share of inliers among the rows."""
    rng = np.random.default_rng(2)
    model = FUSE(random_state=0, max_steps=300).fit(blob)
    false, found = ({fdr: list[float]() for fdr in (0.05, 0.1, 0.2)} for _ in range(2))
    for _ in range(REPETITIONS):
        model.calibrate(rng.normal(size=(1000, 2)))  # new ones each time
        rows = np.concatenate([rng.normal(size=(180, 2)), rng.normal(size=(20, 2)) * 0.5 + 3.2])
        for fdr in false:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # a draw in which calibration rows are too few
                called = model.detect(rows, fdr=fdr, t=t)
            false[fdr].append(called[:180].sum() / max(called.sum(), 1))
            found[fdr].append(called[180:].mean())
    for fdr in false:
        error = np.std(false[fdr]) / np.sqrt(REPETITIONS)
        assert np.mean(false[fdr]) <= 0.9 * fdr + 3 * error
        assert np.mean(false[fdr]) >= 0.9 * fdr * 0.7 - 3 * error  # and no more timid than 1 / (m + 1) explains
        assert np.mean(found[fdr]) > 0.5


@pytest.mark.slow
def test_on_average_no_more_false_positives_than_expected(blob):
    """All 200 rows are inliers and 3 false positives allowed: their number has mean <= 3, here judged by 100 draws."""
    rng = np.random.default_rng(3)
    pool = FUSE(random_state=0, max_steps=300).fit(blob).centrality(rng.normal(size=(20_000, 2)))
    counts = []
    for _ in range(REPETITIONS):
        drawn = rng.permutation(pool)[:700]
        counts.append((drawn[:200] < threshold_by_false_positives(drawn[200:], drawn[:200], 3)).sum())
    error = np.std(counts) / np.sqrt(REPETITIONS)
    assert 3 * 0.8 - 3 * error <= np.mean(counts) <= 3 + 3 * error


@pytest.mark.slow
def test_p_values_of_a_model_are_ranks_at_every_t(calibrated):
    fresh = np.random.default_rng(1).normal(size=(999, 2))
    rows = np.random.default_rng(2).normal(size=(50, 2)) * 2
    for t in (0, 0.3, 1):
        inliers, scores = calibrated.centrality(fresh, t), calibrated.centrality(rows, t)
        expected = [(1 + (inliers <= score).sum()) / 1000 for score in scores]
        np.testing.assert_allclose(calibrated.p_values(rows, t), expected, rtol=1e-14)
    several = calibrated.p_values(rows, [0, 0.5])
    np.testing.assert_array_equal(several, np.column_stack([calibrated.p_values(rows, t) for t in (0, 0.5)]))
    np.testing.assert_array_equal(calibrated.p_values(rows), several[:, 1])  # the model's own t is one half


def test_a_seed_breaks_ties_the_same_way_again(calibrated):
    rows = np.random.default_rng(1).normal(size=(999, 2))  # all calibration rows again: each ties with its copy
    first, second = (calibrated.p_values(rows, random_state=7) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert (first < calibrated.p_values(rows)).any()


def test_detect_finds_the_outliers_among_the_rows(calibrated):
    rows = np.concatenate([np.random.default_rng(5).normal(size=(90, 2)) * 0.8, np.tile(FAR, (10, 1))])
    for fdr in (0.05, 0.2):
        mask = calibrated.detect(rows, fdr=fdr, t=0.5)
        assert mask.dtype == bool
        assert mask[90:].all()
        np.testing.assert_array_equal(mask, rejected(calibrated.p_values(rows, 0.5), fdr))
        np.testing.assert_array_equal(mask, calibrated.centrality(rows) < calibrated.threshold(rows, fdr=fdr))
    np.testing.assert_array_equal(calibrated.detect(rows), calibrated.detect(rows, fdr=0.05))
    np.testing.assert_array_equal(calibrated.detect(rows, false_positives=2), calibrated.p_values(rows) <= 0.02)
    assert calibrated.detect(rows, contamination=0.25).sum() == 25


def test_a_holdout_calibrates_on_rows_that_are_not_trained_on(blob):
    model = quick(holdout=0.2).fit(blob)
    assert model.p_values(FAR) == [1 / 121]  # a fifth of 600, and none is farther out
    forgetful = model.set_params(holdout=None).fit(blob)
    assert forgetful.p_values(FAR) == [1 / 601]  # every row is left out once, and none is farther out


@pytest.mark.slow
def test_a_holdout_works_for_frames_sparse_rows_and_dissimilarities(blob):
    frame = pd.DataFrame(blob, columns=["length", "width"])
    far = pd.DataFrame(FAR, columns=["length", "width"])
    assert quick(holdout=0.2).fit(frame).p_values(far) == [1 / 121]
    assert quick(holdout=0.2).fit(sparse.csr_array(blob)).p_values(FAR) == [1 / 121]
    x = np.linspace(-1, 1, 300)
    line = np.abs(x[:, None] - x)
    for dissimilarity in (line, lambda i, j: abs(x[i] - x[j])):
        model = FUSE(random_state=0, max_steps=300, holdout=0.2, ensemble=1).fit(
            x[:, None], dissimilarity=dissimilarity
        )
        assert spearmanr(model.raw(x[:, None])[:, 0], -np.abs(x))[0] > 0.97


def test_calibration_is_saved_with_the_model(calibrated, tmp_path):
    calibrated.save(tmp_path / "m.safetensors")
    twin = load(tmp_path / "m.safetensors")
    rows = np.random.default_rng(2).normal(size=(50, 2)) * 2
    for t in (0, 0.123, 1):
        np.testing.assert_array_equal(twin.p_values(rows, t), calibrated.p_values(rows, t))


def test_of_many_calibration_rows_a_bounded_number_is_kept(blob, tmp_path):
    many = np.random.default_rng(0).normal(size=(3 * CALIBRATION_ROWS, 2))
    model = quick().fit(blob).calibrate(many)
    assert model.p_values(FAR) == [1 / (CALIBRATION_ROWS + 1)]
    model.save(tmp_path / "m.safetensors")
    assert (tmp_path / "m.safetensors").stat().st_size < 500_000


def test_clipped_scores_of_far_outliers_tie_and_still_have_valid_p_values(blob):
    model = quick(calibration="clip", max_steps=400).fit(blob)
    fresh = np.random.default_rng(1).normal(size=(5000, 2))
    model.calibrate(fresh)
    tied = (model.centrality(fresh, 1) == 0).sum()
    assert tied > 0
    assert model.p_values(FAR, 1) == [(1 + tied) / 5001]


def test_without_calibration_rows_the_error_says_what_to_do(blob):
    fitted = quick(epochs=1).fit(blob)  # the paper's schedule leaves no row out
    for call in (fitted.p_values, fitted.detect):
        with pytest.raises(ValueError, match=r"Call calibrate\(C\) .* or fit with holdout=0.2"):
            call(blob)


@pytest.mark.parametrize("holdout", [0, 1, 1.5, -0.1, "some", True, np.nan])
def test_a_holdout_that_is_no_share_is_refused(blob, holdout):
    with pytest.raises(ValueError, match="holdout must be a share above 0 and below 1, got"):
        quick(holdout=holdout).fit(blob)


def test_a_holdout_does_not_hide_a_matrix_of_the_wrong_size(blob):
    with pytest.raises(ValueError, match=r"for each of the 600 rows of X, got shape \(3, 3\)"):
        quick(holdout=0.2).fit(blob, dissimilarity=np.zeros((3, 3)))


def test_before_fitting_it_says_so(blob):
    for call in (FUSE().p_values, FUSE().detect, FUSE().calibrate):
        with pytest.raises(NotFittedError):
            call(blob)


def test_a_holdout_must_leave_rows_to_train_on():
    with pytest.raises(ValueError, match=r"holdout=0.9 of 5 rows leaves 1 to train on, at least 3 were wanted"):
        quick(holdout=0.9).fit(np.arange(10.0).reshape(5, 2))


def test_wrong_rules_are_refused_with_what_came(calibrated, blob):
    with pytest.raises(ValueError, match=r"Give exactly one of fdr, .*, got fdr=0.1 and contamination=0.2"):
        calibrated.detect(blob, fdr=0.1, contamination=0.2)
    with pytest.raises(ValueError, match=r"Give exactly one of fdr, false_positives and contamination, got none"):
        calibrated.threshold(blob)
    with pytest.raises(ValueError, match=r"fdr must be a share above 0 and below 1, got 5"):
        calibrated.detect(blob, fdr=5)
    with pytest.raises(ValueError, match=r"false_positives must be a number above 0, got 0"):
        calibrated.detect(blob, false_positives=0)
    with pytest.raises(ValueError, match=r"t must be one number here, got \[0, 1\]"):
        calibrated.detect(blob, t=[0, 1])


def test_too_few_calibration_rows_are_said_to_be_too_few(blob):
    model = quick().fit(blob).calibrate(blob[:18] * 0.1)
    with pytest.raises(ValueError, match=r"fdr=0.05 needs at least 19 calibration rows, got 18"):
        model.detect(blob)
    with pytest.raises(ValueError, match=r"false_positives=6 among 600 rows needs at least 99 .* rows, got 18"):
        model.detect(blob, false_positives=6)
    rows = np.concatenate([np.zeros((96, 2)), np.tile(FAR, (4, 1))])
    # 4 of 100 rows at p = 1 / (m + 1) are enough once that is at most .1 · 4 / 100: m = 249
    with pytest.warns(UserWarning, match=r"18 calibration rows are too few for 100 new .*About 250 would"):
        assert not model.detect(rows, fdr=0.1).any()


@pytest.mark.parametrize("tail", ["normal", "exponential"])
@pytest.mark.parametrize("rows", [300, 1200])
def test_of_clean_scores_hardly_ever_a_row_stands_apart(tail, rows):
    """One of twenty may; of 100 samples 5, and 12 with three standard deviations more."""
    rng = np.random.default_rng(rows)

    def sample():
        return rng.normal(size=rows) if tail == "normal" else -rng.exponential(size=rows)

    assert sum(count_apart(np.sort(sample())) > 0 for _ in range(100)) <= 12


@pytest.mark.parametrize("odd", [1, 3, 8, 60])
def test_rows_far_beyond_the_others_stand_apart_few_or_many(odd):
    """The lowest of 1,200 normal scores lies near -3.2: rows from -14 to -20 are none of them."""
    rng = np.random.default_rng(odd)
    scores = np.sort(np.concatenate([rng.normal(size=1200 - odd), np.linspace(-20, -14, odd)]))
    assert count_apart(scores) == odd


def test_of_few_rows_and_of_equal_ones_none_stands_apart():
    assert count_apart(np.sort(np.append(np.random.default_rng(0).normal(size=80), -50.0))) == 0
    assert count_apart(np.zeros(1000)) == 0
    assert count_apart(np.array([])) == 0


def test_rows_of_the_fit_are_scored_by_networks_that_did_not_see_them():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    X[5] = 12.0
    model = FUSE(random_state=0, max_steps=200).fit(X)
    assert np.flatnonzero(model.stands_apart(X)).tolist() == [5]
    units = model._units(X)  # noqa: SLF001
    held_out = model.fitted_.held_out_units(units)
    assert (held_out != units).all()
    np.testing.assert_array_equal(model.fitted_.held_out_units(units[::-1]), units[::-1])  # another order: not known


def of_kinds(rng, count, share):
    """Rows of two kinds, a narrow one and a wide one, of which there is this share."""
    wide = rng.random(count) < share
    rows = np.column_stack([rng.normal(size=count) * np.where(wide, 3.0, 0.5), rng.normal(size=count)])
    rows[:, 1] += 8 * wide
    return rows, wide


@pytest.fixture(scope="module")
def model():
    return FUSE(random_state=0, max_steps=300).fit(of_kinds(np.random.default_rng(0), 1500, 0.1)[0])


def test_drawn_rows_have_the_distribution_of_the_new_ones():
    """Of 4,000 rows a tenth is wide; weighed by 9 they are half: .5 ± .03 (three deviations of 800 rows)."""
    wide = of_kinds(np.random.default_rng(1), 4000, 0.1)[1]
    chosen = draw_rows(np.where(wide, 9.0, 1.0), np.random.default_rng(2))
    assert wide[chosen].mean() == pytest.approx(0.5, abs=0.06)
    assert len(chosen) > 600


def test_weighed_p_values_are_uniform_for_the_rows_that_come_now_and_unweighed_ones_are_not(model):
    """P(p <= .1) is .1: of 2,000 rows and 800 drawn ones, three deviations are .04."""
    rng = np.random.default_rng(3)
    rows, wide = of_kinds(rng, 6000, 0.1)
    new = of_kinds(rng, 2000, 0.5)[0]
    before = (model.calibrate(rows).p_values(new) <= 0.1).mean()
    known = (model.calibrate(rows, weights=np.where(wide, 9.0, 1.0)).p_values(new) <= 0.1).mean()
    estimated = (model.calibrate(rows, like=of_kinds(rng, 1000, 0.5)[0]).p_values(new) <= 0.1).mean()
    assert abs(known - 0.1) <= 0.04
    assert abs(estimated - 0.1) <= 0.06  # weights are estimated, and cut
    assert abs(before - 0.1) > 0.1


def test_where_few_rows_carry_the_weight_a_warning_says_how_many(model):
    rows = np.random.default_rng(4).normal(size=(300, 2))
    weights = np.full(300, 0.001)
    weights[:20] = 1.0
    with pytest.warns(UserWarning, match=r"Few rows carry the weight: 2\d of 300 calibration rows are left"):
        model.calibrate(rows, weights=weights)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights": [1.0, 2.0]}, "weights must be 50 non-negative numbers"),
        ({"weights": np.zeros(50)}, "weights must be 50 non-negative numbers"),
        ({"weights": np.full(50, np.nan)}, "weights must be 50 non-negative numbers"),
        ({"weights": np.ones(50), "like": np.zeros((50, 2))}, "One of weights and like was wanted, got both"),
        ({"like": np.zeros((3, 2))}, "`like` needs at least 10 rows on each side, got 50 and 3"),
    ],
)
def test_weights_that_are_none_are_refused(model, changes, message):
    with pytest.raises(InputError, match=message):
        model.calibrate(np.random.default_rng(5).normal(size=(50, 2)), **changes)
    with pytest.raises(InputError, match="give X, the rows to calibrate on"):
        model.calibrate(**changes)


def test_rows_that_are_the_same_weigh_the_same():
    rng = np.random.default_rng(6)
    weights = estimate_weights(rng.normal(size=(2000, 2)), rng.normal(size=(2000, 2)), rng)
    assert weights.min() / np.median(weights) > 0.5
    assert weights.max() / np.median(weights) < 2


def test_estimated_weights_leave_about_as_many_rows_as_the_true_ones():
    """True weights have the mean 1 and end at 9, so that 3,000 rows leave 333; the classifier's own odds leave 108."""
    rng = np.random.default_rng(7)

    def draw(share, n):
        is_rare = rng.random((n, 1)) < share
        return rng.normal(size=(n, 4)) * np.where(is_rare, 2.0, 1.0) + is_rare * [3.0, 0, 0, 0]

    weights = estimate_weights(draw(0.1, 3000), draw(0.9, 2000), rng)
    assert 333 / 1.5 < weights.sum() / weights.max() < 333 * 1.5
