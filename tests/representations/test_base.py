"""Tables and arrays as people have them become Arrow tables, or the error says which column cannot."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import FUSE, Chain
from centrality._internal.checks import InputError
from centrality.representations import Table, Text
from centrality.representations.base import as_arrow
from tests.conftest import quick

X = np.random.default_rng(0).normal(size=(60, 2))
PLAIN = pd.DataFrame(X, columns=["a", "b"])


@pytest.mark.parametrize(
    "rows",
    [X.astype(">f8"), X.astype(np.longdouble), X.astype(object), X.tolist()],
    ids=["big-endian", "longdouble", "objects", "lists"],
)
def test_numbers_are_the_same_however_they_are_held(rows):
    assert as_arrow(rows).equals(as_arrow(X))


@pytest.mark.parametrize("kind", [">f8", np.longdouble, "Sparse[float64]", "Float64"])
def test_columns_are_the_same_however_they_are_held(kind):
    assert as_arrow(PLAIN.astype(kind)).equals(as_arrow(PLAIN))


def test_a_tensor_of_bfloat16_is_read():
    import torch

    assert as_arrow(torch.ones(3, 2, dtype=torch.bfloat16)).to_pydict() == {"x0": [1.0] * 3, "x1": [1.0] * 3}


def test_periods_are_dates_and_intervals_are_categories_of_an_order():
    rows = PLAIN.assign(month=pd.period_range("2020-01", periods=60, freq="M"), size=pd.cut(X[:, 0], [-9, -1, 0, 1, 9]))
    said = Table().fit(rows).describe()
    assert said["month"].startswith("date: when")
    assert said["size"] == "category, 4 levels from '(-9, -1]' to '(1, 9]'"


def test_whole_numbers_of_31_digits_are_codes():
    rows = PLAIN.assign(code=[10**31 + k for k in range(60)], account=[10**31 + k % 2 for k in range(60)])
    said = Table().fit(rows).describe()
    assert said["code"].startswith("left out: it looks like an identifier")
    assert said["account"] == "category, 2 levels"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (pd.DataFrame(X, columns=["a", "a"]), "Two columns are called 'a'"),
        (pd.DataFrame(X, columns=[0, "0"]), "Two columns are called 0 and '0'"),
        (pa.table([X[:, 0], X[:, 1]], names=["a", "a"]), "'a' comes twice"),
        (PLAIN.assign(a=X[:, 0] + 1j), "Column 'a' holds complex numbers"),
        (X + 1j, "Column 'x0' holds complex numbers"),
        (PLAIN.assign(a=pd.Series([1, "x"] * 30, dtype=object)), "Column 'a' holds values of several kinds"),
        (PLAIN.assign(a=pd.Series(["\ud800"] * 60, dtype=object)), "Column 'a' holds half a character"),
        (PLAIN.assign(a=[{"u": 1}] * 60), "Column 'a' holds struct"),
        (PLAIN.assign(a=np.resize([1.7e308, -1.7e308], 60)), "Column 'a': numbers of at most 1e307 were wanted"),
        (PLAIN[:0], "Rows were wanted, the table has none"),
    ],
)
def test_what_no_table_can_hold_is_one_line(rows, said):
    with pytest.raises(InputError, match=said) as error:
        Chain(Table(), quick()).fit(rows)
    assert "\n" not in str(error.value)


def test_no_rows_and_half_a_character_are_said_when_scoring():
    chain = Chain(Table(), quick()).fit(PLAIN)
    with pytest.raises(InputError, match="At least one row was wanted, got 0 rows"):
        chain.centrality(PLAIN[:0])
    with pytest.raises(InputError, match="Text 1 holds half a character"):
        Text().fit(["a", "\ud800"])


def test_names_that_come_twice_are_said_for_rows_of_numbers_too():
    with pytest.raises(InputError, match="Two columns are called 'a'"):
        FUSE().fit(pd.DataFrame(X, columns=["a", "a"]))


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float32(), 3), pa.large_list(pa.int64())])
def test_lists_of_numbers_are_vectors_that_weigh_as_one_column(kind):
    vectors = np.random.default_rng(1).normal(size=(60, 3)).round(0 if pa.types.is_large_list(kind) else 9) * 9
    whole = pa.types.is_integer(kind.value_type)
    column = pa.array(vectors.astype(int).tolist() if whole else vectors.tolist(), kind)
    rows = pa.table({"vector": column, "x": X[:, 0]})
    table = Table().fit(rows)
    assert table.describe()["vector"] == "vector of 3 numbers, scaled together"
    Z = table.transform(rows)
    centred = vectors - vectors.mean(0)
    np.testing.assert_allclose(Z[:, :3], centred / np.sqrt(centred.var(0).sum()), rtol=1e-5, atol=1e-6)
    assert table.examined(pa.table({"vector": pa.nulls(1, kind), "x": [1.0]}))[1].count() == 1
    with pytest.raises(InputError, match="Column 'vector': lists of 3 numbers were wanted, got one of 2"):
        table.transform(pa.table({"vector": [[1.0, 2.0]], "x": [1.0]}))


def test_a_model_of_vectors_is_the_same_from_its_file_and_gaps_are_marked(tmp_path):
    from centrality import load

    rows = pa.table({"vector": [None, *X[1:].tolist()], "x": X[:, 0]})
    chain = Chain(Table(), quick()).fit(rows)
    chain.save(tmp_path / "m.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "m.safetensors").centrality(rows), chain.centrality(rows))
    assert chain.representation_.get_feature_names_out().tolist() == ["vector 0", "vector 1", "vector missing", "x"]
