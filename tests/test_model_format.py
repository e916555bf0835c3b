"""The model file byte by byte: what is written today must be readable tomorrow, and nothing else be taken for it."""

import hashlib
import json
import struct

import numpy as np
import pytest
from safetensors import safe_open

from centrality import model_file
from centrality.model_file import ModelFileError, as_json


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


def test_a_newer_format_is_named_beside_the_one_that_can_be_read(tmp_path):
    model_file.write(tmp_path / "m", {"format": "3.1"}, {"a": np.ones(2)})
    with pytest.raises(ModelFileError, match=r"written in model format 3\.1; .* reads 2\.x\. Upgrade it"):
        model_file.read(tmp_path / "m")


def test_a_format_that_was_never_published_is_named_with_what_to_do(tmp_path):
    model_file.write(tmp_path / "m", {"format": "1.0"}, {"a": np.ones(2)})
    with pytest.raises(ModelFileError, match=r"format 1\.0 by a development version .* Fit the model again"):
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
