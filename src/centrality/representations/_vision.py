"""Read images, encode them, and cache their vectors."""

import hashlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from centrality._atomic import write_atomically
from centrality._checks import InputError
from centrality._optional import optional
from centrality.representations._weights import fingerprint, not_on_disk, pretrained
from centrality.tables.columns import DataNote, TableError, first_few

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

CLIP = "openai/clip-vit-base-patch32"


class SkippedImages:
    """Handles images that cannot be read: raises for the first, or counts them and reports them together."""

    def __init__(self, corrupt: str) -> None:
        self.corrupt = corrupt
        self.names: list[str] = []

    @contextmanager
    def caught(self, item: object, number: int) -> Iterator[None]:
        """Catch the error if the item of this number cannot be read inside the block."""
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
        """Warn of the images that could not be read, if there are any."""
        if self.names:
            unread = f"({len(self.names):,}): {first_few(self.names)}"
            warnings.warn(f"Images that could not be read have no score {unread}.", DataNote, stacklevel=5)


class Cache:
    """Keeps vectors in a folder, one small file each, written completely or not at all, so that none is damaged."""

    def __init__(self, folder: str | Path | None, model: str) -> None:
        self.folder = None if folder is None else Path(folder, model[:32])

    def get(self, key: str) -> NDArray[np.float32] | None:
        """Return the vector that was kept under this key, or None."""
        if self.folder is None:
            return None
        try:
            return np.asarray(np.load(self._path(key), allow_pickle=False), dtype=np.float32)
        except (OSError, ValueError, EOFError):
            return None  # missing, or not a file of ours: the image is encoded again

    def put(self, key: str, vector: NDArray[np.float32]) -> None:
        """Keep the vector under this key, if there is a folder to keep it in."""
        if self.folder is not None:
            path = self._path(key)
            path.parent.mkdir(parents=True, exist_ok=True)
            with write_atomically(path) as temporary:
                np.save(temporary, vector, allow_pickle=False)

    def _path(self, key: str) -> Path:
        assert self.folder is not None
        return self.folder / key[:2] / f"{key}.npy"


def content_of(item: object) -> tuple[str, bytes | NDArray[np.uint8]]:
    """Return a key for what the image shows, and the bytes of its file or its pixels."""
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


def decode(content: bytes | NDArray[np.uint8]) -> "Image":
    """Return a PIL image in RGB, from the bytes of a file or from pixels."""
    image = optional("PIL.Image", "images")
    try:
        picture: Image = image.open(io.BytesIO(content)) if isinstance(content, bytes) else image.fromarray(content)
    except image.UnidentifiedImageError:  # whose message names an object of ours, not the file
        raise InputError("it is no PNG, JPEG or other kind of image that PIL knows") from None
    return picture.convert("RGB")


class VisionEncoder:
    """Runs a loaded vision model: PIL images in, vectors out."""

    def __init__(
        self,
        model: "str | torch.nn.Module",
        *,
        size: int,
        mean: tuple[float, ...],
        std: tuple[float, ...],
        download: bool,
        device: str,
    ) -> None:
        from centrality.network.devices import find_encoder_device

        by_transformers = isinstance(model, str) and (model == "clip" or "/" in model or Path(model).is_dir())
        if isinstance(model, str):  # a missing extra is named before the torch that it installs
            optional(*(("transformers", "images") if by_transformers else ("timm", "timm")))
        self.device = find_encoder_device(device)
        self.size, self.mean, self.std = size, mean, std
        self.processor: Any = None  # that of transformers, which prepares the images for its models
        if not isinstance(model, str):
            self.module = model
        elif by_transformers:
            self._load_transformers(CLIP if model == "clip" else model, download=download)
        else:
            self._load_timm(model, download=download)
        self.module = self.module.to(self.device).eval()
        how = self.processor.to_json_string() if self.processor is not None else (self.size, self.mean, self.std)
        self.fingerprint = fingerprint(self.module, how)

    def _load_transformers(self, name: str, *, download: bool) -> None:
        """Load a model that transformers knows, and what prepares images for it."""
        transformers = optional("transformers", "images")
        self.processor = pretrained(
            transformers.AutoImageProcessor.from_pretrained, name, download=download, kind="Images"
        )
        self.module = pretrained(transformers.AutoModel.from_pretrained, name, download=download, kind="Images")

    def _load_timm(self, name: str, *, download: bool) -> None:
        """Load a model that timm knows, and how images are prepared for it."""
        timm = optional("timm", "timm")
        config = timm.get_pretrained_cfg(name)
        if config is None:
            raise InputError(f"timm knows no model {name!r}. Its names: timm.list_models(pretrained=True).")
        cached = optional("huggingface_hub", "timm").try_to_load_from_cache
        if not download and not isinstance(cached(config.hf_hub_id or name, "model.safetensors"), str):
            raise not_on_disk(name, "Images")
        self.module = timm.create_model(name, pretrained=True, num_classes=0)
        self.size, self.mean, self.std = config.input_size[-1], config.mean, config.std

    def __call__(self, pictures: "list[Image]", /) -> NDArray[np.float32]:  # (n, d)
        """Return one vector for each picture."""
        import torch

        if self.processor is not None:
            pixels = self.processor(images=pictures, return_tensors="pt")["pixel_values"]
        else:
            pixels = torch.from_numpy(np.stack([self._prepared(picture) for picture in pictures]))
        with torch.inference_mode():
            pixels = pixels.to(self.device)
            of_clip = getattr(self.module, "get_image_features", None) if self.processor is not None else None
            output = self.module(pixels) if of_clip is None else of_clip(pixel_values=pixels)
            vectors = _vectors(output)
        if vectors.ndim != 2 or len(vectors) != len(pictures):
            raise InputError(f"The model must give one vector an image, got shape {tuple(vectors.shape)}.")
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)

    def _prepared(self, picture: "Image") -> NDArray[np.float32]:  # (3, size, size)
        """Return the pixels in the size and units that the model was trained on."""
        bicubic = optional("PIL.Image", "images").Resampling.BICUBIC
        pixels = np.asarray(picture.resize((self.size, self.size), bicubic), dtype=np.float32) / 255
        return ((pixels - self.mean) / self.std).transpose(2, 0, 1).astype(np.float32)


def _vectors(output: Any) -> "torch.Tensor":  # (n, d)
    """Return one vector for each image from the model's output, whose type depends on the model."""
    if hasattr(output, "pooler_output") and output.pooler_output is not None:
        vectors = output.pooler_output
    elif hasattr(output, "last_hidden_state"):
        states = output.last_hidden_state
        vectors = states[:, 0] if states.ndim == 3 else states  # the first token represents the whole image
    else:
        vectors = output
    pooled: torch.Tensor = vectors.mean((2, 3)) if vectors.ndim == 4 else vectors
    return pooled
