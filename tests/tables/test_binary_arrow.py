"""Arrow IPC files and streams."""

import io

import pyarrow as pa
import pytest

from centrality import tables
from centrality.tables import TableError
from centrality.tables.binary import ArrowSource
from centrality.tables.formats import make_sink, open_stream

TABLE = pa.table({"a": [1.5, None, 3.0], "b": [["x"], [], None]})


def in_a_stream(table: pa.Table) -> bytes:
    file = io.BytesIO()
    sink = make_sink(".arrow", file, table.schema, stream=True)
    sink.write(table)
    sink.close()
    return file.getvalue()


def test_a_file_knows_its_rows_and_a_stream_does_not(tmp_path):
    tables.write(TABLE, tmp_path / "t.arrow")
    (tmp_path / "s.feather").write_bytes(in_a_stream(TABLE))
    for name, rows in (("t.arrow", 3), ("s.feather", None)):
        with tables.open_rows(tmp_path / name) as source:
            assert source.rows == rows
            assert source.kind == ".arrow"
        assert tables.read(tmp_path / name).equals(TABLE)


def test_a_stream_is_told_by_its_first_bytes():
    source = open_stream(io.BufferedReader(io.BytesIO(in_a_stream(TABLE))))
    assert isinstance(source, ArrowSource)
    assert source.table().equals(TABLE)


def test_a_file_of_no_rows_says_so(tmp_path):
    tables.write(TABLE.slice(0, 0), tmp_path / "t.arrow")
    with pytest.raises(TableError, match=r"t\.arrow is empty: it has 0 rows and 2 columns"):
        tables.open_rows(tmp_path / "t.arrow")
