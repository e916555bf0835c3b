"""A representation and FUSE as one estimator and one file."""

import copy

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from centrality import FUSE, Chain, load
from centrality._internal import model_file
from centrality._internal.checks import InputError
from centrality.datasets import houses
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
    Z, model = chain.representation_.transform(FRAME), chain.model_
    np.testing.assert_array_equal(chain.heads(FRAME), model.heads(Z))
    np.testing.assert_array_equal(chain.score_samples(FRAME), model.score_samples(Z))
    np.testing.assert_array_equal(chain.predict(FRAME), model.predict(Z))
    np.testing.assert_array_equal(chain.centrality(FRAME), model.centrality(Z))


def test_numbers_in_a_table_are_scaled_as_rows_of_numbers_are():
    """Within the range of fitting, far out in a heavy tail, and beyond all that occurred."""
    X = np.column_stack([RNG.normal(size=(500, 2)), 1e4 * RNG.standard_cauchy(500), RNG.random(500) < 0.02])
    Q = np.concatenate([X, 1e3 * X[:50], -1e6 * X[:50]])
    names = list("abcd")
    rows, table = quick().fit(X), Chain(Table(), quick()).fit(pd.DataFrame(X, columns=names))
    wanted = rows.fitted_.scaling.scaled(Q)
    vectors = table.representation_.transform(pd.DataFrame(Q, columns=names))
    np.testing.assert_allclose(table.model_.fitted_.scaling.scaled(vectors), wanted, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(table.representation_.measurements(), [True] * 4)


def test_one_wild_number_counts_whatever_stands_beside_it():
    """Among 30 categories, which 180 numbers encode, one of five numbers is ten times the greatest of fitting."""
    rng, n = np.random.default_rng(1), 1000
    numbers = pd.DataFrame(rng.lognormal(size=(2 * n, 5)), columns=list("abcde"))
    kinds = pd.DataFrame({f"kind {k}": rng.choice(list("uvwxyz"), 2 * n) for k in range(30)})
    frame = pd.concat([numbers, kinds], axis=1)
    model = Chain(Table(), quick(max_steps=200)).fit(frame[:n])
    fresh = frame[n:].reset_index(drop=True)
    usual = model.p_values(fresh)
    wild, column = fresh.copy(), rng.choice(list("abcde"), n)
    for i, name in enumerate(column):
        wild.loc[i, name] = 10 * frame.loc[: n - 1, name].max()
    assert np.median(model.p_values(wild)) <= 5 / n  # the least there is being 1 / (n + 1)
    assert (usual <= 0.1).mean() == pytest.approx(0.1, abs=0.04)  # .01 is the deviation of a share of 1,000 each


def test_texts_that_differ_nearly_everywhere_leave_p_values_right():
    """What a text alone has is known in fitting, and unknown in a new row: of these, .2 were below .1."""
    rng, n = np.random.default_rng(0), 1000
    first = np.array(["anna", "ben", "clara", "david", "eva", "felix", "greta", "hans", "ida", "jan", "karla", "leo"])
    last = np.array(["smith", "jones", "brown", "miller", "davis", "garcia", "wilson", "moore", "taylor", "thomas"])
    host = np.array(["gmail.com", "yahoo.com", "gmx.de", "company.org", "example.net"])

    def rows() -> pd.DataFrame:
        parts = zip(
            rng.choice(first, n), rng.choice(last, n), rng.integers(9999, size=n), rng.choice(host, n), strict=True
        )
        mail = [f"{a}.{b}{number}@{c}" for a, b, number, c in parts]
        return pd.DataFrame({"mail": ["write to " + mail[0], *mail[1:]], "number": rng.poisson(3, n)})

    fitting, fresh = rows(), rows()
    for settings in ({}, {"holdout": 0.5}):
        model = Chain(Table(), FUSE(random_state=0, **settings)).fit(fitting)
        assert (model.p_values(fresh) <= 0.1).mean() == pytest.approx(0.1, abs=0.05)


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
    assert reader_of(model).input_spec().unreadable == 0.5
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


@pytest.mark.parametrize("method", ["centrality", "explain", "reasons", "drift", "p_values", "severity", "calibrate"])
def test_no_rows_are_refused_in_one_line(method):
    rows = houses()
    model = Chain(Table(), FUSE(random_state=0, max_steps=5)).fit(rows)
    with pytest.raises(InputError, match="Rows were wanted, the table has none"):
        getattr(model, method)(rows.slice(0, 0))


def test_going_on_with_a_copy_leaves_the_original_as_it_was():
    rows = houses()
    model = Chain(Table(), FUSE(random_state=0, max_steps=20)).fit(rows)
    before = model.centrality(rows)
    other = copy.copy(model).partial_fit(rows.slice(0, 300))
    np.testing.assert_array_equal(model.centrality(rows), before)
    assert np.abs(other.centrality(rows) - before).max() > 0


@pytest.mark.parametrize(
    ("names", "said"),
    [(["a", "a"], "Two columns are called 'a'"), ([0, "0"], "Two columns are called 0 and '0', which are the same")],
)
@pytest.mark.parametrize("model", [FUSE(max_steps=5), Chain(Table(), FUSE(max_steps=5))])
def test_columns_of_one_name_are_refused_in_one_line(model, names, said):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(100, 2)), columns=names)
    with pytest.raises(InputError, match=said):
        model.fit(frame)
