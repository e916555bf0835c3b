"""Parquet files and folders of them."""

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from centrality import tables
from centrality.bulk import chunks
from centrality.bulk import sample as sampling
from centrality.tables import TableError
from centrality.tables.binary import NOTE, read_footer


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


def test_a_footer_is_read_once_a_file_however_its_rows_are_read(tmp_path, monkeypatch):
    for k in range(3):
        parquet.write_table(pa.table({"a": np.arange(10) + 10 * k}), tmp_path / f"{k}.parquet", row_group_size=5)
    read = []

    def counted(file):
        read.append(file)
        return read_footer(file)

    monkeypatch.setattr("centrality.tables.binary.read_footer", counted)
    source = tables.open_rows(tmp_path)
    for footer in source.files:  # nothing is left at the files' ends: whoever looks there again fails
        path = Path(footer.file)
        before = path.stat()
        path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # and nobody sees that they have changed
    assert len(read) == 3
    assert source.table()["a"].to_pylist() == list(range(30))
    every = chunks.of_files(source.files, split=5)
    assert [chunk.rows for chunk in every] == [5] * 6
    again = pickle.loads(pickle.dumps(every))  # as they travel to worker processes
    assert [chunk.open().table()["a"][0].as_py() for chunk in again] == [0, 5, 10, 15, 20, 25]
    sample = sampling.sample(source, 12, np.random.default_rng(0))["a"].to_numpy()
    assert len(np.unique(sample)) == 12
    assert len(read) == 3


def test_what_the_ends_of_very_many_files_say_does_not_fill_memory(tmp_path, monkeypatch):
    for k in range(3):
        tables.write(pa.table({"a": [k], "b": [k]}), tmp_path / f"{k}.parquet")
    monkeypatch.setattr("centrality.tables.binary.DESCRIBED", 4)
    source: Any = tables.open_rows(tmp_path)
    assert [footer.places is not None for footer in source.files] == [True, True, False]
    assert source.table()["b"].to_pylist() == [0, 1, 2]


def test_a_note_is_found_at_the_end_of_a_file(tmp_path):
    table = pa.table({"a": [1.0]})
    tables.write(table.replace_schema_metadata({NOTE: "by m"}), tmp_path / "t.parquet")
    assert read_footer(str(tmp_path / "t.parquet")).note == "by m"
    assert tables.read(tmp_path / "t.parquet").schema.metadata is None
    tables.write(table, tmp_path / "t.parquet")
    assert read_footer(str(tmp_path / "t.parquet")).note is None


def test_texts_and_names_that_are_no_utf_8_are_refused_and_not_a_bug_of_ours(tmp_path):
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"name": ["text", "more"]}), path, compression="none", use_dictionary=False)
    whole = path.read_bytes()
    for word in (b"text", b"name"):
        path.write_bytes(whole.replace(word, b"\xb7" + word[1:]))
        with pytest.raises(tables.TableError, match=r"cannot be read as \.parquet"):
            tables.read(path)
