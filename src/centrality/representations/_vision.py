"""Reading images, encoding them, and keeping what was encoded."""

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from centrality._atomic import write_atomically
from centrality._checks import InputError
from centrality._optional import optional
from centrality.representations._base import DataNote
from centrality.representations._weights import absent, fingerprint, pretrained
from centrality.tables.columns import TableError, first_few

CLIP = "openai/clip-vit-base-patch32"


class Unreadable:
    """Images that cannot be read: refused at the first, or counted and reported together."""

    def __init__(self, corrupt: str) -> None:
        self.corrupt = corrupt
        self.names: list[str] = []

    @contextmanager
    def watching(self, item: Any, number: int) -> Iterator[None]:
        name = str(item) if isinstance(item, str | Path) else f"image {number}"
        try:
            yield
        except (OSError, ValueError, SyntaxError) as error:  # PIL raises each of these on damaged files
            if self.corrupt == "refuse":
                raise TableError(
                    f"{name} cannot be read as an image: {error}. Remove it, or leave such images out: "
                    "Images(corrupt='skip') (in a terminal: --corrupt skip)"
                ) from None
            self.names.append(name)

    def report(self) -> None:
        if self.names:
            warnings.warn(f"{len(self.names)} images could not be read and have no score: {first_few(self.names)}.",
                          DataNote, stacklevel=5)  # fmt: skip


class Cache:
    """Vectors in a folder, one small file each, written whole: a killed run leaves only good ones."""

    def __init__(self, folder: str | Path | None, model: str) -> None:
        self.folder = None if folder is None else Path(folder, model[:32])

    def get(self, key: str) -> NDArray[np.float32] | None:
        if self.folder is None:
            return None
        try:
            return np.asarray(np.load(self._path(key), allow_pickle=False), dtype=np.float32)
        except (OSError, ValueError, EOFError):
            return None  # not there, or not ours: it is encoded again

    def put(self, key: str, vector: NDArray[np.float32]) -> None:
        if self.folder is not None:
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with write_atomically(path) as beside:
                np.save(beside, vector, allow_pickle=False)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.npy"


def content_of(item: Any) -> tuple[str, Any]:
    """A key for what the image shows, and the bytes or the picture itself."""
    if isinstance(item, dict) and "bytes" in item:  # as Hugging Face's data sets store images in Parquet
        item = item["bytes"] if item["bytes"] is not None else item.get("path")
    if item is None:
        raise InputError("it is missing")
    if isinstance(item, str | Path):
        item = Path(item).read_bytes()
    if isinstance(item, bytes | bytearray | memoryview):
        return hashlib.sha256(item).hexdigest(), bytes(item)
    array = np.asarray(item)
    if array.dtype != np.uint8 or array.ndim not in (2, 3) or (array.ndim == 3 and array.shape[2] not in (1, 3, 4)):
        raise InputError(
            f"pixels of uint8 and shape (h, w) or (h, w, 1, 3 or 4) were wanted, got {array.dtype} {array.shape}"
        )
    array = array[:, :, 0] if array.ndim == 3 and array.shape[2] == 1 else array
    return hashlib.sha256(repr(array.shape).encode() + array.tobytes()).hexdigest(), array


def decoded(content: Any) -> Any:
    """A PIL image in RGB."""
    image = optional("PIL.Image", "images")
    picture = image.open(io.BytesIO(content)) if isinstance(content, bytes) else image.fromarray(content)
    return picture.convert("RGB")


class VisionEncoder:
    """A loaded vision model: PIL images in, vectors out."""

    def __init__(
        self, model: Any, size: int, mean: tuple[float, ...], std: tuple[float, ...], download: bool, device: str
    ) -> None:
        from centrality.network.devices import find_device  # brings torch

        self.device = find_device(device)
        self.size, self.mean, self.std = size, mean, std
        self.processor: Any = None
        if not isinstance(model, str):
            self.module = model
        elif model == "clip" or "/" in model or Path(model).is_dir():
            self._load_transformers(CLIP if model == "clip" else model, download)
        else:
            self._load_timm(model, download)
        self.module = self.module.to(self.device).eval()
        how = self.processor.to_json_string() if self.processor is not None else (self.size, self.mean, self.std)
        self.fingerprint = fingerprint(self.module, how)

    def _load_transformers(self, name: str, download: bool) -> None:
        transformers = optional("transformers", "images")
        self.processor = pretrained(transformers.AutoImageProcessor.from_pretrained, name, download, "Images")
        self.module = pretrained(transformers.AutoModel.from_pretrained, name, download, "Images")

    def _load_timm(self, name: str, download: bool) -> None:
        timm = optional("timm", "timm")
        config = timm.get_pretrained_cfg(name)
        if config is None:
            raise InputError(f"timm knows no model {name!r}. Its names: timm.list_models(pretrained=True).")
        cached = optional("huggingface_hub", "timm").try_to_load_from_cache
        if not download and not isinstance(cached(config.hf_hub_id or name, "model.safetensors"), str):
            raise absent(name, "Images")
        self.module = timm.create_model(name, pretrained=True, num_classes=0)
        self.size, self.mean, self.std = config.input_size[-1], config.mean, config.std

    def __call__(self, pictures: list[Any]) -> NDArray[np.float32]:
        """(n, d)"""
        import torch

        if self.processor is not None:
            pixels = self.processor(images=pictures, return_tensors="pt")["pixel_values"]
        else:
            pixels = torch.from_numpy(np.stack([self._prepared(picture) for picture in pictures]))
        with torch.inference_mode():
            pixels = pixels.to(self.device)
            made = self.module.get_image_features(pixel_values=pixels) if self._is_clip() else self.module(pixels)
            vectors = _vectors(made)
        if vectors.ndim != 2 or len(vectors) != len(pictures):
            raise InputError(f"The model must give one vector an image, got shape {tuple(vectors.shape)}.")
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)

    def _is_clip(self) -> bool:
        return self.processor is not None and hasattr(self.module, "get_image_features")

    def _prepared(self, picture: Any) -> NDArray[np.float32]:
        """(3, size, size)"""
        bicubic = optional("PIL.Image", "images").Resampling.BICUBIC
        pixels = np.asarray(picture.resize((self.size, self.size), bicubic), dtype=np.float32) / 255
        return ((pixels - self.mean) / self.std).transpose(2, 0, 1).astype(np.float32)


def _vectors(made: Any) -> Any:
    """One vector an image, whatever the model calls it."""
    if hasattr(made, "pooler_output") and made.pooler_output is not None:
        made = made.pooler_output
    elif hasattr(made, "last_hidden_state"):
        made = made.last_hidden_state
        if made.ndim == 3:
            made = made[:, 0]  # the token that stands for the whole image
    return made.mean((2, 3)) if made.ndim == 4 else made
