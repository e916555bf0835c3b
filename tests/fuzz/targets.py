"""What is fuzzed: each target takes bytes, or a generator, and may raise only what a user is meant to see."""

import bz2
import contextlib
import csv
import gzip
import io
import json
import random
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pyarrow as pa

from centrality import Chain, load, tables
from centrality._internal import model_file
from centrality._internal.checks import InputError
from centrality.apps.cli import main
from centrality.apps.explorer.marks import MarksFile
from centrality.bulk.adapter import Adapter
from centrality.representations import Table
from centrality.tables.text import TextSource
from tests.conftest import quick
from tests.fuzz import over_http
from tests.fuzz.mutate import mutated

ALLOWED = (InputError, OSError)  # what users can mend; anything else is a bug of ours


@dataclass(frozen=True)
class Target:
    """Names a way in, what to begin with, what is done with it, and how many of all cases it gets."""

    name: str
    seeds: Callable[[], list[bytes]]
    run: Callable[[bytes], None]
    share: float

    def case(self, chance: random.Random) -> bytes:
        return mutated(self.seeds(), chance)


@cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="fuzz-"))


@cache
def rows() -> pa.Table:
    rng = np.random.default_rng(0)
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)]
    prices = [f"${1000 + 37 * i:,}.50" for i in range(60)]
    kinds = rng.choice(["x", 'y "z"'], 60)
    return pa.table({"a": rng.normal(size=60), "b": rng.normal(size=60), "kind": kinds, "day": days, "price": prices})


@cache
def models() -> tuple[Path, Path]:
    """A model of two columns of numbers, and one of the whole table."""
    numbers, table = folder() / "numbers.safetensors", folder() / "table.safetensors"
    small = {"max_steps": 3, "hidden": (4, 4), "noise_scale": 0.5}
    quick(**small).fit(rows().select(["a", "b"])).save(numbers)
    Chain(Table(), quick(**small)).fit(rows()).save(table)
    return numbers, table


@cache
def loaded() -> list:
    return [load(path) for path in models()]


def written(suffix: str) -> Callable[[], list[bytes]]:
    """Return what makes seeds: rows as we write them in a format."""

    @cache
    def seeds() -> list[bytes]:
        table = rows().select(["a", "b"]) if suffix in (".npy", ".npz") else rows()
        path = folder() / f"seed{suffix}"
        tables.write(table.slice(0, 8), path)
        if suffix == ".npz":
            np.savez_compressed(path, X=np.eye(3))
        return [path.read_bytes()]

    return seeds


def read(suffix: str) -> Callable[[bytes], None]:
    """Return what reads a file of this ending: whole, in batches, record by record, and as models do."""

    def run(content: bytes) -> None:
        path = folder() / f"case{suffix}"
        path.write_bytes(content)
        with contextlib.suppress(ALLOWED):
            tables.read(path)
        with tables.open_rows(path) as source:
            if isinstance(source, TextSource) and source.keeps_records:
                for table, records in source.records(source.schema.names):
                    assert table.num_rows == len(records)
        for model in loaded():
            with contextlib.suppress(ALLOWED), tables.open_rows(path) as source:
                adapter = Adapter(model, source.schema.names)
                for batch in source.batches(adapter.columns, adapter.types):
                    adapter.vectors(pa.Table.from_batches([batch]))

    return run


def read_live_records(content: bytes) -> None:
    from centrality.tables.text import Blocks, split_records

    with contextlib.suppress(ValueError):  # which a source puts into its own words
        split_records(b"".join(Blocks(io.BytesIO(content), b",", size=97)), b",")


@cache
def model_seeds() -> list[bytes]:
    return [path.read_bytes() for path in (*models(), with_context())]


def load_model(content: bytes) -> None:
    path = folder() / "case.safetensors"
    path.write_bytes(content)
    fitted = load(path).fitted_
    fitted.heads(np.zeros((1, fitted.width)))


@cache
def header_seeds() -> list[bytes]:
    return [json.dumps(model_file.read(path)[0]).encode() for path in models()]


def load_resealed(content: bytes) -> None:
    """A header that somebody changed and sealed again: the checksum is right, and everything else may be wrong."""
    try:
        header = json.loads(content)
        assert isinstance(header, dict)
        header.pop("format", None)
        path = folder() / "resealed.safetensors"
        arrays = model_file.read(models()["Chain" in str(header.get("model"))])[1]
        model_file.write(path, header, arrays)
    except (ValueError, AssertionError, RecursionError):
        return
    with contextlib.suppress(ALLOWED):
        load(path).fitted_.heads(np.zeros((1, load(path).fitted_.width)))
    assert run_main(["inspect", str(path)]) in (0, 2)


