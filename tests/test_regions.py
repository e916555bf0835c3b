"""Medians, regions and comparisons of samples, by hand and on samples whose answer is known."""

import matplotlib.figure
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from centrality import FUSE, plots
from centrality.depths import Halfspace, Mahalanobis, Projection, Spatial
from centrality.regions import (
    DDClassifier,
    central_region,
    dd_plot,
    median,
    rank_interval,
    trimmed_mean,
    two_sample_test,
)

rng = np.random.default_rng(0)
NORMAL = rng.normal(size=(120, 2))
SAME = rng.normal(size=(80, 2))
SHIFTED = rng.normal(size=(80, 2)) + 1.0
NARROW = rng.normal(size=(80, 2)) * 0.5
BOTH_STATISTICS = pytest.mark.parametrize("statistic", ["q", "wilcoxon"])


@pytest.mark.slow
@parametrize_with_checks([DDClassifier(), DDClassifier(depth=Spatial(), classifier=KNeighborsClassifier(3))])
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)


# Median, trimmed mean, central region


def test_the_mahalanobis_median_is_the_mean_not_a_row():
    rows = NORMAL @ [[2.0, 1.0], [0.0, 0.5]] + 7
    np.testing.assert_allclose(median(Mahalanobis().fit(rows), rows), rows.mean(0), atol=1e-3)


def test_the_halfspace_median_of_a_square_is_its_centre():
    corners = [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]
    np.testing.assert_allclose(median(Halfspace().fit(corners), corners), [1, 1], atol=1e-9)


def test_a_median_in_one_dimension_is_the_median():
    rows = np.array([[1.0], [2.0], [4.0], [8.0], [100.0]])
    np.testing.assert_allclose(median(Halfspace().fit(rows), rows), [4], atol=1e-6)


@pytest.mark.parametrize("depth", [Spatial(), Projection(random_state=0), Halfspace()], ids=str)
def test_a_median_is_at_least_as_deep_as_every_row_and_not_moved_by_outliers(depth):
    rows = np.concatenate([NORMAL, np.full((20, 2), 50.0) + NORMAL[:20]])
    found = median(depth.fit(rows), rows)
    assert depth.score_samples(found[None])[0] >= depth.score_samples(rows).max()
    assert np.linalg.norm(found) < 2  # the mean lies 10 away


def test_a_trimmed_mean_leaves_out_the_least_deep_rows():
    rows = np.array([[0.0], [1.0], [2.0], [3.0], [100.0]])
    depth = Projection().fit(rows)  # median 2: depths fall with the distance from 2
    np.testing.assert_allclose(trimmed_mean(depth, rows, trim=0.2), [1.5])
    np.testing.assert_allclose(trimmed_mean(depth, rows, trim=0.0), [21.2])


