"""Turn images into vectors."""

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from centrality._internal.checks import InputError, optional, warn_caller, whole_number
from centrality._internal.files import write_atomically
from centrality._internal.model_file import Arrays
from centrality.representations.base import Options, State
from centrality.representations.embedding import Embedding, fingerprint, not_on_disk, pretrained
from centrality.representations.plain_encoders import GradientEncoder
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
                    "corrupt='skip' (in a terminal: --corrupt skip)"
                ) from None
            self.names.append(name)

    def report(self) -> None:
        """Warn of the images that could not be read, if there are any."""
        if self.names:
            unread = f"({len(self.names):,}): {first_few(self.names)}"
            warn_caller(f"Images that could not be read have no score {unread}.", DataNote)


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


REMEMBERED = 20_000  # vectors of pictures, so that scoring rows several times reads them once


class Memory:
    """Remembers the last vectors that were computed, by what the pictures show."""

    def __init__(self) -> None:
        self._vectors: dict[str, NDArray[np.float32]] = {}

    def get(self, key: str) -> NDArray[np.float32] | None:
        """Return the vector that was kept under this key, or None."""
        return self._vectors.get(key)

    def put(self, key: str, vector: NDArray[np.float32]) -> None:
        """Keep the vector under this key, in the place of the oldest if there are very many."""
        if len(self._vectors) >= REMEMBERED:
            del self._vectors[next(iter(self._vectors))]
        self._vectors[key] = vector


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
    except image.DecompressionBombError as error:  # which is neither an OSError nor a ValueError
        raise InputError(str(error).rstrip(".")) from None
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
        from centrality._internal.devices import find_encoder_device

        by_transformers = isinstance(model, str) and (model == "clip" or "/" in model or Path(model).is_dir())
        if isinstance(model, str):  # a missing extra is named before the torch that it installs
            optional(*(("transformers", "images") if by_transformers else ("timm", "timm")))
        self.device = find_encoder_device(device)
        self.size = size
        self.mean = mean
        self.std = std
        self.processor: Any = None  # that of transformers
        if not isinstance(model, str):
            self.module = model
        elif by_transformers:
            name = CLIP if model == "clip" else model
            library = optional("transformers", "images")
            load_processor = library.AutoImageProcessor.from_pretrained  # prepares the images for the model
            self.processor = pretrained(load_processor, name, download=download, kind="Images")
            self.module = pretrained(library.AutoModel.from_pretrained, name, download=download, kind="Images")
        else:
            timm = optional("timm", "timm")
            config = timm.get_pretrained_cfg(model)
            if config is None:
                raise InputError(f"timm knows no model {model!r}. Its names: timm.list_models(pretrained=True).")
            find_in_cache = optional("huggingface_hub", "timm").try_to_load_from_cache
            if not download and not isinstance(find_in_cache(config.hf_hub_id or model, "model.safetensors"), str):
                raise not_on_disk(model, "Images")
            self.module = timm.create_model(model, pretrained=True, num_classes=0)
            self.size = config.input_size[-1]
            self.mean = config.mean
            self.std = config.std
        self.module = self.module.to(self.device).eval()
        how = self.processor.to_json_string() if self.processor is not None else (self.size, self.mean, self.std)
        self.fingerprint = fingerprint(self.module, how)

    def __call__(self, pictures: "list[Image]", /) -> NDArray[np.float32]:  # (n, d)
        """Return one vector for each picture."""
        import torch

        if self.processor is not None:
            pixels = self.processor(images=pictures, return_tensors="pt")["pixel_values"]
        else:
            bicubic = optional("PIL.Image", "images").Resampling.BICUBIC
            resized = [np.asarray(one.resize((self.size, self.size), bicubic), dtype=np.float32) for one in pictures]
            prepared = [((one / 255 - self.mean) / self.std).transpose(2, 0, 1).astype(np.float32) for one in resized]
            pixels = torch.from_numpy(np.stack(prepared))
        with torch.inference_mode():
            pixels = pixels.to(self.device)
            of_clip = getattr(self.module, "get_image_features", None) if self.processor is not None else None
            output = self.module(pixels) if of_clip is None else of_clip(pixel_values=pixels)
            vectors = _vectors(output)
        if vectors.ndim != 2 or len(vectors) != len(pictures):
            raise InputError(f"The model must give one vector an image, got shape {tuple(vectors.shape)}.")
        return np.asarray(vectors.float().cpu().numpy(), dtype=np.float32)


