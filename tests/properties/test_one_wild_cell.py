"""One wild cell, or row, must not turn the ranking of the others upside down, and is told of."""

import warnings

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.metrics import roc_auc_score

from tests.conftest import quick

RNG = np.random.default_rng(0)
CLEAN = RNG.normal(size=(1000, 4))
CLEAN[:10, 0] = 8.0  # ten outliers, eight deviations off in one column
OTHERS = np.delete(np.arange(1000), 500)


def fitted(X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return quick(max_steps=200, hidden=(32, 32)).fit(X)


@pytest.fixture(scope="module")
def before():
    return fitted(CLEAN).centrality(CLEAN)


@pytest.mark.slow
@pytest.mark.parametrize("value", [1e4, 99999.0, -1e9, 1e15])
@pytest.mark.parametrize("cells", [[1], [0, 1, 2, 3]])
def test_the_others_keep_their_order_and_the_outliers_are_found(before, value, cells):
    X = CLEAN.copy()
    X[500, cells] = value
    model = fitted(X)
    f = model.centrality(X)
    odd = np.arange(1000) < 10
    assert roc_auc_score(odd[OTHERS], -f[OTHERS]) > 0.99  # .997 without the wild cell
    assert (model.predict(X)[:10] == -1).all()
    assert spearmanr(f[OTHERS], before[OTHERS])[0] > 0.9  # another seed gives .95 and more
    for t in (0.0, 0.5, 1.0):
        assert (model.centrality(X, t) < model.centrality(X[[500]], t)).mean() < 0.02  # it is among the oddest itself


def test_a_column_whose_variance_is_that_of_a_few_cells_is_told_of_when_fitting():
    X = CLEAN.copy()
    X[500, 1] = 99999.0
    with pytest.warns(UserWarning, match="variance of column 1 comes from 1 of its cells: a wrong unit"):
        model = quick().fit(X)
    assert any("column 1" in text for text in model.report().warnings)
    assert not fitted(CLEAN).report().wild
