"""Rows that stand apart from the others of their file: named where they do, and hardly ever where they do not."""

import numpy as np
import pytest

from centrality import FUSE
from centrality.analysis.apart import count_apart


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
