"""Packed and recoded text: told by its first bytes, whatever its name is, and read as if it were plain."""

import bz2
import gzip
import io
import os
import threading
import zipfile

import pyarrow as pa
import pytest

from centrality import tables
from centrality.apps.cli import main
from centrality.tables import TableError
from centrality.tables.files import PACKINGS
from tests.conftest import quick

TEXT = "id,name,a\n" + "".join(f"{i:03},Größe {i},{i / 7}\n" for i in range(2000))
IDS, NAMES = [f"{i:03}" for i in range(2000)], [f"Größe {i}" for i in range(2000)]
TABLE = pa.table({"id": IDS, "name": NAMES, "a": [i / 7 for i in range(2000)]})


def zipped(content: bytes, *names: str) -> bytes:
    """Return an archive without a time of day: its bytes are in the names of tests."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def zstd(content: bytes) -> bytes:
    return pa.compress(content, "zstd", asbytes=True)


@pytest.mark.parametrize(
    "pack",
    [
        lambda text: gzip.compress(text.encode()),
        lambda text: bz2.compress(text.encode()),
        lambda text: zstd(text.encode()),
        lambda text: zipped(text.encode(), "rows.csv"),
        lambda text: zipped(text.encode(), "rows.csv", "__MACOSX/rows.csv"),
        lambda text: text.encode("utf-16"),
        lambda text: text.encode("utf-16-le"),
        lambda text: text.encode("utf-16-be"),
        lambda text: b"\xfe\xff" + text.encode("utf-16-be"),
        lambda text: gzip.compress(text.encode("utf-16")),
        lambda text: text.encode("utf-8-sig"),
    ],
    ids=[
        "gzip",
        "bzip2",
        "zstd",
        "zip",
        "zip of a Mac",
        "utf-16",
        "utf-16-le without a mark",
        "utf-16-be without a mark",
        "utf-16-be",
        "utf-16 in gzip",
        "utf-8 with a mark",
    ],
)
def test_text_under_the_name_csv_is_read_however_it_is_packed(tmp_path, pack):
    (tmp_path / "t.csv").write_bytes(pack(TEXT))
    assert tables.read(tmp_path / "t.csv").equals(TABLE)


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".zst"])
@pytest.mark.parametrize("kind", [".csv", ".jsonl", ".json"])
def test_what_is_written_packed_is_packed_so_and_read_again(tmp_path, kind, ending):
    path = tmp_path / f"t{kind}{ending}"
    tables.write(TABLE, path)
    assert path.read_bytes().startswith(PACKINGS[ending].begins)
    assert path.stat().st_size < len(TEXT)
    assert tables.read(path).equals(TABLE)


def test_a_zip_archive_is_read_by_the_name_of_the_one_file_in_it(tmp_path):
    (tmp_path / "t.zip").write_bytes(zipped(TEXT.replace(",", "\t").encode(), "deep/rows.tsv"))
    assert tables.kind_of(tmp_path / "t.zip") == ".tsv"
    assert tables.read(tmp_path / "t.zip").equals(TABLE)


def test_a_packed_named_pipe_is_read(tmp_path):
    os.mkfifo(tmp_path / "t.csv.gz")
    writer = threading.Thread(target=lambda: (tmp_path / "t.csv.gz").write_bytes(gzip.compress(TEXT.encode())))
    writer.start()
    assert tables.read(tmp_path / "t.csv.gz").equals(TABLE)
    writer.join()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("t.zip", zipped(b"a\n1\n", "a.csv", "b.csv"), "a zip archive of one file was wanted, got 'a.csv', 'b.csv'"),
        ("t.zip", zipped(b"PAR1", "a.parquet"), "text also with .gz.* was wanted, got .parquet"),
        ("t.zip", b"PK\x03\x04 cut", "cannot be read as .zip"),
        ("t.csv", zipped(b"<xml/>", "xl/workbook.xml", "b.xml"), "is an Excel workbook: name it .xlsx"),
        ("t.csv", b"PAR1 and more", "is a Parquet file: name it .parquet"),
        ("t.csv", b"%PDF-1.7", "is a PDF document"),
        ("t.csv", b"\xd0\xcf\x11\xe0\xa1\xb1", "is an old Excel workbook: save it as .xlsx or .csv"),
        ("t.csv", b"a,b\n1,2\0\n", "is no text: there is a zero byte near its beginning"),
        ("t.csv", b"\xff\xfea", "cannot be read as utf-16: .*truncated data"),
        ("t.csv", gzip.compress(TEXT.encode(), mtime=0)[:40], "cannot be read as .csv"),
        ("t.csv.bz2", bz2.compress(TEXT.encode())[:40], "cannot be read as .*: Compressed file ended"),
        ("t.csv.gz", b"a,b\n1,2\n", "is not packed as .gz files are. If it is plain text, rename it"),
    ],
)
def test_what_is_no_text_says_what_it_is(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(TableError, match=said):
        tables.read(tmp_path / name)


def test_damage_far_into_packed_text_says_so(tmp_path):
    content = bytearray(gzip.compress(os.urandom(400_000).hex().encode()))
    (tmp_path / "t.csv").write_bytes(content[: len(content) // 2])
    with pytest.raises(TableError, match=r"cannot be read as \.csv: Compressed file ended"):
        tables.read(tmp_path / "t.csv")


def test_what_is_only_read_is_refused_as_an_output_before_the_work(tmp_path):
    with pytest.raises(TableError, match=r"end in \.zip are only read: write \.csv\.gz"):
        tables.write(TABLE, tmp_path / "t.csv.zip")
    assert list(tmp_path.iterdir()) == []


def test_rows_of_utf_16_are_scored_and_leave_as_utf_8(tmp_path, capsys):
    quick().fit(TABLE.select(["a"])).save(tmp_path / "m.safetensors")
    (tmp_path / "t.csv").write_bytes(TEXT.encode("utf-16"))
    assert main(["score", str(tmp_path / "m.safetensors"), str(tmp_path / "t.csv"), "-o", str(tmp_path / "o.csv")]) == 0
    lines = (tmp_path / "o.csv").read_text("utf-8").splitlines()
    assert [line.rpartition(",")[0] for line in lines] == TEXT.splitlines()


@pytest.mark.parametrize("name", ["rows.csv", "rows.csv.zip", "rows.zip"])
@pytest.mark.parametrize(("place", "what"), [(6, "zip file version 12.7"), (10, "compression")])
def test_a_zip_archive_that_python_cannot_unpack_says_so(tmp_path, name, place, what):
    """The list at the end of an archive says which version, and which way of packing, a reader must know."""
    content = bytearray(zipped(b"a,b\n1,2\n", "rows.csv"))
    content[content.index(b"PK\x01\x02") + place] = 127
    (tmp_path / name).write_bytes(content)
    with pytest.raises(tables.TableError, match=what):
        tables.read(tmp_path / name)
