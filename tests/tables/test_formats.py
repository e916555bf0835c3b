"""Every format: what is written is read again, and what cannot be read says why."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError

TABLE = pa.table({"a": [1.5, 2.5, 3.5], "b": [1, 2, 3]})
MIXED = pa.table({"id": ["007", "008", "010"], "a": [1.5, None, 3.0], "note": ['say "hi", twice\nplease', None, "ü"]})


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_survives_writing_and_reading(tmp_path, suffix):
    tables.write(TABLE, tmp_path / f"t{suffix}")
    assert tables.read(tmp_path / f"t{suffix}").equals(TABLE)


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".jsonl", ".json", ".csv.gz", ".parquet", ".arrow", ".feather"])
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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty: it has 0 rows and 0 columns"),
        ("t.csv", b"a,b\n", "is empty: it has 0 rows and 2 columns"),
        ("t.csv", b"a,b\n1,2\n3\n", "cannot be read as .csv: .*row 2: Expected 2 columns, got 1"),
        ("t.parquet", b"PAR1 no PAR1", "cannot be read as .parquet"),
        ("t.npy", b"\x93NUMPY\x01\x00", "cannot be read as .npy"),
        ("t.npz", b"PK\x03\x04 cut", "cannot be read as .npz"),
        ("t.ods", b"", r"a file ending in .csv, .tsv, .jsonl, .json, .xlsx, .parquet, .* was wanted, got .ods"),
        ("t", b"", "was wanted, got no ending"),
    ],
)
def test_a_file_that_is_no_table_says_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        tables.read(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"a,b\n1,caf\xe9\n2,caf\xc3\xa9\n", "is not UTF-8 throughout: .* Name its encoding"),
        ("t.csv", "a,слово\n1,2\n".encode("cp1251"), "is not UTF-8 throughout: .* Name its encoding"),
        ("t.csv", b"a,a\n1,2\n", "column names must differ, but 'a' comes twice"),
        ("t.jsonl", b'{"a": 1}\n{"a": \n', "cannot be read as .jsonl"),
        ("t.jsonl", b"", "is empty: it has 0 rows"),
        ("t.arrow", b"ARROW1\x00\x00cut", "cannot be read as an Arrow file or stream"),
        ("t.csv.gz", b"no gzip", "is not packed as .gz files are"),
    ],
)
def test_damaged_text_and_arrow_say_why(tmp_path, name, content, message):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=message):
        tables.read(tmp_path / name)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no file at"):
        tables.read(tmp_path / "t.csv")


def test_a_failed_write_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    tables.write(TABLE, tmp_path / "t.npy")
    with pytest.raises(TableError):
        tables.write(pa.table({"name": ["text"]}), tmp_path / "t.npy")
    assert [path.name for path in tmp_path.iterdir()] == ["t.npy"]
    assert np.load(tmp_path / "t.npy").shape == (3, 2)


def test_any_ending_reads_writes_and_takes_its_place_in_the_list_of_endings():
    from centrality.tables.formats import FORMATS

    assert tuple(FORMATS) == tables.SUFFIXES
    assert [kind for kind, format in FORMATS.items() if format.is_text] == [".csv", ".tsv", ".jsonl", ".json"]
    for kind in FORMATS:
        assert tables.kind_of(f"T{kind.upper()}") == kind


def test_a_new_format_is_one_format_and_one_line_in_the_table(tmp_path, monkeypatch):
    """Numbers one a line, as a format that did not exist before."""
    from centrality.tables import formats
    from centrality.tables.columns import Format, Sink, Source

    class Lines(Source):
        kind, schema = ".txt", pa.schema([("x", pa.float64())])

        def __init__(self, path):
            self.name, self._text = str(path), path.read_text()

        def _batches(self, names, types):
            yield pa.record_batch({"x": [float(line) for line in self._text.split()]})

    class LinesSink(Sink):
        def __init__(self, file, schema):
            self._file = file

        def write(self, table):
            self._file.write("".join(f"{x}\n" for x in table["x"].to_pylist()).encode())

    monkeypatch.setitem(formats.FORMATS, ".txt", Format(Lines, LinesSink))
    table = pa.table({"x": [1.5, 2.0]})
    tables.write(table, tmp_path / "t.txt")
    assert (tmp_path / "t.txt").read_bytes() == b"1.5\n2.0\n"
    assert tables.read(tmp_path / "t.txt").equals(table)


@pytest.mark.parametrize(
    ("kind", "there"),
    [
        (".csv", ".csv"),
        (".tsv", ".tsv"),
        (".jsonl", ".jsonl"),
        (".json", ".json"),
        (".xlsx", ".csv"),
        (".arrow", ".arrow"),
        (".parquet", ".csv"),
        ("images", ".csv"),
    ],
)
def test_rows_go_to_stdout_in_their_own_kind_if_that_can_be_read_as_it_comes(kind, there):
    from centrality.tables.formats import kind_on_stdout

    assert kind_on_stdout(kind) == there