def test_a_central_region_holds_the_asked_share_and_ties_at_its_border():
    rows = np.array([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    depth = Projection().fit(rows)  # depths 1/3, 1/2, 1, 1/2, 1/3
    region = central_region(depth, rows, mass=0.6)
    assert region.level == pytest.approx(0.5)
    assert region.inside.tolist() == [False, True, True, True, False]
    assert region.contains([[0.9], [1.1]]).tolist() == [True, False]
    assert central_region(depth, rows, mass=0.4).inside.sum() == 3  # the second and third deepest tie


@pytest.mark.parametrize("mass", [0.05, 0.3, 0.7, 1.0])
def test_central_regions_grow_with_their_mass(mass):
    depth = Spatial().fit(NORMAL)
    assert central_region(depth, NORMAL, mass=mass).inside.sum() == round(mass * len(NORMAL))


def test_regions_work_with_fuse_with_frames_and_with_other_estimators():
    frame = pd.DataFrame(NORMAL, columns=["a", "b"])
    for model in (FUSE(max_steps=100, random_state=0), IsolationForest(random_state=0), Spatial()):
        model.fit(frame)
        assert central_region(model, frame, mass=0.5).inside.sum() >= 60
        assert np.linalg.norm(median(model, frame, steps=5)) < 1
        assert np.linalg.norm(trimmed_mean(model, frame)) < 1


def test_a_model_that_is_not_fitted_says_so():
    with pytest.raises(NotFittedError):
        median(Spatial(), NORMAL)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda depth: trimmed_mean(depth, NORMAL, trim=1), "trim must be"),
        (lambda depth: central_region(depth, NORMAL, mass=0), "mass must be"),
        (lambda depth: median(depth, NORMAL, steps=0), "steps must be"),
        (lambda depth: two_sample_test(depth, NORMAL, SAME, statistic="t"), "statistic must be one of q, wilcoxon"),
        (lambda depth: two_sample_test(depth, NORMAL, SAME, permutations=0), "permutations must be"),
        (lambda depth: two_sample_test(depth, NORMAL, SAME[:, :1]), "same columns, got 2 and 1"),
        (lambda depth: rank_interval(depth, NORMAL, SAME, level=95), "level must lie"),
        (lambda depth: dd_plot(depth, NORMAL, [[1, 2, 3]]), "same columns, got 2 and 3"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(Mahalanobis().fit(NORMAL))


# Comparing samples


def test_a_dd_plot_holds_each_depth_of_each_row():
    plot = dd_plot(Mahalanobis(), NORMAL, SHIFTED)
    np.testing.assert_allclose(plot.in_first[:120], Mahalanobis().fit(NORMAL).score_samples(NORMAL))
    np.testing.assert_allclose(plot.in_second[:120], Mahalanobis().fit(SHIFTED).score_samples(NORMAL))
    assert plot.of_first.sum() == 120
    assert (plot.in_first > plot.in_second)[:120].mean() > 0.6  # below the diagonal
    assert (plot.in_first < plot.in_second)[120:].mean() > 0.6


def test_the_dd_figure_shows_both_samples():
    figure = dd_plot(Mahalanobis(), NORMAL, SHIFTED).figure(labels=("old", "new"))
    assert isinstance(figure, matplotlib.figure.Figure)
    (axes,) = figure.axes
    assert [len(points.get_offsets()) for points in axes.collections] == [120, 80]
    assert axes.get_xlabel() == "depth in old"


@BOTH_STATISTICS
def test_samples_of_one_distribution_are_seldom_told_apart(statistic):
    pooled = np.concatenate([NORMAL, SAME])
    p_values = []
    for seed in range(20):
        shuffled = np.random.default_rng(seed).permutation(pooled)
        p_values.append(
            two_sample_test(
                Mahalanobis(), shuffled[:100], shuffled[100:], statistic=statistic, permutations=39, random_state=seed
            ).p_value
        )
    assert min(p_values) >= 1 / 40
    assert np.mean(np.array(p_values) <= 0.25) < 0.55  # about 1/4 for a valid test: 20 draws exceed this 1 time in 700
    assert np.mean(p_values) > 0.3


def test_q_is_small_for_shifted_and_large_for_narrow_samples():
    shifted = two_sample_test(Mahalanobis(), NORMAL, SHIFTED, permutations=99, random_state=0)
    narrow = two_sample_test(Mahalanobis(), NORMAL, NARROW, permutations=99, random_state=0)
    assert shifted.statistic < 0.4
    assert narrow.statistic > 0.6
    assert shifted.p_value == narrow.p_value == 1 / 100


def test_the_wilcoxon_statistic_is_large_for_narrow_samples():
    narrow = two_sample_test(Mahalanobis(), NORMAL, NARROW, statistic="wilcoxon", random_state=0)
    assert narrow.statistic > 0.6
    assert narrow.p_value == 1 / 200


def test_q_by_hand():
    # Depths of 0, 1, 2, 3, 4 in themselves fall with the distance from 2. Of them, two are no deeper than 4 (0 and 4
    # itself), none than 9.
    rows = np.arange(5.0)[:, None]
    found = two_sample_test(Mahalanobis(), rows, [[4.0], [9.0]], permutations=9, random_state=0)
    assert found.statistic == pytest.approx((2 / 5 + 0) / 2)


def test_a_rank_interval_holds_the_rank_and_narrows_with_more_rows():
    queries = [[0.0, 0.0], [1.0, 1.0], [9.0, 9.0]]
    few = rank_interval(Mahalanobis(), NORMAL[:30], queries, random_state=0)
    many = rank_interval(Mahalanobis(), np.random.default_rng(1).normal(size=(1000, 2)), queries, random_state=0)
    assert (many.low <= many.rank).all()
    assert (many.rank <= many.high).all()
    assert many.high[1] - many.low[1] < few.high[1] - few.low[1]
    # |x|² = 2 is exceeded by e⁻¹ of a plane normal sample
    assert many.low[1] < np.exp(-1) < many.high[1]
    assert many.rank[2] == 0


def test_the_same_seed_gives_the_same_answer():
    first, second = (rank_interval(Mahalanobis(), NORMAL, SAME, resamples=5, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)


# The classifier


def test_the_dd_classifier_tells_a_ring_from_its_centre():
    rng = np.random.default_rng(1)
    angle = rng.uniform(0, 2 * np.pi, size=150)
    ring = np.column_stack([np.cos(angle), np.sin(angle)]) * 3 + rng.normal(scale=0.3, size=(150, 2))
    rows = np.concatenate([NORMAL * 0.7, ring])
    labels = np.repeat(["centre", "ring"], [120, 150])
    model = DDClassifier(depth=Spatial()).fit(rows[::2], labels[::2])
    assert model.score(rows[1::2], labels[1::2]) > 0.9


def test_the_dd_classifier_offers_what_its_classifier_offers():
    labels = np.where(np.arange(120) % 2, "odd", "even")
    assert hasattr(DDClassifier(), "predict_proba")
    assert not hasattr(DDClassifier(classifier=RidgeClassifier()).fit(NORMAL, labels), "predict_proba")
    model = DDClassifier().fit(NORMAL, labels)
    depths = np.column_stack(
        [Mahalanobis().fit(NORMAL[labels == label]).score_samples(NORMAL) for label in model.classes_]
    )
    np.testing.assert_allclose(model.predict_proba(NORMAL), model.classifier_.predict_proba(depths))
    np.testing.assert_allclose(model.decision_function(NORMAL), model.classifier_.decision_function(depths))
    np.testing.assert_array_equal(model.predict(NORMAL) == "odd", model.decision_function(NORMAL) > 0)


def test_without_labels_there_is_nothing_to_classify():
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        DDClassifier().fit(NORMAL, None)


def test_a_class_of_one_row_is_an_error_that_counts_the_classes():
    with pytest.raises(ValueError, match=r"two classes of two rows each .* a: 4, b: 1"):
        DDClassifier().fit(NORMAL[:5], list("aaaab"))


def test_the_dd_classifier_leaves_its_parts_as_they_were():
    depth = Spatial()
    DDClassifier(depth=depth).fit(NORMAL, np.arange(120) % 2)
    assert vars(depth) == vars(clone(depth))


# The bagplot


def test_a_bagplot_marks_the_rows_beyond_three_bags():
    rows = np.concatenate([NORMAL, [[20.0, 0.0], [0.0, -30.0]]])
    figure = plots.bagplot(rows, Halfspace().fit(rows).score_samples(rows))
    (axes,) = figure.axes
    labels = {points.get_label(): points for points in axes.collections}
    np.testing.assert_array_equal(labels["outliers"].get_offsets(), [[20, 0], [0, -30]])


def test_a_polygon_holds_its_border_and_its_inside():
    triangle = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    points = np.array([[0.5, 0.5], [1.0, 1.0], [0.0, 0.0], [1.1, 1.0], [-0.1, 0.0]])
    assert plots.inside(points, triangle).tolist() == [True, True, True, False, False]


def test_a_bagplot_needs_a_plane():
    with pytest.raises(ValueError, match="two columns"):
        plots.bagplot(np.ones((5, 3)), np.ones(5))
    with pytest.raises(ValueError, match="spread over the plane"):
        plots.bagplot(np.ones((5, 2)), np.ones(5))
