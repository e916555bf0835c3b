"""Regions, samples and classes judged by a depth that is simply the first column: every answer can be counted."""

import warnings
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.base import BaseEstimator
from sklearn.linear_model import RidgeClassifier

from centrality.depths import Halfspace
from centrality.regions import (
    DDClassifier,
    central_region,
    dd_plot,
    median,
    rank_interval,
    trimmed_mean,
    two_sample_test,
)

TEN = np.arange(10.0)[:, None]


class Height(BaseEstimator):
    """The higher, the deeper."""

    fits = 0

    def fit(self, X, y=None):
        type(self).fits += 1
        return self

    def score_samples(self, X):
        return np.asarray(X)[:, 0]


class Doubtful(Height):
    def score_samples(self, X):
        warnings.warn("take this with care", UserWarning, stacklevel=2)
        return super().score_samples(X)


class Peaks(Height):
    """As deep as the nearest of two peaks, at 0 and at 10, is near."""

    def score_samples(self, X):
        x = np.asarray(X)[:, 0]
        return -np.minimum(np.abs(x), np.abs(x - 10))


@pytest.mark.parametrize("steps", [1, 50])
def test_between_two_middle_rows_of_equal_depth_the_median_is_on_the_way_from_one_to_the_other(steps):
    rows = np.array([[1.0], [2.0], [3.0], [10.0]])
    assert 2 < median(Halfspace().fit(rows), rows, steps=steps)[0] < 3


def test_where_the_average_of_the_deepest_points_lies_in_a_valley_one_of_them_is_the_median():
    rows = np.array([[0.0], [10.0], [1.0], [9.0], [4.0], [6.0]])
    assert median(Peaks(), rows)[0] in (0, 10)


@pytest.mark.parametrize(("columns", "deepest"), [(2, 20), (12, 24)])  # twice as many as columns, and twenty at least
def test_the_climb_to_the_median_goes_by_the_differences_of_the_deepest_rows_and_halves_them(columns, deepest):
    class Asked(Height):
        questions: ClassVar[list[np.ndarray]] = []

        def score_samples(self, X):
            self.questions.append(np.asarray(X))
            return super().score_samples(X)

    rows = np.random.default_rng(0).normal(size=(60, columns))
    median(Asked(), rows, steps=2)
    deep = rows[np.argsort(rows[:, 0])[::-1][:deepest]]
    started, stepped = Asked.questions[1:3]
    np.testing.assert_allclose(started, [*deep, deep.mean(0)])
    by_half = (deep - deep[0]) / 2  # none of those was deeper than the deepest row
    np.testing.assert_allclose(stepped, [*(deep[0] + by_half), *(deep[0] - by_half)])


def test_half_of_the_rows_are_central_and_a_tenth_is_trimmed_unless_told_otherwise():
    assert central_region(Height(), TEN).inside.tolist() == [False] * 5 + [True] * 5
    assert trimmed_mean(Height(), TEN).tolist() == [5.0]  # of 1 to 9


def test_what_is_as_deep_as_the_border_belongs_to_the_region():
    region = central_region(Height(), TEN, mass=0.4)
    assert region.level == 6
    assert region.contains([[5.9], [6.0], [6.1]]).tolist() == [False, True, True]


@pytest.mark.parametrize(("n", "mass", "count"), [(10, 1e-12, 1), (10, 0.1, 1), (10, 0.11, 2), (100, 0.07, 7)])
def test_a_region_holds_as_few_rows_as_its_mass_allows_and_one_at_least(n, mass, count):
    rows = np.arange(float(n))[:, None]  # 0.07 * 100 is more than 7 in floating point
    assert central_region(Height(), rows, mass=mass).inside.sum() == count


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: trimmed_mean(Height(), TEN, trim=-0.1), r"trim must be .* got -0\.1"),
        (lambda: central_region(Height(), TEN, mass=1.1), r"mass must be .* got 1\.1"),
        (lambda: central_region(Height(), TEN, mass=-0.1), r"mass must be .* got -0\.1"),
        (lambda: rank_interval(Height(), TEN, TEN, level=0), "level must lie between 0 and 1, got 0"),
        (lambda: rank_interval(Height(), TEN, TEN, level=1), "level must lie between 0 and 1, got 1"),
        (lambda: rank_interval(Height(), TEN, TEN, level=-0.5), "level must lie between 0 and 1, got -"),
        (lambda: rank_interval(Height(), TEN, TEN, resamples=0), "resamples must be a whole number"),
    ],
)
def test_what_lies_outside_its_limits_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_rows_of_single_precision_have_a_double_precision_mean():
    assert trimmed_mean(Height(), TEN.astype(np.float32)).dtype == np.float64


