"""Every depth as an estimator: scikit-learn's checks, degenerate rows, precision, blocks, wrong parameters."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from centrality.depths import (
    BY_NAME,
    Halfspace,
    KernelDensity,
    Mahalanobis,
    Potential,
    Projection,
    Simplicial,
    Spatial,
    Zonoid,
    _base,
)
from tests.depths.samples import SQUARE, cloud

EVERY_DEPTH = [
    *(depth() for depth in BY_NAME.values()),
    Mahalanobis(robust=True, random_state=0),
    Potential(whiten=True),
    KernelDensity(bandwidth=0.5),
    Projection(directions="paper", random_state=0),
    Projection(directions=50, random_state=0),
    Halfspace(directions="paper", random_state=0),
    Halfspace(directions=50, random_state=0),
]


@pytest.mark.slow
@parametrize_with_checks([depth() for depth in BY_NAME.values()])  # of each family one: settings change no method
def test_scikit_learn_finds_nothing_to_object_to(estimator, check):
    check(estimator)


# Degenerate data

LINE = np.linspace(-1, 1, 9)[:, None] * [[1.0, 2.0, -0.3]] + [[0.1, 0.7, 5.0]]
DEGENERATE = {
    "a constant column": np.column_stack([cloud(30, 2), np.full(30, 7.7)]),
    "fewer rows than columns": cloud(4, 6),
    "as many rows as columns": cloud(5, 5),
    "two rows": cloud(2, 3),
    "duplicates": np.repeat(cloud(3, 2), 10, axis=0),
    "mostly one row": np.concatenate([np.full((20, 2), 0.3), cloud(5, 2)]),
    "all rows equal": np.full((8, 3), 0.1),
    "collinear rows": LINE,
    "collinear in the plane": LINE[:, :2],
    "tiny values": cloud(30, 2) * 1e-9,
    "large values": cloud(30, 2) * 1e12,
    "far from zero": cloud(30, 2) + 1e7,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("depth", "kind", "dtype"),
    [
        (depth, kind, ("float64", "float32")[(i + j) % 2])  # each depth and each kind meets both
        for i, depth in enumerate(EVERY_DEPTH)
        for j, kind in enumerate(DEGENERATE)
    ],
    ids=str,
)
def test_degenerate_rows_give_finite_depths_or_a_clear_error(depth, kind, dtype):
    rows = DEGENERATE[kind]
    depth = clone(depth).set_params(dtype=dtype)
    if getattr(depth, "robust", False):
        too_few = len(rows) <= rows.shape[1] + 1
        if too_few or kind in ("mostly one row", "all rows equal"):
            message = "needs more rows than columns" if too_few else "found no spread in the majority"
            with pytest.raises(ValueError, match=f"robust=True {message}"):
                depth.fit(rows)
            return
    queries = np.concatenate([rows, rows.mean(0, keepdims=True), rows[:1] + 1, rows[:1] * 1e6, rows[:1] + 1e200])
    scores = depth.fit(rows).score_samples(queries)
    assert scores.dtype == dtype
    assert np.isfinite(scores).all()
    assert np.isfinite(depth.offset_)
    if not isinstance(depth, KernelDensity):
        assert ((scores >= 0) & (scores <= 1 + 1e-6)).all()


@pytest.mark.parametrize("depth", [Halfspace(), Projection(), Simplicial(), Zonoid()], ids=str)
def test_rows_on_a_line_are_measured_along_it_and_nothing_else_is_deep(depth):
    along = np.linspace(-1, 1, 9)[:, None]
    expected = depth.fit(along).score_samples([[0.0], [0.5], [1.0]])
    on, off = LINE[[4, 6, 8]], LINE[[4, 6, 8]] + [[0.0, 0.01, 0.0]]
    depth.fit(LINE)
    np.testing.assert_allclose(depth.score_samples(on), expected, atol=1e-6)
    np.testing.assert_array_equal(depth.score_samples(off), 0)


@pytest.mark.parametrize("depth", [Halfspace, Projection, Simplicial, Zonoid, Mahalanobis, Spatial])
def test_where_all_rows_are_equal_that_point_is_deepest(depth):
    same, other = depth().fit(np.full((5, 2), 0.1)).score_samples([[0.1, 0.1], [0.1, 0.2]])
    assert same == 1
    assert other < 1e-6


def test_where_most_rows_are_one_point_any_other_is_infinitely_outlying():
    rows = np.concatenate([np.full((20, 2), 0.3), cloud(5, 2)])  # median 0.3 and MAD 0 along every direction
    for directions in ("auto", 50):
        depth = Projection(directions=directions, random_state=0).fit(rows).score_samples(rows[[0, 20, 24]])
        np.testing.assert_array_equal(depth, [1, 0, 0])


@pytest.mark.parametrize("depth", EVERY_DEPTH, ids=str)
def test_one_row_is_an_error_that_says_so(depth):
    with pytest.raises(ValueError, match=r"needs at least 2 rows .* got n_samples=1"):
        clone(depth).fit([[1.0, 2.0]])


def test_a_singular_covariance_without_ridge_is_an_error_that_says_what_to_do():
    with pytest.raises(ValueError, match=r"covariance is singular .* small ridge above 0"):
        Mahalanobis(ridge=0).fit(DEGENERATE["all rows equal"])


@pytest.mark.parametrize("depth", [Mahalanobis(), Projection(), Projection(directions=5), Zonoid()], ids=str)
def test_rows_too_large_to_be_squared_are_an_error(depth):
    with pytest.raises(ValueError, match="rescale them"):
        depth.fit(cloud(10, 2) * 1e200)


# The estimator


@pytest.mark.parametrize(
    ("depth", "message"),
    [
        (Mahalanobis(ridge=-1), "ridge must be"),
        (Potential(beta="silverman"), "beta must be"),
        (Potential(beta=0), "beta must be"),
        (KernelDensity(bandwidth=-1), "bandwidth must be"),
        (Simplicial(simplices=0), "simplices must be"),
        (Spatial(dtype="float16"), "dtype must be one of float64, float32"),
        (Spatial(contamination=0.7), "contamination must be"),
    ],
    ids=str,
)
def test_wrong_parameters_are_named_when_fitting(depth, message):
    with pytest.raises(ValueError, match=message):
        depth.fit(SQUARE)


@pytest.mark.parametrize("depth", EVERY_DEPTH, ids=str)
def test_single_precision_is_given_on_request_and_close(depth):
    rows = cloud(60, 3)
    double = clone(depth).set_params(**({"random_state": 0} if "random_state" in depth.get_params() else {}))
    exact = double.fit(rows).score_samples(rows)
    single = clone(double).set_params(dtype="float32").fit(rows).score_samples(rows)
    assert exact.dtype == np.float64
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, exact, atol=2e-3)


@pytest.mark.parametrize("depth", [Mahalanobis(), Spatial(contamination=0.25)], ids=str)
def test_predict_calls_the_asked_share_of_the_training_rows_outliers(depth):
    share = 0.1 if depth.contamination == "auto" else depth.contamination
    labels = depth.fit_predict(cloud(200, 3))
    assert (labels == -1).mean() == pytest.approx(share, abs=1 / 200)


def test_the_threshold_may_be_moved():
    depth = Spatial().fit(cloud(50, 2))
    depth.offset_ = 2.0
    assert (depth.predict(cloud(50, 2)) == -1).all()


def test_sparse_rows_are_taken():
    rows = cloud(30, 3)
    np.testing.assert_allclose(
        Spatial().fit(sparse.csr_array(rows)).score_samples(sparse.csr_array(rows)),
        Spatial().fit(rows).score_samples(rows),
    )


@pytest.mark.parametrize("depth", EVERY_DEPTH, ids=str)
def test_scores_do_not_depend_on_how_rows_are_cut_into_blocks(depth, monkeypatch):
    rows = cloud(70, 3)
    depth = clone(depth).set_params(**({"random_state": 0} if "random_state" in depth.get_params() else {}))
    whole = depth.fit(rows).score_samples(rows)
    monkeypatch.setattr(_base, "BLOCK_VALUES", 64)
    np.testing.assert_allclose(clone(depth).fit(rows).score_samples(rows), whole, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("depth", EVERY_DEPTH, ids=str)
def test_a_row_is_as_deep_alone_as_in_any_company_to_the_bit(depth):
    rows = cloud(70, 4)
    depth = clone(depth).set_params(**({"random_state": 0} if "random_state" in depth.get_params() else {}))
    together = depth.fit(rows).score_samples(rows)
    for company in (1, 5, 27):
        apart = [depth.score_samples(rows[start : start + company]) for start in range(0, 70, company)]
        assert (np.concatenate(apart) == together).all()


@pytest.mark.parametrize(
    ("depth", "d"),
    [
        (Spatial(), 3),
        (Potential(), 3),
        (KernelDensity(), 3),
        (Projection(directions=200), 3),
        (Halfspace(directions=200), 3),
        (Halfspace(), 2),
        (Simplicial(), 2),
    ],
    ids=str,
)
def test_memory_stays_bounded_however_many_queries(depth, d):
    queries = cloud(50_000, d)
    depth.fit(cloud(200, d))
    tracemalloc.start()
    depth.score_samples(queries)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 40e6  # all distances or projections at once would be 80 MB


@pytest.mark.slow
def test_depths_do_not_import_torch():
    code = "import sys, centrality.depths; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
