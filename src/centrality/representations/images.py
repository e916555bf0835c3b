"""Represent images by their edges and colours, or by a pretrained vision model."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from centrality._checks import InputError, whole_number
from centrality.model_file import Arrays
from centrality.representations._base import Options, State
from centrality.representations._embedding import Embedding
from centrality.representations._plain_encoders import GradientEncoder
from centrality.representations._vision import Cache, SkippedImages, VisionEncoder, content_of, decode

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

CORRUPT = ("refuse", "skip")
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
        from tqdm import tqdm

        if self.corrupt not in CORRUPT:
            raise InputError(f"corrupt must be one of {', '.join(CORRUPT)}, got {self.corrupt!r}.")
        size, skipped = whole_number("batch_size", self.batch_size), SkippedImages(self.corrupt)
        cache = Cache(self.cache, self.fingerprint_)
        vectors: list[NDArray[np.float32] | None] = []
        for start in tqdm(range(0, len(items), size), disable=not self.progress, unit="batch"):
            vectors.extend(self._batch(items[start : start + size], start, cache, skipped))
        self.skipped_ = skipped.names
        skipped.report()
        readable = [vector for vector in vectors if vector is not None]
        if not readable:
            raise InputError(f"Images were wanted, but none of {len(items)} could be read.")
        no_vector = np.full_like(readable[0], np.nan)
        return np.stack([no_vector if vector is None else vector for vector in vectors])

    def _batch(
        self, items: Sequence[object], start: int, cache: Cache, skipped: SkippedImages
    ) -> list[NDArray[np.float32] | None]:
        """Return the vectors of a few images, from the cache or encoded together; None for one that cannot be read."""
        vectors: list[NDArray[np.float32] | None] = [None] * len(items)
        keys: dict[int, str] = {}
        pictures: list[Image] = []
        for i, item in enumerate(items):
            with skipped.caught(item, start + i):
                key, content = content_of(item)
                vectors[i] = cache.get(key)
                if vectors[i] is None:
                    pictures.append(decode(content))
                    keys[i] = key
        if pictures:
            for (i, key), vector in zip(keys.items(), self._encoder(pictures), strict=True):
                vectors[i] = vector
                cache.put(key, vector)
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

    def _name(self) -> str:
        return self.model if isinstance(self.model, str) else type(self.model).__name__

    def describe(self) -> dict[str, str]:
        how = "by its edges and colours" if self._name() == GRADIENTS else f"as {self._name()} sees it"
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
