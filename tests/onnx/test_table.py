"""The model of a table as one ONNX file: it takes the columns as they are, and says what the model says."""

import datetime
import decimal
import json

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from centrality import Chain
from centrality._internal.checks import InputError
from centrality.datasets import houses
from centrality.onnx import Scorer
from centrality.onnx.inputs import inputs_of
from centrality.representations import Table, Text
from tests.conftest import quick
from tests.onnx.tables import frame, model, spoiled
from tests.promise import assert_same_scores

pytestmark = pytest.mark.filterwarnings("ignore::centrality.tables.columns.DataNote")


@pytest.fixture(scope="module")
def chain_and_scorer(tmp_path_factory) -> tuple[Chain, Scorer]:
    chain = model()
    path = tmp_path_factory.mktemp("table") / "m.onnx"
    chain.to_onnx(path)
    return chain, Scorer(path)


@pytest.mark.numbers
def test_rows_as_they_are_score_as_in_python(chain_and_scorer):
    chain, scorer = chain_and_scorer
    rows = frame(seed=2)
    assert_same_scores(scorer.heads(rows), chain.heads(rows))
    assert_same_scores(scorer.centrality(rows, [0, 0.3, 1]), chain.centrality(rows, [0, 0.3, 1]))


@pytest.mark.numbers
def test_gaps_unknown_categories_and_cells_that_cannot_be_read_count_as_in_python(chain_and_scorer):
    """Of 1,200 rows, few have a cell that Python reads and the file does not: these have no score."""
    chain, scorer = chain_and_scorer
    rows = pd.concat([spoiled(frame(seed=3)), spoiled(frame(seed=4), seed=5, share=0.6)])
    found, expected = scorer.centrality(rows), chain.centrality(rows)
    scored = ~np.isnan(found)
    assert scored[:600].mean() > 0.8
    assert_same_scores(found[scored], expected[scored])
    np.testing.assert_array_equal(np.isnan(scorer.p_values(rows)), ~scored)
    np.testing.assert_array_equal(np.isnan(scorer.severity(rows)), ~scored)
    assert len(np.unique(expected[600:])) > 500  # rows with many gaps are far off, yet do not tie


@pytest.mark.numbers
def test_every_kind_of_frame_is_taken(chain_and_scorer):
    _, scorer = chain_and_scorer
    rows = spoiled(frame(seed=6), share=0.02)
    expected = scorer.centrality(rows)
    table = pa.Table.from_pandas(rows)
    for other in (table, pl.from_arrow(table), table.to_pydict(), dict(rows.items())):
        np.testing.assert_array_equal(scorer.centrality(other), expected)


def test_a_column_that_is_called_as_an_output_is_another_input(chain_and_scorer):
    _, scorer = chain_and_scorer
    assert scorer.columns is not None
    names = {column["name"]: column["input"] for column in scorer.columns}
    assert names["t"] == "column t"
    assert names["day"] == "day"
    assert scorer.width == len(frame().columns)


def test_the_file_says_how_each_column_is_read(tmp_path):
    chain = Chain(Table(), quick()).fit(houses())
    chain.to_onnx(tmp_path / "m.onnx")
    metadata = {entry.key: entry.value for entry in onnx.load(tmp_path / "m.onnx").metadata_props}
    by_name = {column["name"]: column for column in json.loads(metadata["centrality"])["columns"]}
    assert list(by_name) == chain.representation_.columns_  # an identifier is left out
    assert {name: column["type"] for name, column in by_name.items() if name in ("district", "sold", "area")} == {
        "district": "text",
        "sold": "int64",
        "area": "float64",
    }
    assert by_name["area"]["reads"] == chain.representation_.describe()["area"]


@pytest.mark.numbers
def test_numbers_of_float32_are_taken_if_the_file_is_written_so(tmp_path):
    rows = houses().select(["district", "area"])
    chain = Chain(Table(), quick()).fit(rows.slice(0, 900))
    chain.to_onnx(tmp_path / "m.onnx", rows="float32")
    new = rows.slice(900)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    area = new["area"].to_numpy().astype(np.float32)
    inputs = {"district": np.array(new["district"].to_pylist()), "area": area, "t": np.array([0.5])}
    in_float32 = new.set_column(1, "area", pa.array(area, from_pandas=True))
    assert_same_scores(session.run(["heads"], inputs)[0], chain.heads(in_float32))
    assert_same_scores(Scorer(tmp_path / "m.onnx").heads(new), chain.heads(in_float32))


@pytest.mark.numbers
def test_given_a_context_the_file_says_what_the_model_says(tmp_path):
    chain = Chain(Table(unreadable=1), quick(given=["district"], max_steps=20)).fit(houses().slice(0, 900))
    chain.to_onnx(tmp_path / "m.onnx")
    new = houses().slice(900)
    assert_same_scores(Scorer(tmp_path / "m.onnx").heads(new), chain.heads(new))


