"""Encode the patches of pictures, a grid of vectors for each: by edges and colours, a vision model, or a function."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from centrality._internal.checks import InputError, InputTypeError, optional, whole_number
from centrality.representations.images import (
    GRADIENTS,
    VISIBLE,
    Cache,
    SkippedImages,
    VisionEncoder,
    content_of,
    decode,
)
from centrality.representations.plain_encoders import OPPONENTS

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

SIDE = 128  # pixels of a picture's side, as the plain encoder sees it
CELL = 4  # pixels of a patch's side
BLUR_AND_WINDOW = ((0.0, 3.0), (1.5, 6.0))  # standard deviations in pixels: edges of two sizes, around each patch
TURNS = 4  # directions of edges
FAINT = 0.01  # of 1: weaker edges and colours that vary less are all alike
MOST_SPECIAL_TOKENS = 16  # those of a vision transformer that stand for no patch: class and registers

Grid: TypeAlias = NDArray[np.float32]  # (rows, columns, d)
PatchFunction: TypeAlias = "Callable[[Image], Any]"  # a picture in, its grid of vectors out


class PatchEncoder(Protocol):
    """Describes what encodes pictures: a grid of vectors for each."""

    stretches: bool  # whether it brings every picture to one square size

    @property
    def fingerprint(self) -> str | None:
        """Return what tells its weights and settings from those of others; None if they are not known."""

    def __call__(self, pictures: "list[Image]", /) -> list[Grid]:
        """Return the grid of each picture."""


class GradientPatches:
    """Describes each patch by the directions of its edges, its mean colour and how much its colours vary.

    It is done for fine edges near the patch, and for coarser ones farther around it. Edges and variation count by their
    logarithms: without them the strongest edges of a picture would hide all faint ones.
    """

    fingerprint = f"gradient patches {SIDE} {CELL} {BLUR_AND_WINDOW} {TURNS} 1"
    stretches = True

    def __call__(self, pictures: "list[Image]", /) -> list[Grid]:
        """Return the grid of each picture."""
        return [self._grid(picture) for picture in pictures]

    def _grid(self, picture: "Image") -> Grid:
        image = optional("PIL.Image", "images")
        pixels = np.asarray(picture.resize((SIDE, SIDE), image.Resampling.BILINEAR), dtype=np.float32) / 255
        colours = pixels @ OPPONENTS.astype(np.float32)
        grey = pixels.mean(2)
        angles = np.arange(TURNS) * np.pi / TURNS
        parts = []
        for blur, window in BLUR_AND_WINDOW:
            down, across = np.gradient(gaussian_filter(grey, blur) if blur else grey)
            edges = np.abs(across[:, :, None] * np.cos(angles) + down[:, :, None] * np.sin(angles))
            mean = _around_patches(colours, window)
            variance = np.maximum(_around_patches(np.square(colours), window) - np.square(mean), 0)
            parts += [np.log(_around_patches(edges, window) + FAINT), mean, np.log(np.sqrt(variance) + FAINT)]
        return np.concatenate(parts, axis=2).astype(np.float32)


def _around_patches(values: NDArray[Any], window: float) -> NDArray[Any]:  # (SIDE, SIDE, k) -> (cells, cells, k)
    """Return the mean of the values around the middle of each patch, weighted by a Gaussian."""
    smooth = gaussian_filter(values, (window, window, 0))
    return np.asarray(smooth[CELL // 2 :: CELL, CELL // 2 :: CELL])


class VisionPatches(VisionEncoder):
    """Runs a vision model for its patches: tokens of a transformer, or maps of a convolutional network.

    The picture is brought to the model's size without cutting anything off, so that every part of it has a patch.
    """

    stretches = True

    def __call__(self, pictures: "list[Image]", /) -> list[Grid]:  # type: ignore[override]
        """Return the grid of each picture."""
        import torch

        with torch.inference_mode():
            pixels = self._pixels(pictures).to(self.device)
            grids = patch_grids(self._output(pixels), self.module, tuple(pixels.shape[2:]))
        if len(grids) != len(pictures):
            raise InputError(f"The model must give one grid of vectors a picture, got {len(grids)} of {len(pictures)}.")
        return list(np.asarray(grids.float().cpu().numpy(), dtype=np.float32))

    def _pixels(self, pictures: "list[Image]") -> "torch.Tensor":  # (n, 3, size, size)
        import torch

        size = self.size
        if self.processor is not None:
            sides = getattr(self.processor, "crop_size", None) or self.processor.size
            size = int(sides.get("height") or sides.get("shortest_edge"))
        bicubic = optional("PIL.Image", "images").Resampling.BICUBIC
        resized = [picture.resize((size, size), bicubic) for picture in pictures]
        if self.processor is None:
            colours = np.stack([np.asarray(picture, dtype=np.float32) for picture in resized]) / 255
            scaled = ((colours - self.mean) / self.std).astype(np.float32)
            return torch.from_numpy(scaled.transpose(0, 3, 1, 2).copy())
        ready = self.processor(images=resized, do_resize=False, do_center_crop=False, return_tensors="pt")
        pixels: torch.Tensor = ready["pixel_values"]
        return pixels

    def _output(self, pixels: "torch.Tensor") -> Any:
        if self.processor is not None:
            return getattr(self.module, "vision_model", self.module)(pixel_values=pixels)  # CLIP has a text model, too
        return getattr(self.module, "forward_features", self.module)(pixels)  # timm's models end in a classifier


def patch_grids(output: Any, module: Any, size: tuple[int, ...]) -> "torch.Tensor":  # (n, rows, columns, d)
    """Return the vectors of patches from a model's output: tokens, maps, or maps of several layers.

    Of several layers each map is averaged over 3 x 3 of its places and brought to the size of the first, as in
    PatchCore.
    """
    import torch
    from torch.nn import functional

    output = getattr(output, "last_hidden_state", output)
    if isinstance(output, list | tuple):
        if not output or not all(isinstance(part, torch.Tensor) and part.ndim == 4 for part in output):
            raise InputError("A model that gives several outputs must give maps (n, d, rows, columns).")
        smooth = [functional.avg_pool2d(part, 3, stride=1, padding=1) for part in output]
        first = smooth[0].shape[2:]
        output = torch.cat([functional.interpolate(part, size=first, mode="bilinear") for part in smooth], dim=1)
    if not isinstance(output, torch.Tensor) or output.ndim not in (3, 4):
        shape = tuple(output.shape) if isinstance(output, torch.Tensor) else type(output).__name__
        raise InputError(
            "Patches need a model that gives tokens (n, tokens, d) or maps (n, d, rows, columns), got "
            f"{shape}. One vector a picture is what Images() takes."
        )
    if output.ndim == 4:
        return output.permute(0, 2, 3, 1)
    rows, columns = _token_grid(output.shape[1], module, size)
    return output[:, output.shape[1] - rows * columns :].reshape(len(output), rows, columns, -1)


def _token_grid(tokens: int, module: Any, size: tuple[int, ...]) -> tuple[int, int]:
    """Return rows and columns of patches; tokens that stand for none (class, registers) come before them."""
    config = getattr(module, "config", None)
    config = getattr(config, "vision_config", config)
    patch = getattr(config, "patch_size", None) or getattr(getattr(module, "patch_embed", None), "patch_size", None)
    if patch is not None:
        height, width = (patch, patch) if isinstance(patch, int) else tuple(patch)
        rows = size[0] // height
        columns = size[1] // width
        if 0 <= tokens - rows * columns <= MOST_SPECIAL_TOKENS:
            return rows, columns
    side = int(np.sqrt(tokens))  # models that join patches on the way say nothing of the patches at the end
    if side < 1 or tokens - side * side > MOST_SPECIAL_TOKENS:
        raise InputError(
            f"{tokens} tokens are no square of patches with at most {MOST_SPECIAL_TOKENS} tokens before it. Give a "
            "function from a picture to its grid (rows, columns, d)."
        )
    return side, side


class FunctionPatches:
    """Runs a function of the user's: a PIL image in RGB in, its grid of vectors (rows, columns, d) out."""

    fingerprint = None
    stretches = False

    def __init__(self, function: PatchFunction) -> None:
        self.function = function

    def __call__(self, pictures: "list[Image]", /) -> list[Grid]:
        """Return the grid of each picture."""
        return [self._grid(picture) for picture in pictures]

    def _grid(self, picture: "Image") -> Grid:
        grid = np.asarray(self.function(picture), dtype=np.float32)
        if grid.ndim != 3 or 0 in grid.shape:
            raise InputError(
                f"The function must give the patches of a picture as (rows, columns, d), got shape {grid.shape}."
            )
        return grid


