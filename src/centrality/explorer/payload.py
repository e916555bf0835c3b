"""Pack a view into bytes, the same for the server, the exported file and the notebook; `web/src/data.ts` reads them.

The mark, then gzip of: the length of a JSON header (4 bytes, little-endian), the header, and the arrays it points into.
Positions are fixed-point numbers of 24 bits and roots of scores of 16, stored byte by byte (all high bytes first): gzip
can shorten that, and its checksum finds damage.
"""

import gzip
import json
from typing import cast

import numpy as np
from numpy.typing import NDArray

from centrality.explorer.columns import Column
from centrality.explorer.header import (
    CategoryColumn,
    Element,
    EmbeddedPictures,
    EmbeddedReasons,
    Header,
    NoItems,
    NumberColumn,
    PictureItems,
    Reason,
    SeriesItems,
    StoredArray,
    TextColumn,
    TextItems,
)
from centrality.explorer.view import View, noteworthy_rows

MARK = b"CNTRLTY1"
POSITION_BITS = 24  # as exact as float32
COARSE_BEYOND, COARSE_BITS = 500_000, 19  # of more points, fewer bits keep a file small; it shows at a zoom of 500
MOST_PICTURES = 3000  # thumbnails in an exported file
MOST_EXPLAINED = 3000  # rows whose reasons are in an exported file
REASONS_A_ROW = 8


class Buffers:
    """Collects arrays one after the other, each aligned to eight bytes."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0

    def add(self, values: NDArray[np.generic]) -> StoredArray:
        """Append the array and say where it lies, as the header does."""
        data = np.ascontiguousarray(values)
        element = cast("Element", str(data.dtype.newbyteorder("=")))
        stored = StoredArray(at=self.size, length=int(data.size), type=element)
        padding = -data.nbytes % 8
        self.parts.append(data.astype(data.dtype.newbyteorder("<")).tobytes() + bytes(padding))
        self.size += data.nbytes + padding
        return stored


def pack(view: View, *, pictures: bool, reasons: bool) -> bytes:
    """Return the bytes of a view, with pictures and reasons in them where the page cannot ask for these later."""
    buffers = Buffers()
    center, half = _extent(view)
    header: Header = {
        "title": view.title,
        "n": len(view),
        "t": view.t,
        "axes": {"names": view.axes, "center": _pair(center), "half": _pair(half)},
        "points": buffers.add(_planes(_fixed_point(view.points, center, half), 3)),
        "heads": buffers.add(_planes(_sixteen_bit_roots(view.heads), 2)),
        "columns": [_column(column, buffers) for column in view.columns],
        "items": _items(view, buffers, pictures=pictures),
        "features": list(view.features),
    }
    if (view.rows != np.arange(len(view))).any():
        header["rows"] = buffers.add(view.rows.astype(np.uint32))
    if view.inliers is not None:
        header["inliers"] = buffers.add(_sixteen_bit_roots(view.inliers).astype(np.uint16))
    if view.reasons is not None:
        header["reasons"] = _reasons(view, buffers) if reasons else "ask"
    text = json.dumps(header, allow_nan=False).encode()
    text += b" " * (-(4 + len(text)) % 8)
    body = b"".join([len(text).to_bytes(4, "little"), text, *buffers.parts])
    return MARK + gzip.compress(body, compresslevel=6, mtime=0)


def _pair(values: NDArray[np.float64]) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def _extent(view: View) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the middle of the map and half its width and height; both share a scale unless each has its own unit."""
    low, high = view.points.min(0), view.points.max(0)
    half = (high - low) / 2
    half = half if view.own_scales else np.full(2, half.max())
    return (low + high) / 2, np.where(half > 0, half, 1.0)


def _fixed_point(
    points: NDArray[np.float64], center: NDArray[np.float64], half: NDArray[np.float64]
) -> NDArray[np.uint32]:  # (2, n)
    """Return positions as integers from 0 to 2**24 - 1 across the map."""
    bits = POSITION_BITS if len(points) <= COARSE_BEYOND else COARSE_BITS
    steps = ((points - center) / half * 0.5 + 0.5).clip(0, 1) * (2**bits - 1)
    return np.asarray(steps.round().astype(np.uint32) << (POSITION_BITS - bits)).T


