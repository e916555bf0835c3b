"""Vectors in one file, their rows in another."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables.beside import VECTORS
from centrality.tables.columns import BATCH


@pytest.fixture
def vectors(tmp_path):
    np.save(tmp_path / "vectors.npy", np.arange(12.0, dtype=np.float32).reshape(4, 3))
    return tmp_path / "vectors.npy"


def csv(folder, n, name="rows.csv"):
    tables.write(pa.table({"id": [f"r{i}" for i in range(n)]}), folder / name)
    return folder / name


def test_each_row_has_its_vector_at_the_end(vectors, tmp_path):
    table = tables.read(vectors, rows=csv(tmp_path, 4))
    assert table.column_names == ["id", VECTORS]
    assert table.schema.field(VECTORS).type == pa.list_(pa.float32(), 3)
    assert table[VECTORS].to_pylist()[2] == [6, 7, 8]


def test_only_some_columns_are_as_many_rows(vectors, tmp_path):
    """Also where the vectors alone are wanted: their rows are counted all the same."""
    with tables.open_rows(vectors, rows=csv(tmp_path, 4)) as source:
        (batch,) = source.batches([VECTORS])
        assert batch.schema.names == [VECTORS]
        assert batch.num_rows == 4
    with (
        tables.open_rows(vectors, rows=csv(tmp_path, 3, "short.csv")) as source,
        pytest.raises(tables.TableError, match="4 vectors, but"),
    ):
        list(source.batches([VECTORS]))


@pytest.mark.parametrize("n", [3, 5])
def test_vectors_and_rows_must_be_as_many(vectors, tmp_path, n):
    with pytest.raises(tables.TableError, match=rf"vectors.npy holds 4 vectors, but .*rows.csv has {n} rows: one vec"):
        tables.read(vectors, rows=csv(tmp_path, n))


def test_more_rows_than_are_read_together_stay_in_their_order(tmp_path):
    n = BATCH + 7
    numbers = np.arange(n, dtype=np.int32)[:, None]
    np.save(tmp_path / "v.npy", numbers)
    tables.write(pa.table({"x": numbers[:, 0]}), tmp_path / "rows.parquet")
    table = tables.read(tmp_path / "v.npy", rows=tmp_path / "rows.parquet")
    assert table["x"].to_pylist() == [x for (x,) in table[VECTORS].to_pylist()]


def test_what_are_no_vectors_or_no_rows_is_said(vectors, tmp_path):
    rows = csv(tmp_path, 4)
    with pytest.raises(tables.TableError, match=r"rows.csv: vectors in a .npy or .npz file were wanted beside"):
        tables.read(rows, rows=vectors)
    tables.write(pa.table({VECTORS: [1, 2, 3, 4]}), tmp_path / "taken.csv")
    with pytest.raises(tables.TableError, match="it has a column 'vectors', the name of the vectors beside it: rename"):
        tables.read(vectors, rows=tmp_path / "taken.csv")


def test_another_file_in_the_block_is_read_as_it_is(vectors, tmp_path):
    rows = csv(tmp_path, 4)
    with tables.rows_beside(vectors, rows):
        assert tables.read(rows).column_names == ["id"]
        assert tables.read(vectors).column_names == ["id", VECTORS]
    assert tables.read(vectors).column_names == ["x0", "x1", "x2"]