def _vectors(output: Any) -> "torch.Tensor":  # (n, d)
    """Return one vector for each image from the model's output, whose type depends on the model."""
    vectors = output
    if getattr(output, "pooler_output", None) is not None:
        vectors = output.pooler_output
    elif hasattr(output, "last_hidden_state"):
        states = output.last_hidden_state
        vectors = states[:, 0] if states.ndim == 3 else states  # the first token represents the whole image
    pooled: torch.Tensor = vectors.mean((2, 3)) if vectors.ndim == 4 else vectors
    return pooled


CORRUPT = ("refuse", "skip")
VISIBLE = 3  # of 255: a picture whose colours differ by less shows nothing, whatever an encoder makes of it
GRADIENTS = "gradients"  # needs no pretrained weights


class Images(Embedding):
    """Turns images into vectors: by their edges and colours, or by a vision model.

    Items are paths, PIL images, arrays (h, w[, c]) of uint8, or the bytes of an image file.

    Parameters
    ----------
    model : "gradients", the directions of edges and the mean colours of an image's parts: it needs no download, and
        sees shapes, not what they are. Or a vision model, which sees more: "clip"; a folder or an "owner/name" that
        transformers knows; a name that timm knows; or any torch.nn.Module from (n, 3, size, size) to (n, d) or to maps
        (n, d, h, w), which are averaged.
    size, mean, std : how images are prepared for a module of your own; named models bring theirs.
    normalize : bring vectors to unit length before they are scaled together.
    column : which column holds the images, when tables are given.
    corrupt : "refuse" raises and names the file, "skip" warns and leaves its row missing (NaN).
    cache : a folder that keeps vectors, keyed by the image's content and the model: a second run, or one after a
        crash, encodes only what is new.
    batch_size, download, device, progress : as for `Text`.

    Attributes
    ----------
    skipped_ : the images that the last `transform` could not read.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from centrality.representations import Images
    >>> pictures = [np.full((8, 8, 3), grey, dtype=np.uint8) for grey in (0, 100, 200)]
    >>> colours = Images(nn.AvgPool2d(8), size=8, device="cpu").fit(pictures)  # a module of one's own: mean colours
    >>> colours.transform(pictures).shape
    (3, 3)
    """

    kind = "images"
    spellings = ("images", "images:COLUMN")

    @classmethod
    def from_command_line(cls, column: str, options: Options) -> Self:
        """Return the representation for `--represent images`; without a column it reads the images of a folder."""
        return super().from_command_line(column or "path", options)

    def __init__(
        self,
        model: "str | torch.nn.Module" = GRADIENTS,
        *,
        size: int = 224,
        mean: Sequence[float] = (0.485, 0.456, 0.406),
        std: Sequence[float] = (0.229, 0.224, 0.225),
        normalize: bool = True,
        column: str | None = None,
        corrupt: str = "refuse",
        cache: str | Path | None = None,
        batch_size: int = 32,
        download: bool = False,
        device: str = "auto",
        progress: bool = False,
    ) -> None:
        self.model = model
        self.size = size
        self.mean = mean
        self.std = std
        self.normalize = normalize
        self.column = column
        self.corrupt = corrupt
        self.cache = cache
        self.batch_size = batch_size
        self.download = download
        self.device = device
        self.progress = progress

    def _encode(self, items: Sequence[object]) -> NDArray[np.float32]:
        if self.corrupt not in CORRUPT:
            raise InputError(f"corrupt must be one of {', '.join(CORRUPT)}, got {self.corrupt!r}.")
        skipped = SkippedImages(self.corrupt)
        vectors = self._in_batches(items, Cache(self.cache, self.fingerprint_), skipped)
        self.skipped_ = skipped.names
        skipped.report()
        readable = [vector for vector in vectors if vector is not None]
        if not readable:
            raise InputError(f"Images were wanted, but none of {len(items)} could be read.")
        no_vector = np.full_like(readable[0], np.nan)
        return np.stack([no_vector if vector is None else vector for vector in vectors])

    def vectors_or_none(
        self, items: Sequence[object], memory: Memory | None = None
    ) -> tuple[list[NDArray[np.float32] | None], str]:
        """Return the encoder's vector of each image, and the encoder's fingerprint.

        An image that cannot be read has None, one that shows nothing has zeros. Vectors are looked for in `memory`, or
        in the folder `cache`.
        """
        if not hasattr(self, "_encoder"):
            self._encoder = self._load_encoder()
        mark = self._encoder.fingerprint
        store = Cache(self.cache, mark) if memory is None else memory
        vectors = self._in_batches(items, store, SkippedImages("skip"))
        of_unit_length = [None if vector is None else self._with_unit_length(vector[None])[0] for vector in vectors]
        return of_unit_length, mark

    def _in_batches(
        self, items: Sequence[object], store: Cache | Memory, skipped: SkippedImages
    ) -> list[NDArray[np.float32] | None]:
        """Return the vector of each image, from the store or encoded with others; None for one that cannot be read."""
        from tqdm import tqdm

        size = whole_number("batch_size", self.batch_size)
        vectors: list[NDArray[np.float32] | None] = [None] * len(items)
        for start in tqdm(range(0, len(items), size), disable=not self.progress, unit="batch"):
            keys: dict[int, str] = {}
            pictures: list[Image] = []
            for i, item in enumerate(items[start : start + size], start):
                with skipped.caught(item, i):
                    key, content = content_of(item)
                    vectors[i] = store.get(key)
                    if vectors[i] is None:
                        pictures.append(decode(content))
                        keys[i] = key
            if not pictures:
                continue
            for (i, key), picture, vector in zip(keys.items(), pictures, self._encoder(pictures), strict=True):
                low, high = np.array(picture.getextrema()).reshape(-1, 2).T  # of each colour
                vector = np.zeros_like(vector) if (high - low < VISIBLE).all() else vector
                store.put(key, vector)
                vectors[i] = vector
        return vectors

    def warm_up(self) -> None:
        """Load the encoder, and encode a picture."""
        self.transform([np.zeros((8, 8, 3), np.uint8)])

    def _load_encoder(self) -> VisionEncoder | GradientEncoder:
        if isinstance(self.model, str) and self.model == GRADIENTS:
            return GradientEncoder()
        return VisionEncoder(
            self.model,
            size=whole_number("size", self.size),
            mean=tuple(self.mean),
            std=tuple(self.std),
            download=self.download,
            device=self.device,
        )

    def describe(self) -> dict[str, str]:
        how = "by its edges and colours" if self._model_name == GRADIENTS else f"as {self._model_name} sees it"
        return {self.columns_[0] if self.columns_ else "image": f"image, {how}"}

    def state(self) -> tuple[State, Arrays]:
        plain, arrays = super().state()
        return plain | {"own_module": not isinstance(self.model, str)}, arrays

    def restore(self, state: State, arrays: Arrays) -> Self:
        if state["own_module"] and isinstance(self.model, str):
            raise InputError(
                f"the images were encoded by a module of your own ({self.model}), which the file does not hold: "
                "pass it again, load(path, representation=Images(module))."
            )
        return super().restore(state, arrays)
