"""A score follows from the row and the weights alone: how a training row is written down changes nothing."""

import io

import numpy as np
import pandas as pd
import pytest

from centrality import FUSE, Chain
from centrality.datasets import houses
from centrality.representations import Table
from tests.conftest import quick
from tests.promise import assert_same_scores

RNG = np.random.default_rng(0)
ROWS = {
    "normal, p = 5": RNG.normal(size=(300, 5)),
    "normal, p = 30": RNG.normal(size=(300, 30)),
    "other units": RNG.normal(size=(300, 4)) * [1e-3, 1.0, 50.0, 1e4] + [2e-3, 0.0, -100.0, 3e4],
    "counts": RNG.poisson(3.0, size=(300, 6)).astype(float),
}
KINDS = {"defaults": {}, "one network": {"ensemble": 1}, "clean": {"novelty": True}}


@pytest.fixture(scope="module", params=ROWS)
def rows(request) -> np.ndarray:
    return ROWS[request.param]


@pytest.fixture(scope="module", params=KINDS)
def model(request, rows) -> FUSE:
    return quick(**KINDS[request.param]).fit(rows)


def as_text(X: np.ndarray) -> np.ndarray:
    """Rows written with six digits, and read again; a change of 5e-7 of each number at most."""
    text = io.StringIO()
    np.savetxt(text, X, fmt="%.6g")
    text.seek(0)
    return np.loadtxt(text)


@pytest.mark.parametrize("t", [0.0, 0.5, 1.0])
def test_training_rows_score_alike_as_float32_as_text_shuffled_and_one_by_one(model, rows, t):
    X, expected = rows, model.centrality(rows, t)
    order = np.random.default_rng(1).permutation(len(X))
    assert_same_scores(model.centrality(X.astype(np.float32), t), expected)
    assert_same_scores(model.centrality(X[order], t), expected[order])
    assert_same_scores(np.concatenate([model.centrality(row[None], t) for row in X[:50]]), expected[:50])
    # Six digits move a column by 5e-7 of its values, which are 6 deviations here at most; f has slopes of about one.
    assert_same_scores(model.centrality(as_text(X), t), expected)


def test_labels_do_not_flip_with_the_way_rows_are_written(model, rows):
    """But where a row lies on the threshold to within rounding."""
    X = rows
    decided = np.abs(model.decision_function(X)) > 1e-4
    assert decided.mean() > 0.98
    for written in (X.astype(np.float32), as_text(X)):
        np.testing.assert_array_equal(model.predict(written)[decided], model.predict(X)[decided])


def test_rows_of_a_table_score_alike_after_a_csv_file():
    rows = houses().to_pandas() if hasattr(houses(), "to_pandas") else pd.DataFrame(houses())
    model = Chain(Table(), quick()).fit(rows)
    text = io.StringIO(rows.to_csv(index=False))
    assert_same_scores(model.centrality(pd.read_csv(text)), model.centrality(rows))


def test_records_of_categories_that_were_seen_score_as_those_that_were_not():
    """Fresh rows of a table of categories often equal a training row; neither is recognised."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: rng.choice(list("abc"), 400) for name in ("u", "v", "w", "x")})
    model = Chain(Table(), quick()).fit(rows)
    f, first = model.centrality(rows), rows.drop_duplicates()
    by_record = dict(zip(map(tuple, first.to_numpy()), f[first.index], strict=True))
    np.testing.assert_array_equal([by_record[tuple(row)] for row in rows.to_numpy()], f)
