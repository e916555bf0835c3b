import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError

TABLE = pa.table({"a": [1.5, 2.5, 3.5], "b": [1, 2, 3]})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_survives_writing_and_reading(tmp_path, suffix):
    tables.write(TABLE, tmp_path / f"t{suffix}")
    assert tables.read(tmp_path / f"t{suffix}").equals(TABLE)


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


def test_float32_stays_float32_and_missing_values_become_nan():
    assert tables.numbers(pa.table({"a": pa.array([1, 2], pa.float32())})).dtype == np.float32
    np.testing.assert_array_equal(tables.numbers(pa.table({"a": [1, None], "b": [True, False]})), [[1, 1], [np.nan, 0]])


def test_a_pickled_array_is_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.array([{"run": "me"}], dtype=object))
    with pytest.raises(TableError, match=r"t.npy cannot be read as .npy: .*Python objects"):
        tables.read(tmp_path / "t.npy")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty: it has 0 rows and 0 columns"),
        ("t.csv", b"a,b\n", "is empty: it has 0 rows and 2 columns"),
        ("t.csv", b"a,b\n1,2\n3\n", "cannot be read as .csv: .*row 2: Expected 2 columns, got 1"),
        ("t.parquet", b"PAR1 no PAR1", "cannot be read as .parquet"),
        ("t.npy", b"\x93NUMPY\x01\x00", "cannot be read as .npy"),
        ("t.npz", b"PK\x03\x04 cut", "cannot be read as .npz"),
        ("t.xlsx", b"", r"a file ending in .csv, .tsv, .jsonl, .parquet, .* was wanted, got .xlsx"),
        ("t", b"", "was wanted, got no ending"),
    ],
)
def test_a_file_that_is_no_table_says_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        tables.read(tmp_path / name)


def test_an_array_of_three_dimensions_is_refused(tmp_path):
    np.save(tmp_path / "t.npy", np.zeros((2, 2, 2)))
    with pytest.raises(TableError, match=r"two-dimensional array of numbers was wanted, got float64 \(2, 2, 2\)"):
        tables.read(tmp_path / "t.npy")


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file at"):
        tables.read(tmp_path / "t.csv")


def test_a_missing_column_suggests_the_nearest():
    table = pa.table({"sepal_length": [1.0], "petal_width": [2.0]})
    with pytest.raises(TableError, match=r"Missing column: 'sepal_lenght'. Did you mean 'sepal_length'\?"):
        tables.select(table, ["petal_width", "sepal_lenght"])


def test_text_among_numbers_names_the_columns_on_both_sides():
    with pytest.raises(TableError, match=r"hold something else: 'name'. .* for example: a"):
        tables.numbers(pa.table({"a": [1.0], "name": ["x"]}))


def test_new_columns_replace_old_ones_of_the_same_name():
    table = tables.with_columns(TABLE, {"b": np.array([9, 9, 9]), "c": np.array([0.0, 0, 0])})
    assert table.column_names == ["a", "b", "c"]
    assert table["b"].to_pylist() == [9, 9, 9]


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    tables.write(TABLE, tmp_path / "t.npy")
    with pytest.raises(TableError):
        tables.write(pa.table({"name": ["text"]}), tmp_path / "t.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["t.npy"]
    assert np.load(tmp_path / "t.npy").shape == (3, 2)
