"""Write the state of a long fit now and then, so that an interrupted fit can go on to the same result.

What is saved is what training has changed: weights, the optimiser's moments, losses so far, the state of the noise
generator. Everything else follows from data, settings and seed, and is made again in the same way; so are the draws of
rows for the steps already taken, which costs little beside the steps themselves. A file of other data or other settings
is refused: it would lead to the result of neither.
"""

import hashlib
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from centrality import __version__, model_file
from centrality._checks import InputError
from centrality._estimator import CheckedRows, Dissimilarity
from centrality.model_file import Arrays, Header, ModelFileError, as_json
from centrality.training.plan import History, Losses, Task

if TYPE_CHECKING:
    from centrality.training.schedules import Learner

FILE_KIND = "checkpoint"
ADVICE = "Fit as before, or remove the file to begin anew."
SECONDS_BETWEEN_SAVES = 30.0
# These settings do not matter to training, or the file knows them otherwise.
FREE_TO_CHANGE = ("t", "contamination", "calibration", "progress", "checkpoint", "device")
ROWS_HASHED_AT_ONCE = 1 << 16


@dataclass(frozen=True)
class TrainingState:
    """Refer to everything that training changes: a checkpoint saves it, or overwrites it with what was saved."""

    task: Task
    learner: "Learner"
    history: History
    losses: Losses | None = None  # of our schedule, which makes its history of them at the end

    @property
    def place(self) -> str:
        """Say what else must be the same for the same result."""
        return f"{self.task.device.partition(':')[0]} by {type(self.learner).__name__}"

    @property
    def rng(self) -> np.random.Generator | None:
        """Return the generator of rows; None for our schedule, which draws rows ahead: their draws are skipped again.

        Between two epochs nothing is drawn ahead.
        """
        return self.task.rng if self.losses is None else None


class Checkpoint:
    """Read and write the checkpoint file of one fit; `seed` is the fit's, read from the file if there is one."""

    def __init__(
        self,
        path: str | PathLike[str],
        settings: Mapping[str, object],
        X: CheckedRows,
        dissimilarity: Dissimilarity,
        seed: int,
    ) -> None:
        self.path, self.seed = Path(path), seed
        if not self.path.parent.is_dir():
            raise FileNotFoundError(f"Cannot write {self.path}: the folder {self.path.parent} does not exist.")
        self._settings = {name: as_json(value) for name, value in settings.items() if name not in FREE_TO_CHANGE}
        self._settings |= {"centrality": __version__}
        self._data = _hash_of(X, dissimilarity)
        self._saved, self._found = time.monotonic(), None
        if self.path.exists():
            self._found = self._read()
            self.seed = int(self._found[0]["seed"])

    def _read(self) -> tuple[Header, Arrays]:
        """Return the file's header and arrays; raise an error that says why if they are not of this fit."""
        header, arrays = model_file.read(self.path)
        if header.get("model") != FILE_KIND:
            raise ModelFileError(f"{self.path} is a {header.get('model')} model, not a checkpoint: name another file.")
        if header["data"] != self._data:
            raise InputError(f"Checkpoint {self.path} belongs to a fit of other data. {ADVICE}")
        now = json.loads(json.dumps(self._settings))
        for name in sorted(now.keys() | header["settings"].keys()):
            if now.get(name) != (then := header["settings"].get(name)):
                other = f"{name}={then!r}, this one has {now.get(name)!r}"
                raise InputError(f"Checkpoint {self.path} belongs to a fit with {other}. {ADVICE}")
        return header, arrays

    def restore(self, state: TrainingState) -> int:
        """Set training to the state in the file, and return the number of steps taken until then."""
        if self._found is None:
            return 0
        (header, arrays), self._found = self._found, None
        if header["place"] != state.place:
            raise InputError(
                f"Checkpoint {self.path} was begun on {header['place']}, this fit is on {state.place}: "
                f"its result would differ. {ADVICE}"
            )
        state.learner.restore(arrays)
        if state.losses is not None:
            state.losses[:] = arrays["losses"]
        state.task.noise.bit_generator.state = header["noise"]
        if state.rng is not None:
            state.rng.bit_generator.state = header["rng"]
        state.history.update(header["history"])
        return int(header["done"])

    def save(self, state: TrainingState, done: int) -> None:
        """Write the state after `done` steps, if enough time has passed since the last time."""
        if time.monotonic() - self._saved < SECONDS_BETWEEN_SAVES:
            return
        header = {
            "model": FILE_KIND,
            "data": self._data,
            "settings": self._settings,
            "seed": self.seed,
            "place": state.place,
            "done": done,
            "history": state.history,
            "noise": state.task.noise.bit_generator.state,
            "rng": None if state.rng is None else state.rng.bit_generator.state,
        }
        arrays = state.learner.state() | ({} if state.losses is None else {"losses": state.losses})
        model_file.write(self.path, header, arrays)
        self._saved = time.monotonic()

    def remove(self) -> None:
        """Remove the file: the fit is over."""
        self.path.unlink(missing_ok=True)


def _hash_of(*parts: object) -> str:
    """Hash rows and matrices by their values, and a function by its name, since its code cannot be compared."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if part is None or callable(part):
            digest.update(str(getattr(part, "__qualname__", part)).encode())
            continue
        array: Any = part if sparse.issparse(part) else np.asarray(part)
        digest.update(f"{array.shape} {array.dtype}".encode())
        for start in range(0, array.shape[0], ROWS_HASHED_AT_ONCE):
            block: Any = array[start : start + ROWS_HASHED_AT_ONCE]
            pieces = (block.data, block.indices, block.indptr) if sparse.issparse(block) else (block,)
            for piece in pieces:
                digest.update(np.ascontiguousarray(piece).data)
    return digest.hexdigest()