def test_the_dd_plots_axes_are_named():
    (axes,) = dd_plot(Height(), TEN, TEN).figure().axes
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("depth in first", "depth in second")


def test_the_wilcoxon_statistic_by_hand():
    # Of all five rows the two of the second sample have the ranks 4 and 5, that is the shares .7 and .9.
    found = two_sample_test(Height(), [[0.0], [1.0], [2.0]], [[3.0], [4.0]], statistic="wilcoxon", random_state=0)
    assert found.statistic == pytest.approx(0.8)


def test_a_bootstrap_interval_has_the_quantiles_of_the_binomial():
    """Of a resample of 100 rows, as many are no higher than the 30th as a binomial with n = 100 and p = .3 says."""
    rows = np.arange(100.0)[:, None]
    found = rank_interval(Height(), rows, [[29.5], [79.5]], level=0.5, resamples=4000, random_state=0)
    np.testing.assert_allclose(found.rank, [0.3, 0.8])
    for ends, quantile in ((found.low, 0.25), (found.high, 0.75)):
        np.testing.assert_allclose(ends, binom.ppf(quantile, 100, [0.3, 0.8]) / 100, atol=1e-9)


def test_an_interval_comes_from_200_resamples_unless_told_otherwise():
    Height.fits = 0
    rank_interval(Height(), TEN, TEN)
    assert Height.fits == 200 + 1  # and once to all rows


def test_what_a_model_warns_of_is_heard():
    with pytest.warns(UserWarning, match="take this with care"):
        central_region(Doubtful(), TEN)


# The classifier


def test_two_rows_in_each_of_two_classes_are_enough_and_fewer_are_not():
    rows = np.array([[0.0], [1.0], [5.0], [6.0]])
    assert DDClassifier(depth=Height()).fit(rows, [0, 0, 1, 1]).predict(rows).tolist() == [0, 0, 1, 1]
    with pytest.raises(ValueError, match=r"at least 4 rows \(two in each of two classes\), got"):
        DDClassifier(depth=Height()).fit(rows[:3], [0, 0, 1])
    with pytest.raises(ValueError, match=r"two classes of two rows each .* sizes: 7: 4\."):
        DDClassifier(depth=Height()).fit(rows, [7, 7, 7, 7])


def test_each_class_has_its_own_depth_in_the_order_of_the_labels():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 2)), np.arange(60) % 3
    model = DDClassifier().fit(rows, labels)
    for label, depth in enumerate(model.depths_):
        assert depth.score_samples(rows[labels == label].mean(0)[None]) == pytest.approx(1)  # Mahalanobis' at the mean


def test_the_default_classifier_sees_depths_their_squares_and_their_product():
    model = DDClassifier().fit(np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) % 2)
    assert model.classifier_[-1].coef_.shape == (1, 5)


def test_a_fitted_classifier_offers_what_it_was_fitted_with():
    model = DDClassifier(classifier=RidgeClassifier()).fit(TEN, np.arange(10) % 2)
    assert not hasattr(model.set_params(classifier=None), "predict_proba")


def test_labels_that_are_missing_or_not_finite_are_named():
    with pytest.raises(ValueError, match="requires y to be passed"):
        DDClassifier().fit(TEN, None)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        DDClassifier().fit(TEN, [np.nan, *range(9)])
