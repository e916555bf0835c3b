"""Scores in a real Spark on this machine."""

import os
import shutil
import sys

import numpy as np
import pyarrow as pa
import pytest

from centrality import spark
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


def test_the_example_of_score_holds(session):
    assert_examples_hold(spark.score)  # the last: it stops the session
