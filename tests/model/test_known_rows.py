"""`calibrate` wants rows that are new, and says so while it can still tell."""

import warnings

import numpy as np
import pytest

from centrality import Chain, load
from centrality.representations import Table
from tests.conftest import quick

RNG = np.random.default_rng(3)
X, FRESH = RNG.normal(size=(500, 3)), RNG.normal(size=(300, 3))
SAID = r"About \d+% of these rows are training rows, which the networks have seen"


@pytest.mark.parametrize("rows", [X, X[::-1], X[:100], X.tolist()])
def test_training_rows_in_any_order_and_number_are_warned_of(rows):
    with pytest.warns(UserWarning, match=SAID):
        quick().fit(X).calibrate(rows)


def test_so_are_those_of_a_chain_and_of_many_rows_of_which_few_are_remembered():
    with pytest.warns(UserWarning, match=SAID):
        Chain(Table(), quick()).fit(X).calibrate(X)
    many = RNG.normal(size=(20_000, 40))
    model = quick(max_steps=5).fit(many)
    assert model.fitted_.remembered.rows.shape[0] < 10_000
    with pytest.warns(UserWarning, match=SAID):
        model.calibrate(many[3000:9000])


def test_new_rows_rows_that_repeat_and_a_loaded_model_are_not(tmp_path):
    model = quick().fit(X)
    model.calibrate(FRESH)
    model.calibrate(np.concatenate([FRESH, X[:100]]))  # a quarter is known
    few = RNG.integers(8, size=(400, 3)).astype(float)  # 512 rows there can be
    quick().fit(few).calibrate(RNG.integers(8, size=(400, 3)).astype(float))
    model.save(tmp_path / "m.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(tmp_path / "m.safetensors").calibrate(X)
