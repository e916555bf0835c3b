import hashlib
import json
import struct
import subprocess
import sys

import numpy as np
import pytest
from safetensors import safe_open

from centrality import load
from centrality._internal import model_file
from centrality._internal.model_file import ModelFileError, as_json
from tests.conftest import quick


@pytest.fixture
def saved(blob, tmp_path):
    path = tmp_path / "model.safetensors"
    quick().fit(blob).save(path)
    return path


@pytest.mark.slow
def test_loading_never_unpickles(saved):
    """In a process where unpickling is impossible, a model still loads."""
    script = (
        "import sys, pickle, _pickle\n"
        "from centrality import load\n"
        "def refuse(*a, **k): raise SystemExit('unpickled')\n"
        "pickle.load = pickle.loads = pickle.Unpickler = _pickle.load = _pickle.loads = refuse\n"
        "print(load(sys.argv[1]).centrality([[0.0, 0.0]]).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(saved)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(1,)"


def test_a_file_cut_anywhere_is_called_truncated(saved, tmp_path):
    content = saved.read_bytes()
    header = 8 + struct.unpack("<Q", content[:8])[0]
    for length in (20, header // 2, header, header + 100, len(content) - 1):
        (tmp_path / "cut.safetensors").write_bytes(content[:length])
        with pytest.raises(ModelFileError, match="truncated"):
            load(tmp_path / "cut.safetensors")


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n" + bytes(64), b"a,b\n1,2\n", b"\x80\x04\x95" + bytes(99)])
def test_a_file_of_another_kind_is_called_that(tmp_path, content):
    (tmp_path / "other").write_bytes(content)
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(tmp_path / "other")


def test_somebody_elses_safetensors_file_is_called_that(tmp_path):
    from safetensors.numpy import save_file

    save_file({"x": np.zeros(3)}, tmp_path / "other.safetensors")
    with pytest.raises(ModelFileError, match="a safetensors file, but not one written by centrality"):
        load(tmp_path / "other.safetensors")


def edited(content: bytes, edit) -> bytes:
    """The same file with our header changed by `edit`, all lengths put right."""
    length = struct.unpack("<Q", content[:8])[0]
    outer = json.loads(content[8 : 8 + length])
    sealed = json.loads(outer["__metadata__"]["centrality"])
    sealed = edit(sealed) or sealed
    outer["__metadata__"]["centrality"] = json.dumps(sealed)
    new = json.dumps(outer).encode()
    new += b" " * (-len(new) % 8)
    return struct.pack("<Q", len(new)) + new + content[8 + length :]


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda s: s["header"].update(format="3.0"), r"format 3.0; this version of centrality reads 2.x. Upgrade"),
        (lambda s: s["header"].update(offset=0.9), "do not match their checksum"),
        (lambda s: s["header"]["parameters"].update(t=0.0), "do not match their checksum"),
        (lambda s: s.pop("checksum") and None, "the header of this model was altered"),
        (lambda s: s["header"].pop("format") and None, "the header of this model was altered"),
        (lambda s: ["no", "object"], "the header of this model was altered"),
    ],
    ids=["newer", "offset", "parameter", "no checksum", "no format", "no object"],
)
def test_an_edited_header_is_refused(saved, edit, message):
    saved.write_bytes(edited(saved.read_bytes(), edit))
    with pytest.raises(ModelFileError, match=message):
        load(saved)


def test_one_flipped_bit_in_the_weights_is_refused(saved):
    content = bytearray(saved.read_bytes())
    content[-1000] ^= 1
    saved.write_bytes(content)
    with pytest.raises(ModelFileError, match="do not match their checksum"):
        load(saved)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h, a: h["parameters"].update(hidden=[10**7, 10**7]), "the weights do not fit the network"),
        (lambda h, a: h.pop("offset") and None, "lacks something a FUSE model needs: KeyError.'offset'"),
        (lambda h, a: a.pop("scaling.center") is None, "lacks something a FUSE model needs"),
        (lambda h, a: h.update(model="Forest"), "a FUSE model was wanted, this one is a Forest"),
        (
            lambda h, a: a.update({"scaling.weight": np.ones(5)}),
            r"scaling.weight must hold finite .* shape \(2,\), got float64 \(5,\)",
        ),
    ],
    ids=["huge", "no offset", "no scaling", "another model", "wrong width"],
)
def test_a_hostile_file_with_a_right_checksum_is_an_error_not_a_crash(saved, change, message):
    header, arrays = model_file.read(saved)
    change(header, arrays)
    header.pop("format")
    model_file.write(saved, header, arrays)
    with pytest.raises(ModelFileError, match=message):
        load(saved)


