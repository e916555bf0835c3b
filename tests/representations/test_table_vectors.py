"""One column of vectors that stands for the rows: `Table(vectors=...)`."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from centrality import Chain, load
from centrality.representations import Table
from centrality.tables import TableError
from tests.conftest import quick

ODD = 5


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """300 rows of two countries; the vectors of one lie 20 from those of the other, and that of row 5 lies apart."""
    rng = np.random.default_rng(0)
    country = np.arange(300) % 2
    vectors = rng.normal(size=(300, 10)) + 20 * country[:, None]
    vectors[ODD] += 5
    return pa.table(
        {
            "id": [f"r{i}" for i in range(300)],
            "embedding": pa.FixedSizeListArray.from_arrays(vectors.ravel(), 10),
            "country": np.array(["at", "be"])[country],
            "price": np.r_[1e9, rng.normal(size=299)],
        }
    )


@pytest.fixture(scope="module")
def model(rows) -> Chain:
    return Chain(Table(vectors="embedding"), quick(max_steps=200)).fit(rows)


def test_every_number_of_the_vectors_counts_and_no_other_column(model, rows):
    assert model.representation_.columns_ == ["embedding"]
    assert model.representation_.transform(rows).shape == (300, 10)
    assert model.representation_.describe()["price"] == "left out: it comes along with the vectors of 'embedding'"
    assert model.score_samples(rows).argmin() == ODD  # and not row 0, for its price
    assert str(model.reasons(rows.slice(ODD, 1))[0][0]).startswith("embedding of 10 numbers")


def test_rows_to_score_need_no_other_column(model, rows):
    np.testing.assert_array_equal(model.score_samples(rows), model.score_samples(rows.select(["embedding"])))


def test_a_saved_model_reads_the_same_column(model, rows, tmp_path):
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert again.representation_.vectors == "embedding"
    np.testing.assert_array_equal(again.score_samples(rows), model.score_samples(rows))


def test_a_context_is_read_beside_them_and_the_rest_is_not(rows):
    """A vector that is usual for one country is odd for the other."""
    model = Chain(Table(vectors="embedding"), quick(max_steps=200, given=["country"])).fit(rows)
    assert model.representation_.columns_ == ["embedding", "country"]
    moved = rows.slice(7, 1).set_column(2, "country", pa.array(["at"]))
    assert rows["country"][7].as_py() == "be"
    assert model.centrality(moved)[0] < model.centrality(rows.slice(7, 1))[0]


def test_lists_and_vectors_written_as_text_are_read_alike(rows):
    as_text = pd.DataFrame({"embedding": [str(vector) for vector in rows["embedding"].to_pylist()]})
    as_lists = pd.DataFrame({"embedding": rows["embedding"].to_pylist()})
    read = [Table(vectors="embedding").fit_transform(X) for X in (rows, as_text, as_lists)]
    np.testing.assert_array_equal(read[0], read[1])
    np.testing.assert_array_equal(read[0], read[2])


def test_a_row_without_a_vector_is_marked(rows):
    vectors = rows["embedding"].to_pylist()
    vectors[3] = None
    table = Table(vectors="embedding").fit(pa.table({"embedding": vectors}))
    read = table.transform(pa.table({"embedding": vectors}))
    assert read.shape == (300, 11)
    np.testing.assert_allclose(read[3, :10], 0, atol=1e-6)  # in the middle
    assert list(table.get_feature_names_out())[-1] == "embedding missing"


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("price", "were wanted in column 'price', but it holds double"),
        ("nothing", "in column 'nothing', but every value is missing"),
        ("embeding", "Did you mean 'embedding'"),
    ],
)
def test_what_holds_no_vectors_is_said(rows, column, message):
    rows = rows.append_column("nothing", pa.nulls(300, pa.list_(pa.float64())))
    with pytest.raises(TableError, match=message):
        Table(vectors=column).fit(rows)


def test_vectors_of_two_lengths_are_refused():
    with pytest.raises(TableError, match="lists of 3 numbers were wanted, got one of 2"):
        Table(vectors="v").fit(pa.table({"v": [[1.0, 2.0, 3.0]] * 9 + [[1.0, 2.0]]}))
