from importlib import import_module

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError
from centrality.tables.text import TextFormat

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


MIXED = pa.table({"id": ["007", "008", "010"], "a": [1.5, None, 3.0], "note": ['say "hi", twice\nplease', None, "ü"]})


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".csv.gz", ".jsonl.gz", ".parquet", ".arrow", ".feather"])
def test_ids_quotes_line_breaks_and_gaps_survive_every_format(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    tables.write(MIXED, path)
    assert tables.read(path).equals(MIXED)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".csv.gz", ".parquet", ".arrow", ".npy"])
def test_the_schema_is_known_first_and_batches_are_bounded_and_whole(tmp_path, suffix):
    n = 100_000
    table = pa.table({"x0": np.arange(n) + 0.5, "x1": np.arange(n) / 7})
    tables.write(table, tmp_path / f"t{suffix}")
    with tables.open_rows(tmp_path / f"t{suffix}") as source:
        assert source.schema.names == ["x0", "x1"]
        batches = list(source.batches())
    assert max(batch.num_rows for batch in batches) <= 32_768
    assert pa.Table.from_batches(batches).equals(table)


def test_the_number_of_rows_is_known_or_estimated(tmp_path):
    table = pa.table({"x": np.arange(1_000_000) % 97})
    for suffix in (".parquet", ".arrow", ".npy"):
        tables.write(table, tmp_path / f"t{suffix}")
        assert tables.open_rows(tmp_path / f"t{suffix}").rows == 1_000_000
    path = tmp_path / "t.jsonl"
    path.write_text('{"x": 1}\n' * 1_000_000)  # nine bytes each, in blocks of four million
    with tables.open_rows(path) as source:
        assert source.rows == pytest.approx(1_000_000, rel=0.01)


def test_a_folder_of_parquet_files_is_one_table_in_the_order_of_names(tmp_path):
    for k in (2, 1):
        tables.write(pa.table({"a": [float(k)]}), tmp_path / f"part-{k}.parquet")
    (tmp_path / "_SUCCESS").touch()
    assert tables.read(tmp_path)["a"].to_pylist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("second", "difference"),
    [
        ({"a": [1.0]}, "it has no column 'b'"),
        ({"a": [1], "b": ["x"]}, "column 'a' is int64, not double"),
        ({"a": [1.0], "b": ["x"], "c": [1]}, "it has a column 'c' more"),
        ({"b": ["x"], "a": [1.0]}, "its columns come in another order"),
    ],
)
def test_a_folder_of_two_schemas_says_which_file_differs_and_how(tmp_path, second, difference):
    tables.write(pa.table({"a": [1.0], "b": ["x"]}), tmp_path / "1.parquet")
    tables.write(pa.table(second), tmp_path / "2.parquet")
    with pytest.raises(TableError, match=f"2.parquet differs from 1.parquet: {difference}"):
        tables.open_rows(tmp_path)


def test_a_folder_of_images_is_a_table_of_paths(tmp_path):
    for name in ("b/2.PNG", "a/1.jpg", "a/.hidden.jpg", "a/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert tables.read(tmp_path)["path"].to_pylist() == [str(tmp_path / "a/1.jpg"), str(tmp_path / "b/2.PNG")]


def test_an_empty_folder_says_what_was_wanted(tmp_path):
    with pytest.raises(TableError, match=r"a folder of \.parquet files or of images was wanted"):
        tables.read(tmp_path)


def test_a_quoted_line_break_at_the_edge_of_a_block_splits_no_record():
    import io

    from centrality.tables import text

    content = b"a,b\n" + b'1,"two\nlines"\n' * 9
    for size in range(1, 40):
        blocks = list(text.blocks(io.BufferedReader(io.BytesIO(content)), quoted=True, live=False, size=size))
        assert b"".join(blocks) == content
        assert sum(len(text.records(block, quoted=True)) for block in blocks) == 10


def test_a_number_that_becomes_text_later_names_column_and_row(tmp_path):
    rows = [f"{i},{i}" for i in range(700_000)]
    rows[650_000] = "650000,many"
    (tmp_path / "t.csv").write_text("id,count\n" + "\n".join(rows))
    with (
        pytest.raises(TableError, match=r"column 'count': row 650001: .*'many'. Earlier rows"),
        tables.open_rows(tmp_path / "t.csv") as source,
    ):
        list(source.batches())


def test_reading_whole_looks_at_all_rows_before_it_decides_on_types(tmp_path):
    rows = ["1"] * 700_000 + ["1.5"]
    (tmp_path / "t.csv").write_text("a\n" + "\n".join(rows * 4))
    assert tables.read(tmp_path / "t.csv")["a"].type == pa.float64()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"a,b\n1,caf\xe9\n", "is not UTF-8 throughout: .* iconv -f latin1 -t utf-8"),
        ("t.csv", b"a,caf\xe9\n1,2\n", "column names are not UTF-8"),
        ("t.csv", b"a,a\n1,2\n", "column names must differ, but 'a' comes twice"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', "cannot be read as .jsonl"),
        ("t.jsonl", b"", "is empty: it has 0 rows"),
        ("t.arrow", b"ARROW1\x00\x00cut", "cannot be read as an Arrow file or stream"),
        ("t.csv.gz", b"no gzip", "cannot be read as .csv"),
    ],
)
def test_damaged_text_and_arrow_say_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        tables.read(tmp_path / name)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_frames_keep_their_kind_when_columns_are_added(kind):
    import pandas as pd
    import polars as pl

    frame = {
        "pandas": pd.DataFrame({"a": [1, 2]}, index=[7, 9]),
        "polars": pl.DataFrame({"a": [1, 2]}),
        "pyarrow": pa.table({"a": [1, 2]}),
    }[kind]
    more = tables.with_columns(frame, {"score": np.array([0.5, 1.0])})
    assert type(more) is type(frame)
    assert list(np.asarray(more["score"])) == [0.5, 1.0]


@pytest.mark.parametrize(("kind", "reads"), [(".csv", "csv.read_csv"), (".jsonl", "json.read_json")])
def test_arrows_threads_hold_nothing_of_pythons_so_that_a_program_may_end_at_once(monkeypatch, kind, reads):
    # A thread of Arrow's that lets go of a Python object while the interpreter ends aborts the process: exit 134.
    block = {".csv": b"a,b\n" + b"1.5,word\n" * 50_000, ".jsonl": b'{"a": 1.5, "b": "word"}\n' * 50_000}[kind]
    given = []

    def reading(source, **options):
        given.append((type(source), pa.total_allocated_bytes() - before))
        return real(source, **options)

    module = import_module(f"pyarrow.{reads.partition('.')[0]}")
    real = getattr(module, reads.partition(".")[2])
    monkeypatch.setattr(module, reads.partition(".")[2], reading)
    before = pa.total_allocated_bytes()
    assert TextFormat(kind, "rows").begin(block)[1].names == ["a", "b"]
    for source, arrows in given:
        assert issubclass(source, pa.NativeFile)
        assert arrows > len(block) / 2  # copied: Arrow's own memory, not a view of Python's bytes
    assert given
