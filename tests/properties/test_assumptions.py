"""What users assume of a fit, with the tolerance kept: order, units, shifts, copies and constants do not matter.

A fit draws its rows at random, so that another order of them is another fit, as is another seed: what is promised is
the same ranking up to what two seeds differ by. Where nothing random changes, scores are the same to rounding.
"""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from centrality import FUSE
from tests.promise import assert_same_scores

N, SEEDS_APART = 400, 0.96  # rank correlation that two fits of the same rows keep, whatever their seeds
ALL = [0.0, 0.5, 1.0]  # values of t
ROUNDING = 2e-3  # by how much scores may differ where the network sees the same numbers up to float32's last digit


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Two clusters of three columns on different scales, without ties."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    X[: N // 4] += 4.0
    return X * [1.0, 10.0, 0.1]


def fit(X, **changes) -> FUSE:
    return FUSE(**({"random_state": 0, "max_steps": 300, "hidden": (64, 64)} | changes)).fit(X)


@pytest.fixture(scope="module")
def model(rows) -> FUSE:
    return fit(rows)


def assert_same_ranking(found, expected) -> None:
    """Every column, one for each t, ranks the rows alike."""
    for at, one, other in zip(ALL, found.T, expected.T, strict=True):
        assert spearmanr(one, other).statistic > SEEDS_APART, at


@pytest.mark.slow
def test_two_seeds_rank_alike(rows, model):
    """The measure of the tests below: less than this nobody can ask of them."""
    assert_same_ranking(fit(rows, random_state=1).centrality(rows, t=ALL), model.centrality(rows, t=ALL))


@pytest.mark.slow
def test_the_order_of_the_rows_does_not_matter(rows, model):
    order = np.random.default_rng(1).permutation(N)
    other = fit(rows[order])
    assert_same_ranking(other.centrality(rows, t=ALL), model.centrality(rows, t=ALL))
    assert_same_scores(model.centrality(rows[order], t=ALL), model.centrality(rows, t=ALL)[order])


@pytest.mark.slow
def test_the_order_of_the_columns_does_not_matter(rows, model):
    order = [2, 0, 1]
    assert_same_ranking(fit(rows[:, order]).centrality(rows[:, order], t=ALL), model.centrality(rows, t=ALL))


@pytest.mark.slow
@pytest.mark.parametrize("units", [[2.0, 0.25, 1024.0], [1e3, 1e-3, 2.54]], ids=["powers of two", "any"])
def test_units_do_not_matter(rows, model, units):
    found = fit(rows * units).heads(rows * units)
    np.testing.assert_allclose(found, model.heads(rows), atol=ROUNDING)


@pytest.mark.slow
@pytest.mark.parametrize("shift", [[1.0, -5.0, 0.5], [1e3, 1e4, -1e2]], ids=["small", "a thousand deviations"])
def test_a_shift_does_not_matter(rows, model, shift):
    found = fit(rows + shift).heads(rows + shift)
    np.testing.assert_allclose(found, model.heads(rows), atol=ROUNDING)


@pytest.mark.slow
def test_a_copy_of_one_row_does_not_matter(rows, model):
    other = fit(np.vstack([rows, rows[:1]]))
    assert_same_ranking(other.centrality(rows, t=ALL), model.centrality(rows, t=ALL))


@pytest.mark.slow
def test_a_copy_of_every_row_does_not_matter(rows, model):
    assert_same_ranking(fit(np.vstack([rows, rows])).centrality(rows, t=ALL), model.centrality(rows, t=ALL))


@pytest.mark.slow
def test_a_constant_column_does_not_matter(rows, model):
    wider = np.column_stack([rows, np.full(N, 7.0)])
    assert_same_ranking(fit(wider).centrality(wider, t=ALL), model.centrality(rows, t=ALL))


def test_names_and_the_kind_of_table_do_not_matter(rows, model):
    frame = pd.DataFrame(rows, columns=["a", "b", "c"])
    np.testing.assert_array_equal(fit(frame).heads(frame), model.heads(rows))


def test_a_rows_company_does_not_matter(rows, model):
    assert_same_scores(np.concatenate([model.heads(rows[i : i + 1]) for i in range(20)]), model.heads(rows)[:20])
