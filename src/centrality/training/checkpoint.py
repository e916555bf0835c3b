"""A long fit that can be interrupted: its state in a file, now and then, and from there on to the same result.

What is saved is what training has changed: weights, the optimiser's moments, losses so far, the state of the noise
generator. Everything else follows from data, settings and seed, and is made again in the same way; so are the draws of
rows for the steps already taken, which costs little beside the steps themselves. A file of other data or other settings
is refused: it would lead to the result of neither.
"""

import hashlib
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from centrality import __version__, model_file
from centrality._checks import InputError
from centrality.model_file import ModelFileError, as_json
from centrality.training.schedules import Training

KIND = "checkpoint"
ADVICE = "Fit as before, or remove the file to begin anew."
SECONDS = 30.0  # between two savings
NO_MATTER = ("t", "contamination", "calibration", "progress", "checkpoint", "device")  # to training, or known otherwise
BLOCK = 1 << 16  # rows hashed together


class Checkpoint:
    """The file of one fit. `seed` is the fit's: from the file, where that has begun."""

    def __init__(self, estimator: Any, X: Any, dissimilarity: Any, seed: int) -> None:
        self.path, self.seed = Path(estimator.checkpoint), seed
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"Cannot write {self.path}: the folder {self.path.parent} does not exist.")
        parameters = estimator.get_params(deep=False).items()
        self._settings = {name: as_json(value) for name, value in parameters if name not in NO_MATTER}
        self._settings |= {"centrality": __version__, "torch": str(torch.__version__)}
        self._data = _hash_of(X, dissimilarity)
        self._saved, self._found = time.monotonic(), None
        if self.path.exists():
            self._found = self._read()
            self.seed = int(self._found[0]["seed"])

    def _read(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        header, arrays = model_file.read(self.path)
        if header.get("model") != KIND:
            raise ModelFileError(f"{self.path} is a {header.get('model')} model, not a checkpoint: name another file.")
        if header["data"] != self._data:
            raise InputError(f"Checkpoint {self.path} belongs to a fit of other data. {ADVICE}")
        now = json.loads(json.dumps(self._settings))
        for name in sorted(now.keys() | header["settings"].keys()):
            if now.get(name) != (then := header["settings"].get(name)):
                other = f"{name}={then!r}, this one has {now.get(name)!r}"
                raise InputError(f"Checkpoint {self.path} belongs to a fit with {other}. {ADVICE}")
        return header, arrays

    def restore(self, training: Training) -> int:
        """Bring the training to where the file left it; the number of steps it had taken."""
        if self._found is None:
            return 0
        (header, arrays), self._found = self._found, None
        if header["place"] != (here := _place(training)):
            raise InputError(
                f"Checkpoint {self.path} was begun on {header['place']}, this fit is on {here}: "
                f"its result would differ. {ADVICE}"
            )
        with torch.no_grad():
            for name, tensor in _tensors(training).items():
                tensor.copy_(torch.from_numpy(arrays[name]).view_as(tensor))
        training.generator.set_state(torch.from_numpy(arrays["generator"]))
        if not training.network.standard:
            torch.random.set_rng_state(torch.from_numpy(arrays["global_generator"]))
        if training.plan.epochs is not None:  # between two epochs nothing else is pending; steps draw ahead instead
            training.rng.bit_generator.state = header["rng"]
        training.history = header["history"]
        return int(header["done"])

    def save(self, training: Training, done: int) -> None:
        """Write the state after `done` steps, if it is time."""
        if time.monotonic() - self._saved < SECONDS:
            return
        header = {
            "model": KIND,
            "data": self._data,
            "settings": self._settings,
            "seed": self.seed,
            "place": _place(training),
            "done": done,
            "history": training.history,
            "rng": training.rng.bit_generator.state,
        }
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in _tensors(training).items()}
        arrays["generator"] = training.generator.get_state().numpy()
        if not training.network.standard:  # a user's encoder may hold dropout, which draws from torch's own generator
            arrays["global_generator"] = torch.random.get_rng_state().numpy()
        model_file.write(self.path, header, arrays)
        self._saved = time.monotonic()

    def remove(self) -> None:
        """The fit is over."""
        self.path.unlink(missing_ok=True)


def _place(training: Training) -> str:
    """What else must be the same for the same result: on a GPU, as many rows are held as it has room for."""
    return f"{training.device.type} with {len(training.rows)} rows held"


def _tensors(training: Training) -> dict[str, Tensor]:
    """Everything that a step changes, where it lies."""
    moments = training.optimizer.moments()
    lists: dict[str, Sequence[Tensor]] = {"parameter": training.step.parameters, **moments}
    found = {f"{kind}.{place}": tensor for kind, tensors in lists.items() for place, tensor in enumerate(tensors)}
    buffers = {f"buffer.{name}": buffer for name, buffer in training.network.named_buffers()}
    return found | buffers | {"losses": training.losses}


def _hash_of(*parts: Any) -> str:
    """Of rows, of a matrix, or of a function's name, which is all that can be said about one."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if part is None or callable(part):
            digest.update(str(getattr(part, "__qualname__", part)).encode())
            continue
        array: Any = part if sparse.issparse(part) else np.asarray(part)
        digest.update(f"{array.shape} {array.dtype}".encode())
        for start in range(0, array.shape[0], BLOCK):
            block: Any = array[start : start + BLOCK]
            pieces = (block.data, block.indices, block.indptr) if sparse.issparse(block) else (block,)
            for piece in pieces:
                digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()
