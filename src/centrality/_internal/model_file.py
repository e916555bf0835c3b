"""Write and read a model as one safetensors file: named arrays and a JSON header. Reading it can run no code.

The header lives in the file's metadata under the key "centrality" and carries a checksum over itself and the
arrays, so that a damaged or edited file is refused instead of scoring wrongly.
"""

import hashlib
import json
import os
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError
from centrality._internal.files import write_atomically

FORMAT = (2, 0)  # a reader understands every minor version of its major one
KEY = "centrality"
OTHER_ENDINGS = (".pkl", ".pickle", ".joblib", ".pt", ".pth", ".onnx", ".json", ".npz", ".csv", ".parquet")
MAX_HEADER = 100_000_000  # safetensors' own limit

Arrays = dict[str, NDArray[Any]]
Header = dict[str, Any]  # values that JSON can hold
JSON: TypeAlias = "str | bool | int | float | list[JSON] | None"


class ModelFileError(InputError):
    """Says that a file cannot be read as a model, and what is wrong with it."""


def write(path: str | os.PathLike[str], header: Header, arrays: Arrays) -> None:
    """Write header and arrays to `path`, completely or not at all."""
    from safetensors.numpy import save

    if Path(path).suffix.lower() in OTHER_ENDINGS:
        raise InputError(
            f"{path}: a model is written as a safetensors file, which can run no code when it is loaded: name it "
            f"{Path(path).with_suffix('.safetensors').name}."
        )
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    body = {"format": ".".join(map(str, FORMAT)), **header}
    sealed = {"header": body, "checksum": _checksum(body, arrays)}
    content = save(arrays, metadata={KEY: json.dumps(sealed, allow_nan=False)})
    with write_atomically(path) as temporary:
        temporary.write_bytes(content)  # not by safetensors, whose files nobody else may read


def read(path: str | os.PathLike[str]) -> tuple[Header, Arrays]:
    """Return header and arrays of the model at `path`; raise a ModelFileError that says why it cannot be read."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no model file at {path}.")
    content = path.read_bytes()
    sealed = _sealed_header(path, content)
    try:
        body = sealed["header"]
        checksum = sealed["checksum"]
        major = int(str(body["format"]).split(".")[0])
    except (KeyError, TypeError, ValueError) as error:
        raise ModelFileError(f"{path}: the header of this model was altered: {error!r}.") from None
    if major != FORMAT[0]:
        raise ModelFileError(
            f"{path} was written in model format {body['format']}; this version of centrality reads "
            f"{FORMAT[0]}.x. Upgrade it (pip install -U centrality), or fit the model again."
        )
    try:
        arrays: Arrays = load(content)
    except (SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(f"{path} is truncated or damaged: {error}. Copy or save it again.") from None
    if _checksum(body, arrays) != checksum:
        raise ModelFileError(
            f"{path}: header and arrays do not match their checksum, so the file was altered or damaged. "
            "Copy or save it again."
        )
    return body, arrays


def _sealed_header(path: Path, content: bytes) -> Header:
    """Return the header and its checksum from the file's metadata, not yet verified."""
    length = struct.unpack("<Q", content[:8])[0] if len(content) >= 8 else 0
    if not 2 <= length <= MAX_HEADER or content[8:9] != b"{":
        raise ModelFileError(f"{path} is not a model file: a safetensors file written by centrality was wanted.")
    if len(content) < 8 + length:
        raise ModelFileError(f"{path} is truncated: it ends inside its header. Copy or save it again.")
    try:
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
    except (ValueError, AttributeError, RecursionError) as error:
        raise ModelFileError(f"{path}: the header of this file is not readable: {error}.") from None
    if not isinstance(metadata, dict) or KEY not in metadata:
        raise ModelFileError(f"{path} is a safetensors file, but not one written by centrality's save().")
    try:
        sealed = json.loads(metadata[KEY])
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{path}: the header of this model was altered: {error}.") from None
    if not isinstance(sealed, dict):
        raise ModelFileError(f"{path}: the header of this model was altered: it is no longer an object.")
    return sealed


def _checksum(header: Header, arrays: Arrays) -> str:
    """Return a checksum over the header and the names, types, shapes and values of the arrays."""
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def as_json(value: object) -> JSON:
    """Return a parameter as a value that JSON can hold: a function, a module or a generator by its name."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        plain: JSON = value.item()
        return plain
    if isinstance(value, Sequence | np.ndarray):
        return [as_json(item) for item in value]
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    return getattr(value, "__name__", type(value).__name__)
