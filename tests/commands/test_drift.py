"""centrality drift: new rows against a model or an older file, window by window."""

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from centrality.datasets import houses
from tests.commands.said import as_json, said


def test_drift_finds_a_shift_in_the_second_half_only_and_draws_it(folder, rows, capsys, tmp_path):
    shifted = np.column_stack([column.to_numpy() for column in rows.slice(0, 500).columns])
    shifted[250:] += 3
    tables.write(pa.table(dict(zip(rows.column_names, shifted.T, strict=True))), tmp_path / "new.csv")
    picture = tmp_path / "drift.png"
    arguments = ["drift", folder / "m.safetensors", tmp_path / "new.csv", "--window", "250", "--plot", picture]
    result = as_json(capsys, *arguments)
    assert [window["changed"] for window in result["windows"]] == [False, True]
    assert result["changed"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert said(capsys, *arguments).startswith("The data has changed.")


@pytest.mark.slow
@pytest.mark.usefixtures("short_fits")
def test_a_file_has_not_drifted_from_itself(folder, capsys):
    result = as_json(capsys, "drift", folder / "rows.csv", folder / "rows.csv")
    assert not result["changed"]
    assert result["rows"] == 300  # the half that the model was fitted on is not compared with the other


@pytest.mark.slow
@pytest.mark.usefixtures("short_fits")
def test_drift_between_two_files_of_mixed_columns_is_found(capsys, tmp_path):
    table = houses().drop_columns(["house"])
    price = pa.array(table["price"].to_numpy() * 3)
    later = table.set_column(table.column_names.index("price"), "price", price)
    tables.write(table.slice(0, 600), tmp_path / "old.parquet")
    tables.write(later.slice(600, 300), tmp_path / "new.parquet")
    assert as_json(capsys, "drift", tmp_path / "old.parquet", tmp_path / "new.parquet")["changed"]


def test_few_old_rows_are_refused(folder, rows, capsys, tmp_path):
    tables.write(rows.slice(0, 20), tmp_path / "old.csv")
    assert main(["drift", str(tmp_path / "old.csv"), str(folder / "rows.csv")]) == 2
    assert "at least 80 rows" in capsys.readouterr().err
