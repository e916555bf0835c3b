"""What share of rows is odd, without marks: a bound that holds, an estimate, and no word where nothing can be told."""

import numpy as np
import pytest

from centrality import FUSE
from centrality.analysis.odd_share import most_odd, odd_share
from tests.present import present


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
