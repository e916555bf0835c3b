"""Scores in a real Spark on this machine."""

import os
import shutil
import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

from centrality import Chain, spark
from centrality.datasets import houses as every_kind_of_house
from centrality.representations import Table
from tests.conftest import quick
from tests.examples import assert_examples_hold
from tests.promise import assert_same_scores
from tests.properties.test_given import houses

# Spark's own: sockets and processes left to the garbage collector, and what it still calls in pandas and Python.
pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        shutil.which("java") is None and not os.environ.get("CI"),
        reason="Spark needs Java: apt install default-jre-headless",
    ),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pyspark"),
    pytest.mark.filterwarnings("ignore::FutureWarning:pyspark"),
]


@pytest.fixture(scope="module")
def session():
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    builder = SparkSession.builder.master("local[2]").appName("centrality")
    for name, value in {"ui.enabled": "false", "driver.host": "127.0.0.1", "driver.memory": "512m"}.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    return pa.table({"id": [f"{i:04d}" for i in range(3000)], "a": X[:, 0], "b": X[:, 1]})


def test_a_spark_frame_gets_columns_of_scores_beside_its_own(session, rows):
    model = quick().fit(rows.select(["a", "b"]))
    frame = session.createDataFrame(rows.to_pandas()).repartition(3)
    scored = spark.score(model, frame, t=[0, 1])
    assert scored.columns == ["id", "a", "b", "centrality_t0", "centrality_t100"]
    found = scored.toArrow().sort_by("id")
    assert found.select(["id", "a", "b"]).to_pydict() == rows.to_pydict()
    expected = model.centrality(rows.select(["a", "b"]), t=[0, 1])
    assert_same_scores(np.column_stack([found["centrality_t0"], found["centrality_t100"]]), expected)
    again = spark.score(model, scored, t=1)  # scores of the same name are replaced
    assert again.columns == ["id", "a", "b", "centrality_t0", "centrality_t100"]


def test_a_spark_frame_is_scored_given_its_context(session):
    """Two rows of one price are told apart by their kind, as the model by itself tells them."""
    rows = houses(300)
    model = quick(given=["size", "city"]).fit(rows)
    scored = spark.score(model, session.createDataFrame(rows).repartition(3)).toArrow().sort_by("year")
    expected = model.centrality(rows)[np.argsort(rows["year"])]
    assert_same_scores(np.asarray(scored["centrality"]), expected)


def test_a_wrong_t_is_said_before_spark_starts_to_work(session, rows):
    model = quick().fit(rows.select(["a", "b"]))
    with pytest.raises(ValueError, match="t must lie between 0"):
        spark.score(model, session.createDataFrame(rows.to_pandas().head(3)), t=2)


def test_the_functions_of_sql_say_what_the_model_says(session):
    rows = every_kind_of_house()
    model = Chain(Table(), quick(max_steps=60)).fit(rows)
    assert spark.register(session, model) == ["centrality", "p_value", "severity", "reason"]
    session.createDataFrame(rows.to_pandas()).repartition(3).createOrReplaceTempView("houses")
    columns = ", ".join(f"`{name}`" for name in rows.column_names if name != "house")  # an identifier
    scored = session.sql(
        f"SELECT house, centrality(struct(*)) AS by_name, centrality({columns}) AS by_place, p_value(struct(*)) AS p, "
        "severity(struct(*)) AS severity, reason(struct(*)) AS reason FROM houses"
    ).toArrow()
    order = pa.compute.sort_indices(rows["house"])
    scored = scored.sort_by("house")
    expected = rows.take(order)
    assert_same_scores(scored["by_name"].to_numpy(), model.centrality(expected))
    assert scored["by_place"].equals(scored["by_name"])
    np.testing.assert_allclose(scored["p"].to_numpy(), model.p_values(expected), atol=1e-12)
    np.testing.assert_allclose(scored["severity"].to_numpy(), model.severity(expected), rtol=1e-6)
    assert scored["reason"].to_pylist() == list(model.reasons(expected).short())


def test_functions_of_several_models_stand_side_by_side_and_what_cannot_be_scored_is_null(session, rows):
    numbers = rows.select(["a", "b"])
    spark.register(session, quick().fit(numbers), prefix="whole_", t=0)
    spark.register(session, quick().fit(numbers.select(["a"])), prefix="a_")
    found = session.sql("SELECT whole_centrality(a, b), a_severity(a) FROM VALUES (1.0, 2.5), (NULL, 1.0) AS t(a, b)")
    (whole, severity), unscored = found.collect()
    assert_same_scores(np.array([whole]), quick().fit(numbers).centrality(pa.table({"a": [1.0], "b": [2.5]}), t=0))
    assert severity >= 1
    assert tuple(unscored) == (None, None)
    with pytest.raises(Exception, match="2 columns were wanted, in this order: 'a', 'b', got 1"):
        session.sql("SELECT whole_centrality(a) FROM VALUES (1.0) AS t(a)").collect()


def test_partitions_go_through_spark_into_partitions(session, rows, tmp_path):
    model = quick().fit(rows.select(["a", "b"]))
    by_day = rows.append_column("day", pa.array(np.arange(3000) % 3))
    session.createDataFrame(by_day.to_pandas()).write.partitionBy("day").parquet(f"{tmp_path}/rows")
    frame = session.read.parquet(f"{tmp_path}/rows")
    spark.score(model, frame).write.partitionBy("day").parquet(f"{tmp_path}/scores")
    assert sorted(path.name for path in (tmp_path / "scores").glob("day=*")) == ["day=0", "day=1", "day=2"]
    scored = session.read.parquet(f"{tmp_path}/scores").toArrow().sort_by("id")
    assert scored["day"].to_pylist() == by_day["day"].to_pylist()
    assert_same_scores(scored["centrality"].to_numpy(), model.centrality(rows.select(["a", "b"])))


def test_drift_and_checks_are_told_of_a_sample(session, rows):
    numbers = rows.select(["a", "b"])
    model = quick().fit(numbers)
    frame = session.createDataFrame(rows.to_pandas()).repartition(3)
    same = spark.drift(model, frame.select("a", "b"), sample=1000)
    assert not same.changed
    assert (same.whole.rows, same.drawn_from, same.windows) == (1000, 3000, [])
    moved = spark.drift(model, frame.selectExpr("a + 1 AS a", "b"))
    assert moved.changed
    assert moved.drawn_from is None  # fewer rows than a sample has
    # A normal column moved by its standard deviation: Cliff's delta is 2 Phi(1 / sqrt 2) - 1 = .52.
    assert moved.whole.columns[0].effect == pytest.approx(0.52, abs=0.04)
    broken = frame.selectExpr("id", "CASE WHEN id LIKE '%00' THEN -999.0 ELSE a END AS a", "b")
    findings = spark.check(broken, sample=2000)
    [placeholder] = [one for one in findings if one.kind == "placeholder"]
    low, high = findings.in_all_rows(placeholder)
    assert low <= 30 <= high
    assert "drawn at random from 3,000" in str(findings)


@pytest.mark.parametrize("example", [spark.drift, spark.check, spark.score, spark.register])
def test_the_examples_hold(session, example):
    assert_examples_hold(example)  # the last: they stop the session
