"""FUSE and Chain are one interface: what works on rows of numbers works on raw rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import centrality
from centrality import FUSE, Chain, PaperFUSE, load
from centrality.apps.explorer import widget
from centrality.model.interface import CentralityModel, explorer, with_fitted
from centrality.model.reader import NumberReader
from centrality.onnx import Scorer
from centrality.representations import Table
from tests.conftest import quick

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": RNG.normal(size=400), "y": RNG.normal(size=400), "kind": RNG.choice(["a", "b"], 400)})
FRESH = pd.DataFrame({"x": RNG.normal(size=200), "y": RNG.normal(size=200), "kind": RNG.choice(["a", "b"], 200)})
ODD = pd.DataFrame({"x": [9.0, -9.0], "y": [9.0, 9.0], "kind": ["a", "b"]})


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain(Table(), quick(ensemble=2)).fit(FRAME)


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_fuse_and_chain_have_the_same_public_names_and_these_are_few():
    assert public(FUSE) == public(PaperFUSE)
    assert public(Chain) == public(FUSE) | {"blocks", "like"}  # a row of FUSE is one part
    assert len(public(FUSE)) <= 44


def test_its_scores_are_those_of_fuse_on_its_vectors(chain):
    Z = chain.representation_.transform(FRESH)
    for ask in ("heads", "raw", "centrality", "score_samples", "standard_error", "kind", "predict"):
        np.testing.assert_array_equal(getattr(chain, ask)(FRESH), getattr(chain.model_, ask)(Z))
    assert chain.drift(FRESH).p_value == chain.model_.drift(Z).p_value  # but for the names of columns, they are one
    assert chain.report() == chain.model_.report()
    assert chain.offset_ == chain.model_.offset_


@pytest.mark.filterwarnings("ignore:Column 'y'. in 60 of 60 rows:centrality.tables.columns.DataNote")
def test_false_discoveries_are_controlled_on_a_mixed_table(chain):
    model = with_fitted(chain, chain.fitted_).calibrate(FRESH)
    assert model.p_values(ODD).tolist() == [1 / 201, 1 / 201]  # odder than all 200 calibration rows
    # The same rows in the same batch score the same: each has its own rank among them, itself counted.
    np.testing.assert_array_equal(np.sort(model.p_values(FRESH)), np.arange(2, 202) / 201)
    rows = pd.concat([ODD] * 30)
    assert model.detect(rows, fdr=0.05).all()
    assert not model.detect(FRESH[:20], false_positives=0.1).any()
    share = model.threshold(FRESH, contamination=0.1)
    assert np.mean(model.centrality(FRESH) < share) == pytest.approx(0.1, abs=1 / 200)


def test_calibrating_one_model_leaves_another_with_the_same_fit_alone(chain):
    before = chain.p_values(FRESH)
    with_fitted(chain, chain.fitted_).calibrate(FRESH[:50])
    np.testing.assert_array_equal(chain.p_values(FRESH), before)


def test_it_goes_on_learning_from_raw_rows(chain):
    other = Chain(Table(), quick()).fit(FRAME)
    before = other.heads(FRESH)
    moved = FRESH.assign(x=FRESH.x + 3)
    other.partial_fit(moved)
    assert other.fitted_.remembered.seen == 600
    assert not np.array_equal(other.heads(FRESH), before)
    assert Chain(Table(), quick()).partial_fit(FRAME).fitted_.remembered.seen == 400  # nothing learned yet: a fit


def test_onnx_scores_the_rows_of_a_table_or_what_the_representation_made(chain, tmp_path):
    chain.to_onnx(tmp_path / "m.onnx")
    np.testing.assert_allclose(Scorer(tmp_path / "m.onnx").heads(FRESH), chain.heads(FRESH), atol=1e-5)
    chain.model_.to_onnx(tmp_path / "m.onnx")
    found = Scorer(tmp_path / "m.onnx").heads(chain.representation_.transform(FRESH))
    np.testing.assert_allclose(found, chain.heads(FRESH), atol=1e-5)


def test_a_saved_chain_keeps_what_calibrate_kept(chain, tmp_path):
    model = with_fitted(chain, chain.fitted_).calibrate(FRESH)
    model.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").p_values(ODD), model.p_values(ODD))


class ShiftedReader(NumberReader):
    def vectors(self, X):
        return np.asarray(X, dtype=float) + 1


class Shifted(CentralityModel):
    """A model on rows that lie one off: the least that a kind of model has to bring."""

    def __init__(self, model: FUSE) -> None:
        self.model = model

    @classmethod
    def as_in_paper(cls, experiment, **changes):
        return cls(FUSE.as_in_paper(experiment, **changes))

    def fit(self, X, y=None, *, dissimilarity=None):
        self.model.fit(np.asarray(X) + 1, dissimilarity=dissimilarity)
        self.fitted_, self.t = self.model.fitted_, self.model.t
        return self

    def partial_fit(self, X, y=None):
        raise NotImplementedError

    def save(self, path):
        raise NotImplementedError

    def _reader(self):
        return ShiftedReader(self.model, self.fitted_)


def test_a_new_kind_of_model_needs_little_to_offer_everything(blob):
    shifted, plain = Shifted(quick()).fit(blob - 1), quick().fit((blob - 1) + 1)
    np.testing.assert_array_equal(shifted.heads(blob - 1), plain.heads((blob - 1) + 1))
    np.testing.assert_array_equal(shifted.explain(blob[:5] - 1, 0.5), plain.explain((blob[:5] - 1) + 1, 0.5))
    assert len(shifted.reasons(blob[:5] - 1)) == 5
    assert shifted.toward_center(blob[:2], steps=3).shape == (2, 4, 2)


def test_only_the_front_door_and_one_function_of_models_name_the_applications_above_them():
    package = Path(centrality.__file__).parent
    below = (path for path in package.rglob("*.py") if path.relative_to(package).parts[0] != "apps")
    naming = {str(path.relative_to(package)) for path in below if "centrality.apps" in path.read_text(encoding="utf-8")}
    assert naming == {"__main__.py", str(Path("model", "interface.py"))}
    assert explorer() is widget
