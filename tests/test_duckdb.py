"""Functions of a model in DuckDB's SQL."""

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import centrality.duckdb
from centrality import FUSE, Chain
from centrality._internal.checks import InputError
from centrality.datasets import houses
from centrality.representations import Series, Table
from tests.conftest import quick


@pytest.fixture(scope="module")
def model() -> Chain:
    return Chain(Table(), FUSE(max_steps=60, random_state=0)).fit(houses())


@pytest.fixture
def con():
    with duckdb.connect() as con:
        con.register("houses", houses())
        yield con


def test_the_functions_say_what_the_model_says(con, model):
    centrality.duckdb.register(con, model)
    asked = "SELECT centrality(houses), p_value(houses), severity(houses), reason(houses) FROM houses"
    scores, p_values, severities, reasons = zip(*con.sql(asked).fetchall(), strict=True)
    np.testing.assert_allclose(scores, model.centrality(houses()), rtol=1e-12)
    np.testing.assert_allclose(p_values, model.p_values(houses()), rtol=1e-12)
    np.testing.assert_allclose(severities, model.severity(houses()), rtol=1e-12)
    assert list(reasons) == list(model.reasons(houses()).short())


def test_a_row_is_read_by_its_names_whatever_their_order_and_columns_by_their_order(con):
    rows = houses().select(["area", "rooms", "price"]).drop_null()
    model = quick().fit(rows)
    con.register("rows", rows.select(["price", "area", "rooms"]))
    centrality.duckdb.register(con, model, t=0)
    by_name, by_place = zip(
        *con.sql("SELECT centrality(rows), centrality(area, rooms, price) FROM rows").fetchall(), strict=True
    )
    assert by_name == by_place
    np.testing.assert_allclose(by_name, model.centrality(rows, t=0), rtol=1e-12)
    with pytest.raises(duckdb.Error, match=r"3 columns were wanted, in this order: 'area', 'rooms', 'price', got 2"):
        con.sql("SELECT centrality(area, rooms) FROM rows").fetchall()
    with pytest.raises(duckdb.Error, match="Missing column: 'price'"):
        con.sql("SELECT centrality(x) FROM (SELECT area, rooms FROM rows) AS x").fetchall()


def test_rows_that_cannot_be_scored_are_null_and_cells_that_cannot_be_read_are_counted(con, model):
    numbers = quick().fit(pa.table({"a": np.arange(50.0), "b": np.arange(50.0) ** 2}))
    centrality.duckdb.register(con, numbers, prefix="n_")
    scores = con.sql("SELECT n_centrality(a, b) FROM (VALUES (1.0, NULL), (1.0, 1.0)) AS rows(a, b)").fetchall()
    assert scores[0] == (None,)
    assert scores[1][0] > 0
    functions = centrality.duckdb.register(con, model)
    con.sql("SELECT centrality(x) FROM (SELECT * REPLACE ('not a date' AS sold) FROM houses) AS x").fetchall()
    assert "sold" in functions.issues.notes()[0]
    assert "1,200 of 1,200 rows" in functions.issues.notes()[0]


def test_several_models_have_functions_of_their_own(con, model):
    other = quick().fit(houses().select(["rooms", "price"]))
    centrality.duckdb.register(con, model, prefix="a_")
    centrality.duckdb.register(con, other, prefix="b_")
    a, b = con.sql("SELECT a_centrality(houses), b_centrality(rooms, price) FROM houses LIMIT 1").fetchall()[0]
    assert a == pytest.approx(model.centrality(houses().slice(0, 1))[0])
    assert b == pytest.approx(other.centrality(houses().slice(0, 1))[0])


def test_rows_more_than_one_call_takes_are_scored_alike(con):
    X = np.random.default_rng(0).normal(size=(20_000, 4))
    rows = pa.table(dict(zip("abcd", X.T, strict=True)))
    model = quick().fit(rows)
    con.register("rows", rows)
    centrality.duckdb.register(con, model)
    con.execute("CREATE TABLE scored AS SELECT *, centrality(rows) AS score FROM rows")
    scored = con.sql("SELECT * FROM scored").to_arrow_table()
    np.testing.assert_allclose(scored["score"].to_numpy(), model.centrality(scored.select(list("abcd"))), rtol=1e-12)


def test_a_model_of_a_series_is_refused(con):

    series = pa.table({"value": np.sin(np.arange(600) / 5)})
    with pytest.raises(InputError, match="got one of a series"):
        centrality.duckdb.register(con, Chain(Series(window=20, column="value"), quick()).fit(series))
