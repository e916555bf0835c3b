"""Models in the files of skops, which hold no pickle: whoever loads one names the types to trust."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from centrality import Chain
from centrality.datasets import houses
from centrality.representations import Table
from tests.conftest import quick

skops = pytest.importorskip("skops.io")

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "mlops.md"


def of_page() -> set[str]:
    """The types that the page names for a FUSE."""
    listed = re.search(r"parts = \[(.*?)\]", PAGE.read_text(), flags=re.DOTALL)
    assert listed
    return {f"centrality.{part}" for part in re.findall(r'"([\w.]+)"', listed[1])}


@pytest.fixture(scope="module", name="X")
def rows():
    return np.random.default_rng(0).normal(size=(200, 3))


@pytest.mark.parametrize("kind", ["a FUSE", "a pipeline", "given"])
def test_a_model_scores_the_same_to_the_last_bit(kind, X):
    model = quick(given=[0]) if kind == "given" else quick()
    if kind == "a pipeline":
        model = make_pipeline(StandardScaler(), model)
    model.fit(X)
    file = skops.dumps(model)
    loaded = skops.loads(file, trusted=skops.get_untrusted_types(data=file))
    np.testing.assert_array_equal(loaded.score_samples(X), model.score_samples(X))


def test_a_chain_on_raw_rows_says_the_same(X):
    chain = Chain(Table(), quick()).fit(houses())
    file = skops.dumps(chain)
    loaded = skops.loads(file, trusted=skops.get_untrusted_types(data=file))
    np.testing.assert_array_equal(loaded.p_values(houses()), chain.p_values(houses()))
    assert list(loaded.reasons(houses()).short()) == list(chain.reasons(houses()).short())


def test_the_types_to_trust_are_those_of_the_page_and_all_are_classes_of_ours(X):
    file = skops.dumps(quick().fit(X))
    assert set(skops.get_untrusted_types(data=file)) == of_page()
    for name in of_page():
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(import_module(module), kind), type)


def test_without_trust_nothing_is_loaded(X):
    with pytest.raises(Exception, match="Untrusted types found"):
        skops.loads(skops.dumps(quick().fit(X)))
