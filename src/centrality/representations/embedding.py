"""Embed items by a pretrained encoder, and keep the results."""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from centrality._internal.checks import InputError, optional
from centrality._internal.input import unchanged_on_failure
from centrality._internal.model_file import Arrays
from centrality.representations.base import ItemsLike, Representation, State, chosen_column
from centrality.representations.columns import FAR

if TYPE_CHECKING:
    import torch


Loaded = TypeVar("Loaded")


def pretrained(load: Callable[..., Loaded], name: str, *, download: bool, kind: str) -> Loaded:
    """Return `load(name)` from a folder or from the cache on disk; from the network only with `download`."""
    logging = optional("transformers", "text").utils.logging
    had_progress_bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        return load(name, local_files_only=True)
    except (OSError, ValueError) as missing:
        if Path(name).is_dir():
            raise FileNotFoundError(f"The folder {name} holds no model that can be loaded: {missing}") from None
        if not download:
            raise not_on_disk(name, kind) from None
        try:
            return load(name)
        except (OSError, ValueError) as failed:
            raise FileNotFoundError(f"{not_on_disk(name, kind)} Downloading it failed: {failed}") from None
    finally:
        if had_progress_bars:
            logging.enable_progress_bar()


def not_on_disk(name: str, kind: str) -> FileNotFoundError:
    """Return the error for weights that are missing, which says how to get them."""
    return FileNotFoundError(
        f"The weights of {name!r} are not on this disk. Give a folder that holds them, {kind}('/path/to/folder'), "
        f"or let them be downloaded, {kind}({name!r}, download=True) (in a terminal: --download)."
    )


def fingerprint(module: "torch.nn.Module", *settings: object) -> str:
    """Return a fingerprint of what the module computes: of its class, its weights and its settings."""
    import torch

    digest = hashlib.sha256(repr((type(module).__name__, settings)).encode())
    for name, value in module.state_dict().items():
        digest.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        digest.update(value.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def require_same(fitted: str, loaded: str, name: str) -> None:
    """Raise if the encoder is not the one used in fitting: its vectors would mean something else."""
    if fitted != loaded:
        raise InputError(
            f"The encoder {name!r} is not the one this model was fitted with: its weights or settings differ. "
            "Use the same folder or version as then, or fit again."
        )


class Encoder(Protocol):
    """Describe a loaded encoder: items in, vectors out."""

    fingerprint: str  # tells its weights and settings from those of others

    def __call__(self, items: list[Any], /) -> NDArray[np.float32]:  # (n, d)
        """Return one vector for each item."""


class Embedding(Representation):
    """Turns each item into one vector; a subclass loads its encoder and runs it.

    With `normalize`, vectors get unit length first: their direction carries the meaning. Then all are
    moved and scaled together, by the mean and spread of the training items: distances and angles keep their meaning.

    An item that shows or says nothing has the encoder's vector of length zero, which has no direction: in the middle of
    all others it would be the most typical one. It is put far off instead.
    """

    scaled = True
    model: "str | torch.nn.Module"
    batch_size: int  # items encoded together
    column: str | None
    normalize: bool
    columns_: list[str] | None
    _encoder: Encoder

    def fit(self, X: ItemsLike, y: object = None) -> Self:
        """Load the encoder, and learn centre and scale of its vectors."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: ItemsLike, y: object = None) -> NDArray[np.float32]:  # (n, d)
        """Fit, and return the vectors: every item is encoded once."""
        with unchanged_on_failure(self):
            name, items = chosen_column(X, self.column)
            self.columns_ = None if name is None else [name]
            self._encoder = self._load_encoder()
            self.fingerprint_ = self._encoder.fingerprint
            self._fit_encoder(items)
            vectors = self._with_unit_length(self._encode(items))
            readable = vectors[~np.isnan(vectors).all(1)].astype(np.float64)
            with_content = readable[readable.any(axis=1)] if readable.any() else readable
            self._center = with_content.mean(0)
            self._scale = float(np.sqrt(np.square(with_content - self._center).mean())) or 1.0
        return self._scaled(vectors)

    def transform(self, X: ItemsLike) -> NDArray[np.float32]:  # (n, d)
        """Return one vector for each item; NaN for an item that could not be read."""
        check_is_fitted(self)
        _, items = chosen_column(X, self.columns_[0] if self.columns_ else self.column)
        if not hasattr(self, "_encoder"):
            self._encoder = self._load_encoder()
            require_same(self.fingerprint_, self._encoder.fingerprint, self._model_name)
        return self._scaled(self._with_unit_length(self._encode(items)))

    def _load_encoder(self) -> Encoder:
        """Load the encoder that the settings name."""
        raise NotImplementedError

    def _fit_encoder(self, items: Sequence[object]) -> None:
        """Fit the encoder to the training items, if it is one that learns; a pretrained one does not."""

    def _encode(self, items: Sequence[object]) -> NDArray[np.float32]:  # (n, d)
        """Return the encoder's vectors, unscaled; NaN for an item that could not be read, zeros for one of nothing."""
        raise NotImplementedError

    def _with_unit_length(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Scale the vectors to unit length, if `normalize` says so."""
        if not self.normalize:
            return vectors
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0), dtype=np.float32)

    def _scaled(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Move and scale the vectors as those of the training items were; put those of nothing far off."""
        scaled = (vectors - self._center) / self._scale
        length = float(np.linalg.norm(self._center))
        away = -self._center / length if length else np.eye(1, vectors.shape[1])[0]
        scaled[~vectors.any(axis=1)] = FAR * np.sqrt(vectors.shape[1]) * away  # the root: the usual length
        return np.asarray(scaled, dtype=np.float32)

    @property
    def _model_name(self) -> str:
        """Return what messages and descriptions call the encoder."""
        return self.model if isinstance(self.model, str) else type(self.model).__name__

    @property
    def rows_at_once(self) -> int:  # type: ignore[override]
        """Return how many items are encoded together."""
        return self.batch_size

    def shown(self, X: ItemsLike) -> Sequence[object]:
        """Return the items themselves."""
        return chosen_column(X, self.columns_[0] if self.columns_ else self.column)[1]

    def types(self) -> dict[str, pa.DataType]:
        return {name: pa.string() for name in self.columns_ or []}

    def state(self) -> tuple[State, Arrays]:
        check_is_fitted(self)
        plain = {"columns": self.columns_, "fingerprint": self.fingerprint_, "scale": self._scale}
        return plain, {"center": self._center}

    def restore(self, state: State, arrays: Arrays) -> Self:
        self.columns_ = state["columns"]
        self.fingerprint_ = state["fingerprint"]
        self._scale = float(state["scale"])
        self._center = arrays["center"]
        return self