def test_a_missing_file_says_so(tmp_path):
    with pytest.raises(FileNotFoundError, match="no model file at"):
        load(tmp_path / "nowhere.safetensors")


# The file byte by byte: what is written today must be readable tomorrow, and nothing else be taken for it.


def file_of(length: int, rest: bytes) -> bytes:
    """A safetensors file's beginning: how long the header is, and what follows."""
    return struct.pack("<Q", length) + rest


def sealed_in(outer: object) -> bytes:
    text = json.dumps(outer).encode()
    return file_of(len(text), text)


def test_header_and_arrays_lie_in_a_safetensors_file_under_a_checksum(tmp_path):
    arrays = {"b": np.arange(3, dtype=np.float32), "a": np.eye(2)}
    model_file.write(tmp_path / "m", {"z": 1, "a": [1, 2]}, arrays)
    digest = hashlib.sha256(b'{"a": [1, 2], "format": "2.0", "z": 1}')  # keys in order
    digest.update(b"a <f8 (2, 2)" + struct.pack("<4d", 1, 0, 0, 1))
    digest.update(b"b <f4 (3,)" + struct.pack("<3f", 0, 1, 2))
    with safe_open(tmp_path / "m", "numpy") as file:
        assert json.loads(file.metadata()["centrality"]) == {
            "header": {"format": "2.0", "z": 1, "a": [1, 2]},
            "checksum": digest.hexdigest(),
        }
        np.testing.assert_array_equal(file.get_tensor("b"), arrays["b"])
    header, found = model_file.read(tmp_path / "m")
    assert header == {"format": "2.0", "z": 1, "a": [1, 2]}
    np.testing.assert_array_equal(found["a"], np.eye(2))


@pytest.mark.parametrize("version", ["2.0", "2.7"])
def test_every_minor_version_of_this_format_is_read(tmp_path, version):
    model_file.write(tmp_path / "m", {"format": version}, {"a": np.ones(2)})
    assert model_file.read(tmp_path / "m")[0] == {"format": version}


@pytest.mark.parametrize("version", ["1.0", "3.1"])
def test_another_format_is_named_beside_the_one_that_can_be_read(tmp_path, version):
    model_file.write(tmp_path / "m", {"format": version}, {"a": np.ones(2)})
    wanted = rf"written in model format {version}; .* reads 2\.x\. Upgrade it .* or fit the model again"
    with pytest.raises(ModelFileError, match=wanted):
        model_file.read(tmp_path / "m")


def test_a_header_that_json_cannot_hold_is_not_written(tmp_path):
    with pytest.raises(ValueError, match="JSON"):
        model_file.write(tmp_path / "m", {"offset": np.nan}, {"a": np.ones(2)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b\n1,2", "is not a model file"),  # a byte too few for a length
        (file_of(1, b"{"), "is not a model file"),  # the shortest header is {}
        (file_of(100_000_001, b"{"), "is not a model file"),  # safetensors' own limit
        (file_of(100_000_000, b"{"), "is truncated: it ends inside its header"),
        (b"\xff" * 8 + b"{}", "is not a model file"),
        (file_of(10, b"x" * 20), "is not a model file"),
        (file_of(2, b"{"), "is truncated: it ends inside its header"),
        (file_of(2, b"{}"), "a safetensors file, but not one written by centrality"),
        (file_of(4, b"{abc"), "the header of this file is not readable"),
        (sealed_in({"__metadata__": 5}), "a safetensors file, but not one written by centrality"),
        (sealed_in({"__metadata__": {"else": ""}}), "a safetensors file, but not one written by centrality"),
        (sealed_in({"__metadata__": {"centrality": "{"}}), "the header of this model was altered"),
        (sealed_in({"__metadata__": {"centrality": "5"}}), "altered: it is no longer an object"),
    ],
)
def test_each_kind_of_wrong_has_its_name(tmp_path, content, message):
    (tmp_path / "m").write_bytes(content)
    with pytest.raises(ModelFileError, match=message):
        model_file.read(tmp_path / "m")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        ("auto", "auto"),
        (3, 3),
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        (np.int64(7), 7),
        ((1, np.int64(2), ["a"]), [1, 2, ["a"]]),
        (np.arange(3), [0, 1, 2]),
        (np.random.RandomState(0), None),
        (np.random.default_rng(0), None),
        (len, "len"),
        (object(), "object"),
    ],
)
def test_a_parameter_is_kept_as_json_can_hold_it(value, expected):
    assert json.loads(json.dumps(as_json(value))) == expected
