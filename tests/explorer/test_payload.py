"""A payload: its header is what its types say, TypeScript is told the same types; its parts are one gzip file."""

import gzip
import importlib.util
import zlib
from pathlib import Path
from types import UnionType
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

import numpy as np
import pyarrow as pa
import pytest

from centrality.apps.explorer.content import Items, column_of, items_of
from centrality.apps.explorer.header import Header, Reason, StoredArray, Why
from centrality.apps.explorer.payload import PART, gzip_in_parallel, pack
from centrality.apps.explorer.questions import why
from tests.explorer.pages import some_view, telling, unpacked

WEB = Path(__file__).parents[2] / "web"
N = 12
WORDS = column_of("words", pa.array([f"text {i}" * 60 for i in range(N)]))
COLUMNS = (
    WORDS,
    column_of("size", pa.array(np.arange(float(N)))),
    column_of("day", pa.array(np.arange(N).astype("datetime64[D]"))),
    column_of("group", pa.array(list("ab") * (N // 2))),
)
ITEMS = {
    "": Items(),
    "text": Items("text", column="words"),
    "series": items_of(np.random.default_rng(0).normal(size=(N, 30)), N),
    "picture": items_of(np.zeros((N, 4, 4)), N),
}


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("web_header", WEB / "header.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fits(value: Any, hint: Any) -> bool:
    """Is the value, as JSON has it, what the type says: every field, and none that it does not name?"""
    origin, inner = get_origin(hint), get_args(hint)
    if is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        missing = {name for name in hints.keys() - value.keys() if get_origin(hints[name]) is not NotRequired}
        return not missing and all(name in hints and fits(part, hints[name]) for name, part in value.items())
    if origin is Literal:
        return value in inner
    if origin is NotRequired:
        return fits(value, inner[0])
    if origin in (Union, UnionType):
        return any(isinstance(value, dict) == is_typeddict(kind) and fits(value, kind) for kind in inner)
    if origin in (list, tuple):
        kinds = inner if origin is tuple else inner * len(value)
        return len(kinds) == len(value) and all(map(fits, value, kinds))
    return isinstance(value, hint) or (hint is float and isinstance(value, int))


@pytest.mark.parametrize("exported", [False, True])
@pytest.mark.parametrize("kind", list(ITEMS))
def test_a_header_has_the_fields_that_its_types_name_and_no_others(kind, exported):
    rng = np.random.default_rng(0)
    full = {
        "rows": np.arange(N) + 5,
        "inliers": rng.uniform(size=(7, 2)),
        "features": ("a", "b"),
        "reasons": telling([0.5, -0.5], [0.25, 1.0]),
        "neighbours": lambda rows: np.zeros((len(rows), 6), dtype=int),
    }
    for parts in ({}, full):
        view = some_view(N, columns=COLUMNS, items=ITEMS[kind], **parts)
        header, _ = unpacked(pack(view, pictures=exported, reasons=exported))
        assert fits(header, Header)
        assert header.keys() >= {{"reasons": "why", "neighbours": "why"}.get(name, name) for name in parts}
        assert header["items"]["kind"] == kind
        assert [column["kind"] for column in header["columns"]] == ["text", "number", "date", "category"]
        assert not fits(header | {"colour": 1}, Header)
    assert fits(why(view, 0), Why)
    assert len(why(view, 0)["reasons"]) == 2


def test_a_header_that_says_too_little_or_something_else_does_not_fit():
    stored = {"at": 0, "length": 1, "type": "uint8"}
    assert fits(stored, StoredArray)
    assert not fits({"at": 0, "length": 1}, StoredArray)
    assert not fits(stored | {"type": "int8"}, StoredArray)
    assert not fits(stored | {"at": "0"}, StoredArray)


def test_typescript_is_told_the_same_types(script):
    assert script.OUT.read_text(encoding="utf-8") == script.written(), "web/src/core/header.ts is stale: run make web"


def test_every_kind_of_type_is_spelt_in_typescript(script):
    spelt = {
        int: "number",
        str: "string",
        StoredArray: "StoredArray",
        list[str]: "string[]",
        list[StoredArray | Reason]: "(StoredArray | Reason)[]",
        tuple[float, float]: "[number, number]",
        NotRequired[StoredArray]: "StoredArray",
    }
    assert {hint: script.spelt(hint) for hint in spelt} == spelt
    assert script.spelt(Literal["a", "b"]) == '"a" | "b"'
    with pytest.raises(TypeError, match="numbers, texts, lists and dictionaries"):
        script.spelt(bytes)


@pytest.mark.parametrize("size", [0, 1, 3, PART - 1, PART, PART + 1, 3 * PART + 17])
@pytest.mark.parametrize("levels", [2, 256])
def test_any_reader_of_gzip_gets_back_what_was_compressed(size, levels):
    data = np.random.default_rng(0).integers(0, levels, size=size, dtype=np.uint8).tobytes()
    packed = gzip_in_parallel(data)
    assert gzip.decompress(packed) == data
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)  # one file and nothing after it: browsers refuse more
    assert reader.decompress(packed) + reader.flush() == data
    assert reader.eof
    assert reader.unused_data == b""


def test_noise_is_stored_and_the_rest_shrinks():
    noise = np.random.default_rng(0).bytes(2 * PART)
    assert 0 < len(gzip_in_parallel(noise)) - len(noise) < len(noise) // 1000
    assert len(gzip_in_parallel(bytes(2 * PART))) < PART // 50  # zlib's fastest makes a 230th of zeros


def test_what_comes_before_does_not_decide_for_what_comes_after():
    noise, zeros = np.random.default_rng(0).bytes(PART), bytes(PART)
    assert len(gzip_in_parallel(noise + zeros)) < 1.02 * PART
    assert len(gzip_in_parallel(zeros + noise)) < 1.02 * PART
