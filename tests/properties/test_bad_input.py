"""What goes wrong with other people's data: the message it gives, the exit code, and an output whole or absent."""

import shutil

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from centrality import Chain, tables
from centrality.apps.cli import main
from centrality.representations import Table
from tests.conftest import quick


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    rng = np.random.default_rng(0)
    return pa.table(
        {"length": rng.normal(size=300), "width": rng.normal(size=300), "kind": rng.choice(["oak", "elm"], 300)}
    )


@pytest.fixture(scope="module")
def models(rows, tmp_path_factory):
    """One model of two columns of numbers, one of the whole table."""
    folder = tmp_path_factory.mktemp("models")
    quick().fit(rows.select(["length", "width"])).save(folder / "numbers.safetensors")
    Chain(Table(), quick()).fit(rows).save(folder / "table.safetensors")
    return folder


def score(models, model, data, out) -> int:
    return main(["score", str(models / f"{model}.safetensors"), str(data), "-o", str(out), "--t", "1"])


HEADER = "length,width,kind\n"
REFUSED = {
    "a missing column": ("t.csv", b"length,widht,kind\n1,2,oak\n", "Missing column: 'width'. Did you mean 'widht'?"),
    "a changed type in CSV": ("t.csv", (HEADER + "1,2,oak\n1,wide,oak\n").encode(), "column 'width': row 2"),
    "a changed type in JSON": ("t.jsonl", b'{"length": 1, "width": "wide", "kind": "oak"}\n', "'width'"),
    "an empty file": ("t.csv", b"", "is empty: it has 0 rows"),
    "a header alone": ("t.csv", HEADER.encode(), "is empty: it has 0 rows and 3 columns"),
    "an empty file of JSON": ("t.jsonl", b"\n\n", "is empty: it has 0 rows"),
    "ragged lines": ("t.csv", (HEADER + "1,2,oak\n1,2\n").encode(), "row 2: Expected 3 columns, got 2: 1,2"),
    "mixed encodings": ("t.csv", HEADER.encode() + b"1,2,\xe9rable\n3,4,\xc3\xa9rable\n", "is not UTF-8 throughout"),
    "a cut gzip": ("t.csv.gz", b"\x1f\x8b\x08\x00cut", "cannot be read as .gz"),
    "no Parquet": ("t.parquet", b"PAR1 not really PAR1", "cannot be read as .parquet"),
}


@pytest.mark.parametrize("model", ["numbers", "table"])
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("into", ["csv", "parquet"])
def test_what_cannot_be_scored_exits_2_with_its_reason_and_no_output(models, tmp_path, capsys, model, case, into):
    name, content, message = REFUSED[case]
    (tmp_path / name).write_bytes(content)
    assert score(models, model, tmp_path / name, tmp_path / f"out.{into}") == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_changed_type_in_parquet_names_the_column(models, rows, tmp_path, capsys):
    tables.write(rows.set_column(1, "width", pa.array(["wide"] * 300)), tmp_path / "t.parquet")
    wrong = "Column 'width' is not what the model was fitted on"
    for model, message in (("numbers", "hold something else: 'width'"), ("table", wrong)):
        assert score(models, model, tmp_path / "t.parquet", tmp_path / "out.parquet") == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()


def test_a_category_that_became_a_list_names_the_column(models, rows, tmp_path, capsys):
    tables.write(rows.set_column(2, "kind", pa.array([[1, 2]] * 300)), tmp_path / "t.parquet")
    assert score(models, "table", tmp_path / "t.parquet", tmp_path / "out.parquet") == 2
    assert "Column 'kind' (category, 2 levels) cannot be read from list<" in capsys.readouterr().err
    assert not (tmp_path / "out.parquet").exists()


def test_numbers_written_as_other_numbers_are_welcome(models, rows, tmp_path):
    tables.write(
        pa.table({"length": [1, 2], "width": pa.array([1, 2], pa.float32()), "kind": ["oak"] * 2}),
        tmp_path / "t.parquet",
    )
    assert score(models, "numbers", tmp_path / "t.parquet", tmp_path / "out.parquet") == 0


def test_an_extra_column_travels_through(models, rows, tmp_path, capsys):
    tables.write(rows.append_column("extra", pa.array(np.arange(300))), tmp_path / "t.parquet")
    for model in ("numbers", "table"):
        assert score(models, model, tmp_path / "t.parquet", tmp_path / f"{model}.parquet") == 0
        assert tables.read(tmp_path / f"{model}.parquet")["extra"].to_pylist() == list(range(300))
    assert capsys.readouterr().err == ""


