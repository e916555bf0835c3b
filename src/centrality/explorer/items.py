"""Prepare what is shown of a row: a picture, a text, or a curve. A picture is made when the page asks for it."""

import io
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError, InputTypeError
from centrality._optional import optional
from centrality.explorer.columns import shortened
from centrality.tables.images import IMAGE_SUFFIXES

THUMBNAIL_SIDE = 96  # pixels, at most
FULL_SIDE = 2000  # pixels of a picture in full: more than a screen shows
CURVE_POINTS = 64
_File = TypeVar("_File", bytes, str)
ITEM_KINDS = "images (paths, PIL images or arrays), texts, series (one array a row), or a table"


@dataclass(frozen=True)
class Items:
    """Hold what each row is shown as: `kind` is picture, text, series, or "" where a row has only columns."""

    kind: str = ""
    texts: tuple[str, ...] = ()
    curves: NDArray[np.uint8] | None = None  # (n, CURVE_POINTS), each between its own smallest and largest value
    picture: Callable[[int], bytes] | None = None  # a PNG or JPEG file by row number
    full: Callable[[int], bytes] | None = None  # the same, as large as it is
    whole: Callable[[int], str] | None = None  # a text that was not cut
    column: str = "item"  # what the texts are called
    shape: tuple[int, int] | None = None  # height and width of grey pictures, or 1 and the length of series

    def take(self, rows: NDArray[np.intp]) -> "Items":
        """Return the items of these rows, in this order."""

        def of_these(of_all: Callable[[int], _File] | None) -> Callable[[int], _File] | None:
            return None if of_all is None else lambda i: of_all(int(rows[i]))

        return replace(
            self,
            texts=tuple(self.texts[i] for i in rows) if self.texts else (),
            curves=None if self.curves is None else self.curves[rows],
            picture=of_these(self.picture),
            full=of_these(self.full),
            whole=of_these(self.whole),
        )


def items_of(given: Collection[object], n: int) -> Items:
    """Return the items of the n rows in `given`: pictures, texts or series."""
    if len(given) != n:
        raise InputError(f"items must hold one thing for each of the {n:,} rows, got {len(given):,}.")
    if isinstance(given, pa.Array | pa.ChunkedArray):
        given = given.to_pylist()
    if isinstance(given, np.ndarray) and given.dtype != object:
        return _items_of_array(given)
    items = list(given)
    first = next((item for item in items if item is not None), None)
    if isinstance(first, str) and not _is_image(first):
        texts = tuple(shortened(str(item)) for item in items)
        return Items("text", texts=texts, whole=lambda row: str(items[row]))
    if isinstance(first, str | Path | bytes) or hasattr(first, "thumbnail"):
        return _pictures(items)
    if isinstance(first, np.ndarray | Sequence) and np.ndim(first) == 1:
        return Items("series", curves=np.stack([curve(np.asarray(item, dtype=float)) for item in items]))
    if isinstance(first, np.ndarray) and first.ndim in (2, 3):
        return _pictures(items)
    raise InputTypeError(f"items must be {ITEM_KINDS}; got a list of {type(first).__name__}.")


def _pictures(items: list[Any]) -> Items:
    return Items(
        "picture", picture=lambda row: thumbnail(items[row]), full=lambda row: thumbnail(items[row], FULL_SIDE)
    )


def _items_of_array(given: NDArray[Any]) -> Items:
    if given.ndim == 2:
        curves = np.stack([curve(row) for row in given.astype(float)])
        return Items("series", curves=curves, shape=(1, given.shape[1]))
    if given.ndim in (3, 4):
        height, width, *channels = given.shape[1:]
        low, high = float(np.nanmin(given)), float(np.nanmax(given))  # over all pictures, so that they can be compared
        small, full = (partial(_thumbnail_between, given, low, high, side) for side in (THUMBNAIL_SIDE, FULL_SIDE))
        return Items("picture", picture=small, full=full, shape=(height, width) if channels in ([], [1]) else None)
    raise InputTypeError(f"items must be {ITEM_KINDS}; got an array of shape {given.shape}.")


def _thumbnail_between(pictures: NDArray[Any], low: float, high: float, side: int, row: int) -> bytes:
    """Return a picture of one of these items, with this darkest and lightest value."""
    return thumbnail(_grey_levels(pictures[row], low, high), side)


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGE_SUFFIXES) and Path(name).is_file()


def thumbnail(item: object, side: int = THUMBNAIL_SIDE) -> bytes:
    """Return a picture of the item, no side longer than this, as the bytes of a file: PNG if it is tiny, else JPEG."""
    image = optional("PIL.Image", "explore")
    if isinstance(item, np.ndarray):
        opened = image.fromarray(_grey_levels(np.squeeze(item)))
    else:
        opened = (
            image.open(io.BytesIO(item) if isinstance(item, bytes) else item) if not hasattr(item, "save") else item
        )
    opened = opened.convert("L" if opened.mode in ("1", "L", "I;16") else "RGB")
    opened.thumbnail((side, side))
    file = io.BytesIO()
    if opened.width * opened.height <= 32 * 32:
        opened.save(file, "PNG", optimize=True)
    else:
        opened.save(file, "JPEG", quality=80)
    return file.getvalue()


def _grey_levels(values: NDArray[Any], low: float | None = None, high: float | None = None) -> NDArray[np.uint8]:
    """Return bytes as they are; rescale other numbers so that their lowest is 0 and their highest 255."""
    if values.dtype == np.uint8:
        return values
    low = float(np.nanmin(values)) if low is None else low
    high = float(np.nanmax(values)) if high is None else high
    return np.asarray(np.nan_to_num((values - low) * (255 / (high - low or 1.0))).round(), dtype=np.uint8)


def curve(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """Return a series as CURVE_POINTS heights from 0 to 255; gaps are interpolated."""
    known = np.isfinite(values)
    if not known.any():
        return np.full(CURVE_POINTS, 128, dtype=np.uint8)
    at = np.linspace(0, len(values) - 1, CURVE_POINTS)
    heights = np.interp(at, np.flatnonzero(known), values[known])
    low, high = heights.min(), heights.max()
    scaled = (heights - low) * (255 / (high - low)) if high > low else np.full(CURVE_POINTS, 128.0)
    return np.asarray(scaled.round(), dtype=np.uint8)
