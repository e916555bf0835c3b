"""Calibration rows that hold outliers: a stated bound on their share keeps the power to find others."""

import warnings

import numpy as np
import pytest

from centrality import FUSE, load
from centrality.analysis.conformal import CalibrationRows, count_separated_outliers
from centrality.network.calibration import LINEAR
from tests.conftest import quick

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1000, 3))
DIRTY = np.concatenate([RNG.normal(size=(475, 3)), RNG.normal(size=(25, 3)) + 7])
ODD = RNG.normal(size=(40, 3)) + 7


@pytest.fixture(scope="module")
def model():
    return quick(max_steps=200).fit(X)


def test_so_many_of_the_least_central_ones_are_left_out_at_each_t():
    heads = np.column_stack([np.arange(10.0), np.arange(10.0)[::-1]]) / 10
    inliers = CalibrationRows.of(heads, 0.25, LINEAR)
    np.testing.assert_allclose(inliers.scores(LINEAR, 0.0), np.arange(2, 10) / 10)  # two of ten, rounded down
    np.testing.assert_allclose(inliers.scores(LINEAR, 1.0), np.arange(2, 10) / 10)  # others of them
    assert len(CalibrationRows.of(heads, 0.0, LINEAR).scores(LINEAR, 0.5)) == 10


def test_a_stated_bound_gives_back_the_power_that_outliers_among_the_calibration_rows_take(model, tmp_path):
    fresh = RNG.normal(size=(2000, 3))
    tested = np.concatenate([fresh[:95], ODD[:5] - 2.5])  # less odd than those among the calibration rows
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        assert not model.calibrate(DIRTY).detect(tested, fdr=0.1).any()  # p must be .005, and 5% of the rows are odd
    model.calibrate(DIRTY, contamination=0.05)
    assert model.detect(tested, fdr=0.1)[95:].all()
    # 5% were left out, and were the outliers: P(p <= .1) is .1, give or take four of its deviations on both sides.
    assert np.mean(model.p_values(fresh) <= 0.1) == pytest.approx(0.1, abs=4 * np.sqrt(0.09 * (1 / 475 + 1 / 2000)))
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").p_values(ODD), model.p_values(ODD))


def test_right_after_a_fit_a_group_of_outliers_among_the_training_rows_hides_no_others():
    dirty = quick(max_steps=200).fit(np.concatenate([X, ODD]))
    left = len(dirty.fitted_.inlier_scores(0.5))
    assert 995 <= left <= 1004  # at least nine tenths of the 40 are left out, and of the others no more than 5
    assert np.median(dirty.p_values(ODD + 0.01)) == pytest.approx(1 / (left + 1))
    # Of rows that the user brings, all count, unless they are to be looked at, too.
    fresh = np.concatenate([np.random.default_rng(5).normal(size=(1000, 3)), ODD])
    dirty.calibrate(fresh)
    assert 5 / 1041 < np.median(dirty.p_values(ODD + 0.01)) <= 41 / 1041  # somewhere among the 40
    assert np.median(dirty.calibrate(fresh, contamination="auto").p_values(ODD + 0.01)) <= 1 / 1001


@pytest.mark.parametrize(
    "tail",
    [
        lambda n, rng: -np.linalg.norm(rng.normal(size=(n, 5)), axis=1),
        lambda n, rng: -np.abs(rng.standard_t(2, n)),
        lambda n, rng: -rng.lognormal(0, 2, n),
        lambda n, rng: -rng.poisson(1.5, (n, 5)).sum(1).astype(float),
        lambda n, rng: rng.uniform(size=n),
    ],
    ids=["normal", "t2", "log-normal", "counts", "uniform"],
)
@pytest.mark.parametrize("n", [100, 1000])
def test_of_clean_rows_hardly_ever_one_is_left_out_however_heavy_their_tails(tail, n):
    rng = np.random.default_rng(0)
    groups = [count_separated_outliers(np.sort(tail(n, rng))) for _ in range(100)]
    assert np.mean(np.array(groups) > 0) <= 0.05


@pytest.mark.parametrize("share", [0.04, 0.06, 0.1])
def test_clean_rows_of_a_few_kinds_one_of_them_wide_are_no_group_apart(share):
    """Their tail gets heavier farther out, as that of a group of outliers does, but no space is empty."""
    rng = np.random.default_rng(0)
    wide = [rng.random(1200) < share for _ in range(100)]
    scores = [-np.abs(rng.normal(size=1200)) * np.where(of, 6, 1) for of in wide]
    assert np.mean([count_separated_outliers(np.sort(each)) > 0 for each in scores]) <= 0.1


def test_a_group_beyond_an_empty_space_is_left_out_to_the_row():
    rng = np.random.default_rng(0)
    for outliers in (20, 50, 70):
        clean = -np.linalg.norm(rng.normal(size=(1000, 5)), axis=1)
        scores = np.concatenate([clean, clean.min() - rng.uniform(3, 9, outliers)])
        assert count_separated_outliers(np.sort(scores)) == outliers


def test_scores_of_coarse_columns_leave_no_space_that_says_anything():
    """All spaces between 32 levels are empty, whatever their width."""
    coins = np.random.default_rng(0).random((600, 5)) < 0.2
    assert count_separated_outliers(np.sort(-(2.0 ** coins.sum(1)))) == 0


@pytest.mark.parametrize("n", [0, 1, 5, 40])
def test_of_few_rows_and_of_equal_ones_none_is_left_out(n):
    assert count_separated_outliers(np.arange(float(n))) == 0
    assert count_separated_outliers(np.full(1000, 0.5)) == 0


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.05])
def test_over_8_fits_detect_keeps_its_rate_and_finds_outliers_whatever_share_of_the_training_rows_are_some(share):
    """Outliers lie 6 sd beyond the usual distance, in any direction; 1,000 rows of 5 columns."""
    false, found = [], []
    for seed in range(8):
        rng = np.random.default_rng([seed, 28])
        dirt = round(1000 * share)
        model = FUSE(random_state=seed).fit(np.concatenate([rng.normal(size=(1000 - dirt, 5)), around(dirt, rng)]))
        for _ in range(20):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # where there are too few calibration rows
                called = model.detect(np.concatenate([rng.normal(size=(180, 5)), around(20, rng)]), fdr=0.1)
            false.append(called[:180].sum() / max(called.sum(), 1))
            found.append(called[180:].mean())
    by_fit = np.reshape(false, (8, 20)).mean(1)
    assert by_fit.mean() <= 0.1 + 2 * by_fit.std(ddof=1) / np.sqrt(8)
    assert np.mean(found) >= 0.8


def around(n: int, rng: np.random.Generator) -> np.ndarray:
    rows = rng.normal(size=(n, 5))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * (6 + np.sqrt(5))


def test_calibration_rows_odder_than_the_training_rows_are_warned_of(model):
    with pytest.warns(UserWarning, match=r"of the calibration rows have a .* are there outliers among them"):
        model.calibrate(DIRTY)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.calibrate(RNG.normal(size=(500, 3)))


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, "a tenth"])
def test_a_bound_that_is_no_share_is_refused(model, share):
    with pytest.raises(ValueError, match="contamination must be a share above 0 and below 1"):
        model.calibrate(DIRTY, contamination=share)
