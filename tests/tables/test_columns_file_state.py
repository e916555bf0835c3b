"""A file that changes while it is read is refused: its rows would be some old and some new ones."""

import os

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from centrality.tables.columns import BATCH, FileState
from tests.conftest import quick

ROWS = pa.table({"a": np.arange(2.0 * BATCH), "b": np.arange(2.0 * BATCH)})


@pytest.fixture(params=["csv", "csv.gz", "jsonl", "json", "parquet", "arrow", "npy", "npz"])
def file(request, tmp_path):
    path = tmp_path / f"rows.{request.param}"
    if path.suffix == ".npz":
        np.savez(path, X=np.column_stack(ROWS.columns))
    else:
        tables.write(ROWS, path)
    return path


def append(path):
    with path.open("ab") as file:
        file.write(b"\n")


def replace(path):
    content = path.read_bytes()
    path.unlink()
    path.write_bytes(content)


def touch(path):
    os.utime(path, ns=(1, 1))


@pytest.mark.slow
@pytest.mark.parametrize("change", [append, replace, touch])
def test_a_file_that_changes_after_its_first_rows_are_read_is_refused(file, change):
    with tables.open_rows(file) as source:
        batches = source.batches()
        next(batches)
        change(file)
        with pytest.raises(tables.TableError, match=f"{file} changed while it was read"):
            list(batches)


def test_a_file_that_holds_still_is_read_to_its_end(file):
    with tables.open_rows(file) as source:
        assert sum(batch.num_rows for batch in source.batches()) == len(ROWS)


def test_a_part_of_a_folder_that_changes_is_named(tmp_path):
    for part in ("0.parquet", "1.parquet"):
        tables.write(ROWS, tmp_path / part)
    with tables.open_rows(tmp_path) as source:
        batches = source.batches()
        next(batches)
        touch(tmp_path / "1.parquet")
        with pytest.raises(tables.TableError, match=r"1\.parquet changed"):
            list(batches)


def test_a_pipe_has_no_state(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert FileState.of(tmp_path / "pipe") is None


def test_nothing_is_written_of_rows_that_changed(tmp_path, capsys, monkeypatch):
    """The rows change when their scores are computed: after they were read, before the end of the file was seen.

    Rows are not read ahead here: a quick reader would have seen the end before the first score.
    """
    monkeypatch.setattr("centrality.bulk.score.read_ahead", iter)
    tables.write(ROWS, tmp_path / "rows.csv")
    quick(max_steps=5).fit(ROWS.slice(0, 200)).save(tmp_path / "m.safetensors")
    from centrality.bulk.adapter import Adapter

    units = Adapter.units
    monkeypatch.setattr(Adapter, "units", lambda *given: touch(tmp_path / "rows.csv") or units(*given))
    assert (
        main(["score", str(tmp_path / "m.safetensors"), str(tmp_path / "rows.csv"), "-o", str(tmp_path / "s.csv")]) == 2
    )
    assert "changed while it was read" in capsys.readouterr().err
    assert not (tmp_path / "s.csv").exists()
