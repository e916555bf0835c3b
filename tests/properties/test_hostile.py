"""Files made or damaged to hang us, fill memory, end the process or show a traceback: each is an error in one line."""

import gzip
import io
import os
import resource
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from centrality import load, tables
from centrality._internal import model_file
from centrality._internal.model_file import ModelFileError
from centrality.apps.cli import main
from centrality.network.scaling import MOST_VALUES, rows_per_block
from centrality.tables import TableError
from centrality.tables.columns import DataNote
from centrality.tables.text import Blocks
from tests.conftest import quick

ROWS = np.random.default_rng(0).normal(size=(60, 2))


def npy(array=ROWS) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


BROKEN = {
    "a packed CSV with a wrong byte": ("t.csv.gz", gzip.compress(b"a,b\n" + b"1.5,2.5\n" * 9)[:-20] + b"\xff" * 20),
    "a header without end": ("t.npy", npy().replace(b"(60, 2)", b"((((((")),
    "a header that opens a string": ("t.npy", npy().replace(b"{'", b"{(")),
    "a negative shape": ("t.npy", npy().replace(b"(60, 2)", b"(60,-2)")),
    "numbers of no bytes": ("t.npy", npy().replace(b"'<f8'", b"'<f0'")),
    "Python objects": ("t.npy", npy().replace(b"'<f8'", b"'|O8'")),
    "nothing in each row": ("t.npy", npy(np.zeros((5, 0)))),
    "fewer bytes than announced": ("t.npy", npy()[:-100]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_named(tmp_path, case):
    name, content = BROKEN[case]
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=f"{name}"):
        tables.read(tmp_path / name)


def test_bytes_in_another_order_and_columns_after_each_other_are_the_same_numbers(tmp_path):
    for name, array in {"big": ROWS.astype(">f8"), "columns": np.asfortranarray(ROWS), "single": ROWS[:, :1]}.items():
        np.save(tmp_path / f"{name}.npy", array)
        np.testing.assert_array_equal(tables.numbers(tables.read(tmp_path / f"{name}.npy")), array)


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow"])
def test_a_column_that_comes_twice_is_named(tmp_path, capsys, name):
    twice = pa.Table.from_arrays([pa.array(ROWS[:, 0])] * 2 + [pa.array(ROWS[:, 1])], names=["a", "a", "b"])
    if name == "t.parquet":
        parquet.write_table(twice, tmp_path / name)
    else:
        with pa.OSFile(str(tmp_path / name), "wb") as file, pa.ipc.new_file(file, twice.schema) as writer:
            writer.write_table(twice)
    assert main(["fit", str(tmp_path / name), "-o", str(tmp_path / "m.safetensors")]) == 2
    assert "column names must differ, but 'a' comes twice" in capsys.readouterr().err
    with pytest.raises(TableError, match="'a' comes twice"):  # as it reaches us over HTTP
        tables.select(twice, ["a", "b"])


@pytest.mark.slow
def test_a_file_that_unpacks_to_far_more_is_refused_before_it_is_unpacked(tmp_path):
    with zipfile.ZipFile(tmp_path / "bomb.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        header = io.BytesIO()
        np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 22, 10)})
        with archive.open("X.npy", "w") as entry:
            entry.write(header.getvalue())
            for _ in range(320):
                entry.write(bytes(1 << 20))
    assert (tmp_path / "bomb.npz").stat().st_size < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TableError, match=r"X\.npy would be 335,544,\d+ bytes, .* packed: at most 64 times"):
        tables.read(tmp_path / "bomb.npz")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # kB


READS = """
import sys
from pathlib import Path
from centrality import tables
with tables.open_rows(sys.argv[1]) as source:
    batches = source.batches()
    next(batches)
    with Path(sys.argv[1]).open("rb+") as file:
        file.truncate(100_000)
    try:
        for batch in batches:
            batch.validate(full=True), [column.to_pylist()[-1] for column in batch.columns]
    except tables.TableError as error:
        print(error)
"""


def write_arrow(rows: np.ndarray, path: Path) -> None:
    table = pa.table({f"x{j}": rows[:, j] for j in range(rows.shape[1])})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=30_000)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["npy", "arrow"])