@cache
def with_context() -> Path:
    """A model that judges rows among their kind, and has learned from marks."""
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=120)
    X = np.column_stack([kind, 3 * kind + rng.normal(size=120), rng.normal(size=120)])
    path = folder() / "context.safetensors"
    model = quick(max_steps=3, hidden=(4, 4), noise_scale=0.5, given=[0]).fit(X)
    model.learn_marks(X, ["outlier", "fine", "fine", *[None] * 117]).save(path)
    return path


@cache
def array_seeds() -> list[bytes]:
    """The bytes of each array of a context or of a lesson, after its name."""
    held = model_file.read(with_context())[1]
    own = (name for name in held if name.startswith(("context.", "refinement.")))
    return [name.encode() + b"\0" + held[name].tobytes() for name in own]


def load_other_numbers(content: bytes) -> None:
    """One array that somebody changed and sealed again: whatever it holds, scores are finite, or it is refused."""
    name, _, numbers = content.partition(b"\0")
    header, arrays = model_file.read(with_context())
    header.pop("format", None)
    before = arrays.get(name.decode("latin-1"))
    if before is None:
        return
    same_size = numbers[: before.nbytes].ljust(before.nbytes, b"\0")
    path = folder() / "numbers_changed.safetensors"
    changed = np.frombuffer(same_size, dtype=before.dtype).reshape(before.shape).copy()
    model_file.write(path, header, {**arrays, name.decode("latin-1"): changed})
    model = load(path)
    scores = model.centrality(np.array([[0.0, 0.0, 0.0], [3.0, 9.0, -40.0], [7.0, 1e9, 1.0]]))
    assert ((scores >= 0) & (scores <= 1)).all(), scores


@cache
def onnx_seeds() -> list[bytes]:
    load(models()[0]).to_onnx(folder() / "seed.onnx")
    return [(folder() / "seed.onnx").read_bytes()]


def load_onnx(content: bytes) -> None:
    from centrality.onnx import Scorer

    path = folder() / "case.onnx"
    path.write_bytes(content)
    Scorer(path)


def body_seeds() -> list[bytes]:
    return [
        b'{"rows": [[1.5, 2.0], [0.5, 1.0]], "t": 0.5}',
        b'{"rows": [{"a": 1, "b": 2, "kind": "x", "day": "2024-01-01"}], "t": [0, 1], "p_values": false}',
        b'{"rows": [{"a": null, "b": true, "kind": null, "day": "hello"}], "explain": true}',
    ]


@cache
def arrow_seeds() -> list[bytes]:
    sink = pa.BufferOutputStream()
    few = rows().slice(0, 4)
    few = few.set_column(2, "kind", few["kind"].combine_chunks().dictionary_encode())
    with pa.ipc.new_stream(sink, few.schema) as stream:
        stream.write_table(few)
    return [sink.getvalue().to_pybytes()]


def ask(kind: str) -> Callable[[bytes], None]:
    def run(content: bytes) -> None:
        for model in models():
            over_http.post(over_http.server(model), "/score", content, kind)

    return run


def ask_in_query(content: bytes) -> None:
    query = quote(content.decode("latin-1"), safe="=&,.%")
    over_http.post(over_http.server(models()[0]), f"/score?{query}", body_seeds()[0], "application/json")


COMMANDS = ["fit", "score", "rank", "depth", "inspect", "export", "explore", "plot", "nonsense", ""]
WORDS = [
    "{0}/numbers.safetensors", "{0}/table.safetensors", "{0}/t.csv", "{0}/t.parquet", "{0}", "{0}/none", "-o",
    "{0}/o.csv", "{0}/o.parquet", "{0}/o.safetensors", "{0}/o.onnx", "{0}/o.png", "{0}/out/", "--t", "0", "0.5,1",
    "nan", "1e999", "-1", "--json", "--top", "3", "--columns", "a,b", "", ",", "--max-steps", "2", "--represent",
    "table", "text:a", "--metric", "cosine", "--random-state", "--unreadable", "1", "--export", "{0}/p.html",
    "--map", "a,b", "--p-values", "--explain", "mahalanobis", "scores", "map", "--device", "cpu", "--noise-scale",
    "--contamination", "--holdout", "\x1b[31m", "é", "--resume", "--workers", "--split", "--sample",
    "--watch-drift", "--traceback", "--help", "99999999999999999999",
]  # fmt: skip
USUAL = [
    "fit {0}/t.csv -o {0}/o.safetensors --max-steps 2 --columns a,b",
    "score {0}/numbers.safetensors {0}/t.csv -o {0}/o.csv",
    "rank {0}/table.safetensors {0}/t.parquet",
    "inspect {0}/table.safetensors",
    "export {0}/numbers.safetensors -o {0}/o.onnx",
    "explore {0}/numbers.safetensors {0}/t.csv --export {0}/p.html --map a,b",
    "depth mahalanobis {0}/t.csv -o {0}/o.csv --columns a,b",
]