def _sixteen_bit_roots(heads: NDArray[np.float64]) -> NDArray[np.uint32]:  # (2, n)
    """Return roots of scores as integers from 0 to 65535: small scores, those of odd rows, stay apart."""
    return np.asarray((np.sqrt(heads.clip(0, 1)) * 65535).round().astype(np.uint32)).T


def _planes(numbers: NDArray[np.uint32], count: int) -> NDArray[np.uint8]:
    """Return the high bytes of all numbers of a line, then the next lower ones, then those of the next line."""
    return np.stack([(line >> (8 * k)) & 255 for line in numbers for k in reversed(range(count))]).astype(np.uint8)


def _column(column: Column, buffers: Buffers) -> TextColumn | CategoryColumn | NumberColumn:
    if column.kind == "text":
        return _texts(column, buffers)
    values = buffers.add(column.values)
    if column.kind == "category":
        return CategoryColumn(name=column.name, kind="category", levels=list(column.levels), values=values)
    return NumberColumn(name=column.name, kind=column.kind, values=values)


def _texts(column: Column, buffers: Buffers) -> TextColumn:
    """Store all texts as one, and where each ends, in the units in which JavaScript counts."""
    ends = np.cumsum([len(text.encode("utf-16-le", "replace")) // 2 for text in column.texts]).astype(np.uint32)
    joined = np.frombuffer("".join(column.texts).encode("utf-8", "replace"), dtype=np.uint8)
    return TextColumn(name=column.name, kind="text", ends=buffers.add(ends), text=buffers.add(joined))


def _items(view: View, buffers: Buffers, *, pictures: bool) -> NoItems | TextItems | SeriesItems | PictureItems:
    items = view.items
    if items.kind == "text":
        return TextItems(kind="text", column=items.column)
    if items.kind == "series" and items.curves is not None:
        return SeriesItems(kind="series", curves=buffers.add(items.curves))
    if items.kind != "picture" or items.picture is None:
        return NoItems(kind="")
    if not pictures:
        return PictureItems(kind="picture")
    rows = noteworthy_rows(view.heads, MOST_PICTURES)
    files = [items.picture(int(row)) for row in rows]
    ends = np.cumsum([len(file) for file in files]).astype(np.uint32)
    embedded: EmbeddedPictures = {
        "rows": buffers.add(rows.astype(np.uint32)),
        "ends": buffers.add(ends),
        "files": buffers.add(np.frombuffer(b"".join(files), dtype=np.uint8)),
    }
    return PictureItems(kind="picture", embedded=embedded)


def _reasons(view: View, buffers: Buffers) -> EmbeddedReasons:
    """Store the strongest contributions for the rows a reader is most likely to ask about."""
    assert view.reasons is not None
    rows = noteworthy_rows(view.heads, MOST_EXPLAINED)
    which, values = strongest(view.reasons(rows))
    return {
        "rows": buffers.add(rows.astype(np.uint32)),
        "features": buffers.add(which.astype(np.uint16)),
        "values": buffers.add(values.astype(np.float32)),
    }


def strongest(
    contributions: NDArray[np.float64], top: int = REASONS_A_ROW
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:  # (k, features, 2) -> (k, top) and (k, top, 2)
    """Return the features that weigh most at some t for each row, and their contributions."""
    which = np.argsort(-np.abs(contributions).max(2), axis=1, kind="stable")[:, :top]
    return which, np.take_along_axis(contributions, which[:, :, None], axis=1)


def reasons_for(view: View, row: int) -> list[Reason]:
    """Return the features that weigh most for one row, as the page wants them."""
    if view.reasons is None:
        return []
    which, values = strongest(view.reasons(np.array([row])))
    pairs = zip(which[0], values[0].tolist(), strict=True)
    return [{"name": view.features[j], "global": at_0, "local": at_1} for j, (at_0, at_1) in pairs]