def test_a_file_cut_while_it_is_read_ends_no_process(tmp_path, kind):
    """Mapped into memory, it would be SIGBUS."""
    path = tmp_path / f"t.{kind}"
    rows = np.random.default_rng(0).normal(size=(300_000, 4))
    np.save(path, rows) if kind == "npy" else write_arrow(rows, path)
    done = subprocess.run([sys.executable, "-c", READS, str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"t.{kind} cannot be read as .{kind}" in done.stdout


def test_a_quotation_mark_that_nobody_closes_is_said(tmp_path, monkeypatch):
    (tmp_path / "t.csv").write_bytes(b'a,b\n1,x\n2,"y\n' + b"3,z\n" * 1000)
    with pytest.raises(TableError, match="a quotation mark opens a field that never ends"):
        tables.read(tmp_path / "t.csv")
    monkeypatch.setattr("centrality.tables.text.LONGEST", 10_000)
    with pytest.raises(ValueError, match="a quotation mark at the beginning of a field may lack its other one"):
        list(Blocks(io.BytesIO(b'1,"y\n' + b"3,z\n" * 10_000), b",", size=1000))


def test_two_hundred_thousand_layers_are_refused_at_once(tmp_path):
    quick(max_steps=2).fit(ROWS).save(tmp_path / "m.safetensors")
    header, arrays = model_file.read(tmp_path / "m.safetensors")
    header["parameters"]["hidden"] = [1] * 200_000
    model_file.write(tmp_path / "m.safetensors", header, arrays)
    with pytest.raises(ModelFileError, match="at most 64 layers, got 200,000") as refused:
        load(tmp_path / "m.safetensors")
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize(("setting", "value"), [("batch_size", 10**9), ("anchors", 10**9)])
def test_a_setting_that_would_only_fill_memory_is_refused(setting, value):
    with pytest.raises(ValueError, match=f"{setting} must be a whole number of at most 65,536, got 1000000000"):
        quick(**{setting: value}).fit(ROWS)


CHANGES = {
    "no history": lambda h: h.pop("history"),
    "no names": lambda h: h.pop("feature_names"),
    "names that are numbers": lambda h: h.update(feature_names=[1, 2]),
    "an empty history": lambda h: h.update(history={}),
    "another report": lambda h: h.update(report={"x": 1}),
    "a number for parameters": lambda h: h.update(parameters=5),
    "text for noise": lambda h: h.update(noise_scale="abc"),
    "text for t": lambda h: h["parameters"].update(t="x"),
    "no model": lambda h: h.pop("model"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_a_resealed_header_shows_no_traceback(tmp_path, capsys, case):
    quick(max_steps=2).fit(pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]})).save(tmp_path / "m.safetensors")
    tables.write(pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}), tmp_path / "t.csv")
    header, arrays = model_file.read(tmp_path / "m.safetensors")
    CHANGES[case](header)
    model_file.write(tmp_path / "m.safetensors", header, arrays)
    assert main(["inspect", str(tmp_path / "m.safetensors")]) == 2
    assert "its header is not that of a model that can be described" in capsys.readouterr().err
    status = main(["score", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv")])
    assert status == (0 if case == "an empty history" else 2)
    assert "Traceback" not in capsys.readouterr().err


def test_a_first_line_of_measurements_is_no_line_of_names(tmp_path):
    (tmp_path / "t.csv").write_text("0.25,-1\n1.5,2\n2.5,3\n")
    with pytest.raises(TableError, match=r"names of columns were wanted in the first line, got numbers: 0\.25,-1"):
        tables.read(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_text("2019,2020\n1.5,2\n2.5,3\n")
    with pytest.warns(DataNote, match="the first line holds only whole numbers .* taken for the names"):
        assert tables.read(tmp_path / "t.csv").column_names == ["2019", "2020"]


def test_what_is_not_read_of_a_folder_is_said(tmp_path):
    tables.write(pa.table({"a": [1.0, 2.0]}), tmp_path / "1.parquet")
    tables.write(pa.table({"a": [3.0]}), tmp_path / "2.csv")
    (tmp_path / "3.parquet").symlink_to(tmp_path / "gone.parquet")
    with pytest.warns(DataNote, match=r"only its \.parquet files are read, not '2\.csv', '3\.parquet'"):
        assert tables.read(tmp_path).num_rows == 2


def test_no_names_are_not_all_names(tmp_path, capsys):
    tables.write(pa.table({"a": ROWS[:, 0], "b": ROWS[:, 1]}), tmp_path / "t.csv")
    for names in ("", " "):
        assert main(["fit", str(tmp_path / "t.csv"), "-o", str(tmp_path / "m.safetensors"), "--columns", names]) == 2
        assert "Names of columns were wanted" in capsys.readouterr().err


@pytest.mark.slow
def test_a_fit_in_a_forked_child_ends():
    """OpenMP in the child waits for threads that only the parent has."""
    code = (
        "import os, numpy as np, warnings; warnings.simplefilter('ignore')\n"
        "from tests.conftest import quick\n"
        "X = np.random.default_rng(0).normal(size=(3000, 8))\n"
        "quick(hidden=(128, 128)).fit(X).centrality(X)\n"
        "if os.fork() == 0:\n"
        "    quick(hidden=(128, 128)).fit(X).centrality(X); os._exit(0)\n"
        "print(os.wait()[1])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=100,
        env=os.environ | {"OMP_NUM_THREADS": "4"},
    )
    assert done.stdout.strip() == "0", done.stderr


@pytest.mark.parametrize("width", [1, 100, 1_000, 100_000, 1_000_000])
def test_blocks_of_wide_rows_stay_small(width):
    assert rows_per_block(width) * width <= max(MOST_VALUES, 8 * width)
