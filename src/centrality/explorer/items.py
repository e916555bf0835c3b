"""What a row looks like: a picture, a text, or a curve. Pictures are made when they are asked for, by row number."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from centrality._checks import InputError, InputTypeError
from centrality._optional import optional
from centrality.explorer.columns import shortened
from centrality.tables.images import IMAGE_SUFFIXES as IMAGES

SIDE = 96  # pixels of a thumbnail, at most
MOMENTS = 64  # points of a curve
KINDS = "images (paths, PIL images or arrays), texts, series (one array a row), or a table"


@dataclass(frozen=True)
class Items:
    """What each row is shown as: `kind` is picture, text, series, or "" for its columns alone."""

    kind: str = ""
    texts: tuple[str, ...] = ()
    curves: NDArray[np.uint8] | None = None  # (n, MOMENTS), each between its own smallest and largest value
    picture: Callable[[int], bytes] | None = None  # a PNG or JPEG file by row number
    column: str = "item"  # what the texts are called

    def take(self, rows: NDArray[np.intp]) -> "Items":
        """These rows only, in this order."""
        whole = self.picture
        return replace(
            self,
            texts=tuple(self.texts[i] for i in rows) if self.texts else (),
            curves=None if self.curves is None else self.curves[rows],
            picture=None if whole is None else lambda i: whole(int(rows[i])),
        )


def items_of(given: Any, n: int) -> Items:
    """What `given` holds for the n rows: pictures, texts or series."""
    if len(given) != n:
        raise InputError(f"items must hold one thing for each of the {n:,} rows, got {len(given):,}.")
    if isinstance(given, pa.Array | pa.ChunkedArray):
        given = given.to_pylist()
    if isinstance(given, np.ndarray) and given.dtype != object:
        return _of_array(given)
    given = list(given)
    first = next((item for item in given if item is not None), None)
    if isinstance(first, str) and not _is_image(first):
        return Items("text", texts=tuple(shortened(str(item)) for item in given))
    if isinstance(first, str | Path | bytes) or hasattr(first, "thumbnail"):
        return Items("picture", picture=lambda row: thumbnail(given[row]))
    if isinstance(first, np.ndarray | Sequence) and np.ndim(first) == 1:
        return Items("series", curves=np.stack([curve(np.asarray(item, dtype=float)) for item in given]))
    if isinstance(first, np.ndarray) and first.ndim in (2, 3):
        return Items("picture", picture=lambda row: thumbnail(given[row]))
    raise InputTypeError(f"items must be {KINDS}; got a list of {type(first).__name__}.")


def _of_array(given: NDArray[Any]) -> Items:
    if given.ndim == 2:
        return Items("series", curves=np.stack([curve(row) for row in given.astype(float)]))
    if given.ndim in (3, 4):
        low, high = float(np.nanmin(given)), float(np.nanmax(given))  # of all: pictures can be compared
        return Items("picture", picture=lambda row: thumbnail(_grey_levels(given[row], low, high)))
    raise InputTypeError(f"items must be {KINDS}; got an array of shape {given.shape}.")


def _is_image(name: str) -> bool:
    return name.lower().endswith(IMAGES) and Path(name).is_file()


def thumbnail(item: Any) -> bytes:
    """A small picture as the bytes of a file: PNG while it is tiny, JPEG beyond."""
    image = optional("PIL.Image", "explore")
    if isinstance(item, np.ndarray):
        opened = image.fromarray(_grey_levels(np.squeeze(item)))
    else:
        opened = (
            image.open(io.BytesIO(item) if isinstance(item, bytes) else item) if not hasattr(item, "save") else item
        )
    opened = opened.convert("L" if opened.mode in ("1", "L", "I;16") else "RGB")
    opened.thumbnail((SIDE, SIDE))
    file = io.BytesIO()
    if opened.width * opened.height <= 32 * 32:
        opened.save(file, "PNG", optimize=True)
    else:
        opened.save(file, "JPEG", quality=80)
    return file.getvalue()


def _grey_levels(values: NDArray[Any], low: float | None = None, high: float | None = None) -> NDArray[np.uint8]:
    """Bytes as they are, other numbers from their lowest to their highest."""
    if values.dtype == np.uint8:
        return values
    low = float(np.nanmin(values)) if low is None else low
    high = float(np.nanmax(values)) if high is None else high
    return np.asarray(np.nan_to_num((values - low) * (255 / (high - low or 1.0))).round(), dtype=np.uint8)


def curve(values: NDArray[np.float64]) -> NDArray[np.uint8]:
    """A series as MOMENTS heights from 0 to 255; gaps are bridged."""
    there = np.isfinite(values)
    if not there.any():
        return np.full(MOMENTS, 128, dtype=np.uint8)
    at = np.linspace(0, len(values) - 1, MOMENTS)
    heights = np.interp(at, np.flatnonzero(there), values[there])
    low, high = heights.min(), heights.max()
    scaled = (heights - low) * (255 / (high - low)) if high > low else np.full(MOMENTS, 128.0)
    return np.asarray(scaled.round(), dtype=np.uint8)