def test_what_cannot_be_written_is_named_with_what_to_do_before_anything_is_written(tmp_path):
    rng = np.random.default_rng(0)
    words = np.array(["red", "green", "blue", "lamp", "chair", "table", "oak", "pine"])
    rows = pd.DataFrame({"x": rng.normal(size=300), "note": [" ".join(rng.choice(words, 5)) for _ in range(300)]})
    chain = Chain(Table(blocks=False), quick()).fit(rows)
    with pytest.raises(InputError, match=r"column 'note' is text, of which the n-grams count\. Fit without them"):
        chain.to_onnx(tmp_path / "m.onnx")
    rows["vector"] = list(rng.normal(size=(300, 8)))
    with pytest.raises(InputError, match="'vector' is vectors beside other columns, which are compared with them"):
        Chain(Table(), quick()).fit(rows).to_onnx(tmp_path / "m.onnx")
    texts = Chain(Text(), quick()).fit(list(rows["note"]))
    with pytest.raises(InputError, match="a model of Text reads more than columns of a table"):
        texts.to_onnx(tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []
    texts.model_.to_onnx(tmp_path / "m.onnx")
    assert_same_scores(
        Scorer(tmp_path / "m.onnx").heads(texts.representation_.transform(["a pink lamp"])),
        texts.heads(["a pink lamp"]),
    )


NUMBER = {"name": "x", "input": "x", "type": "float64", "shape": ["n"], "reads": "number"}
TEXT = {"name": "x", "input": "x", "type": "text", "shape": ["n"], "reads": "category, 2 levels"}
DATE = {"name": "x", "input": "x", "type": "int64", "shape": ["n"], "reads": "date", "zone": None}


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (NUMBER, ["1.5"], "numbers were wanted, got the text '1.5'"),
        (NUMBER, [1.0, np.inf], "finite numbers were wanted, got infinity in 1 rows"),
        (NUMBER, [datetime.date(2024, 1, 1)], r"numbers were wanted, got datetime.date\(2024, 1, 1\)"),
        (NUMBER, [], "Rows were wanted"),
        (TEXT, [1.5], "texts were wanted, got 1.5"),
        (DATE, ["2024-01-01"], "dates were wanted, got '2024-01-01'"),
        (DATE, [datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)], "dates without a time zone were wanted"),
        (DATE | {"zone": "UTC"}, [datetime.datetime(2024, 1, 1)], "dates with a time zone were wanted"),
        (NUMBER | {"shape": ["n", 2]}, [[1.0]], "lists of 2 numbers were wanted, got one of 1"),
    ],
)
def test_columns_of_another_kind_are_refused(column, values, message):
    with pytest.raises(InputError, match=message):
        inputs_of({"x": values}, [column])


def test_times_of_day_are_seconds_since_midnight_and_decimals_are_numbers():
    values = [datetime.time(1, 2, 3), decimal.Decimal("1.5"), None, True]
    np.testing.assert_array_equal(inputs_of({"x": values}, [NUMBER])["x"], [3723, 1.5, np.nan, 1])


@pytest.mark.numbers
def test_columns_of_any_name_are_inputs(tmp_path):
    rng = np.random.default_rng(0)
    names = ["t", "heads", "/add_1", "column t", "p_value", "rows", "a b\"'<>", "ünï"]
    rows = pa.table({name: rng.normal(size=300) for name in names})
    chain = Chain(Table(), quick()).fit(rows)
    chain.to_onnx(tmp_path / "m.onnx")
    scorer = Scorer(tmp_path / "m.onnx")
    new = pa.table({name: rng.normal(size=50) for name in reversed(names)})
    assert_same_scores(scorer.heads(new), chain.heads(new))
    assert scorer.columns is not None
    inputs = [column["input"] for column in scorer.columns]
    assert inputs == ["column column t", "column heads", "column /add_1", "column t", "column p_value", *names[5:]]


@pytest.mark.numbers
def test_a_level_that_is_an_empty_text_or_a_word_of_ours_is_itself(tmp_path):
    """Gaps are a fault here: there were none in fitting."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"c": rng.choice(["", "a", "(other)", "é", "日本"], 400), "x": rng.normal(size=400)})
    chain = Chain(Table(unreadable=1), quick()).fit(rows)
    chain.to_onnx(tmp_path / "m.onnx")
    new = rows.assign(x=rng.normal(size=400), c=rows["c"].mask(rows.index < 50, None).mask(rows.index > 380, "zz"))
    assert_same_scores(Scorer(tmp_path / "m.onnx").heads(new), chain.heads(new))


def test_rows_without_names_and_without_a_column_are_refused(chain_and_scorer):
    _, scorer = chain_and_scorer
    with pytest.raises(InputError, match="a frame or a dict of columns, got ndarray"):
        scorer.heads(np.zeros((3, 14)))
    with pytest.raises(InputError, match="Missing column: 'rent'"):
        scorer.heads(frame().drop(columns="rent"))
