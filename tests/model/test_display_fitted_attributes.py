"""What was learned has names once it is there."""

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from centrality import Chain
from centrality.representations import Table
from tests.conftest import quick

RNG = np.random.default_rng(0)


FRAME = pd.DataFrame({"x": RNG.normal(size=400), "y": RNG.normal(size=400), "kind": RNG.choice(["a", "b"], 400)})


def test_what_was_learned_has_names_once_it_is_there():
    chain = Chain(Table(), quick(max_steps=5)).fit(FRAME)
    learned = {"history_", "noise_scale_", "center_", "offset_"}
    for model in (chain, chain.model_):
        assert learned <= set(dir(model))
        assert all(hasattr(model, name) for name in learned)
    for model in (quick(), Chain(Table(), quick())):
        assert not learned & set(dir(model))
        assert not any(hasattr(model, name) for name in learned)


@pytest.mark.parametrize(
    "ask", ["heads", "centrality", "score_samples", "p_values", "detect", "explain", "reasons", "drift"]
)
def test_before_fitting_it_says_so(ask):
    with pytest.raises(NotFittedError):
        getattr(Chain(Table(), quick()), ask)(FRAME)