class CommandLines(Target):
    """Makes command lines: usual ones with words changed, or words in any order."""

    def case(self, chance: random.Random) -> bytes:
        if chance.random() < 0.7:
            words = chance.choice(USUAL).split()
            for _ in range(chance.choice((1, 1, 2, 3))):
                at = chance.randrange(1, len(words) + 1)
                words[at : at + chance.choice((0, 1))] = [chance.choice(WORDS)]
        else:
            words = [chance.choice(COMMANDS), *(chance.choice(WORDS) for _ in range(chance.randrange(6)))]
        return "\0".join(words).encode()


def run_main(words: list[str]) -> int:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = main(words)
        except SystemExit as ended:
            status = int(ended.code or 0)
    asked_for = any(len(word) > 2 and "--traceback".startswith(word) for word in words)  # options may be cut short
    assert "Traceback" not in err.getvalue() or asked_for, err.getvalue()[-2000:]
    return status


def run_command(content: bytes) -> None:
    models()
    for suffix in ("csv", "parquet"):
        if not (folder() / f"t.{suffix}").exists():
            tables.write(rows(), folder() / f"t.{suffix}")
    words = [word.format(folder()) for word in content.decode().split("\0")]
    if words[0] == "explore" and "--export" not in words:
        return  # it would serve until somebody ends it
    if words[0] == "fit":
        words += ["--max-steps", "2"]
    assert run_main(words) in (0, 2)


def packed(pack: Callable[[bytes], bytes], seeds: Callable[[], list[bytes]]) -> Callable[[], list[bytes]]:
    return cache(lambda: [pack(seed) for seed in seeds()])


def zipped(content: bytes) -> bytes:
    with zipfile.ZipFile(file := io.BytesIO(), "w") as archive:
        archive.writestr(zipfile.ZipInfo("rows.csv"), content)
    return file.getvalue()


def in_utf16(content: bytes) -> bytes:
    return content.decode().encode("utf-16")


@cache
def workbook_seeds() -> list[bytes]:
    from openpyxl import Workbook

    book = Workbook()
    for row in csv.reader(io.StringIO(written(".csv")()[0].decode())):
        book.active.append(row)
    book.save(file := io.BytesIO())
    return [file.getvalue()]


MARKS = b'key,row,mark,note,version\r\nk1,3,outlier,"odd, very",1\r\nk2,5,fine,\'=1+1,2\r\n,7,,note,3\r\n'


def keep_marks(content: bytes) -> None:
    """A file of marks is refused, or takes another mark and then holds it and all it held."""
    path = folder() / "marks.csv"
    path.write_bytes(content)
    kept = MarksFile(path)
    held = {(mark["key"], mark["row"]) for mark in kept.marks()}
    kept.take({"key": "new", "row": 9, "mark": "fine"})
    assert held | {("new", 9)} <= {(mark["key"], mark["row"]) for mark in MarksFile(path).marks()}


TEXT = (".csv", ".tsv", ".jsonl", ".json")
PACKED = {
    ".csv.gz": partial(gzip.compress, mtime=0),
    ".csv.bz2": bz2.compress,
    ".csv.zst": partial(pa.compress, codec="zstd", asbytes=True),
    ".csv.zip": zipped,
    ".utf16.csv": in_utf16,
}
TARGETS = [
    *(Target(f"read {suffix}", written(suffix), read(suffix), 0.1) for suffix in TEXT),
    *(Target(f"read {end}", packed(pack, written(".csv")), read(end), 0.02) for end, pack in PACKED.items()),
    Target("read .jsonl.gz", packed(PACKED[".csv.gz"], written(".jsonl")), read(".jsonl.gz"), 0.02),
    Target("read .xlsx", workbook_seeds, read(".xlsx"), 0.02),
    Target("marks", lambda: [MARKS], keep_marks, 0.03),
    *(
        Target(f"read {suffix}", written(suffix), read(suffix), 0.06)
        for suffix in (".parquet", ".arrow", ".npy", ".npz")
    ),
    Target("a stream of records", written(".csv"), read_live_records, 0.1),
    Target("load", model_seeds, load_model, 0.08),
    Target("load what was sealed again", header_seeds, load_resealed, 0.05),
    Target("load other numbers", array_seeds, load_other_numbers, 0.05),
    Target("load ONNX", onnx_seeds, load_onnx, 0.02),
    Target("HTTP: JSON", body_seeds, ask("application/json"), 0.1),
    Target("HTTP: Arrow", arrow_seeds, ask("application/vnd.apache.arrow.stream"), 0.06),
    Target("HTTP: query", lambda: [b"t=0,0.5,1&p_values=true&explain=false"], ask_in_query, 0.05),
    Target("HTTP: raw", lambda: over_http.RAW, over_http.send_raw(models), 0.02),
    CommandLines("command line", list, run_command, 0.01),
]
