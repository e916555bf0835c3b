"""Arrays of numpy as tables."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError

TABLE = pa.table({"a": [1.5, 2.5, 3.5], "b": [1, 2, 3]})


def test_an_array_is_a_table_of_numbered_columns(tmp_path):
    np.save(tmp_path / "t.npy", np.arange(6.0).reshape(3, 2))
    table = tables.read(tmp_path / "t.npy")
    assert table.column_names == ["x0", "x1"]
    np.testing.assert_array_equal(tables.numbers(table), np.arange(6.0).reshape(3, 2))


def test_an_archive_gives_x_or_its_only_matrix(tmp_path):
    X = np.arange(6.0).reshape(3, 2)
    np.savez(tmp_path / "named.npz", X=X, y=np.zeros(3), other=np.ones((3, 3)))
    np.savez(tmp_path / "only.npz", rows=X, y=np.zeros(3))
    for name in ("named.npz", "only.npz"):
        np.testing.assert_array_equal(tables.numbers(tables.read(tmp_path / name)), X)
    np.savez(tmp_path / "many.npz", one=X, two=X)
    with pytest.raises(TableError, match="an array named X was wanted, got 'one', 'two'"):
        tables.read(tmp_path / "many.npz")


def test_arrays_are_written_as_numbers_alone_or_by_column(tmp_path):
    tables.write(TABLE, tmp_path / "t.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), [[1.5, 1], [2.5, 2], [3.5, 3]])
    tables.write(TABLE, tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz") as archive:
        assert archive.files == ["a", "b"]
        np.testing.assert_array_equal(archive["b"], [1, 2, 3])


def test_a_pickled_array_is_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.array([{"run": "me"}], dtype=object))
    with pytest.raises(TableError, match=r"t.npy cannot be read as .npy: .*Python objects"):
        tables.read(tmp_path / "t.npy")


def test_an_array_of_three_dimensions_is_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((2, 2, 2)))
    with pytest.raises(TableError, match=r"two-dimensional array of numbers was wanted, got float64 \(2, 2, 2\)"):
        tables.read(tmp_path / "t.npy")


def test_columns_of_an_array_are_chosen_by_number(tmp_path):
    np.save(tmp_path / "t.npy", np.arange(6).reshape(2, 3))
    with tables.open_rows(tmp_path / "t.npy") as source:
        [batch] = source.batches(["x2", "x0"])
    assert batch.to_pydict() == {"x2": [2, 5], "x0": [0, 3]}