def test_an_unseen_category_is_scored_and_said(models, rows, tmp_path, capsys):
    (tmp_path / "t.csv").write_text(HEADER + "0,0,oak\n0,0,baobab\n")
    assert score(models, "table", tmp_path / "t.csv", tmp_path / "out.csv") == 0
    assert (
        "centrality: note: Column 'kind': in 1 of 2 rows the value did not occur in fitting" in capsys.readouterr().err
    )
    assert tables.read(tmp_path / "out.csv").num_rows == 2


def test_a_column_all_missing_is_left_out_of_a_table_and_refused_among_numbers(models, rows, tmp_path, capsys):
    tables.write(rows.append_column("gone", pa.array([None] * 300, pa.float64())), tmp_path / "t.parquet")
    out = tmp_path / "m.safetensors"
    fit = ["fit", str(tmp_path / "t.parquet"), "-o", str(out), "--max-steps", "20"]
    assert main([*fit, "--represent", "table"]) == 0
    assert "gone    left out: every value is missing" in capsys.readouterr().out
    out.unlink()
    assert main([*fit, "--columns", "length,gone", "--represent", "numbers"]) == 2
    assert "NaN or infinity (inf) in column 'gone' (300 rows)" in capsys.readouterr().err
    assert not out.exists()


def test_a_column_all_missing_when_scoring_is_said_or_refused(models, tmp_path, capsys):
    (tmp_path / "t.csv").write_text(HEADER + "1,,oak\n2,,elm\n")
    assert score(models, "numbers", tmp_path / "t.csv", tmp_path / "out.csv") == 2
    assert "in column 'width' (2 rows)" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
    assert score(models, "table", tmp_path / "t.csv", tmp_path / "out.csv") == 2
    assert "of 2 rows, in 2 the value is missing, unlike in fitting" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("out", ["out.parquet", "out/"])
def test_a_folder_of_two_schemas_is_refused_before_anything_is_written(models, rows, tmp_path, capsys, out):
    (tmp_path / "in").mkdir()
    tables.write(rows, tmp_path / "in" / "1.parquet")
    tables.write(rows.drop_columns(["width"]), tmp_path / "in" / "2.parquet")
    assert score(models, "numbers", tmp_path / "in", f"{tmp_path}/{out}") == 2
    assert "2.parquet differs from 1.parquet: it has no column 'width'" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photos")
    rng = np.random.default_rng(0)
    for i in range(12):
        Image.fromarray(rng.integers(0, 256, size=(40, 40, 3), dtype=np.uint8)).save(folder / f"{i:02d}.png")
    return folder


@pytest.mark.slow
def test_an_unreadable_image_is_refused_by_name_or_has_no_score(photos, tmp_path, capsys, clip):
    model = tmp_path / "m.safetensors"
    assert (
        main(["fit", str(photos), "-o", str(model), "--represent", "images", "--encoder", clip, "--max-steps", "20"])
        == 0
    )
    new = shutil.copytree(photos, tmp_path / "new")
    (new / "07.png").write_bytes(b"no image")
    out = tmp_path / "out.csv"
    capsys.readouterr()
    arguments = ["score", str(model), str(new), "-o", str(out)]
    assert main(arguments) == 2
    assert "07.png cannot be read as an image" in capsys.readouterr().err
    assert not out.exists()
    assert main([*arguments, "--corrupt", "skip"]) == 0
    assert "note: Images that could not be read have no score (1)" in capsys.readouterr().err
    scores = tables.read(out)["centrality"].to_pylist()
    assert [i for i, value in enumerate(scores) if value is None] == [7]
    assert main(["rank", str(model), str(photos), "--top", "2"]) == 0
    assert ".png" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--represent", "tabel"], "--represent must be one of numbers, table, text:COLUMN"),
        (["--represent", "text"], "--represent must be one of numbers, table, text:COLUMN"),
        (["--represent", "series:length"], "needs windows: --window N"),
        (["--represent", "images"], "Say which column holds the images: --represent images:COLUMN"),
        (["--represent", "text:kind", "--encoder", "no/such-model"], "'no/such-model' are not on this disk"),
        (["--represent", "text:knd", "--encoder", "no/such-model"], "Missing column: 'knd'. Did you mean 'kind'?"),
    ],
)
def test_a_representation_that_cannot_be_made_says_so(rows, tmp_path, capsys, arguments, message):
    tables.write(rows, tmp_path / "t.parquet")
    assert main(["fit", str(tmp_path / "t.parquet"), "-o", str(tmp_path / "m.safetensors"), *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "m.safetensors").exists()