def patch_encoder(
    encoder: "str | torch.nn.Module | PatchFunction",
    *,
    size: int,
    mean: Sequence[float],
    std: Sequence[float],
    download: bool,
    device: str,
) -> PatchEncoder:
    """Return what encodes patches: "gradients", a vision model by its name or itself, or a function."""
    if isinstance(encoder, str) and encoder == GRADIENTS:
        return GradientPatches()
    if isinstance(encoder, str) or hasattr(encoder, "state_dict"):
        model = cast("str | torch.nn.Module", encoder)  # torch is not imported to ask
        sides = whole_number("size", size)
        return VisionPatches(model, size=sides, mean=tuple(mean), std=tuple(std), download=download, device=device)
    if not callable(encoder):
        raise InputTypeError(
            f"encoder must be {GRADIENTS!r}, a model's name or folder, a torch module, or a function from a picture "
            f"to (rows, columns, d), got {encoder!r}."
        )
    return FunctionPatches(encoder)


@dataclass(frozen=True)
class EncodedPicture:
    """The patches of one picture, and what is known of the picture itself."""

    number: int  # of the picture among those given
    grid: Grid
    is_blank: bool  # all pixels have one colour: there is nothing on it
    width_by_height: float


def encoded_pictures(
    encoder: PatchEncoder, items: Sequence[object], numbers: Sequence[int], cache: Cache, skipped: SkippedImages
) -> Iterator[EncodedPicture]:
    """Yield the patches of the readable ones of these pictures; those in the cache are not encoded again."""
    keys: list[str] = []
    pictures: list[Image] = []
    grids: list[Grid | None] = []
    readable: list[int] = []
    for number in numbers:
        with skipped.caught(items[number], number):
            key, content = content_of(items[number])
            picture = decode(content)
            keys.append(key)
            pictures.append(picture)
            grids.append(cache.get(key))
            readable.append(number)
    missing = [place for place, grid in enumerate(grids) if grid is None]
    if missing:
        for place, encoded in zip(missing, encoder([pictures[place] for place in missing]), strict=True):
            if not np.isfinite(encoded).all():
                raise InputError(
                    f"The encoder gives NaN or infinite numbers for picture {readable[place]}: finite ones are needed."
                )
            cache.put(keys[place], encoded)
            grids[place] = encoded
    for number, picture, grid in zip(readable, pictures, grids, strict=True):
        assert grid is not None  # from the cache, or encoded
        low, high = np.array(picture.getextrema()).reshape(-1, 2).T  # of each colour
        is_blank = bool((high - low < VISIBLE).all())
        yield EncodedPicture(number, grid, is_blank, picture.width / picture.height)
