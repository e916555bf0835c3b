"""Text tables: types by the first rows or by all, and every byte parsed once."""

import io
import os
import threading
from importlib import import_module
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from centrality import tables
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.tables import TableError, text
from centrality.tables.columns import DataNote
from centrality.tables.csv import HEAD, CsvDialect
from centrality.tables.files import ToUtf8
from centrality.tables.formats import open_stream


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


class Counted(io.FileIO):
    """A real file that counts the bytes read from it."""

    read_bytes = 0

    def readinto(self, buffer):
        count = super().readinto(buffer)
        Counted.read_bytes += count or 0
        return count

    def readall(self):
        content = super().readall()
        Counted.read_bytes += len(content)
        return content


@pytest.fixture
def work(monkeypatch):
    """Bytes of CSV read from files and bytes parsed, as multiples of a file's size."""
    parsed = []
    parse, open_path = CsvDialect._read, Path.open

    def counting(self, block, *arguments, **options):
        parsed.append(len(block))
        return parse(self, block, *arguments, **options)

    def opening(self, mode="r", *arguments, **options):
        is_ours = mode == "rb" and self.suffix == ".csv"
        return io.BufferedReader(Counted(self)) if is_ours else open_path(self, mode, *arguments, **options)

    def work_of(path, *command):
        Counted.read_bytes, size = 0, path.stat().st_size
        parsed.clear()
        assert main([*map(str, command), "--json"]) == 0
        return Counted.read_bytes / size, sum(parsed) / size

    monkeypatch.setattr(CsvDialect, "_read", counting)
    monkeypatch.setattr(Path, "open", opening)
    return work_of


@pytest.mark.slow
@pytest.mark.parametrize("rows", [2000, 120_000])  # less than a block, and two
@pytest.mark.parametrize("number", ["{}", "{:07d}"])
def test_fit_and_score_read_and_parse_every_byte_of_a_csv_once(tmp_path, work, rows, number):
    rng = np.random.default_rng(0)
    lines = [f"{number.format(i + 1)},{a!r},{b!r}" for i, (a, b) in enumerate(rng.normal(size=(rows, 2)).tolist())]
    data, model = tmp_path / "x.csv", tmp_path / "m.safetensors"
    data.write_text("id,a,b\n" + "\n".join(lines) + "\n")
    # Numbers with leading zeros are looked for in the first few lines before the block is parsed.
    head = 0 if number == "{}" else 2 * (HEAD + 100) / data.stat().st_size
    fit = work(data, "fit", data, "-o", model, "--columns", "a,b", "--max-steps", "3")
    sampled = work(data, "fit", data, "-o", model, "--columns", "a,b", "--max-steps", "3", "--sample", "500")
    scores = [work(data, "score", model, data, "-o", tmp_path / f"s{kind}") for kind in (".csv", ".parquet")]
    for read, parsed in (fit, sampled, *scores):
        assert read == 1.0
        assert 0.999 < parsed <= 1.0 + head
    assert tables.read(tmp_path / "s.csv")["id"].to_pylist() == tables.read(data)["id"].to_pylist()


@pytest.mark.parametrize(
    ("first", "later", "kind"),
    [
        ("1", "2.5", pa.float64()),
        ("2.5", "1", pa.float64()),
        ("", "7", pa.int64()),
        ("", "", pa.string()),
        ("1", "true", pa.bool_()),
        ("1", "many", pa.string()),
        ("2024-01-05", "2024-01-05 10:00:00", pa.timestamp("s")),
        ("1", "007", pa.string()),
        ("007", "1", pa.string()),
    ],
)
def test_types_suit_all_blocks_as_if_they_were_one(tmp_path, monkeypatch, first, later, kind):
    (tmp_path / "t.csv").write_text("a,b\n" + f"{first},x\n" * 50 + f"{later},x\n" * 50)
    together = tables.read(tmp_path / "t.csv")
    assert together["a"].type == kind
    monkeypatch.setattr(text.Blocks.__init__, "__kwdefaults__", {"live": False, "size": 64})
    monkeypatch.setattr("centrality.tables.text.LARGE_BLOCK", 64)
    assert tables.read(tmp_path / "t.csv").equals(together)


@pytest.mark.parametrize(("wanted", "values"), [(pa.float64(), [1.0, None, 3.0]), (pa.string(), ["1", None, "3"])])
def test_rows_come_in_the_types_that_are_asked_for_whatever_they_suggest(tmp_path, wanted, values):
    (tmp_path / "t.csv").write_text("a,b\n1,x\n,y\n3,z\n")
    with tables.open_rows(tmp_path / "t.csv") as source:
        assert source.schema.field("a").type == pa.int64()
        [batch] = source.batches(["a"], {"a": wanted})
    assert batch["a"].type == wanted
    assert batch["a"].to_pylist() == values


def test_rows_may_come_later_than_the_line_above_them():
    entrance, end = os.pipe()
    with os.fdopen(entrance, "rb") as file, os.fdopen(end, "wb", buffering=0) as other:
        other.write(b"a,b\n")

        def end_it() -> None:
            other.write(b"1,2\n")
            other.close()

        later = threading.Timer(0.05, end_it)
        later.start()
        table = open_stream(file).table()
        later.join()
    assert table.to_pydict() == {"a": [1], "b": [2]}


@pytest.mark.parametrize(("kind", "reads"), [(".csv", "csv.read_csv"), (".jsonl", "json.read_json")])
def test_arrows_threads_hold_nothing_of_pythons_so_that_a_program_may_end_at_once(tmp_path, monkeypatch, kind, reads):
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
    file = tmp_path / f"rows{kind}"
    file.write_bytes(block)
    with tables.open_rows(file) as source:
        assert source.schema.names == ["a", "b"]
    for kind_of_file, arrows in given:
        assert issubclass(kind_of_file, pa.NativeFile)
        assert arrows > len(block) / 2  # copied: Arrow's own memory, not a view of Python's bytes
    assert given


WESTERN = pa.table({"city": ["Köln", "Oslo", "Évreux"], "price": ["5 €", "6 €", "7 €"]})


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".json"])
def test_a_file_of_windows_is_read_as_it_was_written_and_that_is_said(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    tables.write(WESTERN, path)
    path.write_bytes(path.read_text("utf-8").encode("cp1252"))
    with pytest.warns(DataNote, match=r"is read as cp1252, .* as it is not UTF-8: 'Köln'") as notes:
        assert tables.read(path).equals(WESTERN)
    assert len(notes) == 1


def test_letters_are_whole_wherever_a_text_is_cut():
    content = "a,b\n1,Köln 5 €\n2,Évreux\n"
    for encoding in (None, "cp1252", "utf-16"):
        for size in range(1, 9):
            to_utf8 = ToUtf8("t", encoding)
            written = content.encode(encoding or "utf-8")
            pieces = [to_utf8(written[start : start + size]) for start in range(0, len(written), size)]
            assert b"".join([*pieces, to_utf8(b"", last=True)]).decode() == content


def test_the_user_names_an_encoding_that_the_bytes_do_not_show(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,слово\n".encode("cp1251"))
    assert tables.read(tmp_path / "t.csv", encoding="cp1251")["b"].to_pylist() == ["слово"]
    with pytest.raises(TableError, match=r"cannot be read as utf-8: .*Name its encoding"):
        tables.read(tmp_path / "t.csv", encoding="utf-8")
    with pytest.raises(InputError, match="An encoding such as utf-8, cp1252 or utf-16 was wanted, got 'cp'"):
        tables.read(tmp_path / "t.csv", encoding="cp")
