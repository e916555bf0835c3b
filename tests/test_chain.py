"""A representation and FUSE as one estimator and one file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from centrality import FUSE, Chain, load, model_file
from centrality.fuse.parts import from_parts
from centrality.model.reader import reader_of
from centrality.representations import Series, Table
from tests.conftest import quick
from tests.present import present

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame({"x": RNG.normal(size=200), "kind": RNG.choice(["a", "b"], 200)})


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain(Table(), quick(t=0.25)).fit(FRAME)


@pytest.fixture(scope="module")
def file(chain, tmp_path_factory):
    path = tmp_path_factory.mktemp("chain") / "m.safetensors"
    chain.save(path)
    return path


def test_a_chain_scores_what_fuse_scores_on_the_representation(chain):
    Z = Table().fit(FRAME).transform(FRAME)
    model = quick(t=0.25, scaling="none").fit(Z)
    np.testing.assert_array_equal(chain.heads(FRAME), model.heads(Z))
    np.testing.assert_array_equal(chain.score_samples(FRAME), model.score_samples(Z))
    np.testing.assert_array_equal(chain.predict(FRAME), model.predict(Z))
    np.testing.assert_array_equal(chain.centrality(FRAME), model.centrality(Z))


def test_a_scaling_that_was_asked_for_is_kept():
    assert Chain(Table(), quick(scaling="standard")).fit(FRAME).model_.scaling == "standard"
    waves = RNG.normal(size=(20, 30)).cumsum(1)
    assert Chain(Series(), quick()).fit(waves).model_.scaling == "auto"


def test_fitting_changes_neither_part_and_clones_have_the_same_settings():
    model, table = quick(), Table(cardinality=7)
    made = clone(Chain(table, model)).set_params(model__t=1.0)
    made.fit(FRAME)
    assert (made.model_.t, made.representation_.cardinality) == (1.0, 7)
    assert not hasattr(table, "columns_")
    assert not hasattr(model, "fitted_")


@pytest.mark.parametrize("made", ["fitted", "loaded"])
def test_parameters_reach_the_fitted_parts_of_a_chain_whether_it_was_fitted_or_loaded(tmp_path, made):
    model = Chain(Table(), quick(t=0.25)).fit(FRAME)
    heads = model.heads(FRAME)
    if made == "loaded":
        model.save(tmp_path / "m.safetensors")
        model = load(tmp_path / "m.safetensors")
    for t, expected in ((0, heads[:, 0]), (1.0, heads[:, 1])):
        assert model.set_params(model__t=t) is model
        assert model.t == t
        np.testing.assert_array_equal(model.centrality(FRAME), expected)
    model.set_params(representation__unreadable=0.5)
    assert reader_of(model).reading().unreadable == 0.5
    assert model.get_params()["model__t"] == 1.0
    assert clone(model).fit(FRAME).t == 1.0
    with pytest.raises(ValueError, match="Invalid parameter 'tt'"):
        model.set_params(model__tt=0)


def test_a_chain_without_a_model_of_its_own_takes_parameters_before_and_after_fit():
    model = Chain(Table()).set_params(model__max_steps=10, model__random_state=0).fit(FRAME)
    heads = model.heads(FRAME)
    np.testing.assert_array_equal(model.set_params(model__t=0).centrality(FRAME), heads[:, 0])


def test_load_brings_back_a_chain_or_a_fuse(chain, file, tmp_path):
    again = load(file)
    assert type(again) is Chain
    np.testing.assert_array_equal(again.raw(FRAME), chain.raw(FRAME))
    assert again.t == 0.25
    quick().fit(FRAME[["x"]]).save(tmp_path / "f.safetensors")
    assert type(load(tmp_path / "f.safetensors")) is FUSE


def test_a_loaded_chain_can_be_saved_again(file, tmp_path):
    load(file).save(tmp_path / "again.safetensors")
    first, second = model_file.read(file), model_file.read(tmp_path / "again.safetensors")
    assert first[0] == second[0]
    assert all((first[1][name] == second[1][name]).all() for name in first[1])


def test_fuse_alone_refuses_the_file_of_a_chain(file):
    with pytest.raises(ValueError, match="a FUSE model was wanted, this one is a Chain"):
        from_parts(*model_file.read(file), encoder=None, device="cpu")


@pytest.mark.parametrize("change", [{"kind": "Pickle"}, {"state": {}}, {"state": {"columns": {"x": {"kind": "eval"}}}}])
def test_a_file_that_asks_for_something_else_is_refused(file, tmp_path, change):
    header, arrays = model_file.read(file)
    header["representation"] |= change
    model_file.write(tmp_path / "m.safetensors", header, arrays)
    with pytest.raises(model_file.ModelFileError, match="lacks something a Chain needs"):
        load(tmp_path / "m.safetensors")


def test_another_kind_of_representation_is_refused(file):
    with pytest.raises(model_file.ModelFileError, match="the representation was a Table, got a Series"):
        load(file, representation=Series())


def test_a_chain_takes_a_dissimilarity_as_fuse_does():
    rows = [np.sin(np.linspace(0, 9, 60) * k) for k in np.linspace(1, 2, 30)]
    position = np.linspace(-1, 1, 30)
    D = np.abs(position[:, None] - position)
    by_matrix = Chain(Series(), quick()).fit(rows, dissimilarity=D)
    inner = quick().fit(by_matrix.representation_.transform(rows), dissimilarity=D)
    np.testing.assert_array_equal(by_matrix.raw(rows), inner.raw(by_matrix.representation_.transform(rows)))
    with pytest.raises(ValueError, match="dissimilarity must be a square matrix"):
        Chain(Series(), quick()).fit(rows, dissimilarity=D[:5, :5])


def test_the_papers_settings_come_with_any_representation():
    assert present(Chain.as_in_paper("outlier", representation=Series(), epochs=3).model).get_params()["epochs"] == 3
    with pytest.raises(TypeError, match="wants a representation="):
        Chain.as_in_paper("outlier")
