"""What an auditor can sign: intervals of p-values, and how many of some rows are ordinary at most."""

import numpy as np
import pytest
from scipy.stats import binom

from centrality import FUSE
from centrality._internal.checks import InputError
from centrality.analysis.certificate import most_odd, most_ordinary, odd_share, ordinary_bounds
from centrality.analysis.conformal import p_value_intervals
from tests.present import present


@pytest.mark.parametrize("m", [20, 900])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_an_interval_of_a_p_value_holds_the_true_share_as_often_as_it_says(m, confidence):
    """Exactly: how many of m calibration rows score no higher is binomial, so coverage is a sum over its values."""
    k = np.arange(m + 1)
    low, high = p_value_intervals((k + 1) / (m + 1), m, confidence).T
    for share in np.concatenate([np.geomspace(1e-4, 0.5, 40), np.linspace(0.5, 0.999, 20)]):
        assert binom.pmf(k, m, share)[(low <= share) & (share <= high)].sum() >= confidence - 1e-9


def test_intervals_are_no_wider_than_two_one_sided_tests_allow():
    low, high = p_value_intervals(np.array([0.5]), 999, 0.95)[0]
    assert 0.46 < low < 0.5 < high < 0.54
    assert np.isnan(p_value_intervals(np.array([np.nan]), 999, 0.95)).all()


@pytest.mark.parametrize(("m", "n"), [(50, 100), (500, 300), (200, 2000)])
def test_bounds_hold_for_all_places_together(m, n):
    """Of 1,000 fresh worlds of ordinary rows, 5% may break a bound; 6.9% is three standard deviations more."""
    bounds = ordinary_bounds(n, m, 0.95)
    places = np.unique(np.geomspace(1, m, 40).round().astype(np.int64))
    rng = np.random.default_rng(1)
    broken = 0
    for _ in range(1000):
        calibration = np.sort(rng.random(m))
        ordinary = np.sort(rng.random(n))
        broken += bool((np.searchsorted(ordinary, calibration[places - 1]) > bounds).any())
    assert broken <= 69
    assert broken >= 5  # and they are not so wide that they say nothing


@pytest.mark.parametrize("odd", [0, 5, 60])
def test_a_certificate_holds_for_the_worst_choice_after_looking(odd):
    """300 rows, some odd, and an adversary who takes the k lowest for the k with the most ordinary rows beyond it."""
    rng = np.random.default_rng(odd)
    wrong = 0
    for _ in range(20):
        calibration = np.sort(rng.normal(size=400))
        scores = np.concatenate([rng.normal(size=300 - odd), rng.normal(-6, 1, size=odd)])
        ordinary = np.arange(300) < 300 - odd
        ranks = np.searchsorted(calibration, scores, side="right")
        order = np.argsort(scores)
        worst = 0
        for k in (3, 30, 61):
            chosen = order[:k]
            worst = max(worst, ordinary[chosen].sum() - most_ordinary(ranks[chosen], ranks, 400, 0.95))
        wrong += worst > 0
    assert wrong <= 4  # 5% of 20 is 1; three standard deviations more are 4


def test_odd_rows_far_below_all_calibration_rows_are_certified():
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0, max_steps=200).fit(rng.normal(size=(1500, 2)))
    model.calibrate(rng.normal(size=(2000, 2)))
    new = rng.normal(size=(1000, 2))
    new[:60] += 9
    lowest = np.argsort(model.score_samples(new))[:70]
    certificate = model.certificate(new[lowest], among=new)
    assert 10 <= certificate.at_most <= 20  # ten are ordinary in truth
    assert certificate.at_least == 70 - certificate.at_most
    assert f"at most {certificate.at_most} are ordinary" in str(certificate)
    assert model.certificate(new[lowest], among=100_000).at_most == 70  # among so many, all may be
    assert model.certificate(new[100:], among=new).at_least == 0


def test_a_certificate_of_more_rows_than_there_were_is_refused():
    rng = np.random.default_rng(0)
    model = FUSE(random_state=0, max_steps=5).fit(rng.normal(size=(100, 2)))
    with pytest.raises(InputError, match="among must be at least the 50 rows that were chosen, got 10"):
        model.certificate(rng.normal(size=(50, 2)), among=10)


def test_p_values_come_with_intervals_for_each_row(blob):
    model = FUSE(random_state=0, max_steps=100).fit(blob)
    rows = np.random.default_rng(3).normal(size=(50, 2))
    low, high = model.p_value_intervals(rows).T
    p = model.p_values(rows)
    assert ((low <= p) & (p <= high + 1 / 100)).all()


@pytest.mark.parametrize("odd", [0, 20, 100])
def test_the_bound_holds_as_often_as_it_says_and_is_not_empty(odd):
    """Of 60 worlds of 1,000 rows, 5% may break it: 3, and 8 with three standard deviations more."""
    rng = np.random.default_rng(odd)
    found = []
    for _ in range(60):
        calibration = np.sort(rng.normal(size=1000))
        scores = np.concatenate([rng.normal(size=1000 - odd), rng.normal(-7, 1, odd)])
        found.append(odd_share(np.searchsorted(calibration, scores, side="right"), 1000, 0.95))
    assert sum(share.at_least > odd for share in found) <= 8
    assert np.median([share.at_least for share in found]) >= 0.5 * odd
    assert np.median([share.about for share in found]) == pytest.approx(odd, abs=8)  # its deviation, 14, by √60, thrice


def test_of_the_rows_of_the_fit_nothing_can_be_told_and_of_new_ones_something():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    model = FUSE(random_state=0, max_steps=150).fit(X)
    assert model.odd_share(X).at_least is None
    assert "cannot be told from them alone" in str(model.odd_share(X))
    assert model.odd_share(X[::-1]).at_least is None  # in another order they are the same rows
    new = rng.normal(size=(1000, 2))
    assert "cannot be told that any of the 1,000 rows is odd" in str(model.odd_share(new))
    new[:100] += 9
    assert 80 <= present(model.odd_share(new).at_least) <= 100


@pytest.mark.parametrize("odd", [10, 30, 60])
def test_no_more_rows_may_be_odd_than_an_exponential_tail_leaves(odd):
    rng = np.random.default_rng(odd)
    found = [most_odd(np.concatenate([-rng.exponential(size=1000 - odd), np.full(odd, -40.0)])) for _ in range(20)]
    assert min(found) >= odd
    assert np.median(found) <= odd + 20


def test_where_all_scores_are_equal_all_rows_may_be_odd():
    assert most_odd(np.zeros(50)) == 50
    assert most_odd(np.array([np.nan, 1.0])) == 1


def test_with_marks_of_outliers_alone_what_is_left_ends_where_scores_end():
    """25 of 1,000 rows lie far out; 20 of them are marked, so 5 are left: 100 are no answer."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    X[:25, 0] += 9
    model = FUSE(random_state=0, max_steps=300).fit(X)
    marks: list[str | None] = [None] * 1000
    for row in [row for row in np.argsort(model.score_samples(X)) if row < 25][:20]:
        marks[row] = "outlier"
    left = model.review(X, marks).left
    assert left is not None
    assert left.low <= 5 <= left.high <= 25
